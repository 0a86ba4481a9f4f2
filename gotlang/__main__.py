"""`python -m gotlang` is `gotc`."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from types import FrameType
from typing import Any, NoReturn

from gotlang.gc_tuning import RELAXED


def start() -> NoReturn:
    """Run `gotc` with the process's arguments."""
    gc.set_threshold(*RELAXED)  # imports and parsing create many objects and little garbage
    codes: list[int] = []
    atexit.register(_leave, codes)  # registered first, so called last
    interrupts = signal.getsignal(signal.SIGINT)
    if interrupts is signal.default_int_handler:  # Ctrl-C in an import ends the process, without a traceback
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    _import_msgspec()
    from gotlang.cli.main import main

    signal.signal(signal.SIGINT, interrupts)
    signal.signal(signal.SIGTERM, _terminated)
    try:
        main()
    except SystemExit as end:
        codes.append(end.code if isinstance(end.code, int) else 1)
        raise


def _terminated(number: int, frame: FrameType | None) -> None:
    """SIGTERM does what Ctrl-C does."""
    interrupt = signal.getsignal(signal.SIGINT)  # that of the event loop while one runs
    if callable(interrupt) and interrupt is not signal.default_int_handler:
        interrupt(signal.SIGINT, frame)
    else:
        from gotlang.errors import Terminated

        raise Terminated


def _import_msgspec() -> None:
    """Import msgspec without typing_extensions, which it prefers to `typing`; that has all that it needs.
    Together with `inspect`, which it imports, it takes longer than Python's own start."""
    modules: dict[str, Any] = sys.modules
    if "typing_extensions" not in modules:
        modules["typing_extensions"] = None  # its import fails
        import msgspec  # noqa: F401

        del modules["typing_extensions"]


def _leave(codes: list[int]) -> None:
    """End the process at once: freeing every object would take a twentieth of a small command's time."""
    if codes:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(codes[0])


if __name__ == "__main__":
    start()
