"""`python -m gotlang` is `gotc`."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from importlib import import_module
from types import ModuleType
from typing import NoReturn

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
    try:
        main()
    except SystemExit as end:
        codes.append(end.code if isinstance(end.code, int) else 1)
        raise


class _Later(ModuleType):
    """Stands for a module that is imported when something of it is used."""

    def __getattr__(self, name: str) -> object:
        return getattr(import_module(self.__name__), name)


def _import_msgspec() -> None:
    """Import msgspec without what it does not need here. It prefers typing_extensions to `typing`, which has
    everything needed: together with `inspect`, which it imports, that takes longer than Python's own start.
    It imports `textwrap` for JSON schemas, and `uuid`, which asks `platform` for the name of the system."""
    stand_ins: dict[str, ModuleType | None] = {"typing_extensions": None, "textwrap": _Later("textwrap")}
    if hasattr(os, "uname"):
        stand_ins["platform"] = system = _Later("platform")
        system.system = lambda: os.uname().sysname  # type: ignore[attr-defined]
    stand_ins = {name: module for name, module in stand_ins.items() if name not in sys.modules}
    sys.modules.update(stand_ins)  # type: ignore[arg-type]  # an import of None fails
    import msgspec  # noqa: F401

    for name in stand_ins:
        del sys.modules[name]


def _leave(codes: list[int]) -> None:
    """End the process at once: freeing every object would take a twentieth of a small command's time."""
    if codes:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(codes[0])


if __name__ == "__main__":
    start()
