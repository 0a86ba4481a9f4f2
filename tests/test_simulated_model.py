"""The simulated model: answers by the identity of the call, errors in the words of the simulator's file."""

from __future__ import annotations

import asyncio
import importlib.util
import random
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gotlang.errors import ModelError, UsageError
from gotlang.models.base import DecodingSettings, Message, ModelOptions, Reply, Request
from gotlang.models.loops import VirtualTimeLoop
from gotlang.models.simulated import GPT_35_TURBO_LATENCY, Simulated, SimulatedModel, typical


def number(rng: random.Random, highest: int) -> str:
    return str(rng.randrange(highest))


def warmth(rng: random.Random, highest: int, temperature: float | None) -> str:
    return f"{highest} at {temperature}"


def whole(rng: random.Random, highest: int, model: str, messages: tuple[Message, ...]) -> str:
    return f"{model} reads {messages[-1].role}: {messages[-1].content}"


def sure(rng: random.Random, highest: int) -> Simulated:
    return Simulated(f"It is {highest}.", -1.5)


def wordy(rng: random.Random, highest: int) -> str:
    return "one two three " * highest


SIMULATORS = {"number": number, "warmth": warmth, "whole": whole, "sure": sure, "wordy": wordy}


def request(prompt: str = "number", highest: int = 10**9, sample: int = 0, **settings: Any) -> Request:
    return Request(
        "simulated",
        (Message("user", f"{prompt}: a number below {highest}"),),
        DecodingSettings(**({"temperature": 1.0} | settings)),
        sample,
        prompt,
        {"highest": highest},
    )


def ask(asked: Request, n: int = 1, draw: int = 0, model: SimulatedModel | None = None) -> Reply:
    return asyncio.run((model or SimulatedModel(SIMULATORS)).ask(asked, n, draw))


def texts(reply: Reply) -> list[str]:
    return [answer.text for answer in reply.completions]


# ---------------------------------------------------------------- identity


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.integers(0, 3), st.randoms())
def test_answers_depend_on_request_and_draw_only(
    batches: list[int], seed: int, shuffling: random.Random
) -> None:
    """However draws are shared out among requests, and in whatever order they are asked for."""
    whole = texts(ask(request(), sum(batches), model=SimulatedModel(SIMULATORS, seed=seed)))
    starts = [sum(batches[:i]) for i in range(len(batches))]
    order = list(range(len(batches)))
    shuffling.shuffle(order)
    model = SimulatedModel(SIMULATORS, seed=seed)
    pieces = {i: texts(ask(request(), batches[i], starts[i], model)) for i in order}
    assert [text for i in range(len(batches)) for text in pieces[i]] == whole


def test_draws_samples_prompts_and_seeds_all_differ() -> None:
    asked = [request(), request(sample=1), request(highest=10**9 + 1), request(top_p=0.5)]
    answers = [text for one in asked for text in texts(ask(one, 3))]
    answers += texts(ask(request(), 3, model=SimulatedModel(SIMULATORS, seed=1)))
    assert len(set(answers)) == len(answers)


def test_an_answer_is_the_same_in_every_process() -> None:
    """A number written down once: a hash that changes between processes or versions would show here."""
    assert texts(ask(request(), 2)) == ["30500741", "192697471"]


def test_at_temperature_zero_all_draws_are_the_first() -> None:
    assert len(set(texts(ask(request(temperature=0), 5, draw=3)))) == 1
    assert texts(ask(request(temperature=0.0), 1, draw=9)) == texts(ask(request(temperature=0.0), 1))


def test_a_simulator_that_asks_for_the_temperature_gets_it() -> None:
    assert texts(ask(request("warmth", 3, temperature=0.4))) == ["3 at 0.4"]
    assert texts(ask(request("warmth", 3, temperature=None))) == ["3 at None"]


def test_a_simulator_sees_the_model_and_the_whole_text() -> None:
    assert texts(ask(request("whole", 3))) == ["simulated reads user: whole: a number below 3"]


# ---------------------------------------------------------------- what a reply tells


def test_batch_limits_the_answers_of_one_request() -> None:
    assert len(ask(request(), 200).completions) == 128
    one_at_a_time = SimulatedModel(SIMULATORS, batch=1)
    assert one_at_a_time.batch == 1
    assert len(ask(request(), 5, model=one_at_a_time).completions) == 1


