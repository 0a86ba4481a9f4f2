"""`python -m gotlang` is `gotc`."""

from __future__ import annotations

import gc
from typing import NoReturn

from gotlang.collecting import RELAXED


def start() -> NoReturn:
    """Run `gotc` with the process's arguments."""
    gc.set_threshold(*RELAXED)  # imports and parsing create many objects and little garbage
    from gotlang.cli.main import main

    main()


if __name__ == "__main__":
    start()
