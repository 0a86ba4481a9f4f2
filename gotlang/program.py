"""A program that compiles: its IR at any optimization level, its schemes, params and prompts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, final

from msgspec import Struct, structs

from gotlang.errors import UsageError
from gotlang.ir.program import MetricFunction, Param, Prompt, Scheme
from gotlang.ir.program import Program as IR
from gotlang.metric import Metric, metric_of, metrics_of

if TYPE_CHECKING:
    from gotlang.compiler import Compilation, Compiled
    from gotlang.diagnostics import Diagnostic
    from gotlang.span import Source


@final
class Recalled(Struct, frozen=True, dict=True):
    """A program without errors whose IR was built by an earlier command, at some optimization levels. It is
    compiled if more is needed."""

    source: Source
    sources: Mapping[str, Source]
    diagnostics: tuple[Diagnostic, ...]
    _programs: Mapping[int, IR]
    _compile: Callable[[], Compilation]

    @cached_property
    def _compiled(self) -> Compiled:
        return self._compile().compiled()

    def compiled(self) -> Compiled:
        """The same with its syntax tree."""
        return self._compiled

    def program(self, level: int = 2, skip: frozenset[str] = frozenset()) -> IR:
        """The IR at an optimization level from 0 to 2, without the passes named in `skip`."""
        known = self._programs.get(level) if not skip else None
        return self.compiled().program(level, skip) if known is None else known


class CheckedProgram:
    """A program that runs, evaluations and studies use. Raises CompileError if there are errors.

    Users have the subclass `gotlang.Program`, which adds the commands: run, evaluate, compare, tune.
    """

    def __init__(self, compilation: Compilation | Recalled) -> None:
        self.compilation = compilation if isinstance(compilation, Recalled) else compilation.compiled()
        self._added: tuple[Scheme, ...] = ()
        self._ir = self.ir(0)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Itself: a program never changes, and its tables know its nodes by identity."""
        return self

    def __repr__(self) -> str:
        return f"<Program {self.name}: schemes {', '.join(self.schemes) or 'none'}>"

    def _repr_html_(self) -> str:
        from html import escape

        parts: list[tuple[str, Scheme | Prompt]] = [("scheme", scheme) for scheme in self._ir.schemes]
        parts += [("prompt", prompt) for prompt in self._ir.prompts]
        facts = [(f"param {param.name}", repr(param.default)) for param in self._ir.params]
        for kind, part in parts:
            inputs = ", ".join(f"{name}: {type_}" for name, type_ in part.parameters)
            facts.append((f"{kind} {part.name}", f"({inputs}) -> {part.result}"))
        rows = "".join(f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in facts)
        return f"<table>{rows}</table>"

    @property
    def name(self) -> str:
        """The name of the file without its suffix."""
        return self._ir.name

    @property
    def schemes(self) -> dict[str, Scheme]:
        """Its schemes by name, in the order of the source."""
        return {scheme.name: scheme for scheme in self._ir.schemes}

    @property
    def params(self) -> dict[str, Param]:
        """Its params by name, each with its type, default and domain."""
        return {param.name: param for param in self._ir.params}

    @property
    def prompts(self) -> dict[str, Prompt]:
        """Its prompts by name, each with its texts, parameters and result type."""
        return {prompt.name: prompt for prompt in self._ir.prompts}

    def ir(self, level: int = 2, *, skip: frozenset[str] = frozenset()) -> IR:
        """The IR at an optimization level from 0 to 2, without the passes named in `skip`."""
        if not self._added:
            return self.compilation.program(level, skip)
        from gotlang.passes import optimize

        program = self.compilation.program(0)
        return optimize(structs.replace(program, schemes=(*program.schemes, *self._added)), level, skip)

    def with_scheme(self, scheme: Scheme) -> Self:
        """The program with one more scheme that is not in its text."""
        made = copy(self)
        made._added = (*self._added, scheme)
        made._ir = made.ir(0)
        return made

    def scheme(self, name: str | None = None) -> Scheme:
        """The scheme with this name. Default: the scheme named like the file, otherwise the last one, of the
        file's own schemes (of all schemes if it declares none). Raises UsageError if there is none."""
        schemes = self.schemes
        name = self._ir.main if name is None else name
        if name is None:
            message = f"`{self.name}` has no scheme that runs by itself"
            help = (
                "declare one, such as `scheme name(question: str) -> str:`; one that takes prompts, scores "
                "or schemes runs only when another scheme calls it"
            )
            raise UsageError(message, help=help)
        if name not in schemes:
            raise UsageError(f"no scheme `{name}` in `{self.name}`", help=f"there are {', '.join(schemes)}")
        return schemes[name]

    def metric(self, scheme: Scheme) -> Metric:
        """How results of a scheme are scored, by the program as written, not as optimized."""
        return metric_of(self._ir, self.schemes.get(scheme.name, scheme))

    def metrics(self, scheme: Scheme, names: Sequence[str] = ()) -> list[MetricFunction]:
        """The metrics with these names and all others that match a scheme. Raises UsageError for unknown
        ones."""
        return metrics_of(self._ir, scheme, names)

    def changed(self, compilation: Compilation) -> Self:
        """A program of the same class from another text."""
        return type(self)(compilation)
