"""Provider batches: requests that wait together are sent as one file, at half the price and within a day.

Requests are gathered until none has come for a while, which is when all operations wait for answers. They
are uploaded as JSON lines, a batch of them is made, asked after now and then, and its results are handed out,
each to the request it answers. A provider that fails one line fails that request alone.

What is under way is remembered in a folder: a run that is killed leaves its batches with the provider, and
the next one that asks for the same takes the answers from there, however the first one ended.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, final

from gotlang.errors import GotError
from gotlang.models.endpoint import Endpoint
from gotlang.models.pending import Batch, Pending
from gotlang.models.wire import NoResponse, Response, client_of

if TYPE_CHECKING:
    from openai import AsyncOpenAI

GATHER_S = 2.0
"""Seconds without a new request after which those that wait are sent."""
FIRST_LOOK_S, LONGEST_LOOK_S = 1.0, 60.0
"""Seconds between two looks at a batch: they double."""
PATIENCE = 20
"""Looks in a row that may fail before the run goes on without the batch."""
MOST_LINES = 50_000
MOST_BYTES = 100_000_000
"""What one file may hold; providers allow twice as many bytes."""

_ENDED = ("completed", "failed", "expired", "cancelled")
_LOG = logging.getLogger("gotlang.batches")


@final
class BatchWire:
    """In place of a `Wire`: `send` answers when the batch that the request went with has ended.

    `pending` remembers what is under way. `sleep` waits for seconds, for tests. Failures come as HTTP
    statuses do: 503 for a request that the batch did not get to, 424 where a whole batch failed, or cannot be
    asked after (then it is remembered for the next run).
    """

    def __init__(
        self,
        endpoint: Endpoint,
        pending: Pending,
        *,
        gather_s: float = GATHER_S,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._endpoint = endpoint
        self._pending = pending
        self._gather_s = gather_s
        self._sleep = sleep
        self._client: AsyncOpenAI | None = None
        self._waiting: dict[str, bytes] = {}
        self._answers: dict[str, asyncio.Future[Response | NoResponse]] = {}
        self._gathering: asyncio.Task[None] | None = None
        self._collecting: dict[str, asyncio.Task[None]] = {}
        self._given: set[str] = set()
        self._unknown: set[str] = set()

    def prepare(self) -> None:
        """Nothing to do: it gathers before it sends."""

    async def send(self, body: Mapping[str, Any], key: str) -> Response | NoResponse:
        """Have a chat completion made with the next batch. `key` tells requests of equal bodies apart."""
        line = hashlib.sha256(json.dumps([key, body], sort_keys=True).encode()).hexdigest()[:48]
        answer = self._answers.get(line)
        if answer is None:
            answer = self._answers[line] = asyncio.get_running_loop().create_future()
            batch = None if line in self._given else self._pending.find(line)
            if batch is not None:
                self._collect(batch)
            else:
                self._waiting[line] = _line(line, body)
                if self._gathering is not None:
                    self._gathering.cancel()
                self._gathering = asyncio.create_task(self._gather())
        try:
            # One that is cancelled must not end the wait of another for the same answer.
            return await asyncio.shield(answer)
        finally:
            if answer.done():
                self._answers.pop(line, None)
                self._given.add(line)

    async def close(self) -> None:
        """Stop asking, forget the batches of which everything was handed out, and let go of connections."""
        tasks = [task for task in (self._gathering, *self._collecting.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._pending.forget(self._given - self._unknown)
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
                # What could not be found again is not sent.
                self._give(Batch("", "", tuple(lines), 0.0), {}, _failure(424, error.message))
            else:
                self._collect(batch, b"".join(lines.values()))

    def _collect(self, batch: Batch, content: bytes | None = None) -> None:
        """See to it that the answers of a batch come; `content` is what it is to be made from."""
        if batch.token not in self._collecting:
            self._collecting[batch.token] = asyncio.create_task(self._collected(batch, content))

    async def _collected(self, batch: Batch, content: bytes | None) -> None:
        import openai

        try:
            if content is not None:
                batch = await self._made(batch, content)
            elif batch.id is None:
                batch = await self._found(batch)
            results = await self._results(batch)
        except openai.APIStatusError as error:
            response = Response(error.status_code, {}, error.response.text)
            if batch.id is None and content is not None and error.status_code < 500:
                self._pending.drop(batch)
                self._give(batch, {}, response)
            else:
                self._leave(batch, f"cannot be asked after: {self._endpoint.scrub(str(error))}")
        except openai.OpenAIError as error:
            self._leave(batch, f"cannot be asked after ({type(error).__name__})")
        except GotError as error:
            self._leave(batch, f"cannot be remembered: {error.message}")
        except Exception as error:
            # What it said has no sense, to the SDK or to us: whoever waits is told.
            self._leave(batch, f"cannot be asked after: the answer makes no sense ({type(error).__name__})")
        else:
            missing = _failure(503, f"{_called(batch)} ended without an answer to this request")
            self._give(batch, results, missing)
        finally:
            del self._collecting[batch.token]

    def _leave(self, batch: Batch, words: str) -> None:
        """Its answers do not come now. It stays remembered, for the next run."""
        self._unknown.update(batch.lines)
        self._give(batch, {}, _failure(424, f"{_called(batch)} {words}; the next run goes on with it"))

    def _give(self, batch: Batch, results: Mapping[str, Response], otherwise: Response) -> None:
        for line in batch.lines:
            answer = self._answers.get(line)
            if answer is not None and not answer.done():
                answer.set_result(results.get(line, otherwise))

    async def _made(self, batch: Batch, content: bytes) -> Batch:
        client = self._connected()
        file = await client.files.create(file=("gotc.jsonl", content), purpose="batch")
        # Tried again it might be made twice: where no answer comes, its mark finds it.
        made = await client.with_options(max_retries=0).batches.create(
            input_file_id=file.id,
            endpoint="/v1/chat/completions",
            completion_window="24h",
            metadata={"gotc": batch.token},
        )
        _LOG.info(
            "batch %s: %d requests sent; ended early, the same command goes on", made.id, len(batch.lines)
        )
        return self._pending.name(batch, made.id)

    async def _found(self, batch: Batch) -> Batch:
        """A batch of which it is not known whether it was made: the run was killed in that moment."""
        async for made in self._connected().batches.list(limit=100):
            if (made.metadata or {}).get("gotc") == batch.token:
                return self._pending.name(batch, made.id)
        self._pending.drop(batch)
        return batch

    async def _results(self, batch: Batch) -> dict[str, Response]:
        if batch.id is None:
            return {}
        client, pause, failures = self._connected(), FIRST_LOOK_S, 0
        import openai

        while True:
            try:
                found = await client.batches.retrieve(batch.id)
                # A gateway may say 200 to anything, with no batch in it.
                failures = 0 if isinstance(found.status, str) else failures + 1
                if failures > PATIENCE:
                    raise ValueError("no status")
                if found.status in _ENDED:
                    break
            except openai.NotFoundError:
                self._pending.drop(batch)
                return {}
            except (openai.APIConnectionError, openai.InternalServerError, openai.RateLimitError):
                failures += 1
                if failures > PATIENCE:
                    raise
            await self._sleep(pause)
            pause = min(LONGEST_LOOK_S, 2 * pause)
        results: dict[str, Response] = {}
        if found.status == "failed":
            words = "; ".join(str(error.message) for error in (found.errors and found.errors.data) or [])
            self._pending.drop(batch)
            failed = _failure(
                424, f"{_called(batch)} failed: {self._endpoint.scrub(words) or 'no reason given'}"
            )
            return dict.fromkeys(batch.lines, failed)
        for name in (found.output_file_id, found.error_file_id):
            if name is not None:
                content = await client.files.content(name)
                results.update(_read(content.text))
        _LOG.info("batch %s: %s, %d of %d answered", batch.id, found.status, len(results), len(batch.lines))
        return results

    def _connected(self) -> AsyncOpenAI:
        if self._client is None:
            # Uploading again makes a file more, and no batch: that costs nothing.
            self._client = client_of(self._endpoint, 600.0, retries=2)
        return self._client


def _line(name: str, body: Mapping[str, Any]) -> bytes:
    request = {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps(request).encode() + b"\n"


def _files(waiting: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    """Lines in as few files as a provider takes."""
    file: dict[str, bytes] = {}
    size = 0
    for name, line in waiting.items():
        if file and (len(file) == MOST_LINES or size + len(line) > MOST_BYTES):
            yield file
            file, size = {}, 0
        file[name] = line
        size += len(line)
    if file:
        yield file


def _read(text: str) -> dict[str, Response]:
    """The results in a file of a provider's, by line; what is none is left out."""
    found = {}
    # Only `\n` ends a line; `splitlines` would cut at characters that may stand inside an answer.
    for row in text.split("\n"):
        try:
            data = json.loads(row)
            name, response, error = data["custom_id"], data.get("response"), data.get("error")
            if isinstance(response, dict) and response.get("status_code"):
                found[name] = Response(int(response["status_code"]), {}, json.dumps(response.get("body")))
            elif isinstance(error, dict):
                expired = error.get("code") in ("batch_expired", "batch_cancelled")
                found[name] = _failure(
                    503 if expired else 424, str(error.get("message") or error.get("code"))
                )
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue
    return found


def _failure(status: int, words: str) -> Response:
    return Response(status, {}, json.dumps({"error": {"message": words}}))


def _called(batch: Batch) -> str:
    return f"the batch {batch.id}" if batch.id is not None else "the batch"
