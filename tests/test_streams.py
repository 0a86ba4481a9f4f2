"""Streams: what comes piece by piece is what a whole response holds, in every protocol; and ending early."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.asking import KEY, Told, a_request
from support.openai_server import Fault, OpenAIServer, cut, limited, raw, status

from gotlang.api import Options, compile
from gotlang.errors import ModelError
from gotlang.models.base import Completion, ModelOptions, Permit, Reply, Request, Usage
from gotlang.models.endpoint import Endpoint
from gotlang.models.gemini import GeminiModel
from gotlang.models.http import HttpModel
from gotlang.models.openai import OpenAIModel
from gotlang.models.responses import ResponsesModel
from gotlang.models.simulated import Simulated, SimulatedModel
from gotlang.models.streams import held_back

from .test_protocols import BASES, MODEL, thinking

KINDS = pytest.mark.parametrize("kind", BASES, ids=lambda kind: kind.__name__)
LONG = "The quick brown fox jumps over the lazy dog, and then it sleeps for a very long time."


class Ear:
    """A listener that has enough once a text has so many characters."""

    def __init__(self, enough: int = 10**6) -> None:
        self.enough = enough
        self.heard: dict[int, list[str]] = {}
        self.failed: list[Usage | None] = []

    def __call__(self, index: int, text: str, heard: Callable[[], Completion]) -> bool:
        self.heard.setdefault(index, []).append(text)
        return len(text) >= self.enough

    @property
    def permit(self) -> Permit:
        return Told(self.failed, listen=self)


def ask(
    kind: type[HttpModel],
    server: OpenAIServer,
    permit: Permit | None,
    request: Request | None = None,
    n: int = 1,
    retries: int = 2,
    **options: Any,
) -> Reply:
    async def main() -> Reply:
        at = Endpoint(server.root + BASES[kind], KEY, names=kind.names)
        model = kind(MODEL, ModelOptions(retries=retries, **options), endpoint=at, chance=random.Random(0))
        try:
            return await model.ask(request or a_request(), n, permit=permit or Permit())
        finally:
            await model.close()

    return asyncio.run(main())


@KINDS
def test_a_stream_is_the_whole_response_and_grows_to_it(kind: type[HttpModel]) -> None:
    ear = Ear()
    with OpenAIServer(thinking, key=KEY) as server:
        streamed, whole = ask(kind, server, ear.permit), ask(kind, server, None)
    assert streamed.completions == whole.completions
    assert streamed.completions[0].calls and streamed.completions[0].reasoning
    assert streamed.usage == whole.usage and streamed.usage_known
    texts = ear.heard[0]
    assert texts[-1] == whole.completions[0].text
    assert all(after.startswith(before) and after != before for before, after in itertools.pairwise(texts))
    assert len(texts) > 1
    assert streamed.first_s is not None and 0 < streamed.first_s <= streamed.latency_s
    assert whole.first_s is None


@pytest.mark.parametrize("kind", [kind for kind in BASES if kind.most > 1], ids=lambda kind: kind.__name__)
def test_several_completions_come_in_one_stream(kind: type[HttpModel]) -> None:
    ear = Ear()
    with OpenAIServer(lambda body, index: f"answer {index}", key=KEY) as server:
        reply = ask(kind, server, ear.permit, a_request(logprobs=True), n=3)
        assert len(server.requests) == 1
    assert [one.text for one in reply.completions] == ["answer 0", "answer 1", "answer 2"]
    assert {index: texts[-1] for index, texts in ear.heard.items()} == dict(
        enumerate(f"answer {i}" for i in range(3))
    )


@KINDS
def test_ending_a_stream_pays_only_for_what_came(kind: type[HttpModel]) -> None:
    ear = Ear(enough=12)
    with OpenAIServer(lambda body, index: LONG, key=KEY, gap_s=0.02) as server:
        reply = ask(kind, server, ear.permit)
        deadline = time.monotonic() + 60
        while server.charged.output_tokens > 8 and time.monotonic() < deadline:
            time.sleep(0.01)
        charged = server.charged
    (found,) = reply.completions
    assert (found.text, found.finish_reason) == (LONG[:12], "stopped")
    assert 3 <= charged.output_tokens <= 8 < len(LONG) / 4
    assert not reply.usage_known
    assert reply.told.output_tokens <= charged.output_tokens
    assert 0 < reply.usage.output_tokens <= charged.output_tokens + 1
    assert "a stream was ended early: its cost is uncertain" in reply.notes


FAULTS: dict[str, tuple[Fault, bool]] = {
    "busy": (limited({"retry-after": "0.01"}), False),
    "down": (status(500), True),
    "cut off": (cut(3), True),
    "no stream": (raw("{"), True),
}


@pytest.mark.parametrize("fault", FAULTS)
@KINDS
def test_a_fault_starts_the_text_anew(kind: type[HttpModel], fault: str) -> None:
    what, lost = FAULTS[fault]
    ear = Ear()
    with OpenAIServer(lambda body, index: LONG, key=KEY, faults=[what]) as server:
        reply = ask(kind, server, ear.permit)
        assert len(server.requests) == 2
    assert reply.completions[0].text == LONG == ear.heard[0][-1]
    assert ear.failed == [None if lost else Usage()]


@KINDS
def test_a_stream_without_its_end_is_no_completion(kind: type[HttpModel]) -> None:
    with (
        OpenAIServer(lambda body, index: LONG, key=KEY, faults=[Fault(cut=5, half=True)]) as server,
        pytest.raises(ModelError) as caught,
    ):
        ask(kind, server, Ear().permit, retries=0)
    assert "its stream ended before its end" in str(caught.value)


@KINDS
def test_a_slow_stream_ends_at_the_time_out(kind: type[HttpModel]) -> None:
    with (
        OpenAIServer(lambda body, index: LONG, key=KEY, gap_s=0.2) as server,
        pytest.raises(ModelError) as caught,
    ):
        ask(kind, server, Ear().permit, retries=0, timeout_s=0.5)
    assert "no response within 0.5 s" in str(caught.value)


@KINDS
def test_a_secret_is_not_even_begun(kind: type[HttpModel]) -> None:
    ear = Ear()
    with OpenAIServer(lambda body, index: f"the key is {KEY}, is it?", key=KEY) as server:
        reply = ask(kind, server, ear.permit)
    assert reply.completions[0].text == "the key is ***, is it?" == ear.heard[0][-1]
    assert not any(KEY[:4] in text for text in ear.heard[0])


@given(st.text("ab", max_size=12), st.lists(st.text("ab", min_size=1, max_size=5), max_size=3))
def test_what_is_held_back_is_the_longest_beginning_of_a_mark(text: str, marks: list[str]) -> None:
    left = held_back(text, marks)
    assert text.startswith(left)
    rest = text[len(left) :]
    assert not rest or any(mark.startswith(rest) and mark != rest for mark in marks)
    longer = (text[len(text) - size :] for size in range(len(rest) + 1, len(text) + 1))
    assert not any(mark.startswith(end) and mark != end for end in longer for mark in marks)


def test_an_endpoint_that_refuses_to_stream_is_asked_without() -> None:
    ear = Ear()
    refusal = status(400, "stream_options is not supported")
    with OpenAIServer(lambda body, index: LONG, key=KEY, faults=[refusal]) as server:
        reply = ask(OpenAIModel, server, ear.permit)
        assert "stream" not in server.requests[1].body
    assert reply.completions[0].text == LONG and not ear.heard


def test_a_simulator_streams_and_is_charged_for_what_came() -> None:
    def sort(rng: object) -> str:
        return LONG

    async def main(permit: Permit) -> Reply:
        return await SimulatedModel({"sort": sort}).ask(a_request(), 1, permit=permit)

    ear = Ear(enough=12)
    stopped, whole = asyncio.run(main(ear.permit)), asyncio.run(main(Permit()))
    (found,) = stopped.completions
    assert LONG.startswith(found.text) and 12 <= len(found.text) < 20
    assert stopped.usage_known and stopped.usage.output_tokens < whole.usage.output_tokens
    assert stopped.latency_s < whole.latency_s and stopped.first_s is not None
    assert 0 < stopped.first_s < stopped.latency_s


TOKENS = """
prompt think(q: str, most: int) -> str:
    logprobs true
    stop when len(tokens) > most or confidence < 0.01
    "{{ q }}"
