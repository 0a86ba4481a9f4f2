"""`gotc` that waits a fortieth of the time where an endpoint is away: an outage of minutes takes seconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.gotc import environment

SCALE = 40
SOONER = f"""
import runpy
from gotlang.cli import progress
from gotlang.models import failures, limits
from gotlang.tune import points
progress.OUTAGE_S /= {SCALE}
progress.REMIND_S /= {SCALE}
failures.FIRST_WAIT_S /= {SCALE}
failures.MAX_BACK_OFF_S /= {SCALE}
limits.GIVEN_UP_S /= {SCALE}
points.PAUSE_S /= {SCALE}
runpy.run_module("gotlang", run_name="__main__", alter_sys=True)
"""
"""What Python runs instead of `-m gotlang`."""


def sooner(*arguments: object, cwd: Path, times: int = 1, **more: str) -> subprocess.Popen[str]:
    """Such a process, as `start` starts one; with `times` it waits as many times less again."""
    code = SOONER.replace(f"/= {SCALE}", f"/= {SCALE * times}")
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=cwd,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
