"""A simulated endpoint with limits and failures: a study's time and requests before it costs anything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from support.gotc import SORT128, document, gotc, vote

from gotlang.api import Options, load
from gotlang.errors import ModelError, UsageError
from gotlang.models.base import DecodingSettings, Message, Reply, Request
from gotlang.models.loops import VirtualTimeLoop
from gotlang.models.simulated import Latency, SimulatedModel, read_settings

REQUEST = Request(
    "simulated", (Message("user", "Sort 3, 1, 2."),), DecodingSettings(0.7, max_tokens=64), prompt="sort"
)
NUMBERS = [7, 3, 1, 9, 2, 5, 8, 0, 4, 6] * 13


def sort(rng: Random) -> str:
    return "[1, 2, 3]"


def dry_run(requests: int, **settings: Any) -> tuple[list[Reply | BaseException], float]:
    """What so many requests at once get on a virtual clock, and the seconds they take."""

    async def main() -> tuple[list[Reply | BaseException], float]:
        given = {"sleep": asyncio.sleep, "retries": 6} | settings
        model = SimulatedModel({"sort": sort}, **given)
        asked = [model.ask(replace(REQUEST, sample=sample), 1) for sample in range(requests)]
        replies = await asyncio.gather(*asked, return_exceptions=True)
        return replies, asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main())


def test_requests_a_minute_are_kept() -> None:
    _, seconds = dry_run(600, rpm=60)
    assert 9 * 60 <= seconds <= 11 * 60


def test_tokens_a_minute_are_kept() -> None:
    replies, free = dry_run(300)
    tokens = sum(r.usage.input_tokens + r.usage.output_tokens for r in replies if isinstance(r, Reply))
    assert free < 10
    _, seconds = dry_run(300, tpm=tokens / 10)
    assert 8.5 * 60 <= seconds <= 12 * 60


def test_failures_are_sent_again_and_counted() -> None:
    replies, seconds = dry_run(400, failure_rate=0.3)
    requests = [reply.requests for reply in replies if isinstance(reply, Reply)]
    assert len(requests) >= 399
    assert 1.25 < sum(requests) / 400 < 1.65
    assert seconds > dry_run(400)[1]


def test_without_retries_a_failure_is_one() -> None:
    replies, _ = dry_run(400, failure_rate=0.3, retries=0)
    failed = [reply for reply in replies if isinstance(reply, ModelError)]
    assert 90 < len(failed) < 150
    assert {error.requests for error in failed} == {1}


def test_latency_is_as_told() -> None:
    replies, seconds = dry_run(3, latency=Latency(100.0, 0.0, 0.0))
    assert [reply.latency_s for reply in replies if isinstance(reply, Reply)] == [100.0] * 3
    assert seconds == 100.0
    assert "latency" not in read_settings("rpm=1")
    assert read_settings("base_s=9")["latency"] == Latency(9.0, 0.008, 0.33, "as given")


def test_a_dry_run_gives_the_same_answers_and_other_times() -> None:
    program = load(SORT128)
    plain = program.run(numbers=NUMBERS).to_dict()
    hard = program.run(numbers=NUMBERS, options=Options(model="simulated:rpm=10,failures=0.2")).to_dict()
    assert hard["result"] == plain["result"]
    assert hard["spent"]["calls"] == plain["spent"]["calls"]
    assert hard["spent"]["requests"] > plain["spent"]["requests"]
    assert hard["wall_s"] > plain["wall_s"] + 60
    again = program.run(numbers=NUMBERS, options=Options(model="simulated:rpm=10,failures=0.2")).to_dict()
    assert again["wall_s"] == hard["wall_s"]


def test_on_a_real_clock_nothing_waits() -> None:
    async def main() -> float:
        model = SimulatedModel({"sort": sort}, rpm=1, failure_rate=0.5, retries=20)
        for sample in range(50):
            await model.ask(replace(REQUEST, sample=sample), 1)
        return model.batch

    assert asyncio.run(asyncio.wait_for(main(), 30)) == 128


def test_all_settings_are_read() -> None:
    text = "rpm=60, tpm=4e4, failures=0.05, n=4, base_s=1, per_token_s=0.5, spread=0"
    assert read_settings(text) == {
        "rpm": 60,
        "tpm": 40000,
        "failure_rate": 0.05,
        "batch": 4,
        "latency": Latency(1, 0.5, 0, "as given"),
    }


@pytest.mark.parametrize(
    "text",
    ["rpm", "rpm=", "rpm=0", "rpm=-1", "rpm=nan", "rpm=inf", "failures=1", "failures=x", "n=1.5", "n=0",
     "x=1", "rpm=1,rpm=2", "rpm=1,,tpm=2", "base_s=-1", "spread=4"],
)  # fmt: skip
def test_what_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_settings(text)
    assert "simulated:" in str(caught.value)


def test_from_the_command_line(tmp_path: Path) -> None:
    vote(tmp_path)
    run = ("run", "vote.got", "--input", "question=why", "--json", "--no-cache", "--no-batching")
    free = document(gotc(*run, "--model", "simulated", cwd=tmp_path))
    for more in (("--model", "simulated:rpm=1"), ("--model", "simulated", "--rpm", "1")):
        held = document(gotc(*run, *more, cwd=tmp_path))
        assert held["wall_s"] > 60 > free["wall_s"]
        assert held["result"] == free["result"]
    refused = gotc(*run, "--model", "simulated:rpm=soon", cwd=tmp_path)
    assert refused.returncode == 2
    assert "requests per minute" in refused.stderr


def test_ordinary_use_is_a_plain_simulated_model(tmp_path: Path) -> None:
    from gotlang.models.base import ModelOptions
    from gotlang.models.registry import open_model

    make: Callable[[str], Any] = lambda spec: open_model(spec, ModelOptions(version="v"))  # noqa: E731
    assert isinstance(make("simulated"), SimulatedModel)
    assert make("simulated:n=1").name == make("simulated").name == "simulated@v"


# ---------------------------------------------------------------- several models


TWO = """\
simulate with "two_sim.py"

