"""Reading a chat completion: answers, usage, log-probabilities. Nothing in a body is trusted to be there."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from gotlang.models.base import Completion, Request, Usage, token_bound

MOST_TOKENS = 10_000_000
"""No model reads or writes more in one request: a count above it is a mistake."""


@final
@dataclass(frozen=True, slots=True)
class Completions:
    """The answers in one body, at least one. `notes` say what was missing, in words."""

    completions: tuple[Completion, ...]
    usage: Usage
    notes: tuple[str, ...] = ()

    def without(self, hide: Callable[[str], str]) -> Completions:
        """Its answers with `hide` over every text. Tokens that only together hold what it hides go."""
        return replace(self, completions=tuple(_hidden(one, hide) for one in self.completions))


def _hidden(answer: Completion, hide: Callable[[str], str]) -> Completion:
    whole = "".join(token for token, _ in answer.tokens)
    tokens = answer.tokens if hide(whole) == whole else ()
    return replace(answer, text=hide(answer.text), finish_reason=hide(answer.finish_reason), tokens=tokens)


@final
@dataclass(frozen=True, slots=True)
class Unreadable:
    """A body without an answer: why, and what the endpoint charged for it (None where it does not say)."""

    reason: str
    usage: Usage | None = None
    error: Any = None


def read_completion(
    body: str, request: Request, n: int, *, cut: Sequence[str] = ()
) -> Completions | Unreadable:
    """The up to n answers of a response body. `cut` are stop sequences that the endpoint did not obey.

    Usage that is missing or absurd is replaced by a bound from the number of bytes, with a note.
    """
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        return Unreadable("its body is not JSON" if body.strip() else "its body is empty")
    if not isinstance(payload, dict):
        return Unreadable("its body is no chat completion")
    choices = [
        c for c in _list(payload.get("choices")) if isinstance(c, dict) and isinstance(c.get("message"), dict)
    ]
    if not choices:
        usage = _usage(payload)
        if "error" in payload:
            return Unreadable("its body is an error", usage, payload["error"])
        return Unreadable("it holds no choices", usage)
    if all(_count(c.get("index")) is not None for c in choices):
        choices.sort(key=lambda c: int(c["index"]))
    usage, notes = _usage_or_bound(payload, choices, request)
    answers = [_answer(c, cut) for c in choices][:n]
    if request.settings.logprobs and any(a.logprob is None for a in answers):
        notes = (*notes, "log-probabilities were asked for and not given")
    shares = _shares(usage.output_tokens, [len(a.text) for a in answers])
    return Completions(
        tuple(replace(a, output_tokens=s) for a, s in zip(answers, shares, strict=True)), usage, notes
    )


def _answer(choice: dict[str, Any], cut: Sequence[str]) -> Completion:
    message = choice["message"]
    text = _text(message.get("content"))
    if text is None:
        text = _text(message.get("refusal")) or ""
    reason = choice.get("finish_reason")
    tokens = _tokens(choice.get("logprobs"))
    end = min((at for stop in cut if stop and (at := text.find(stop)) >= 0), default=None)
    if end is not None:
        text, reason = text[:end], "stop"
        tokens = _first(tokens, end)
    return Completion(
        text=text,
        finish_reason=reason if isinstance(reason, str) and reason else "unknown",
        logprob=math.fsum(p for _, p in tokens) if tokens else None,
        tokens=tokens,
    )


def _text(content: object) -> str | None:
    """A message's text: some endpoints send it in parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [p["text"] for p in content if isinstance(p, dict) and isinstance(p.get("text"), str)]
        return "".join(parts) if parts else None
    return None


def _tokens(logprobs: object) -> tuple[tuple[str, float], ...]:
    """Every token with its log-probability, or none: a sum over some of them would be wrong."""
    content = _list(logprobs.get("content")) if isinstance(logprobs, dict) else []
    tokens = []
    for entry in content:
        token, logprob = (
            (entry.get("token"), entry.get("logprob")) if isinstance(entry, dict) else (None, None)
        )
        if not isinstance(token, str) or isinstance(logprob, bool) or not isinstance(logprob, int | float):
            return ()
        if not math.isfinite(logprob):
            return ()
        tokens.append((token, float(logprob)))
    return tuple(tokens)


def _first(tokens: tuple[tuple[str, float], ...], characters: int) -> tuple[tuple[str, float], ...]:
    """The tokens that begin before so many characters."""
    kept, at = [], 0
    for token, logprob in tokens:
        if at >= characters:
            break
        kept.append((token, logprob))
        at += len(token)
    return tuple(kept)


def _usage(payload: dict[str, Any]) -> Usage | None:
    """What the endpoint says it counted, where every figure can be true."""
    usage = payload.get("usage")
    if not isinstance(usage, dict):
        return None
    given = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if given[0] is None or given[1] is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else 0
    return Usage(given[0], given[1], min(cached or 0, given[0]))


def _usage_or_bound(
    payload: dict[str, Any], choices: Sequence[dict[str, Any]], request: Request
) -> tuple[Usage, tuple[str, ...]]:
    usage = _usage(payload)
    messages = [c["message"] for c in choices]
    written = sum(
        len(text.encode("utf-8", "surrogatepass"))
        for message in messages
        for field in ("content", "refusal", "reasoning_content", "reasoning")
        if (text := _text(message.get(field)))
    )
    if usage is not None and usage.input_tokens > 0 and (usage.output_tokens > 0 or written == 0):
        return usage, ()
    why = (
        "gave no usage" if not isinstance(payload.get("usage"), dict) else "gave a usage that cannot be true"
    )
    # Never less than what it did say: the bound stands in for a cost.
    said = usage or Usage()
    bound = Usage(
        max(said.input_tokens, token_bound(request)), max(said.output_tokens, written + len(choices))
    )
    return bound, (f"the endpoint {why}: its tokens are bounded by bytes",)


def _shares(total: int, lengths: Sequence[int]) -> list[int]:
    """A total split by lengths into whole numbers that add up to it."""
    weights = list(lengths) if sum(lengths) else [1] * len(lengths)
    ends, whole, so_far = [0], sum(weights), 0
    for weight in weights:
        so_far += weight
        ends.append(total * so_far // whole)
    return [after - before for before, after in itertools.pairwise(ends)]


def _count(value: object) -> int | None:
    """A count of tokens that can be true, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= MOST_TOKENS and value == int(value) else None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
