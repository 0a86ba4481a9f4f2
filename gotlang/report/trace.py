"""A trace: what happened in a run, as JSON lines that any tool for OpenTelemetry's names can read.

Attributes of model calls have the names of OpenTelemetry's conventions for generative AI (`gen_ai.*`), our
own start with `gotlang.`. A line names the request that was made by its key, and never holds a prompt or an
answer: those are private more often than not, and `gotc cache show KEY` has them.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO, final

from gotlang.cache.base import StoredSample
from gotlang.errors import UsageError
from gotlang.runtime.graph import path_text
from gotlang.runtime.plain import source
from gotlang.runtime.sampler.events import Added, Asked, Ended, Event, Failed, Started

Attributes = dict[str, Any]


@final
class Trace:
    """An observer that writes to the file `path`, which it replaces.

    `provider` says whose models are asked, `clock` gives the seconds of the run's loop (simulated ones where
    the model is). Raises UsageError where the file cannot be opened; where it cannot be written later, the
    run goes on without it and `broken` says why.
    """

    def __init__(self, path: str | Path, *, run: str, provider: str, clock: Callable[[], float]) -> None:
        self.path = Path(path)
        self._run = run
        self._provider = provider
        self._clock = clock
        self.broken: str | None = None
        try:
            self._file: TextIO = self.path.open("w", encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise UsageError(f"--trace: cannot write {self.path}: {error.strerror}") from None

    def __call__(self, event: Event) -> None:
        """Write one event."""
        match event:
            case Added():
                self.write("graph", {"gotlang.operations": event.count})
            case Started():
                self.write("operation.start", {"gotlang.operation": path_text(event.operation)})
            case Ended():
                operation = event.operation
                self.write(
                    "operation.end",
                    {
                        "gotlang.operation": path_text(operation),
                        "gotlang.thoughts": len(operation.output),
                        "gotlang.hops": operation.hops,
                    },
                )
            case Failed():
                attributes = {"gotlang.operation": event.path, "error.message": without_quotes(event.reason)}
                if event.sample is not None:
                    attributes["gotlang.draw"] = str(event.sample)
                self.write("operation.failed" if event.fatal else "thought.failed", attributes)
            case Asked():
                self.write(f"chat {event.model}", chat_attributes(event, self._provider))

    def write(self, name: str, attributes: Attributes) -> None:
        """Write one line under a name of one's own."""
        line = {
            "time_unix_nano": time.time_ns(),
            "clock_s": round(self._clock(), 6),
            "name": name,
            "attributes": {"gotlang.run": self._run, **attributes},
        }
        if self.broken is not None:
            return
        try:
            self._file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
        except OSError as error:
            self.broken = error.strerror or "unknown reason"

    def close(self) -> None:
        """Finish the file."""
        try:
            self._file.close()
        except OSError as error:
            self.broken = error.strerror or "unknown reason"


def chat_attributes(event: Asked, provider: str) -> Attributes:
    """What is told of draws of a request: neither its text nor that of answers."""
    settings = event.request.settings
    answers = [sample for sample in event.samples if isinstance(sample, tuple)]
    paid = _paid(event)
    attributes: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": event.model,
        "gen_ai.request.choice.count": len(event.numbers),
        "gen_ai.request.max_tokens": settings.max_tokens,
        "gen_ai.response.finish_reasons": [stored.completion.finish_reason for stored, _ in answers],
        "gen_ai.usage.input_tokens": _usage(paid, "input_tokens"),
        "gen_ai.usage.output_tokens": _usage(paid, "output_tokens"),
        "gotlang.prompt": event.request.prompt,
        "gotlang.request.key": event.key,
        "gotlang.request.draws": list(event.numbers),
        "gotlang.answer.sources": [source(sample) for sample in event.samples],
        "gotlang.latency_s": latency(event),
    }
    for name, value in (
        ("temperature", settings.temperature),
        ("top_p", settings.top_p),
        ("stop_sequences", list(settings.stop) or None),
        ("seed", settings.seed),
    ):
        if value is not None:
            attributes[f"gen_ai.request.{name}"] = value
    if event.operation is not None:
        attributes["gotlang.operation"] = path_text(event.operation)
    return attributes


def latency(event: Asked) -> float:
    """Seconds that the slowest of the answers took that were asked for just now."""
    return max((stored.latency_s for stored in _paid(event)), default=0.0)


def without_quotes(reason: str) -> str:
    """A reason without what it quotes: that is from an answer more often than not."""
    return _QUOTED.sub("...", reason)


_QUOTED = re.compile(r"(?<!\w)(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?!\w)")


def _paid(event: Asked) -> list[StoredSample]:
    return [sample[0] for sample in event.samples if isinstance(sample, tuple) and sample[1] == "model"]


def _usage(paid: list[StoredSample], name: str) -> int:
    """Tokens of the requests that the answers came from: the first answer of each stands for its request."""
    return sum(getattr(stored.usage, name) for stored in paid if stored.position == 0)