param first: str = "small" in ["small", "openai:large"]

prompt guess(question: str) -> int:
    "{{ question }}"

scheme cascade(question: str) -> int:
    one = Generate(model=first) guess(question)
    Generate(model="large") guess(question)
    Map() 10 * one + it

scheme alone(question: str) -> int:
    Generate() guess(question)
"""
TWO_SIM = """\
MODELS = {
    "small": {"input_per_million": 0.1, "output_per_million": 1.0, "base_s": 0.2, "per_token_s": 0.001},
    "large": {"input_per_million": 10.0, "output_per_million": 100.0},
}


def guess(rng, question, model):
    return {"small": "1", "large": "2", "simulated": "3"}[model]
"""


def two(folder: Path) -> tuple[str, ...]:
    (folder / "two_sim.py").write_text(TWO_SIM)
    (folder / "two.got").write_text(TWO)
    return ("run", "two.got", "--input", "question=why", "--json", "--no-cache", "--no-batching")


def test_declared_models_have_names_prices_and_latencies(tmp_path: Path) -> None:
    run = (*two(tmp_path), "--scheme", "alone")
    found = {
        spec: document(gotc(*run, "--model", spec, cwd=tmp_path))
        for spec in ("simulated", "simulated:small", "simulated:large", "simulated:small,rpm=1")
    }
    assert [one["result"] for one in found.values()] == [3, 1, 2, 1]
    tokens = [(one["spent"]["input_tokens"], one["spent"]["output_tokens"]) for one in found.values()]
    for one, (read, written), (per_read, per_written) in zip(
        found.values(), tokens, [(0.5, 1.5), (0.1, 1.0), (10.0, 100.0), (0.1, 1.0)], strict=True
    ):
        assert one["spent"]["usd"] == pytest.approx((read * per_read + written * per_written) / 1e6)
        assert one["simulated"] is True
    assert found["simulated:small"]["wall_s"] < 0.6 < found["simulated:large"]["wall_s"]


def test_a_program_asks_declared_models_by_name(tmp_path: Path) -> None:
    run = (*two(tmp_path), "--scheme", "cascade")
    document_of = lambda *more: document(gotc(*run, *more, cwd=tmp_path))  # noqa: E731
    mixed, large = document_of(), document_of("--set", "first=openai:large")
    assert mixed["result"] == 12 and large["result"] == 22
    assert mixed["spent"]["usd"] < 0.6 * large["spent"]["usd"]
    assert document_of("--model", "simulated:large")["spent"] == mixed["spent"]
    estimate = document(gotc("explain", *run[1:5], *run[-2:], cwd=tmp_path))
    assert estimate["usd"]["expected"] == pytest.approx(mixed["spent"]["usd"])
    recorded = gotc(*run, "--record", "two.jsonl", cwd=tmp_path)
    assert recorded.returncode == 0
    assert document_of("--model", "replay:two.jsonl")["result"] == 12


def test_two_models_draw_separately_and_one_draws_as_it_did(tmp_path: Path) -> None:
    """What else a simulator declares does not change what the undeclared model completes."""
    two(tmp_path)
    (tmp_path / "two_sim.py").write_text(TWO_SIM.replace("return {", "return str(rng.randrange(10**6)); {"))
    run = ("run", "two.got", "--input", "question=why", "--json", "--no-cache", "--scheme", "alone")
    drawn = [
        document(gotc(*run, "--model", spec, cwd=tmp_path))["result"]
        for spec in ("simulated", "simulated:small", "simulated:large")
    ]
    assert len(set(drawn)) == 3
    (tmp_path / "two_sim.py").write_text("def guess(rng, question):\n    return str(rng.randrange(10**6))\n")
    assert document(gotc(*run, cwd=tmp_path))["result"] == drawn[0]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('{"small": {"input_per_million": -1, "output_per_million": 2}}', ">= 0"),
        ('{"small": {"input_per_million": 1}}', "output_per_million"),
        ('{"small": {"input_per_million": 1, "output_per_million": 2, "dear": 3}}', "dear"),
        ('{"a,b": {"input_per_million": 1, "output_per_million": 2}}', "a,b"),
        ('{"simulated": {"input_per_million": 1, "output_per_million": 2}}', "need not be declared"),
        ("dict(small=1)", "MODELS in two_sim.py, line 1"),
    ],
)
def test_what_does_not_declare_models_is_told(tmp_path: Path, table: str, said: str) -> None:
    run = two(tmp_path)
    (tmp_path / "two_sim.py").write_text(f"MODELS = {table}\n" + TWO_SIM[TWO_SIM.index("def") :])
    done = gotc(*run, cwd=tmp_path)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


def test_a_model_that_the_simulator_does_not_declare_is_told(tmp_path: Path) -> None:
    run = two(tmp_path)
    for spec, named in (("simulated:tiny", "simulated:small"), ("simulated:tiny,rpm=5", "simulated:large")):
        done = gotc(*run, "--model", spec, cwd=tmp_path)
        assert done.returncode == 2 and "declares no model `tiny`" in done.stderr and named in done.stderr
    done = gotc(*run, "--scheme", "cascade", "--set", "first=small", cwd=tmp_path)
    assert done.returncode == 0
    vote(tmp_path)
    done = gotc("run", "vote.got", "--input", "question=why", "--model", "simulated:tiny", cwd=tmp_path)
    assert done.returncode == 2 and "MODELS = " in done.stderr


HANDLED = """
scheme handled(question: str) -> int:
    try:
        Generate() answer(question)
    else:
        Pool() 0

scheme nested(question: str) -> int:
    handled(question)
"""


@pytest.mark.parametrize("scheme", ["handled", "nested"])
def test_what_is_not_simulated_ends_the_run_also_where_failures_are_handled(
    tmp_path: Path, scheme: str
) -> None:
    path = vote(tmp_path)
    path.write_text(path.read_text() + HANDLED)
    simulator = "from gotlang.models.simulated import NotSimulated\n\n\ndef answer(rng, question):\n"
    run = ("run", "vote.got", "--scheme", scheme, "--input", "question=why", "--no-cache")
    (tmp_path / "vote_sim.py").write_text(simulator + "    raise ValueError\n")
    assert gotc(*run, cwd=tmp_path).stdout == "0\n"
    (tmp_path / "vote_sim.py").write_text(simulator + "    raise NotSimulated('only who is')\n")
    done = gotc(*run, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "does not simulate this: only who is" in done.stderr and "--model" in done.stderr
