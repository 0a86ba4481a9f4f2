"""Capabilities of endpoints, learned from what they refuse, and remembered from run to run.

A refused setting is left out, renamed or emulated, and named in the reply's notes. The one setting that is
never left out is the limit on output tokens, since a budget depends on it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, final

from msgspec import Meta, structs

from gotlang.disk import replace_file
from gotlang.models.base import Message, Request
from gotlang.patterns import lazy_pattern
from gotlang.records import InvalidRecord, from_json, from_plain, to_json

TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
OPTIONAL = (
    "temperature",
    "top_p",
    "stop",
    "logprobs",
    "top_logprobs",
    "seed",
    "response_format",
    "effort",
    "thinking_budget",
    "regex",
    "grammar",
)
PREFILL = "prefill"
"""A request that ends in an assistant's turn, which the response continues."""
CONTINUING = {"continue_final_message": True, "add_generation_prompt": False}
"""The settings by which vLLM and SGLang enable that; llama.cpp and Ollama do it without."""
_NAMES = frozenset((*TOKEN_LIMITS, *OPTIONAL, "system", PREFILL, "tools", "stream"))
Positive = Annotated[int, Meta(ge=1)]
_SEEDS = 2**31
REMEMBERED_S = 30 * 86400
"""Seconds after which something learned is forgotten: endpoints change."""
_FORMAT = 1

_CONSTRAINED = r"\b(?:guided_)?(?:regex|grammar)\b|\bstructured_outputs\b"
_MENTIONS = {
    name: lazy_pattern(pattern, re.IGNORECASE | re.DOTALL)
    for name, pattern in {
        **{name: rf"\b{name}\b" for name in (*TOKEN_LIMITS, *OPTIONAL)},
        "stream": r"\bstream(?:ing|_options)?\b",
        "tools": r"\btools?\b|\bfunction(?:_?call|_?declaration| calling)",
        PREFILL: r"\bprefill|continue_final_message|add_generation_prompt",
        "n": r"\bn\b|\bn_cmpl\b|completion choice|number of slots",
        # Their names in other protocols.
        "effort": r"\b(?:reasoning_?)?effort\b|\bthinking_?level\b",
        "thinking_budget": r"\bthinking(?:_?budget)?\b|\bbudget_tokens\b",
        "top_p": r"\btop_?p\b",
        "stop": r"\bstop(?:_?sequences)?\b",
        "logprobs": r"\b(?:top_|response_?)?logprobs\b",
        "response_format": r"\b(?:response_format|json_schema|structured[ _]outputs?|output_config"
        r"|text\.format|response_?json_?schema|guided[ _](?:json|decoding))\b",
        "regex": _CONSTRAINED,
        "grammar": _CONSTRAINED,
        "system": r"\bsystem\b\W{0,3}\s?(?:role|message|prompt|instruction)|\brole\b.*\bsystem\b",
    }.items()
}
_UNSUPPORTED = lazy_pattern(
    r"unsupported|not support|n.t support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|"
    r"\binstead\b",
    re.IGNORECASE,
)
_OUT_OF_RANGE = lazy_pattern(
    r"too (?:large|big|small|long|high|low|many)|maximum|minimum|at (?:most|least)|greater|less than|exceed|"
    r"\babove\b|\bbelow\b|\bbetween\b|\brange\b|number of slots|[<>≤≥]",
    re.IGNORECASE,
)


@final
@dataclass(frozen=True, slots=True)
class Refusal:
    """A setting that the endpoint did not accept. For `n`, `bad` is the smallest number known to be
    refused."""

    name: str
    bad: int = 0


