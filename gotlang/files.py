"""Programs in files: reads them for the compiler, which does no I/O itself."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

from gotlang.diagnostics import nearest
from gotlang.disk import read_bounded, real_path
from gotlang.errors import CompileError, UsageError, reporting
from gotlang.packages import in_package, package_text
from gotlang.span import MAX_LENGTH, Source

if TYPE_CHECKING:
    from gotlang.compiler import Compilation
    from gotlang.diagnostics import Diagnostic
    from gotlang.semantics.index import SemanticIndex
    from gotlang.syntax.nodes import PythonFunction

MAX_BYTES = 4 * MAX_LENGTH
"""The maximum size of a program: a character has at most four bytes."""


def read_source(path: str | Path) -> Source:
    """The file of a program. Raises UsageError if it cannot be read."""
    path = Path(path)
    try:
        real_path(path)
        return Source.of(str(path), _text(path))
    except FileNotFoundError:
        raise not_found(path) from None
    except OSError as error:
        loops = error.errno == errno.ELOOP
        why = "it is a link that leads back to itself" if loops else error.strerror
        raise UsageError(f"cannot read {path}: {why}") from None


def decoded(text: bytes) -> str:
    """The text of a program. Bytes that are not UTF-8 become lone surrogates, which the parser reports."""
    return text.decode("utf-8-sig", "surrogateescape")


def _text(path: Path) -> str:
    """The text of a file. Raises OSError also for a file that is larger than any program."""
    return decoded(read_bounded(path, MAX_BYTES))


_SHOWN = 5
"""Maximum number of files that are named when one is missing."""


def not_found(path: Path) -> UsageError:
    """The error for a missing file, which suggests the file next to it with the nearest name."""
    if path.is_symlink():
        return UsageError(
            f"{path} is a link that leads to no file", help="fix the link, or name another file"
        )
    try:
        others = sorted(other.name for other in path.parent.iterdir())
    except OSError:
        others = []
    near = nearest(path.name, [name for name in others if nearest(path.stem, [Path(name).stem])])
    alike = [name for name in others if path.suffix and Path(name).suffix == path.suffix]
    help = f"its folder has {', '.join(alike[:_SHOWN])}{', ...' * (len(alike) > _SHOWN)}" if alike else None
    help = f"did you mean {path.parent / near}?" if near else help
    return UsageError(f"there is no file {path}", help=help)


def _why_missing(path: Path) -> str:
    error = not_found(path)
    return error.message + (f"; {error.help}" if error.help else "")


def compile_file(path: str | Path, functions: tuple[PythonFunction, ...] = ()) -> Compilation:
    """Check a program in a file, and what it imports from its folder; `functions` are the names of functions
    that Python provides. A file that ends in `.ir.json` holds IR. Raises UsageError if it cannot be read."""
    if str(path).endswith(STORED):
        return stored_file(path)
    return compile_in(read_source(path), Beside(Path(path).resolve().parent), functions)


STORED = ".ir.json"
"""The suffix of files that hold IR (docs/ir.md)."""


def stored_file(path: str | Path) -> Compilation:
    """The IR in a file, verified. Raises UsageError if it cannot be read or is not IR."""
    from gotlang.compiler import stored_program
    from gotlang.ir.json import from_document

    source = read_source(path)
    program, sources, _ = from_document(source.text, source.name)
    return stored_program(source.name, program, sources)


def formatted(source: Source) -> str:
    """The text of a program in canonical form. Raises CompileError if it does not parse."""
    from gotlang.syntax.format import format_module
    from gotlang.syntax.parse import parse

    module, found = parse(source)
    if any(diagnostic.severity == "error" for diagnostic in found):
        raise CompileError(found, {source.name: source})
    return format_module(module, source)


class Beside:
    """The files that a program may see (`gotlang.analysis.Files`): those in its folder, an absolute path.
    Every dependency of a check, other than the program's own text, is read through it or one that `at`
    returns."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def at(self, folder: Path) -> Beside:
        """The same for a program in another folder."""
        return Beside(folder)

    def named(self, written: str, by: str) -> Source | None:
        """The program that a study in the file `by` names; None if that is the file itself. Raises
        UsageError."""
        path = beside(self.folder, written)
        if path.exists() and Path(by).exists() and path.samefile(by):
            return None
        return read_source(path)

    def text(self, path: str) -> str:
        """The text of a file. Raises OSError if it cannot be read."""
        if in_package(path):
            return package_text(path)
        target = real_path(path)
        if not target.is_relative_to(self.folder):
            raise OSError(f"{target} is outside the program's folder")
        if not target.exists():
            raise FileNotFoundError(errno.ENOENT, _why_missing(Path(path)))
        if not (target.is_file() or target.is_dir()):
            raise OSError("it is a device or a pipe")  # which may never end
        return _text(target)

    def missing(self, path: str) -> str | None:
        """Why there is no file or folder at a path; None if there is one."""
        target = Path(path)
        try:
            if not real_path(path).is_relative_to(self.folder):
                return f"`{path}` is outside the program's folder"
        except OSError as wrong:
            return f"`{path}`: {wrong.strerror}"
        if target.exists():
            return None
        return _why_missing(target)


def compile_in(
    source: Source,
    files: Beside,
    functions: tuple[PythonFunction, ...] = (),
    *,
    studies: bool = True,
    known: tuple[Diagnostic, ...] | None = None,
    index: SemanticIndex | None = None,
) -> Compilation:
    """Check a program that may import only from a folder; its `studies` of other programs in full, or only in
    part. `known` are the diagnostics of a program without errors, if they are known; `index` records
    the facts that editors show."""
    from gotlang.compiler import compile_source

    def named(written: str) -> Compilation | None:
        found = files.named(written, source.name)
        if found is None:
            return None
        # Without the other program's own studies: two files may have studies of each other.
        return compile_in(found, files.at(Path(found.name).resolve().parent), studies=False)

    return compile_source(source, files.text, functions, named if studies else None, files, known, index)


_PROJECT = ("pyproject.toml", "gotc.toml", ".git")
"""Files that mark the root folder of a project."""


def project(folder: Path) -> Path:
    """The project of a folder: the nearest parent that contains such a file, otherwise the folder itself."""
    folder = folder.resolve()
    for around in (folder, *folder.parents):
        if any((around / mark).exists() for mark in _PROJECT):
            return around
    return folder


def beside(folder: Path, written: str) -> Path:
    """A file that a study in `folder` names. Raises UsageError for a file outside its project."""
    if Path(written).is_absolute():
        raise UsageError(f"`{written}` is an absolute path", help="write it relative to the study's folder")
    top = project(folder)
    with reporting(f"`{written}`"):
        target = real_path(folder / written)
    if not target.is_relative_to(top):
        raise UsageError(
            f"`{written}` is outside the study's project, {top}",
            help="create a gotc.toml, which may be empty, in the folder that contains both",
        )
    return Path(os.path.relpath(target)) if target.is_relative_to(Path.cwd()) else target
