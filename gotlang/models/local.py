"""Local models: a small real model on this machine, in a process that comes and goes with the run.

The process speaks OpenAI's chat completions on loopback, so everything but starting and stopping it is the
`openai` model's. Draws are seeded by their request and number: asked again, on this machine or another of its
kind, a request gets the same answers.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, final

from gotlang.errors import ModelError, UsageError
from gotlang.models.base import PERMITTED, Model, Permit, Price, Reply, Request
from gotlang.models.endpoint import KEY_VARIABLE, NO_KEY, Endpoint
from gotlang.models.local_server import LISTENING
from gotlang.models.openai import OpenAIModel
from gotlang.models.prices import price_of
from gotlang.models.weights import find_weights

FREE = Price(0.0, 0.0, source="runs on this machine")
"""What a local model's tokens cost, as far as dollars go."""

CONTEXT_TOKENS = 4096
"""Tokens of a prompt and its answer together."""
START_TIMEOUT_S = 120.0
REQUEST_TIMEOUT_S = 600.0


@final
class LocalModel(Model):
    """A model in a process of its own, which `command` starts on the first request.

    The process prints `listening URL` and ends when its standard input is closed. `slots` is how many
    requests it answers at a time; the others wait here, where no time-out runs. Raises ModelError from `ask`
    where it does not start.
    """

    simulated = False
    batch = 1
    price: Price | None = FREE

    def __init__(self, name: str, command: Sequence[str], *, slots: int = 1, price: Price = FREE) -> None:
        self.name = name
        self.price = price
        self._command = tuple(command)
        self._slots = asyncio.Semaphore(slots)
        self._starting = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._model: OpenAIModel | None = None

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """One answer: the sample numbered `first`."""
        settings = request.settings
        if settings.seed is None:
            # The draw's number is added to it further down.
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
                url = await self._start()
                self._model = OpenAIModel(
                    self.name,
                    endpoint=Endpoint(f"{url}/v1", NO_KEY),
                    batch=1,
                    price=self.price,
                    timeout_s=REQUEST_TIMEOUT_S,
                )
            return self._model

    async def _start(self) -> str:
        environment = {name: value for name, value in os.environ.items() if name != KEY_VARIABLE}
        with tempfile.TemporaryFile() as said:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=said,
                env=environment,
                # Ctrl-C is for whoever runs the model; it ends this process when it is done with it.
                start_new_session=True,
            )
            self._process = process
            try:
                async with asyncio.timeout(START_TIMEOUT_S):
                    url = await _address(process)
            except TimeoutError:
                await self.close()
                raise ModelError(
                    f"the local model {self.name} did not start within {START_TIMEOUT_S:g} s"
                ) from None
            except BaseException:
                await self.close()
                raise
            if url is None:
                await self.close()
                words = _last_line(said)
                raise ModelError(f"the local model {self.name} did not start: {words}")
            return url


def open_local(name: str, prices: Path | None = None) -> Model:
    """The local model of a known name or a GGUF file; no process is started yet.

    Raises UsageError where there is none, where its weights were not fetched and where the extra is missing.
    """
    weights = find_weights(name)
    if importlib.util.find_spec("xllamacpp") is None:
        raise UsageError(
            f"`local:{name}` needs what is not installed here", help='pip install "gotlang[local]"'
        )
    price = None if prices is None else price_of(weights.name, prices, base_url="http://127.0.0.1")
    # Threads of one request wait for each other at every step: on a busy machine, one that is not running
    # holds up all.
    cores = os.cpu_count() or 1
    threads, slots = max(1, cores // 2), min(4, cores)
    numbers = map(str, (slots, CONTEXT_TOKENS, threads))
    command = (sys.executable, "-m", "gotlang.models.local_server", str(weights.path.resolve()), *numbers)
    return LocalModel(weights.name, command, slots=slots, price=price or FREE)


async def _address(process: asyncio.subprocess.Process) -> str | None:
    """What it prints when it can be asked; None where it ends without."""
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


def _last_line(said: IO[bytes]) -> str:
    said.seek(0, os.SEEK_END)
    said.seek(max(0, said.tell() - 2000))
    lines = [line.strip() for line in said.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"
