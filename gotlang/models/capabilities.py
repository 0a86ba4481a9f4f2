"""What an endpoint takes, learned from what it refuses: which settings, and how many answers a request.

A refused setting is left out, renamed or done without, and said so in the reply's notes. The one setting
that is never left out is the limit on answer tokens, since a budget rests on it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final

from gotlang.models.base import Request

TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
OPTIONAL = ("temperature", "top_p", "stop", "logprobs", "seed", "response_format")

_N_WORDS = re.compile(r"\bn\b|\bn_cmpl\b|completion choice|number of slots", re.IGNORECASE)
_SYSTEM_WORDS = re.compile(
    r"\bsystem\b\W{0,3}\s?(?:role|message|prompt|instruction)|\brole\b.*\bsystem\b", re.IGNORECASE | re.DOTALL
)
_FORMAT_WORDS = re.compile(
    r"\b(?:response_format|json_schema|structured[ _]outputs?|guided[ _](?:json|decoding))\b", re.IGNORECASE
)
_NOT_TAKEN = re.compile(
    r"unsupported|not support|n.t support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|"
    r"\binstead\b",
    re.IGNORECASE,
)
_OUT_OF_RANGE = re.compile(
    r"too (?:large|big|small|long|high|low|many)|maximum|minimum|at (?:most|least)|greater|less than|exceed|"
    r"\babove\b|\bbelow\b|\bbetween\b|\brange\b|number of slots|[<>≤≥]",
    re.IGNORECASE,
)


@final
@dataclass(frozen=True, slots=True)
class Refusal:
    """A setting that the endpoint did not take. For `n`, `bad` is the smallest known to be too many."""

    name: str
    bad: int = 0


@final
@dataclass(frozen=True, slots=True)
class Capabilities:
    """What is known of an endpoint and model so far.

    `most` answers a request are asked for until something is learned; `good` is the largest number that
    worked, `bad` the smallest that did not. `token_limit` names the token limit that is tried first.
    """

    most: int
    token_limit: str = TOKEN_LIMITS[0]
    refused: frozenset[str] = frozenset()
    good: int = 1
    bad: int | None = None

    @property
    def batch(self) -> int:
        """How many answers the next request may ask for. Between a number that worked and one that did not,
        the middle is tried: refusals cost nothing."""
        if self.bad is None:
            return self.most
        return min(self.most, max(1, (self.good + self.bad) // 2))

    @property
    def limit_name(self) -> str | None:
        """What the limit on answer tokens is called here; None where every name was refused."""
        names = sorted(TOKEN_LIMITS, key=lambda name: name != self.token_limit)
        return next((name for name in names if name not in self.refused), None)

    def without(self, refusal: Refusal) -> Capabilities:
        """What is known after a refusal."""
        if refusal.name != "n":
            return replace(self, refused=self.refused | {refusal.name})
        bad = refusal.bad if self.bad is None else min(self.bad, refusal.bad)
        return replace(self, bad=bad, good=min(self.good, bad - 1))

    @property
    def known(self) -> tuple[frozenset[str], int | None, int | None]:
        """What was learned from refusals."""
        return self.refused, self.bad, self.good if self.bad is not None else None

    def remembering(self, refused: frozenset[str], good: int, bad: int | None) -> Capabilities:
        """What is known with what another run learned."""
        return replace(self, refused=self.refused | refused, good=good, bad=bad)

    def giving(self, asked: int, got: int) -> Capabilities:
        """What is known after a reply with `got` of `asked` answers."""
        if got < asked:
            return replace(self, good=got, bad=got + 1)
        good = max(self.good, asked)
        return replace(self, good=good, bad=None if self.bad is not None and self.bad <= good else self.bad)

    def body(self, request: Request, n: int, draw: int) -> dict[str, Any]:
        """The JSON to send for n answers from draw number `draw` on.

        Draws of one seed would all be the same answer where each is a request of its own: the draw is added.
        """
        settings = request.settings
        wanted: dict[str, Any] = {
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "stop": [_encodable(stop) for stop in settings.stop] or None,
            "logprobs": True if settings.logprobs else None,
            "seed": None if settings.seed is None else settings.seed + draw,
            "response_format": settings.response_format and json.loads(settings.response_format),
        }
        body: dict[str, Any] = {"model": _encodable(request.model), "messages": self._messages(request)}
        body |= {
            name: value for name, value in wanted.items() if value is not None and name not in self.refused
        }
        if self.limit_name is not None:
            body[self.limit_name] = settings.max_tokens
        if n > 1:
            body["n"] = n
        return body

    def notes(self, request: Request, n: int) -> tuple[str, ...]:
        """What of this request the endpoint does not take, in words."""
        settings = request.settings
        asked = {
            "temperature": settings.temperature is not None,
            "top_p": settings.top_p is not None,
            "stop": bool(settings.stop),
            "logprobs": settings.logprobs,
            "seed": settings.seed is not None,
            "response_format": settings.response_format is not None,
        }
        ways = {"stop": "answers were cut here instead"}
        notes = [
            f"the endpoint refuses `{name}`: {ways.get(name, 'it was left out')}"
            for name in OPTIONAL
            if asked[name] and name in self.refused
        ]
        if "system" in self.refused and any(m.role == "system" for m in request.messages):
            notes.append("the endpoint refuses the system role: its text leads the first user message")
        if n > self.batch and self.bad is not None:
            notes.append(f"the endpoint gives at most {self.batch} answers a request (`n`)")
        return tuple(notes)

    def _messages(self, request: Request) -> list[dict[str, str]]:
        messages = [(m.role, _encodable(m.content)) for m in request.messages]
        if "system" in self.refused:
            lead = [content for role, content in messages if role == "system"]
            rest = [(role, content) for role, content in messages if role != "system"]
            first = next((i for i, (role, _) in enumerate(rest) if role == "user"), None)
            if first is None:
                messages = [("user", "\n\n".join(lead)), *rest]
            else:
                rest[first] = ("user", "\n\n".join([*lead, rest[first][1]]))
                messages = rest
        return [{"role": role, "content": content} for role, content in messages]


def find_refusal(words: str, parameter: str | None, body: Mapping[str, Any]) -> Refusal | None:
    """The setting in `body` that the endpoint's words refuse, or None where they are about something else.

    `parameter` is the endpoint's own name for it, where it gives one. A value out of its range is not a
    refusal of the setting: leaving it out would hide a mistake. An `n` out of range is, with its bound.
    """
    name = _named(words, parameter, body)
    if name == "n":
        asked = int(body["n"])
        return Refusal("n", asked if _OUT_OF_RANGE.search(words) else 2)
    if name is None or name == "system":
        return Refusal("system") if name else None
    if name != "response_format" and _OUT_OF_RANGE.search(words) and not _NOT_TAKEN.search(words):
        return None
    return Refusal(name)


def _named(words: str, parameter: str | None, body: Mapping[str, Any]) -> str | None:
    sent = [name for name in (*TOKEN_LIMITS, *OPTIONAL) if name in body]
    has_system = any(message["role"] == "system" for message in body["messages"])
    if parameter is not None:
        if parameter in sent or (parameter == "n" and "n" in body):
            return parameter
        if parameter.startswith("response_format") and "response_format" in sent:
            return "response_format"
        if parameter == "top_logprobs" and "logprobs" in sent:
            return "logprobs"
    places = {
        name: found.start() for name in sent if (found := re.search(rf"\b{name}\b", words, re.IGNORECASE))
    }
    if "n" in body and (found := _N_WORDS.search(words)):
        places["n"] = found.start()
    if "response_format" in body and (found := _FORMAT_WORDS.search(words)):
        places["response_format"] = found.start()
    if has_system and (found := _SYSTEM_WORDS.search(words)):
        places["system"] = found.start()
    return min(places, key=places.__getitem__) if places else None


def _encodable(text: str) -> str:
    """JSON over HTTP is UTF-8, which has no place for half a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8")
