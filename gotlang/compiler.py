"""From source to IR, stage by stage; each stage can be inspected. Pure: the caller reads files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, final

from gotlang.diagnostics import Diagnostic, in_order
from gotlang.errors import CompileError, GotError, UsageError
from gotlang.scope import THOUGHT_FUNCTIONS
from gotlang.semantics.builtins import BUILTINS
from gotlang.semantics.check import Checked, check
from gotlang.semantics.studies import Target
from gotlang.semantics.symbols import RESERVED
from gotlang.span import Source
from gotlang.syntax import nodes as n
from gotlang.syntax.parse import parse

if TYPE_CHECKING:
    from gotlang.ir.program import Program

Reader = Callable[[str], str]
"""Returns the text of an imported file, by its path relative to the program; raises OSError."""

Opener = Callable[[str], "Compilation"]
"""Compiles the program that a study names, by its path as written; raises OSError or GotError."""


@dataclass(frozen=True)
class Compilation:
    """What became of a source: its modules (its own first) and the diagnostics of all of them.

    It is a `Compiled` where there is no error.
    """

    source: Source
    sources: Mapping[str, Source]
    modules: tuple[n.Module, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no error; warnings do not count."""
        return isinstance(self, Compiled)

    def compiled(self) -> Compiled:
        """Itself, if there is no error. Raises CompileError with every error and warning otherwise."""
        if isinstance(self, Compiled):
            return self
        raise CompileError(self.diagnostics, self.sources)


@final
@dataclass(frozen=True)
class Compiled(Compilation):
    """A source without errors: with the checked tree, and the IR, which is built once."""

    checked: Checked
    _programs: dict[tuple[int, frozenset[str]], Program] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def program(self, level: int = 2, skip: frozenset[str] = frozenset()) -> Program:
        """The IR at an optimization level from 0 to 2, without the passes named in `skip`.

        Raises CompileError where a constant of the program has no value.
        """
        if (level, skip) not in self._programs:
            # Not needed to check a program, which is what editors wait for.
            from gotlang.passes import optimize

            built = optimize(self.program(0), level, skip) if level else self._build()
            self._programs[level, skip] = built
        return self._programs[level, skip]

    def _build(self) -> Program:
        from gotlang.ir.build import build

        try:
            return build(self.checked, PurePosixPath(self.source.name).stem)
        except CompileError as error:
            raise CompileError(error.diagnostics, self.sources) from None


def compile_source(
    source: Source,
    read: Reader | None = None,
    functions: frozenset[str] = frozenset(),
    named: Opener | None = None,
) -> Compilation:
    """Parse and check a source and its imports; reports the errors of all files at once.

    `read` returns the text of imported files; without it, importing is an error. `functions` are the names of
    functions that Python provides in addition to the program's imports. `named` compiles the program that a
    study names; without it, studies of other programs are checked only in part.
    """
    sources: dict[str, Source] = {source.name: source}
    module, found = parse(source)
    diagnostics = list(found)
    modules = [module]
    pending = [module]
    while pending:
        at = pending.pop(0)
        for declaration in at.declarations:
            if isinstance(declaration, n.ImportGot):
                imported = _import(declaration, sources, read, diagnostics)
                if imported is not None:
                    modules.append(imported)
                    pending.append(imported)
    if any(d.code.startswith("GOT00") for d in diagnostics) and not any(m.declarations for m in modules):
        return Compilation(source, sources, tuple(modules), in_order(diagnostics))
    broken = bool(diagnostics)
    targets = {
        id(d): _target(d, named, diagnostics)
        for d in module.declarations
        if isinstance(d, n.Study) and d.program is not None and named is not None
    }
    checked = check(tuple(modules), functions, targets)
    # A name that a broken declaration would have declared is not reported again as unknown.
    further = [d for d in checked.diagnostics if not (broken and d.code in _CONSEQUENCES)]
    found_in_all = in_order([*diagnostics, *further])
    if any(d.severity == "error" for d in found_in_all):
        return Compilation(source, sources, tuple(modules), found_in_all)
    return Compiled(source, sources, tuple(modules), found_in_all, checked)


def handed_in(names: Iterable[str]) -> frozenset[str]:
    """The names of functions that Python provides. Raises UsageError for names that are built in."""
    found = frozenset(names)
    if taken := sorted(found & (BUILTINS.keys() | THOUGHT_FUNCTIONS.keys() | RESERVED)):
        raise UsageError(f"`{taken[0]}` is built into the language, so no function can have that name")
    return found


def _target(node: n.Study, named: Opener, diagnostics: list[Diagnostic]) -> Target | None:
    """The program that a study names, if it compiles."""
    assert node.program is not None
    written = str(node.program.value)
    try:
        found = named(written)
    except (OSError, GotError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or getattr(error, "message", str(error))
        diagnostics.append(
            Diagnostic(
                "GOT0602",
                f"cannot open `{written}`: {reason}",
                node.program.span,
                help=getattr(error, "help", None),
            )
        )
        return None
    if not isinstance(found, Compiled):
        help = f"`gotc check {found.source.name}` shows why"
        diagnostics.append(
            Diagnostic("GOT0602", f"`{written}` does not compile", node.program.span, help=help)
        )
        return None
    return Target(found.checked.symbols, PurePosixPath(written).stem)


_CONSEQUENCES = {"GOT0103", "GOT0104", "GOT0501", "GOT0502", "GOT0503", "GOT0313", "GOT0315"}


def _import(
    node: n.ImportGot, sources: dict[str, Source], read: Reader | None, diagnostics: list[Diagnostic]
) -> n.Module | None:
    folder = PurePosixPath(node.span.source).parent
    written = str(node.path.value)
    if (why := outside(written)) is not None:
        diagnostics.append(Diagnostic("GOT0107", why, node.path.span))
        return None
    name = str(folder / written)  # one name for `common.got` and `./common.got`
    if name in sources:
        return None
    try:
        if read is None:
            raise OSError("there is no folder to import from")
        text = read(name)
    except OSError as error:
        reason = error.strerror or str(error)
        diagnostics.append(Diagnostic("GOT0107", f"cannot import `{written}`: {reason}", node.path.span))
        return None
    sources[name] = Source.of(name, text)
    module, found = parse(sources[name])
    diagnostics.extend(found)
    return module


def outside(path: str) -> str | None:
    """Why a program may not open a path: it must be in the program's folder. None if it may."""
    pure = PurePosixPath(path.replace("\\", "/"))
    if pure.is_absolute() or ":" in path:
        return f"`{path}` is an absolute path; a program opens only files in its own folder"
    if ".." in pure.parts:
        return f"`{path}` leaves the program's folder"
    return None
