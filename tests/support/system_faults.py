"""`gotc` in a real process whose k-th system call that writes fails, tears, or is its last (`faults.c`)."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random

from support.gotc import start

KINDS = ("full", "failing", "torn", "kill", "torn-kill")


def why_not() -> str:
    """Why no faults can be injected here, or nothing."""
    return "" if shutil.which("cc") and Path("/proc/self/fd").exists() else "no C compiler, or no /proc, here"


@functools.cache
def _library() -> Path:
    library = Path(tempfile.mkdtemp(prefix="gotlang-faults-")) / "faults.so"
    source = Path(__file__).with_name("faults.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


@dataclass(frozen=True)
class Faults:
    """`length` calls from the `at`-th on meet `kind`."""

    kind: str
    at: int
    length: int

    @classmethod
    def drawn(cls, chance: Random, most: int) -> Faults:
        """Some faults: most often early, of one call, a few, or all that follow."""
        return cls(chance.choice(KINDS), int(most ** chance.random()), chance.choice((1, 3, 100_000)))

    @property
    def kills(self) -> bool:
        """Whether the process does not survive it."""
        return self.kind in ("kill", "torn-kill")


@dataclass(frozen=True)
class Ended:
    """How a process ended; `met` are the faults that it met, one per line."""

    code: int
    out: str
    errors: str
    met: str


def gotc_under(faults: Faults, *arguments: object, cwd: Path, port: int | None = None) -> Ended:
    """Run `gotc` with faults of the files below `cwd`, or of what it sends to a port on this machine."""
    log = cwd.with_name(f"{cwd.name}.faults")
    log.unlink(missing_ok=True)
    where = {"FAULT_FOLDER": str(cwd.resolve())} if port is None else {"FAULT_PORT": str(port)}
    process = start(
        *arguments,
        cwd=cwd,
        LD_PRELOAD=str(_library()),
        FAULT_KIND=faults.kind,
        FAULT_AT=str(faults.at),
        FAULT_LENGTH=str(faults.length),
        FAULT_LOG=str(log),
        **where,
    )
    out, errors = process.communicate(timeout=120)
    return Ended(process.returncode, out, errors, log.read_text() if log.exists() else "")
