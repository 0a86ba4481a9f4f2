"""Names of processes, by which other processes on the same machine can tell whether they are running."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from functools import cache
from pathlib import Path


@cache
def machine() -> str:
    """An identifier of the scope of process numbers: this host since it was started, and this container of
    it."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(str(os.stat("/proc/self/ns/pid").st_ino))
    return "/".join(parts)


def process_name() -> str:
    """The name of this process."""
    return f"{machine()}:{os.getpid()}:{_started(os.getpid())}"


def has_ended(process: str) -> bool:
    """Whether a process no longer runs: one without a name, or one of this machine that has ended. False for
    processes of other machines, whose state is unknown."""
    where, _, rest = process.partition(":")
    pid, _, started = rest.partition(":")
    return not process or (where == machine() and pid.isdecimal() and _started(int(pid)) != started)


def _started(pid: int) -> str:
    """The start time of a process, in the kernel's ticks; empty if it no longer runs."""
    try:
        if not Path("/proc/self").exists():
            os.kill(pid, 0)
            return "?"
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]
