"""A program that compiles: its IR at any level of optimization, and its schemes."""

from __future__ import annotations

from typing import Any, Self

from gotlang.compiler import Compilation
from gotlang.errors import UsageError
from gotlang.ir.build import build
from gotlang.ir.program import Program as IR
from gotlang.ir.program import Scheme


class CheckedProgram:
    """What runs and studies work on. Raises CompileError where there are errors.

    Users have `gotlang.api.Program`, which can also be run.
    """

    def __init__(self, compilation: Compilation) -> None:
        self.compilation = compilation
        self._ir = compilation.program(0)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Itself: a program never changes, and its tables know its nodes by identity."""
        return self

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self._ir.name

    def ir(self, level: int = 2, *, skip: frozenset[str] = frozenset()) -> IR:
        """The IR at an optimization level from 0 to 2, without the passes named in `skip`."""
        from gotlang.passes import optimize

        assert self.compilation.checked is not None
        return optimize(build(self.compilation.checked, self.name), level, skip)

    def scheme(self, name: str | None = None) -> Scheme:
        """The scheme of a name; by default the one named like the file, else the only one, else the last."""
        schemes = {scheme.name: scheme for scheme in self._ir.schemes}
        if not schemes:
            raise UsageError(f"`{self.name}` holds no scheme, so there is nothing to run")
        if name is None:
            name = self.name if self.name in schemes else list(schemes)[-1]
        if name not in schemes:
            raise UsageError(f"no scheme `{name}` in `{self.name}`", help=f"there are {', '.join(schemes)}")
        return schemes[name]

    def changed(self, compilation: Compilation) -> Self:
        """A program of the same kind from another text."""
        return type(self)(compilation)
