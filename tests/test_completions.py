"""Properties of parsing responses of endpoints: any JSON is parsed or refused, and counts add up."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gotlang.models.base import DecodingSettings, Message, Reply, Request
from gotlang.models.endpoint import Endpoint
from gotlang.models.failures import HttpResponse, RequestFailure, duration, requested_wait
from gotlang.models.http import read_body
from gotlang.models.openai import OpenAIModel

REQUEST = Request("m", (Message("user", "Sort."),), DecodingSettings(logprobs=True))
ENDPOINT = Endpoint("http://127.0.0.1:1/v1", "no-key")

FIELDS = (
    "choices message content usage prompt_tokens completion_tokens index logprobs token logprob error code "
    "param detail loc msg finish_reason text refusal"
)
_words = st.sampled_from(FIELDS.split())
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_words, inner, max_size=6),
    max_leaves=20,
)


def _shaped(part: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Completions of the right outline with anything in their parts."""
    message = st.fixed_dictionaries({"content": part | st.text()}, optional={"refusal": part})
    logprobs = st.fixed_dictionaries({"content": st.lists(part, max_size=3) | part})
    choice = st.fixed_dictionaries(
        {"message": message | part}, optional={"index": part, "finish_reason": part, "logprobs": logprobs}
    )
    counts = st.integers(-5, 50) | part
    usage = st.fixed_dictionaries({}, optional={"prompt_tokens": counts, "completion_tokens": counts})
    return st.fixed_dictionaries({"choices": st.lists(choice, max_size=4)}, optional={"usage": usage | part})


@given(anything | _shaped(anything), st.integers(1, 5))
def test_any_json_is_read_or_refused(payload: object, n: int) -> None:
    read = read_body(json.dumps(payload), OpenAIModel.parse, REQUEST, n, ENDPOINT, cut=("x",))
    if isinstance(read, Reply):
        assert 1 <= len(read.completions) <= n
        assert sum(answer.output_tokens for answer in read.completions) == read.usage.output_tokens
        assert all(answer.output_tokens >= 0 for answer in read.completions)
        assert read.usage.input_tokens > 0
        assert read.usage.output_tokens > 0 or not any(answer.text for answer in read.completions)
    else:
        assert read.words


@given(st.text())
def test_any_text_is_refused_in_words(body: str) -> None:
    assert isinstance(read_body(body, OpenAIModel.parse, REQUEST, 1, ENDPOINT), RequestFailure)


@given(st.integers(300, 599), anything | st.fixed_dictionaries({"error": anything}))
def test_any_error_body_is_told_on_one_short_line(status: int, payload: object) -> None:
    failure = RequestFailure.from_status(HttpResponse(status, {}, json.dumps(payload)), ENDPOINT)
    assert failure.words.startswith(f"HTTP {status}")
    assert len(failure.words) < 400
    assert "\n" not in failure.words


def test_a_date_without_a_zone_is_not_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        headers = {"date": "Sat Nov 21 08:00:00 2026", "retry-after": "Sat, 21 Nov 2026 08:00:40 GMT"}
        assert requested_wait(headers) == 40
    finally:
        monkeypatch.undo()
        time.tzset()


@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms", "date"]), st.text(max_size=40)))
def test_any_header_is_a_wait_or_none(headers: dict[str, str]) -> None:
    wait = requested_wait(headers)
    assert wait is None or wait >= 0


def test_durations_are_read_as_providers_write_them() -> None:
    written = {"1s": 1.0, "6m0s": 360.0, "20ms": 0.02, "1h2m3.5s": 3723.5, "7.66": 7.66, "1d": 86400.0}
    assert {text: duration(text) for text in written} == written
    assert [duration(text) for text in (None, "", "soon", "1s ago", "-1s", "1w", "s")] == [None] * 7
