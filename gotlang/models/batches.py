"""Provider batches: waiting requests are sent as one file, at half the price and within a day.

Requests are gathered until none has come for a while, which is when all operations wait for completions. They
are uploaded as JSON lines, a batch of them is created and polled, and each result goes to its request. A
provider that fails one line fails that request alone.

Batches in progress are recorded in a folder: a run that is killed leaves its batches with the provider, and
the next run that sends the same requests takes the results from there, however the first one ended.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from gotlang.disk import replace_file
from gotlang.errors import GotError, reporting
from gotlang.models.endpoint import Endpoint
from gotlang.models.failures import HttpResponse, NoResponse
from gotlang.models.sdk import client_of, require_sdk
from gotlang.models.wire import MAX_BODY
from gotlang.records import InvalidRecord, escaped, from_json, to_json

if TYPE_CHECKING:
    from openai import AsyncOpenAI

GATHER_S = 2.0
"""Seconds without a new request after which the waiting ones are sent."""
FIRST_POLL_S, MAX_POLL_S = 1.0, 60.0
"""Seconds between two polls of a batch: they double."""
MAX_FAILED_POLLS = 20
"""Consecutive polls that may fail before the run continues without the batch."""
MAX_LINES = 50_000
MAX_BYTES = 100_000_000
"""Size of one file; providers allow twice as many bytes."""
MAX_RESULT = 100_000
"""Maximum bytes of a file of results for each request in it."""
REMEMBERED_S = 29 * 86400
"""Seconds after which a batch is forgotten: providers keep results for a month."""

_ENDED = ("completed", "failed", "expired", "cancelled")
_LOG = logging.getLogger("gotlang.batches")


@final
@dataclass(frozen=True, slots=True)
class ProviderBatch:
    """A batch in progress. `token` is its name here, `id` the provider's (None until it is known to exist),
    `lines` the digests of its requests, `created` a Unix time."""

    token: str
    endpoint: str
    lines: tuple[str, ...]
    created: float
    id: str | None = None

    @property
    def shown(self) -> str:
        """The batch in messages."""
        return f"the batch {self.id}" if self.id is not None else "the batch"


@final
class PendingBatches:
    """The batches of one endpoint in progress, one JSON file each: from before a batch is created until all
    its results were delivered. Raises UsageError if the folder is not writable."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self._folder = folder
        self._endpoint = endpoint
        self._batches: dict[str, ProviderBatch] = {}
        self._by_line: dict[str, str] = {}
        for path in sorted(folder.glob("*.json")):
            try:
                batch = from_json(path.read_bytes(), ProviderBatch)
            except (OSError, InvalidRecord) as error:
                _LOG.warning(
                    "%s is damaged, and its batch is not continued: %s",
                    escaped(str(path)),
                    escaped(str(error)),
                )
                continue
            if time.time() - batch.created > REMEMBERED_S:
                _delete(path)
            elif batch.endpoint == endpoint and batch.token == path.stem:
                self._remember(batch)

    def find(self, line: str) -> ProviderBatch | None:
        """The batch that contains a request."""
        return self._batches.get(self._by_line.get(line, ""))

    def add(self, lines: Sequence[str]) -> ProviderBatch:
        """Record a batch that is about to be created."""
        return self._write(ProviderBatch(uuid.uuid4().hex, self._endpoint, tuple(lines), time.time()))

    def name(self, batch: ProviderBatch, id: str) -> ProviderBatch:
        """Record the provider's name of a batch."""
        return self._write(replace(batch, id=id))

    def drop(self, batch: ProviderBatch) -> None:
        """Remove a batch that will have no results."""
        self._batches.pop(batch.token, None)
        for line in batch.lines:
            self._by_line.pop(line, None)
        _delete(self.path(batch))

    def forget(self, delivered: Collection[str]) -> None:
        """Remove the batches all of whose results were delivered."""
        for batch in list(self._batches.values()):
            if all(line in delivered for line in batch.lines):
                self.drop(batch)

    def _write(self, batch: ProviderBatch) -> ProviderBatch:
        path = self.path(batch)
        with reporting(f"cannot write {path}"):
            replace_file(path, to_json(batch).encode())
        self._remember(batch)
        return batch

    def _remember(self, batch: ProviderBatch) -> None:
        self._batches[batch.token] = batch
        self._by_line.update(dict.fromkeys(batch.lines, batch.token))

    def path(self, batch: ProviderBatch) -> Path:
        """The file that records a batch."""
        return self._folder / f"{batch.token}.json"


def _delete(path: Path) -> None:
    # If that fails, its results are found again: no reason to end a run.
    with suppress(OSError):
        path.unlink()


class _UnreadableBatch(Exception):
    """Results of a batch that has ended cannot be read."""


