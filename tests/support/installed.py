"""An environment that has a wheel and what some of its extras require, and nothing else: links to packages
of this one, so that making it takes no network and a second."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support.gotc import environment


class Missing(Exception):
    """A package that an extra requires is not installed here."""


def requirements(wheel: Path) -> list[str]:
    """What a wheel requires."""
    with ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        lines = archive.read(name).decode().partition("\n\n")[0].splitlines()
    return [line.partition(": ")[2] for line in lines if line.startswith("Requires-Dist: ")]


def closure(required: list[str], extras: frozenset[str]) -> dict[str, Distribution]:
    """The installed packages that requirements with some extras lead to. Raises Missing."""
    found: dict[str, Distribution] = {}
    own = "gotlang"
    waiting = [(own, extra) for extra in ("", *extras)]
    seen: set[tuple[str, str]] = set()
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        if name != own and name not in found:
            try:
                found[name] = distribution(name)
            except PackageNotFoundError:
                raise Missing(name) from None
        for text in required if name == own else found[name].requires or ():
            one = Requirement(text)
            if one.marker is None or one.marker.evaluate({"extra": extra}):
                waiting += [(canonicalize_name(one.name), more) for more in ("", *one.extras)]
    return found


def install(wheel: Path, folder: Path, *extras: str) -> Path:
    """A folder with the files of a wheel and links to all that these extras require, for PYTHONPATH."""
    folder.mkdir()
    with ZipFile(wheel) as archive:
        archive.extractall(folder)
    for one in closure(requirements(wheel), frozenset(extras)).values():
        tops = {file.parts[0] for file in one.files or () if file.parts[0] not in ("..", "__pycache__")}
        for top in tops:
            if not (folder / top).exists():
                (folder / top).symlink_to(os.path.realpath(one.locate_file(top)))
    return folder


def gotc_of(installed: Path, *arguments: object, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """The installed `gotc` to its end, by a Python that sees no other package."""
    return subprocess.run(
        [sys.executable, "-S", "-m", "gotlang", *map(str, arguments)],
        cwd=cwd,
        env={**environment(**more), "PYTHONPATH": str(installed)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
