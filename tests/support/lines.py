"""Work counted in lines of Python, which is the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def lines_run(work: Callable[[], Any]) -> int:
    """The lines of Python that a call goes through, each turn of a loop counted."""
    count = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