@final
class BatchWire:
    """A `Wire` whose `send` returns when the batch of the request has ended.

    `pending` records batches in progress. `sleep` waits for seconds, for tests. Failures are reported as HTTP
    statuses: 503 for a request that the batch did not process, 424 if a whole batch failed. One that cannot
    be polled, or read, is kept for the next run.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        pending: PendingBatches,
        *,
        gather_s: float = GATHER_S,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        require_sdk("a provider's batch interface (`--batch`)")
        self._endpoint = endpoint
        self._pending = pending
        self._gather_s = gather_s
        self._sleep = sleep
        self._client: AsyncOpenAI | None = None
        self._waiting: dict[str, bytes] = {}
        self._results: dict[str, asyncio.Future[HttpResponse | NoResponse]] = {}
        self._gathering: asyncio.Task[None] | None = None
        self._collecting: dict[str, asyncio.Task[None]] = {}
        self._delivered: set[str] = set()
        self._unknown: set[str] = set()

    def prepare(self) -> None:
        """Nothing to do: it gathers before it sends."""

    async def send(self, body: Mapping[str, Any], key: str) -> HttpResponse | NoResponse:
        """Send a chat completion with the next batch. `key` distinguishes requests with equal bodies."""
        line = hashlib.sha256(json.dumps([key, body], sort_keys=True).encode()).hexdigest()[:48]
        result = self._results.get(line)
        if result is None:
            result = self._results[line] = asyncio.get_running_loop().create_future()
            batch = None if line in self._delivered else self._pending.find(line)
            if batch is not None:
                self._collect(batch)
            else:
                request = {"custom_id": line, "method": "POST", "url": "/v1/chat/completions", "body": body}
                self._waiting[line] = json.dumps(request).encode() + b"\n"
                if self._gathering is not None:
                    self._gathering.cancel()
                self._gathering = asyncio.create_task(self._gather())
        try:
            # A request that is cancelled must not end the wait of another for the same result.
            return await asyncio.shield(result)
        finally:
            if result.done():
                self._results.pop(line, None)
                self._delivered.add(line)

    async def close(self) -> None:
        """Stop polling, remove the batches that were delivered, and release connections."""
        tasks = [task for task in (self._gathering, *self._collecting.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._pending.forget(self._delivered - self._unknown)
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _gather(self) -> None:
        await self._sleep(self._gather_s)
        self._gathering = None
        waiting, self._waiting = self._waiting, {}
        for lines in _files(waiting):
            try:
                batch = self._pending.add(list(lines))
            except GotError as error:
                # Requests whose batch could not be found are not sent.
                self._deliver(ProviderBatch("", "", tuple(lines), 0.0), {}, _failure(424, error.message))
            else:
                self._collect(batch, b"".join(lines.values()))

    def _collect(self, batch: ProviderBatch, content: bytes | None = None) -> None:
        """Start to wait for the results of a batch; `content` is the content of a new one."""
        if batch.token not in self._collecting:
            self._collecting[batch.token] = asyncio.create_task(self._collected(batch, content))

    async def _collected(self, batch: ProviderBatch, content: bytes | None) -> None:
        import openai

        try:
            if content is not None:
                batch = await self._created(batch, content)
            elif batch.id is None:
                batch = await self._found(batch)
            results = await self._polled(batch)
        except openai.APIStatusError as error:
            if batch.id is None and content is not None and error.status_code < 500:
                self._pending.drop(batch)
                self._deliver(batch, {}, HttpResponse(error.status_code, {}, error.response.text))
            else:
                self._leave(batch, f"cannot be polled: {self._endpoint.scrub(str(error))}")
        except openai.OpenAIError as error:
            self._leave(batch, f"cannot be polled ({type(error).__name__})")
        except _UnreadableBatch as error:
            self._leave(batch, f"cannot be read: {error}")
        except GotError as error:
            self._leave(batch, f"cannot be remembered: {error.message}")
        except Exception as error:
            # Neither the SDK nor we understand the response: the waiting caller is told.
            self._leave(batch, f"cannot be polled: the response is invalid ({type(error).__name__})")
        else:
            missing = _failure(503, f"{batch.shown} ended without a response to this request")
            self._deliver(batch, results, missing)
        finally:
            del self._collecting[batch.token]

    def _leave(self, batch: ProviderBatch, words: str) -> None:
        """Stop waiting for its results. It stays recorded, for the next run."""
        self._unknown.update(batch.lines)
        path = escaped(str(self._pending.path(batch)))
        words = f"{batch.shown} {words}; the next run continues with it (without {path} it sends all again)"
        self._deliver(batch, {}, NoResponse(words, arrived=True, final=True))

    def _deliver(
        self, batch: ProviderBatch, results: Mapping[str, HttpResponse], otherwise: HttpResponse | NoResponse
    ) -> None:
        for line in batch.lines:
            result = self._results.get(line)
            if result is not None and not result.done():
                result.set_result(results.get(line, otherwise))

    async def _created(self, batch: ProviderBatch, content: bytes) -> ProviderBatch:
        client = self._connected()
        file = await client.files.create(file=("gotc.jsonl", content), purpose="batch")
        # A retry might create it twice: if no response arrives, its token finds it.
        made = await client.with_options(max_retries=0).batches.create(
            input_file_id=file.id,
            endpoint="/v1/chat/completions",
            completion_window="24h",
            metadata={"gotc": batch.token},
        )
        _LOG.info(
            "batch %s: %d requests sent; if interrupted, run the same command again",
            made.id,
            len(batch.lines),
        )
        return self._pending.name(batch, made.id)

    async def _found(self, batch: ProviderBatch) -> ProviderBatch:
        """A batch that may or may not have been created, because the run was killed at that moment."""
        async for made in self._connected().batches.list(limit=100):
            if (made.metadata or {}).get("gotc") == batch.token:
                return self._pending.name(batch, made.id)
        self._pending.drop(batch)
        return batch

    async def _polled(self, batch: ProviderBatch) -> dict[str, HttpResponse]:
        if batch.id is None:
            return {}
        client, pause, failures = self._connected(), FIRST_POLL_S, 0
        import openai

        while True:
            try:
                found = await client.batches.retrieve(batch.id)
                # A gateway may answer anything with 200, without a batch in it.
                failures = 0 if isinstance(found.status, str) else failures + 1
                if failures > MAX_FAILED_POLLS:
                    raise ValueError("no status")
                if found.status in _ENDED:
                    break
            except openai.NotFoundError:
                self._pending.drop(batch)
                return {}
            except (openai.APIConnectionError, openai.InternalServerError, openai.RateLimitError):
                failures += 1
                if failures > MAX_FAILED_POLLS:
                    raise
            await self._sleep(pause)
            pause = min(MAX_POLL_S, 2 * pause)
        if found.status == "failed":
            words = "; ".join(str(error.message) for error in (found.errors and found.errors.data) or [])
            reason = self._endpoint.scrub(words) or "no reason given"
            self._pending.drop(batch)
            return dict.fromkeys(batch.lines, _failure(424, f"{batch.shown} failed: {reason}"))
        results: dict[str, HttpResponse] = {}
        damaged = 0
        for name in (found.output_file_id, found.error_file_id):
            if name is not None:
                content = await client.files.content(name)
                damaged += _read_results(content.text, results)
        missing = sum(line not in results for line in batch.lines)
        if missing and (damaged or found.status == "completed"):
            # They may have been charged, and may be readable next time: nothing is sent for them again.
            raise _UnreadableBatch(f"{missing} of {len(batch.lines)} results are missing or damaged")
        _LOG.info("batch %s: %s, %d of %d results", batch.id, found.status, len(results), len(batch.lines))
        return results

    def _most_bytes(self) -> int:
        return MAX_BODY + MAX_RESULT * len(self._results)

    def _connected(self) -> AsyncOpenAI:
        if self._client is None:
            # Uploading again makes another file, but no batch: that costs nothing.
            self._client = client_of(self._endpoint, 600.0, retries=2, most=self._most_bytes)
        return self._client


def _files(waiting: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    """Lines in as few files as a provider accepts."""
    file: dict[str, bytes] = {}
    size = 0
    for name, line in waiting.items():
        if file and (len(file) == MAX_LINES or size + len(line) > MAX_BYTES):
            yield file
            file, size = {}, 0
        file[name] = line
        size += len(line)
    if file:
        yield file


def _read_results(text: str, found: dict[str, HttpResponse]) -> int:
    """Add the results in a provider's file, by line; returns how many lines of it are invalid, and left
    out."""
    damaged = 0
    # Only `\n` ends a line; `splitlines` would cut at characters that a completion may contain.
    for row in text.split("\n"):
        try:
            data = json.loads(row)
            name, response, error = data["custom_id"], data.get("response"), data.get("error")
            if isinstance(response, dict) and response.get("status_code"):
                found[name] = HttpResponse(int(response["status_code"]), {}, json.dumps(response.get("body")))
            elif isinstance(error, dict):
                expired = error.get("code") in ("batch_expired", "batch_cancelled")
                words = str(error.get("message") or error.get("code"))
                found[name] = _failure(503 if expired else 424, words)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            damaged += bool(row.strip())
    return damaged


def _failure(status: int, words: str) -> HttpResponse:
    return HttpResponse(status, {}, json.dumps({"error": {"message": words}}))