@final
@dataclass(frozen=True, slots=True)
class Capabilities:
    """The known capabilities of an endpoint and model.

    `most` completions are requested at a time until something is learned; `good` is the largest number that
    worked, `bad` the smallest that did not. `token_limit` is the name of the token limit that is tried first.
    """

    most: int
    token_limit: str = TOKEN_LIMITS[0]
    refused: frozenset[str] = frozenset()
    good: int = 1
    bad: int | None = None

    @property
    def batch(self) -> int:
        """Maximum number of completions in the next request. Bisects between a number that worked and one
        that did not: refusals are free of charge."""
        if self.bad is None:
            return self.most
        return min(self.most, max(1, (self.good + self.bad) // 2))

    @property
    def limit_name(self) -> str | None:
        """The name of the limit on output tokens here; None if every name was refused."""
        names = sorted(TOKEN_LIMITS, key=lambda name: name != self.token_limit)
        return next((name for name in names if name not in self.refused), None)

    @property
    def learned(self) -> tuple[frozenset[str], int | None, int | None]:
        """The refusals that were learned."""
        return self.refused, self.bad, self.good if self.bad is not None else None

    def without(self, refusal: Refusal) -> Capabilities:
        """The capabilities after a refusal."""
        if refusal.name != "n":
            return replace(self, refused=self.refused | {refusal.name})
        bad = refusal.bad if self.bad is None else min(self.bad, refusal.bad)
        return replace(self, bad=bad, good=min(self.good, bad - 1))

    def returned(self, requested: int, got: int) -> Capabilities:
        """The capabilities after a reply with `got` of `requested` completions."""
        if got < requested:
            return replace(self, good=got, bad=got + 1)
        good = max(self.good, requested)
        return replace(self, good=good, bad=None if self.bad is not None and self.bad <= good else self.bad)

    def settings(self, request: Request, first: int) -> dict[str, Any]:
        """The settings of a request that are set and accepted, without the token limit, as JSON values.

        Samples with one seed would all be equal if each is a request of its own: `first` is added to the
        seed, within the 31 bits that every endpoint accepts.
        """
        s = request.settings
        given: dict[str, Any] = {
            "temperature": s.temperature,
            "top_p": s.top_p,
            "stop": [encodable(stop) for stop in s.stop] or None,
            "logprobs": s.logprobs or None,
            "top_logprobs": s.top_logprobs if "logprobs" not in self.refused else None,
            "seed": None if s.seed is None else (s.seed + first) % _SEEDS,
            "response_format": s.response_format and json.loads(s.response_format),
            "effort": s.effort,
            "thinking_budget": s.thinking_budget,
            "regex": s.regex,
            "grammar": s.grammar,
        }
        return {
            name: value for name, value in given.items() if value is not None and name not in self.refused
        }

    def sent(self, request: Request, n: int) -> list[str]:
        """The names of all parts of a request for n completions that an endpoint may refuse."""
        sent = [self.limit_name] if self.limit_name else []
        if "system" not in self.refused and any(m.role == "system" for m in request.messages):
            sent.append("system")
        if continues(request):
            sent.append(PREFILL)
        if request.tools:
            sent.append("tools")
        return [*sent, *self.settings(request, 0), *["n"] * (n > 1)]

    def turns(self, request: Request) -> list[Message]:
        """The messages; if the system role is refused, its text is put before the first user message."""
        messages = [
            m if m.content.isascii() else structs.replace(m, content=encodable(m.content))
            for m in request.messages
        ]
        if "system" in self.refused:
            lead = [m.content for m in messages if m.role == "system"]
            messages = [m for m in messages if m.role != "system"]
            first = next((i for i, m in enumerate(messages) if m.role == "user"), None)
            if first is None:
                messages.insert(0, Message("user", "\n\n".join(lead)))
            else:
                text = "\n\n".join([*lead, messages[first].content])
                messages[first] = structs.replace(messages[first], content=text)
        return messages

    def notes(self, request: Request, n: int) -> tuple[str, ...]:
        """The settings of this request that the endpoint does not accept, as sentences."""
        notes = [
            f"the endpoint refuses `{name}`: "
            + ("completions were cut here instead" if name == "stop" else "it was left out")
            for name in OPTIONAL
            if name in self.refused and getattr(request.settings, name) not in (None, (), False)
        ]
        if "system" in self.refused and any(m.role == "system" for m in request.messages):
            notes.append("the endpoint refuses the system role: its text leads the first user message")
        if n > self.batch and self.bad is not None:
            notes.append(f"the endpoint returns at most {self.batch} completions per request (`n`)")
        return tuple(notes)


def continues(request: Request) -> bool:
    """Whether the response continues an assistant's turn."""
    return bool(request.messages) and request.messages[-1].role == "assistant"


def find_refusal(words: str, parameter: str | None, sent: Collection[str], n: int) -> Refusal | None:
    """The setting among those `sent` that the endpoint's message refuses; None if it is about something else.

    `parameter` is the endpoint's own name for it, if present. A value out of range is not a refusal of the
    setting: leaving it out would hide an error. A number of completions `n` out of range is one, with its
    bound.
    """
    name = _named(words, parameter, sent)
    out_of_range = _OUT_OF_RANGE.search(words) is not None
    if name == "n":
        return Refusal("n", n if out_of_range else 2)
    if name is None:
        return None
    if name == "tools":  # an invalid schema is not a refusal of all
        return Refusal(name) if _UNSUPPORTED.search(words) or "requires" in words else None
    # A regular expression or a grammar that the endpoint cannot parse is an error, not a refusal.
    doubtful = name in ("regex", "grammar") or (name not in ("system", "response_format") and out_of_range)
    if doubtful and not _UNSUPPORTED.search(words):
        return None
    return Refusal(name)


def _named(words: str, parameter: str | None, sent: Collection[str]) -> str | None:
    for told in filter(None, (parameter, words)):
        if told == parameter and (name := re.split(r"\W", told)[0]) in sent:
            return name
        places = {name: found.start() for name in sent if (found := _MENTIONS[name].search(told))}
        if places:
            return min(places, key=lambda name: (places[name], name != "top_logprobs"))
    return None


def encodable(text: str) -> str:
    """JSON over HTTP is UTF-8, which cannot encode half a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8")


@final
@dataclass(frozen=True, slots=True)
class Learned:
    """What is remembered of a model at an endpoint, and when it was learned (Unix time): the settings that it
    refuses, and the bounds of `n` (`bad` is the smallest number refused)."""

    endpoint: str
    model: str
    refused: frozenset[str]
    good: Positive
    bad: Positive | None
    at: float


@final
class CapabilityStore:
    """The file of learned capabilities. An unreadable or unwritable file is ignored: it saves a few refused
    requests, and losing it costs nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> list[Learned]:
        """All entries that have not expired, by endpoint and model."""
        found = [one for one in self._read() if time.time() - one.at < REMEMBERED_S]
        return sorted(found, key=lambda one: (one.endpoint, one.model))

    def start(self, endpoint: str, model: str, first: Capabilities) -> Capabilities:
        """The initial capabilities of a model: `first`, and what was learned before."""
        for one in self.all():
            if (one.endpoint, one.model) == (endpoint, model):
                return replace(first, refused=first.refused | one.refused, good=one.good, bad=one.bad)
        return first

    def learn(self, endpoint: str, model: str, found: Capabilities) -> None:
        """Store the current capabilities."""
        new = Learned(endpoint, model, found.refused, found.good, found.bad, time.time())
        others = [one for one in self.all() if (one.endpoint, one.model) != (endpoint, model)]
        self._write([*others, new] if found.refused or found.bad is not None else others)

    def forget(self, model: str | None = None) -> int:
        """Delete the entries of a model, at any endpoint, or all; returns the number of deleted ones."""
        before = self._read()
        after = [one for one in before if model is not None and one.model != model]
        if len(after) < len(before):
            self._write(after)
        return len(before) - len(after)

    def _write(self, learned: Sequence[Learned]) -> None:
        text = to_json({"format": _FORMAT, "learned": learned}, sort_keys=True) + "\n"
        with suppress(OSError):
            replace_file(self._path, text.encode())

    def _read(self) -> list[Learned]:
        found = []
        with suppress(OSError, ValueError, LookupError, TypeError):
            data = from_json(self._path.read_text("utf-8"), dict[str, Any])
            for entry in data["learned"] if data["format"] == _FORMAT else ():
                with suppress(InvalidRecord):
                    found.append(from_plain(entry, Learned))
        return [one for one in found if one.refused <= _NAMES]
