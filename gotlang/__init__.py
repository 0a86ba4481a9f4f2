"""gotlang: a small language in which LLM reasoning schemes are written, checked, run and tuned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gotlang.errors import CompileError, GotError, RunError, UsageError
from gotlang.version import __version__

if TYPE_CHECKING:
    from gotlang.api import Options, Program, check, compile, load
    from gotlang.result import Result
    from gotlang.runtime.view import ForbiddenEdit, GraphError, Place, View, changes_graph

_LATE = {
    "Options": "api",
    "Program": "api",
    "check": "api",
    "compile": "api",
    "load": "api",
    "Result": "result",
    "ForbiddenEdit": "runtime.view",
    "GraphError": "runtime.view",
    "Place": "runtime.view",
    "View": "runtime.view",
    "changes_graph": "runtime.view",
}


def __getattr__(name: str) -> Any:
    """What runs programs is imported when it is first asked for."""
    if name not in _LATE:
        raise AttributeError(f"module `gotlang` has no attribute `{name}`")
    from importlib import import_module

    return getattr(import_module(f"gotlang.{_LATE[name]}"), name)


__all__ = [
    "CompileError",
    "ForbiddenEdit",
    "GotError",
    "GraphError",
    "Options",
    "Place",
    "Program",
    "Result",
    "RunError",
    "UsageError",
    "View",
    "__version__",
    "changes_graph",
    "check",
    "compile",
    "load",
]
