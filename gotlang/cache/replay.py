"""The replay model: recorded answers and nothing else, so that a run repeats anywhere without a network.

A request that was not recorded is a ModelError that names it and says what differs from the nearest one that
was, for that is mostly a prompt somebody changed by a word.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any, final

from gotlang.cache.cassette import RecordedModel, Recording
from gotlang.errors import ModelError, UsageError
from gotlang.models.base import PERMITTED, Model, Permit, Price, Reply, Request, Usage
from gotlang.models.endpoint import OPENAI_URL

_AT_URL = re.compile(r"@(https?://.+)$")
_SHOWN = 60
"""Characters of a message that an error quotes."""


@final
class ReplayModel(Model):
    """Answers as the model `name` did in a recording; None: the one that the recording is of.

    `price` stands in for a price that the recording does not know. `simulated` tells whether the answers that
    were recorded were made up by stand-ins.

    Raises UsageError where the recording holds nothing of that model, and several of which none is named.
    """

    def __init__(self, recording: Recording, name: str | None = None, *, price: Price | None = None) -> None:
        self.name, self.endpoint = _chosen(recording, name)
        self._recording = recording
        self._recorded = recording.models.get(self.name, RecordedModel())
        self.simulated = self.name.partition("@")[0] == "simulated"
        self._price = price

    @property
    def price(self) -> Price | None:
        """What the recorded model's tokens cost; a replay itself costs nothing."""
        return self._price or self._recorded.price

    @property
    def batch(self) -> int:
        """How many answers one request of the recorded model might ask for."""
        return self._recorded.batch

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """The recorded answers from the draw on, as many of n as are in a row and came with one request.

        Raises ModelError where the first of them is not recorded.
        """
        key = request.key()
        found = self._recording.cache.get(key, range(first, first + n))
        if first not in found:
            raise ModelError(self._missing(request, key, first), help=self._help())
        start = found[first]
        together = [start]
        for number in range(first + 1, first + n):
            stored = found.get(number)
            if stored is None or (stored.usage, stored.batch) != (start.usage, start.batch):
                break
            if stored.position != start.position + len(together):
                break
            together.append(stored)
        usage = start.usage
        if len(together) < start.batch:  # the whole request's tokens are not all these answers'
            written = sum(stored.completion.output_tokens for stored in together)
            usage = Usage(usage.input_tokens, written, usage.cached_input_tokens)
        answers = tuple(stored.completion for stored in together)
        seconds = tuple(stored.latency_s for stored in together)
        return Reply(answers, usage, max(seconds), requests=0, latencies_s=seconds)

    def _help(self) -> str:
        return "record the run anew with --record, or undo the change"

    def _missing(self, request: Request, key: str, draw: int) -> str:
        what = f"{os.path.basename(self._recording.place)} has no answer to"
        recorded = self._recording.cache.get(key)
        if recorded:
            return f"{what} draw {draw} of {_named(request)}: it holds {len(recorded)} of the same request"
        nearest = self._nearest(request)
        if nearest is None:
            return f"{what} {_named(request)}: nothing of that prompt is recorded"
        return f"{what} {_named(request)}: the nearest recorded one has {_difference(request, nearest)}"

    def _nearest(self, request: Request) -> dict[str, Any] | None:
        """The recorded request of the same prompt that is most alike."""
        cache = self._recording.cache
        best: tuple[float, dict[str, Any]] | None = None
        for entry in cache.entries():
            data = cache.request(entry.key) if entry.prompt == request.prompt else None
            if data is not None:
                alike = _likeness(request, data)
                if best is None or alike > best[0]:
                    best = alike, data
        return None if best is None else best[1]


def _chosen(recording: Recording, name: str | None) -> tuple[str, str]:
    """The name of a model in the recording, and its endpoint."""
    held = sorted(recording.models)
    shown = ", ".join(f"`{one}`" for one in held) or "no answer at all"
    chosen = name or recording.model or (held[0] if len(held) == 1 else None)
    if chosen is None:
        where = f"the recording {recording.place}"
        if not held:
            raise UsageError(f"{where} holds no answer")
        raise UsageError(
            f"{where} holds answers of several models: {shown}",
            help=f"name one, as in `replay:{recording.place}#{held[0]}`",
        )
    wanted: str | None = None
    if chosen not in recording.models and (written := _AT_URL.search(chosen)):
        chosen, wanted = chosen[: written.start()], "" if written[1] == OPENAI_URL else written[1]
    found = recording.models.get(chosen)
    if found is None and name is None:
        return chosen, ""
    if found is None or wanted not in (None, *found.endpoints):
        raise UsageError(f"the recording {recording.place} holds nothing of `{name}`", help=f"it has {shown}")
    if wanted is None and len(found.endpoints) > 1:
        each = ", ".join(f"`#{chosen}@{one or OPENAI_URL}`" for one in sorted(found.endpoints))
        raise UsageError(
            f"the recording {recording.place} holds answers of `{chosen}` from several endpoints",
            help=f"name one after the file: {each}",
        )
    return chosen, found.endpoints[0] if wanted is None else wanted


def _named(request: Request) -> str:
    words = " ".join(request.messages[-1].content.split()) if request.messages else ""
    return f"prompt `{request.prompt}` ({_quoted(words)})"


def _quoted(text: str, start: int = 0) -> str:
    """A piece of a text in quotation marks, with line ends as `\\n`."""
    more = "..." if start + _SHOWN < len(text) else ""
    return json.dumps(text[start : start + _SHOWN] + more, ensure_ascii=False)


def _likeness(request: Request, data: dict[str, Any]) -> float:
    """From 0 to 2 for the texts, of which a common beginning and end count, less for each other part."""
    mine = "\n".join(m.content for m in request.messages)
    recorded = "\n".join(text for _, text in data["messages"])
    common = _common(mine, recorded) + _common(mine[::-1], recorded[::-1])
    identity = request.identity()
    others = sum(bool(identity[name] != data[name]) for name in ("model", "settings", "sample"))
    return min(2.0, common / max(1, len(mine), len(recorded))) - 0.01 * others


def _common(left: str, right: str) -> int:
    """How many characters two texts begin with in common."""
    pairs = zip(left, right, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


def _difference(request: Request, data: dict[str, Any]) -> str:
    """What the recorded request has otherwise, its first difference in words."""
    identity = request.identity()
    if identity["model"] != data["model"]:
        return f"model `{data['model']}`, not `{request.model}`"
    if identity.get("endpoint") != data.get("endpoint"):
        return f"the endpoint {data.get('endpoint') or OPENAI_URL}, not {request.endpoint or OPENAI_URL}"
    if len(identity["messages"]) != len(data["messages"]):
        return f"{len(data['messages'])} messages, not {len(identity['messages'])}"
    for number, (one, other) in enumerate(zip(identity["messages"], data["messages"], strict=True), 1):
        if one[0] != other[0]:
            return f"message {number} of the {other[0]}, not of the {one[0]}"
        if one[1] != other[1]:
            return f"another text of the {one[0]}: {_change(other[1], one[1])}"
    mine, recorded = identity["settings"], data["settings"]
    for name in dict.fromkeys((*mine, *recorded)):
        if mine.get(name) != recorded.get(name):
            return f"{name} {recorded.get(name)}, not {mine.get(name)}"
    return f"seed {data['sample']}, not {request.sample}"


def _change(recorded: str, mine: str) -> str:
    """Where two texts part, with a few words before it."""
    at = _common(recorded, mine)
    start = max(0, at - 20)
    return f"{_quoted(recorded, start)} where this one has {_quoted(mine, start)} (character {at + 1})"
