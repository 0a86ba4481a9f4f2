"""Calls of the Python functions that a program imports: plain values in, plain values out.

A function gets copies, so that it cannot change a thought, and must return a value of the language. Its
exceptions are reported with their line.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gotlang.errors import EvaluationError, GotError
from gotlang.semantics.limits import MAX_BITS
from gotlang.types import DYNAMIC, Type, fits

CHANGES_GRAPH = "__gotlang_changes_graph__"
"""The attribute of functions that read and change the execution graph."""


def changes_graph(function: Callable[..., Any]) -> bool:
    """Whether a function is marked as changing the execution graph."""
    return getattr(function, CHANGES_GRAPH, False) is True


def call_python(
    function: Callable[..., Any],
    name: str,
    positional: list[Any],
    named: dict[str, Any],
    result: Type = DYNAMIC,
) -> Any:
    """The result of a program's Python function, of the declared type.

    Raises EvaluationError for any exception of it, and for any other result.
    """
    if changes_graph(function):
        raise EvaluationError(f"`{name}` changes the graph, so only `Call() {name}(...)` can run it")
    try:
        value = function(*map(copied, positional), **{key: copied(given) for key, given in named.items()})
    except (GotError, KeyboardInterrupt):  # Ctrl-C is meant for the run, not for the function
        raise
    except BaseException as error:
        # Also exceptions that are meant to end more than the function: `sys.exit()`, a CancelledError of its
        # own loop.
        raise raised(name, error) from error
    return given_back(value, name, result)


def given_back(value: Any, name: str, result: Type = DYNAMIC) -> Any:
    """The result of a function, checked against a type. Raises EvaluationError if it does not match."""
    try:
        found = _plain(value, name)
    except RecursionError:
        raise EvaluationError(f"`{name}` returned a value that is nested too deeply") from None
    if result != DYNAMIC and (why := fits(result, found)):
        raise EvaluationError(f"`{name}` did not return {result}: {why}")
    return found


def raised(name: str, error: BaseException) -> EvaluationError:
    """The error for an exception of a function, with the last line of its traceback."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})" if trace is not None else ""
    words = f": {error}" if str(error) else ""
    return EvaluationError(f"`{name}` raised {type(error).__name__}{words}{where}")


def copied(value: Any) -> Any:
    """A copy of a plain value that shares nothing mutable with it."""
    if isinstance(value, list):
        return [copied(item) for item in value]
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return value


_INT = frozenset({int})


def _plain(value: Any, name: str) -> Any:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise EvaluationError(f"`{name}` returned a number of more than {MAX_BITS:,} bits")
    if isinstance(value, float) and not math.isfinite(value):
        raise EvaluationError(f"`{name}` returned {value}, which is not a number of the language")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        if value and _INT.issuperset(map(type, value)) and max(map(int.bit_length, value)) <= MAX_BITS:
            return list(value)
        return [_plain(item, name) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(item, name) for key, item in value.items()}
    if hasattr(value, "__await__"):
        if hasattr(value, "close"):
            value.close()
        raise EvaluationError(f"`{name}` is async, so only `Call() {name}(...)` can wait for it")
    raise EvaluationError(
        f"`{name}` returned a {type(value).__name__}, which is not a value of the language",
        help="return numbers, texts, booleans, lists, or dicts with texts as keys",
    )