def test_long_answers_are_cut_at_max_tokens() -> None:
    answer = ask(request("wordy", 100, max_tokens=7)).completions[0]
    assert (answer.text, answer.finish_reason, answer.output_tokens) == (
        "one two three one two three one",
        "length",
        7,
    )
    assert ask(request("wordy", 1, max_tokens=7)).completions[0].finish_reason == "stop"


def test_stop_ends_an_answer_and_is_not_part_of_it() -> None:
    answer = ask(request("wordy", 1, stop=("three", "two"))).completions[0]
    assert (answer.text, answer.finish_reason) == ("one ", "stop")


def test_confidence_is_given_when_asked_for() -> None:
    asked = request("sure", 7, logprobs=True)
    answer = ask(asked).completions[0]
    assert answer.logprob == -1.5
    assert "".join(token for token, _ in answer.tokens) == answer.text
    assert sum(logprob for _, logprob in answer.tokens) == pytest.approx(-1.5)
    assert ask(request("sure", 7)).completions[0].logprob is None
    cut = ask(replace(asked, settings=replace(asked.settings, max_tokens=2))).completions[0]
    assert cut.logprob == pytest.approx(-1.5 * 2 / answer.output_tokens)


def test_a_simulator_without_confidence_is_noted() -> None:
    reply = ask(request(logprobs=True))
    assert reply.completions[0].logprob is None
    assert "number" in reply.notes[0] and "Simulated(text, logprob)" in reply.notes[0]
    assert ask(request()).notes == ask(request("sure", 7, logprobs=True)).notes == ()


def test_a_prompt_is_paid_once_for_all_its_answers() -> None:
    model = SimulatedModel(SIMULATORS)
    one, ten = ask(request(), 1, model=model), ask(request(), 10, model=model)
    assert one.usage.input_tokens == ten.usage.input_tokens
    assert ten.usage.output_tokens == sum(answer.output_tokens for answer in ten.completions)
    assert model.price is not None and "simulated" in model.price.source
    assert model.price.usd(one.usage) == pytest.approx(
        (one.usage.input_tokens * 0.5 + one.usage.output_tokens * 1.5) / 1e6
    )


def test_options_that_only_an_endpoint_needs_are_read_too(tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    with pytest.raises(UsageError, match="cannot read the price file"):
        SimulatedModel.open("", ModelOptions(prices=prices))
    with pytest.raises(UsageError, match="base URL"):
        SimulatedModel.open("", ModelOptions(base_url="localhost"))
    prices.write_text('{"simulated": {"input_per_million": 7, "output_per_million": 9}}')
    known = SimulatedModel.known_price("", ModelOptions(prices=prices, base_url="http://127.0.0.1:9/v1"))
    assert known is not None and (known.input_per_million, known.output_per_million) == (7, 9)


def test_latency_is_that_of_the_longest_answer() -> None:
    model = SimulatedModel(SIMULATORS)
    singles = [ask(request(), 1, draw, model).latency_s for draw in range(6)]
    assert singles[0] < max(singles) > singles[-1]
    assert ask(request(), 6, model=model).latency_s == max(singles)


def test_latency_is_what_its_source_reports() -> None:
    rng = random.Random(0)
    graph = statistics.fmean(GPT_35_TURBO_LATENCY.seconds(rng, 125) for _ in range(20_000))
    tree = statistics.fmean(GPT_35_TURBO_LATENCY.seconds(rng, 400) for _ in range(20_000))
    assert graph == pytest.approx(259 / 112, rel=0.03)
    assert tree == pytest.approx(452 / 100, rel=0.03)


def test_sleeping_takes_the_latency_on_a_virtual_clock() -> None:
    async def main() -> tuple[float, list[Reply]]:
        model = SimulatedModel(SIMULATORS, sleep=asyncio.sleep)
        replies = await asyncio.gather(*(model.ask(request(sample=i), 3) for i in range(50)))
        await model.close()
        return asyncio.get_running_loop().time(), replies

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        elapsed, replies = runner.run(main())
    assert elapsed == pytest.approx(max(reply.latency_s for reply in replies))


# ---------------------------------------------------------------- failures on purpose


def failures(model: SimulatedModel, asked: Request) -> int:
    """How often a request fails before it succeeds."""
    for attempt in range(100):
        try:
            ask(asked, model=model)
        except ModelError as error:
            assert error.retryable
        else:
            return attempt
    raise AssertionError("never succeeded")


def test_failures_come_at_their_rate_and_by_identity() -> None:
    def counts(order: Callable[[list[int]], Iterator[int]]) -> dict[int, int]:
        model = SimulatedModel(SIMULATORS, failure_rate=0.25)
        return {i: failures(model, request(sample=i)) for i in order(list(range(400)))}

    forwards, backwards = counts(iter), counts(reversed)
    assert forwards == backwards
    assert statistics.fmean(count > 0 for count in forwards.values()) == pytest.approx(0.25, abs=0.07)


def test_a_failure_changes_no_answer() -> None:
    shaky = SimulatedModel(SIMULATORS, failure_rate=0.9)
    failed = failures(shaky, request(sample=3))
    assert failed > 0
    steady = texts(ask(request(sample=3)))
    for _ in range(failed):
        with pytest.raises(ModelError):
            ask(request(sample=3), model=shaky)
    assert texts(ask(request(sample=3), model=shaky)) == steady


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"failure_rate": 1.5}, {"failure_rate": -0.1}])
def test_impossible_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        SimulatedModel(SIMULATORS, **wrong)


