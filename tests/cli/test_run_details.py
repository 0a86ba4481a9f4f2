"""`gotc run`: where values come from, what is shown, what is kept, what happens is traced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Gotc
from support.gotc import SORTING, document
from support.gotc import gotc as process
from support.openai_server import OpenAIServer
from support.terminal import on_terminal

RUN = ("run", "vote.got")
WHY = ("--input", "question=why")


def test_inputs_come_from_data_under_a_file_under_options(gotc: Gotc, folder: Path) -> None:
    (folder / "a.csv").write_text("question,truth\none,4\nlonger,\n")
    (folder / "a.json").write_text('{"question": "seven77"}')

    def result(*options: str) -> Any:
        found = gotc(*RUN, *options, "--json", "--no-cache").json()
        return found["result"], found["ground_truth"]

    assert result("--data", "a.csv") == (3, False)
    assert result("--data", "a.csv", "--input", "truth=3") == (3, True)
    assert result("--data", "a.csv", "--row", "0", "--inputs", "a.json") == (7, False)
    assert result("--inputs", "a.json", "--input", "question=12") == (3, None)
    assert result("--data", "a.csv", "--map", "question=question", "--input", "question=12")[0] == 3


def test_the_only_column_that_fits_is_taken_and_said(gotc: Gotc, folder: Path) -> None:
    (folder / "b.csv").write_text("ID,words,expected\n1,one,3\n")
    done = gotc(*RUN, "--data", "b.csv", "--json", "--no-cache")
    assert (done.json()["result"], done.json()["ground_truth"]) == (3, True)
    assert "inferred columns: question ← words, truth ← expected" in done.err


def test_inputs_from_standard_input(tmp_path: Path, folder: Path) -> None:
    found = document(process(*RUN, "--inputs", "-", "--json", cwd=folder, stdin='{"question": "1234"}'))
    assert found["result"] == 4


def test_each_scheme_of_a_file(gotc: Gotc) -> None:
    numbers = ("--input", "numbers=[3, 1, 2, 2]", "--json")
    for scheme, calls in (("io", 1), ("cot", 1), ("tot", 40)):
        found = gotc("run", SORTING, "--scheme", scheme, *numbers, "-O", "1").json()
        assert (found["scheme"], found["ledger"]["none"]["calls"]) == (scheme, calls)


def test_without_fusion_each_answer_is_a_request(gotc: Gotc) -> None:
    batched, single, plain = (
        gotc(*RUN, *WHY, "--json", "--no-cache", *more).json()["spent"]
        for more in ((), ("--no-batching",), ("-O0",))
    )
    assert (batched["requests"], single["requests"], plain["requests"]) == (1, 3, 3)
    assert single["calls"] == plain["calls"] == batched["calls"] == 3
    assert single["input_tokens"] == 3 * batched["input_tokens"]


def test_the_result_does_not_depend_on_schedule_or_concurrency(gotc: Gotc) -> None:
    numbers = ("--input", f"numbers={[n * 7 % 10 for n in range(64)]}", "--json", "--no-cache")
    found = [
        gotc("run", SORTING, "--scheme", "got", *numbers, *more).json()
        for more in ((), ("--schedule", "depth-first"), ("--schedule", "best-first", "--concurrency", "1"))
    ]
    assert found[0]["result"] == found[1]["result"] == found[2]["result"]
    assert found[0]["ledger"]["none"]["calls"] == found[2]["ledger"]["none"]["calls"]


def test_a_limit_for_one_model(gotc: Gotc) -> None:
    assert gotc(*RUN, *WHY, "--no-cache", "--model-concurrency", "simulated=1").code == 0
    for wrong, word in (("nobody=1", "does not use the model `nobody`"), ("simulated=0", "at least 1")):
        found = gotc(*RUN, *WHY, "--no-cache", "--model-concurrency", wrong)
        assert found.code == 2 and word in found.err


def test_no_cache_leaves_none(gotc: Gotc, folder: Path) -> None:
    assert gotc(*RUN, *WHY, "--no-cache").code == 0
    assert not (folder / ".gotc" / "cache.sqlite").exists()
    assert gotc(*RUN, *WHY, "--cache", "own/answers.sqlite").code == 0
    assert (folder / "own" / "answers.sqlite").exists()
    assert gotc(*RUN, *WHY, "--cache", "own/answers.sqlite", "--json").json()["spent"]["calls"] == 0


def test_simulators_that_changed_are_asked_again(gotc: Gotc, folder: Path) -> None:
    assert gotc(*RUN, *WHY, "--json").json()["result"] == 3
    (folder / "vote_sim.py").write_text("def answer(rng, question):\n    return '42'\n")
    found = gotc(*RUN, *WHY, "--json").json()
    assert (found["result"], found["spent"]["calls"]) == (42, 3)


def test_it_says_that_nothing_real_was_asked(gotc: Gotc) -> None:
    done = gotc(*RUN, *WHY)
    assert "no model is configured: responses are simulated" in done.err.splitlines()[0]
    assert "no real model was called" in done.err
    named = gotc(*RUN, *WHY, "--model", "simulated")
    assert "no model is configured" not in named.err
    assert "no real model was called" in named.err


def test_failures_are_grouped_by_reason_with_their_place(gotc: Gotc, folder: Path) -> None:
    (folder / "vote_sim.py").write_text(
        "def answer(rng, question):\n    return rng.choice(['7', 'none', 'none'])\n"
    )
    done = gotc(*RUN, *WHY, "--set", "tries=9")
    assert done.code == 0
    assert done.err.count("vote.got:11") == 1
    assert " x " in done.err
    (folder / "vote_sim.py").write_text("def answer(rng, question):\n    return 'none'\n")
    done = gotc(*RUN, *WHY, "--set", "tries=9", "--json")
    assert done.code == 1
    assert done.err.count("no number found") == 1  # in the error, not among other reasons
    assert "vote.got:11:5\n" in done.err
    assert len([f for f in done.json()["error"]["failed"] if f["sample"] is not None]) == 9


def test_an_answer_steers_no_terminal(gotc: Gotc, folder: Path) -> None:
    (folder / "vote_sim.py").write_text("def answer(rng, question):\n    return 'gone\\x1b[2J\\x9b2J\\r'\n")
    (folder / "vote.got").write_text((folder / "vote.got").read_text().replace("int", "str"))
    assert on_terminal(*RUN, *WHY, cwd=folder) == "gone\\x1b[2J\\x9b2J\n"
    assert gotc(*RUN, *WHY).out == "gone\x1b[2J\x9b2J\n"  # as it came where no terminal is


def test_a_terminal_gets_a_line_that_renews_itself_and_colors(folder: Path) -> None:
    (folder / "vote_sim.py").write_text(
        "import time\ndef answer(rng, question):\n    time.sleep(0.4)\n    return '1'\n"
    )
    shown = on_terminal(*RUN, *WHY, cwd=folder, stream="stderr", COLUMNS="200", NO_COLOR="")
    assert "running" in shown and "\x1b[" in shown


def test_the_trace_has_the_names_of_opentelemetry_and_no_content(gotc: Gotc, folder: Path) -> None:
    secret = "nobody-may-read-this"
    assert gotc(*RUN, "--input", f"question={secret}", "--trace", "trace.jsonl").code == 0
    text = (folder / "trace.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert secret not in text
    (chat,) = [line["attributes"] for line in lines if line["name"].startswith("chat ")]
    assert chat["gen_ai.operation.name"] == "chat"
    assert chat["gen_ai.provider.name"] == "simulated"
    assert chat["gen_ai.request.model"].startswith("simulated")
    assert chat["gen_ai.request.temperature"] == 0.8
    assert chat["gen_ai.request.max_tokens"] == 20
    assert chat["gen_ai.request.choice.count"] == 3
    assert chat["gen_ai.usage.input_tokens"] > 0
    assert chat["gotlang.sample.sources"] == ["model"] * 3
    assert {line["name"] for line in lines} >= {"graph", "operation.start", "operation.end"}
    assert gotc("cache", "show", chat["gotlang.request.key"][:10]).code == 0


def test_tokens_of_a_trace_add_up_to_what_was_paid(gotc: Gotc, folder: Path) -> None:
    numbers = ("--input", f"numbers={[n * 7 % 10 for n in range(64)]}")
    for paid_again in (False, True):
        found = gotc("run", SORTING, "--scheme", "got", *numbers, "--trace", "t.jsonl", "--json").json()
        lines = [json.loads(line)["attributes"] for line in (folder / "t.jsonl").read_text().splitlines()]
        for name in ("input_tokens", "output_tokens"):
            assert sum(line.get(f"gen_ai.usage.{name}", 0) for line in lines) == found["spent"][name]
        assert (found["spent"]["calls"] == 0) is paid_again


def test_no_secret_is_kept_or_shown(folder: Path) -> None:
    key, token = "sk-live-0123456789abcdef", "also-secret"
    with OpenAIServer(lambda body, index: "1") as server:
        command = (*RUN, *WHY, "--model", "openai:m", "--trace", "trace.jsonl")
        shown = [
            process(*command, "--base-url", server.url, cwd=folder, OPENAI_API_KEY=key),
            process(*command, "--base-url", f"{server.url}?token={token}", cwd=folder, OPENAI_API_KEY=key),
            process("runs", "--json", cwd=folder),
        ]
    assert len(json.loads(shown[-1].stdout)["runs"]) == 2
    texts = [path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()]
    texts += [text for one in shown for text in (one.stdout, one.stderr)]
    assert not [text for text in texts if key in text or token in text]


@pytest.mark.parametrize("command", ["run", "eval", "explain"])
def test_what_python_prints_is_not_in_the_result(gotc: Gotc, folder: Path, command: str) -> None:
    (folder / "loud.py").write_text(
        "print('loaded')\ndef say(rng, n):\n    print('called')\n    return '6'\n"
    )
    (folder / "loud.got").write_text(
        'simulate with "loud.py"\n\nprompt say(n: int) -> int:\n    """Twice {n}?"""\n\n'
        "scheme s(n: int) -> int:\n    Generate() say(n)\n"
    )
    (folder / "loud.csv").write_text("n,truth\n3,6\n")
    given = ("--data", "loud.csv") if command == "eval" else ("--input", "n=3")
    done = gotc(command, "loud.got", *given, "--allow-python", "--json")
    assert done.json()
    assert {"loaded", "called"} <= set(done.err.splitlines())
