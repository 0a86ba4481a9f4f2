"""Results of checks, and the IR of programs that ran, in the user's cache folder: an unchanged program is not
compiled again.

A check is a function of the program's text and of the answers that the compiler gets about the files beside
it (`gotlang.files.Beside`). A record stores these questions with digests of the answers. If gotc is the same
and all answers are unchanged, the stored diagnostics and the stored IR are those that compiling would yield.
A record that is damaged, or outside a folder of the user's own, is ignored.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, final

import msgspec
from msgspec import Struct

from gotlang.diagnostics import Diagnostic
from gotlang.disk import replace_file
from gotlang.errors import CompileError, GotError
from gotlang.files import Beside, compile_in
from gotlang.packages import in_package
from gotlang.records import InvalidRecord, from_json, to_json
from gotlang.span import Source
from gotlang.trust import cache_home
from gotlang.version import __version__

if TYPE_CHECKING:
    from gotlang.compiler import Compilation
    from gotlang.ir.packed import Programs
    from gotlang.program import Recalled

_MOST = 1000
"""Maximum number of stored records, of checks and of IR."""
_IR = ".ir"

_Answer = TypeVar("_Answer")
_What = Literal["text", "missing", "named"]
_Question = tuple[_What, str, str, str]
"""A question: its kind, its folder, its path, and the file that asks."""


@final
class CheckResult(Struct, frozen=True):
    """The result of a check: whether there is no error, the diagnostics, and the texts that they point
    into."""

    ok: bool
    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, Source]


@final
class _Record(Struct, frozen=True):
    """The check of a text: `gotc` identifies the checker, `asked` the dependencies, `sources` names the
    texts."""

    gotc: str
    text: str
    asked: tuple[tuple[_Question, str], ...]
    ok: bool
    diagnostics: tuple[Diagnostic, ...]
    sources: tuple[str, ...]

    @property
    def key(self) -> bytes:
        """A digest of all that the IR of the text depends on."""
        return repr((self.gotc, self.text, self.asked)).encode("utf-8", "surrogatepass")


def check(source: Source, folder: Path) -> CheckResult:
    """Check a program that may import only from `folder`, an absolute path; an unchanged program is not
    checked again."""
    if (known := _known(source, folder)) is not None:
        return known[1]
    made, _ = _made(source, folder)
    return CheckResult(made.ok, made.diagnostics, made.sources)


def compiled(source: Source, folder: Path) -> Compilation | Recalled:
    """Compile the same. Of a program known to have no errors, only what is needed to run it is built again,
    and nothing if its IR is stored."""
    known = _known(source, folder)
    if known is None or not known[1].ok:
        made, record = _made(source, folder)
    else:
        from gotlang.program import Recalled

        record, checked = known
        again = partial(compile_in, source, known=checked.diagnostics)
        if (programs := _recalled(source, folder, record)) is not None:
            later = partial(again, Beside(folder))
            return Recalled(source, checked.sources, checked.diagnostics, programs, later)
        files = _Asked(folder)
        made = again(files)
        if not files.answers.items() <= dict(record.asked).items():
            return made  # a file has changed since
    if made.ok and (place := _place(source.name, folder)) is not None:
        from gotlang.ir.packed import pack

        with suppress(CompileError):  # a constant has no value
            whole = made.compiled()
            _keep(place.with_suffix(_IR), pack({level: whole.program(level) for level in (0, 2)}, record.key))
    return made


def _recalled(source: Source, folder: Path, record: _Record) -> Programs | None:
    """The IR that was stored with a record, or None."""
    from gotlang.ir.packed import unpack

    place = _place(source.name, folder)
    try:
        return None if place is None else unpack(place.with_suffix(_IR).read_bytes(), record.key)
    except OSError:
        return None


def files_of(source: Source, folder: Path) -> set[Path]:
    """The files and folders that a check of a program reads, including missing ones."""
    asked = _Asked(folder)
    compile_in(source, asked)
    return {Path(where, path) for _, where, path, _ in asked.answers if not in_package(path)}


def _made(source: Source, folder: Path) -> tuple[Compilation, _Record]:
    """The compiled program, and the record of its check, which is stored."""
    files, place = _Asked(folder), _place(source.name, folder)
    made = compile_in(source, files)
    answers, sources = tuple(files.answers.items()), tuple(made.sources)
    record = _Record(_version(), _digest(source.text), answers, made.ok, made.diagnostics, sources)
    if place is not None:
        _keep(place, to_json(record).encode())
    return made, record


def _keep(place: Path, data: bytes | None) -> None:
    """Write a file, and remove the oldest files beside it."""
    if data is None:
        return
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(place, data)
        for old in sorted(place.parent.iterdir(), key=lambda path: path.stat().st_mtime)[:-_MOST]:
            old.unlink()


def _known(source: Source, folder: Path) -> tuple[_Record, CheckResult] | None:
    """The record and the result of an earlier check of the same program, or None, also if a
    dependency has changed."""
    place = _place(source.name, folder)
    try:
        record = from_json(place.read_bytes(), _Record) if place and _is_own(place.parent) else None
    except (OSError, InvalidRecord):
        return None
    if record is None or (record.gotc, record.text) != (_version(), _digest(source.text)):
        return None
    files = _Asked(Path())
    for (what, where, path, by), _ in record.asked:
        with suppress(OSError, GotError):
            files.at(Path(where)).ask(what, path, by)
    if files.answers != dict(record.asked) or not {*record.sources} <= {source.name, *files.texts}:
        return None
    texts = {**files.texts, source.name: source.text}
    sources = {name: Source.of(name, texts[name]) for name in record.sources}
    return record, CheckResult(record.ok, record.diagnostics, sources)


@final
class _Asked(Beside):
    """The files beside a program, recording digests of the answers about them, and the texts that were
    read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.answers: dict[_Question, str] = {}
        self.texts: dict[str, str] = {}

    def at(self, folder: Path) -> _Asked:
        other = _Asked(folder)
        other.answers, other.texts = self.answers, self.texts
        return other

    def text(self, path: str) -> str:
        self.texts[path] = text = self._noted("text", path, "", partial(super().text, path))
        return text

    def missing(self, path: str) -> str | None:
        return self._noted("missing", path, "", partial(super().missing, path))

    def named(self, written: str, by: str) -> Source | None:
        return self._noted("named", written, by, partial(super().named, written, by))

    def ask(self, what: _What, path: str, by: str) -> None:
        """Repeat a recorded question. Raises OSError and GotError as the original did."""
        match what:
            case "text":
                self.text(path)
            case "missing":
                self.missing(path)
            case "named":
                self.named(path, by)

    def _noted(self, what: _What, path: str, by: str, ask: Callable[[], _Answer]) -> _Answer:
        question, answer = (what, str(self.folder), path, by), ""
        try:
            found = ask()
            answer = repr(found)
        except (OSError, GotError) as error:
            answer = f"{error!r} {getattr(error, 'help', None)}"
            raise
        finally:
            self.answers[question] = _digest(answer)
        return found


def _place(name: str, folder: Path) -> Path | None:
    """The path of a program's record; None if the user has no home folder."""
    home = cache_home()
    # Names in messages are relative to the current folder.
    return home and home / "checks" / f"{_digest(repr((os.getcwd(), str(folder), name)))[:32]}.json"


def _is_own(folder: Path) -> bool:
    """Whether a folder belongs to the user and nobody else can write to it."""
    found, user = os.lstat(folder), getattr(os, "getuid", lambda: 0)()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o022


@cache
def _version() -> str:
    """The dependencies of a check other than files: the version of gotc, also while it is being developed,
    and of its libraries."""
    package = os.path.dirname(__file__)
    installed = os.path.dirname(os.path.dirname(msgspec.__file__))
    changed = [(installed, os.stat(installed).st_mtime_ns)]
    folders = [package, os.path.join(package, os.pardir, "grammars")]
    while folders:
        with suppress(FileNotFoundError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith((".py", ".lark")):
                    changed.append((entry.path, entry.stat().st_mtime_ns))
                elif entry.is_dir() and entry.name != "__pycache__":
                    folders.append(entry.path)
    return _digest(repr((__version__, sys.version, sorted(changed))))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