# ---------------------------------------------------------------- errors in simulators


FILE = """
from gotlang.models.simulated import NotSimulated


def breaks(rng, highest):
    # a comment, so that the line is known
    return _helper(highest)


def _helper(highest):
    return {}[highest]


def forgets(rng):
    return "1"


def counts(rng, highest):
    return highest


def silent(rng, highest):
    raise ValueError


def muddles(rng, highest):
    return highest + "x"


def leaves(rng, highest):
    raise SystemExit("bye")


def knows_less(rng, highest):
    raise NotSimulated("only numbers below 5 are")
"""


@pytest.fixture
def simulators(tmp_path: Path) -> ModuleType:
    path = tmp_path / "my_sim.py"
    path.write_text(FILE)
    spec = importlib.util.spec_from_file_location("my_sim", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def complaint(name: str, simulators: dict[str, Any]) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(request(name, 7), model=SimulatedModel(simulators))
    assert not caught.value.retryable
    return caught.value


def test_an_exception_is_told_with_its_line(simulators: ModuleType) -> None:
    error = complaint("breaks", vars(simulators))
    assert error.message == "the simulator breaks (my_sim.py, line 11) raised KeyError: 7"
    silent = complaint("silent", vars(simulators))
    assert silent.message == "the simulator silent (my_sim.py, line 23) raised ValueError"
    leaves = complaint("leaves", vars(simulators))
    assert leaves.message == "the simulator leaves (my_sim.py, line 31) raised SystemExit: bye"


def test_wrong_parameters_are_told_apart_from_mistakes_inside(simulators: ModuleType) -> None:
    error = complaint("forgets", vars(simulators))
    assert error.message.startswith("the simulator forgets (my_sim.py, line 14) does not accept")
    assert "(rng, highest)" in error.message
    inside = complaint("muddles", vars(simulators))
    assert inside.message.startswith("the simulator muddles (my_sim.py, line 27) raised TypeError")


def test_a_simulator_says_what_it_does_not_simulate(simulators: ModuleType) -> None:
    error = complaint("knows_less", vars(simulators))
    assert error.message == (
        "the simulator knows_less (my_sim.py, line 34) does not simulate this: only numbers below 5 are"
    )
    assert error.help == "choose a real model with --model"


def test_what_is_not_text_is_refused(simulators: ModuleType) -> None:
    error = complaint("counts", vars(simulators))
    assert error.message == "the simulator counts (my_sim.py, line 18) returned int, not text"


def test_a_prompt_without_a_simulator_says_what_to_write() -> None:
    error = complaint("sort", {})
    assert error.message == "no simulator for the prompt sort"
    assert error.help is not None and "`def sort(rng, highest):`" in error.help


def test_a_simulator_need_not_be_a_function_of_a_file() -> None:
    assert complaint("sort", {"sort": int}).message.startswith("the simulator int")


def test_below_the_usual_temperature_answers_are_more_often_the_typical_one() -> None:
    def shares(temperature: float | None, **more: float) -> float:
        drawn = [typical(random.Random(i), temperature, "why", **more).random() for i in range(2000)]
        return max(drawn.count(one) for one in set(drawn)) / len(drawn)

    assert shares(None) == shares(1.0) == shares(1.5) == 1 / 2000
    assert 0.45 < shares(0.5) < 0.55 and 0.7 < shares(0.2, usual=0.8) < 0.8
    assert shares(0) == 1
    assert typical(random.Random(1), 0, "why").random() != typical(random.Random(1), 0, "who").random()
    assert typical(random.Random(1), 1.0, "why").random() == random.Random(1).random()