scheme once(q: str) -> list[str]:
    Generate() think(q, 3)
    return [t.text for t in tokens]
"""


@pytest.mark.parametrize(
    ("kind", "refuses", "note"),
    [
        (OpenAIModel, (), "a stream was ended early"),
        (OpenAIModel, ("stream",), "does not stream"),
        (GeminiModel, (), "sends tokens after its stream"),
        (ResponsesModel, (), "sends tokens after its stream"),
    ],
)
def test_a_response_ends_by_its_tokens_whenever_they_are_told(
    kind: type[HttpModel], refuses: tuple[str, ...], note: str
) -> None:
    with OpenAIServer(lambda body, index: LONG, key=KEY, refuses=refuses) as server:
        at = Endpoint(server.root + BASES[kind], KEY, names=kind.names)
        model = kind(MODEL, ModelOptions(retries=0), endpoint=at)
        found = compile(TOKENS).run(q="why", options=Options(model=model, cache=None))
    assert "".join(found.value) == LONG[:16] and len(found.value) == 4
    assert note in " ".join(found.to_dict()["notes"])


def test_a_simulator_is_ended_by_its_tokens() -> None:
    told = tuple((one, -5.0 if one == " c" else -0.1, ()) for one in ("a", " b", " c", " d", " e"))
    text = TOKENS.replace(
        "len(tokens) > most or confidence < 0.01", "min([t.logprob for t in tokens]) < -most"
    )
    model = SimulatedModel({"think": lambda rng, q, most: Simulated("a b c d e", -5.4, told)})
    assert compile(text).run(q="why", options=Options(model=model, cache=None)).value == ["a", " b", " c"]
