"""Time and size of an installation from the wheel, each in an empty environment.

    python benchmarks/install.py
    python benchmarks/install.py --extras tune,prompts

Packages come from the index that pip is configured with and not from pip's cache, so wall time includes their
download. Processor time is that of pip and its children, which also write the bytecode. `MB` is the space on
disk of the packages with their bytecode, in blocks as `du` counts them, without pip itself.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measurement import ROOT, options, report

COLUMNS = {
    "command": "`{}`",
    "wall": "{:.0f} s",
    "processor": "{:.1f} s",
    "goal": "{:g} s",
    "MB": "{:.0f}",
    "its goal": "{:g}",
    "packages": "{}",
    "largest": "{}",
}
GOALS = {"": (20.0, 75.0)}
"""The most processor seconds and megabytes, by extra."""


def wheel(folder: Path) -> Path:
    """A wheel of this tree."""
    command = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder))
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    (found,) = folder.glob("*.whl")
    return found


def size(path: Path) -> float:
    """The megabytes on disk of a file or folder."""
    files = [path, *path.rglob("*")] if path.is_dir() else [path]
    return sum(file.stat().st_blocks for file in files) * 512 / 1e6


def row(built: Path, extra: str, folder: Path) -> tuple[Any, ...]:
    """The line of the table of an extra."""
    venv.create(folder, with_pip=False, symlinks=True)
    what = f"{built}[{extra}]" if extra else str(built)
    how = ("--no-cache-dir", "--disable-pip-version-check", "--quiet")
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    interpreter = str(folder / "bin" / "python")
    command = (sys.executable, "-m", "pip", "--python", interpreter, "install", *how, what)
    subprocess.run(command, stderr=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    (site,) = folder.glob("lib/python*/site-packages")
    sizes = {path.name: size(path) for path in site.iterdir()}
    largest = sorted(sizes, key=sizes.__getitem__, reverse=True)[:4]
    return (
        f"pip install 'gotlang[{extra}]'" if extra else "pip install gotlang",
        wall,
        processor,
        GOALS.get(extra, (None, None))[0],
        sum(sizes.values()),
        GOALS.get(extra, (None, None))[1],
        len([*site.glob("*.dist-info")]),
        ", ".join(f"{name} {sizes[name]:.0f}" for name in largest),
    )


def rows(extras: list[str]) -> Iterator[tuple[Any, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        built = wheel(Path(folder))
        for extra in ("", *extras):
            yield row(built, extra, Path(folder, extra or "base"))


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--extras", default="tune", help="extras beside the base, separated by commas")
    given = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    report(given, COLUMNS, rows([extra for extra in given.extras.split(",") if extra]))
