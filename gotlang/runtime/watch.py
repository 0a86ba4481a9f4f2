"""The time limit of a program's Python in expressions, which runs in the thread of the event loop."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, final

from gotlang.errors import EvaluationError, OperationFailed
from gotlang.ir.foreign import changes_graph

_AGAIN_S = 1.0
"""Seconds after which a function that has caught the exception gets it again."""
_TRIES = 3
"""Exceptions that a function may catch before it is considered stuck."""


class _Late(BaseException):
    """Raised inside a function that takes too long; not an Exception, which the function may handle."""


@final
class PythonWatch:
    """Ends a Python function that an expression has called after `timeout_s` seconds (None: never), by an
    exception from the alarm of the process.

    Only the main thread of a process can be interrupted: in another one there is no limit.
    """

    def __init__(self, timeout_s: float | None) -> None:
        self.timeout_s = timeout_s
        self.on_stuck: Callable[[str], None] = lambda words: None
        """Called with a sentence about a function that catches the exception each time."""
        self._running: str | None = None
        self._raised = 0
        self._hastened = False
        self._displaced: tuple[float, Any] | None = None
        """When an alarm that was set by others is due, and its handler; None once it has rung."""

    def limited(self, functions: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
        """The functions with the limit, except those that change the graph, which no expression calls."""
        return {
            name: function
            if changes_graph(function) or self.timeout_s is None
            else self._limit(name, function)
            for name, function in functions.items()
        }

    def hasten(self, seconds: float) -> bool:
        """Leave the function that is running only this time; False if none is. For signal handlers."""
        if self._running is None:
            return False
        self._hastened = True
        left, _ = signal.getitimer(signal.ITIMER_REAL)
        signal.setitimer(signal.ITIMER_REAL, min(left or seconds, seconds), _AGAIN_S)
        return True

    def _limit(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        main = threading.main_thread().ident

        def call(*positional: Any, **named: Any) -> Any:
            if threading.get_ident() != main:
                return function(*positional, **named)
            return self._call(name, function, positional, named)

        return call

    def _call(
        self, name: str, function: Callable[..., Any], positional: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        assert self.timeout_s is not None
        before = signal.signal(signal.SIGALRM, self._alarm)
        left, again = signal.setitimer(signal.ITIMER_REAL, self.timeout_s, _AGAIN_S)
        due = time.monotonic() + left if left else 0.0
        self._displaced = (due, before) if left else None
        if 0 < left < self.timeout_s:
            signal.setitimer(signal.ITIMER_REAL, left, again)
        self._raised, self._hastened = 0, False
        try:
            try:
                self._running = name
                return function(*positional, **named)
            finally:
                self._running = None  # from here on the alarm raises nothing
        except _Late:
            if self._hastened:
                raise OperationFailed(f"`{name}` was interrupted", cut_off=True) from None
            raise took_longer(name, self.timeout_s) from None
        finally:
            if not left or self._displaced is not None:  # otherwise the alarm is theirs again
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, signal.SIG_DFL if before is None else before)
            if self._displaced is not None:
                signal.setitimer(signal.ITIMER_REAL, max(due - time.monotonic(), 0.001), again)

    def _alarm(self, number: int, frame: FrameType | None) -> None:
        if self._displaced is not None and time.monotonic() >= self._displaced[0]:
            handler, self._displaced = self._displaced[1], None
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
            if callable(handler):
                handler(number, frame)
            else:
                signal.raise_signal(number)
        elif self._running is not None:
            self._raised += 1
            if self._raised > _TRIES:
                self.on_stuck(
                    f"`{self._running}` took longer than {self.timeout_s:g} s, and cannot be interrupted"
                )
            raise _Late


def took_longer(name: str, timeout_s: float | None) -> EvaluationError:
    """The error for a function that took longer than its timeout, in seconds."""
    return EvaluationError(f"`{name}` took longer than {timeout_s:g} s", help="`--timeout` sets the limit")
