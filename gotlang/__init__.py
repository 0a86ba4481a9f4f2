"""gotlang: a small language in which LLM reasoning schemes are written, checked, run and tuned."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gotlang.errors import (
    CompileError,
    GotError,
    InvalidResult,
    PartialResult,
    RunError,
    SimulatedWarning,
    UsageError,
)
from gotlang.version import __version__

if TYPE_CHECKING:
    from gotlang.api import (
        Program,
        acompare,
        aevaluate,
        arun,
        atest,
        atune,
        check,
        compare,
        compile,
        evaluate,
        load,
        plot,
        run,
        test,
        tune,
    )
    from gotlang.cache.base import Cache
    from gotlang.changes.view import ForbiddenEdit, GraphError, Place, View, changes_graph
    from gotlang.evaluate.comparison import Comparison
    from gotlang.evaluate.evaluation import Evaluation
    from gotlang.models.base import Model
    from gotlang.options import Options
    from gotlang.result import Result
    from gotlang.sandbox import SandboxError, SandboxLimits, run_in_sandbox
    from gotlang.session import Session
    from gotlang.tune.outcome import StudyResult

_ELSEWHERE = {
    "Cache": "cache.base",
    "Comparison": "evaluate.comparison",
    "Evaluation": "evaluate.evaluation",
    "Model": "models.base",
    "StudyResult": "tune.outcome",
    **dict.fromkeys(("SandboxError", "SandboxLimits", "run_in_sandbox"), "sandbox"),
    **dict.fromkeys(("ForbiddenEdit", "GraphError", "Place", "View", "changes_graph"), "changes.view"),
}
"""The modules of public names that are not in `gotlang.api`."""


class _Package(ModuleType):
    """The package. Importing a submodule does not hide the function of the same name: `evaluate`, `tune`."""

    def __getattr__(self, name: str) -> Any:
        # What runs programs is imported when it is first used.
        if name not in __all__:
            raise AttributeError(f"module `gotlang` has no attribute `{name}`")
        from importlib import import_module

        return getattr(import_module(f"gotlang.{_ELSEWHERE.get(name, 'api')}"), name)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in __all__ or not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


sys.modules[__name__].__class__ = _Package


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext gotlang`: programs in the cells of notebooks, and rich results (docs/notebooks.md)."""
    from gotlang.notebook import load

    load(shell)


__all__ = [
    "Cache",
    "Comparison",
    "CompileError",
    "Evaluation",
    "ForbiddenEdit",
    "GotError",
    "GraphError",
    "InvalidResult",
    "Model",
    "Options",
    "PartialResult",
    "Place",
    "Program",
    "Result",
    "RunError",
    "SandboxError",
    "SandboxLimits",
    "Session",
    "SimulatedWarning",
    "StudyResult",
    "UsageError",
    "View",
    "__version__",
    "acompare",
    "aevaluate",
    "arun",
    "atest",
    "atune",
    "changes_graph",
    "check",
    "compare",
    "compile",
    "evaluate",
    "load",
    "plot",
    "run",
    "run_in_sandbox",
    "test",
    "tune",
]
