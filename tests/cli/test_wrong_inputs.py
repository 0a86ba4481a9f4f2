"""What users get wrong: one clear message each, the documented exit code, never a traceback."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.gotc import VOTE, digits, gotc, vote
from support.openai_server import OpenAIServer

KEY = "sk-this-is-a-secret-key"


def check_message(done: object, code: int, *words: str) -> None:
    out, err = done.stdout, done.stderr  # type: ignore[attr-defined]
    assert done.returncode == code, err  # type: ignore[attr-defined]
    assert "Traceback" not in out + err
    assert "bug" not in err
    assert err.count("error") >= 1
    for word in words:
        assert word in err, err
    assert len(err.splitlines()) <= 18, err


SORT = """\
simulate with "sort_sim.py"
prompt sort(numbers: list[int]) -> list[int]:
    "Sort {{ numbers }}"
scheme sort_list(numbers: list[int]) -> list[int]:
    Generate() sort(numbers)
"""
QUESTION = ("--input", "question=why")

Make = Callable[[Path], Sequence[object]]


def write(name: str, text: str, *options: object) -> Make:
    def make(folder: Path) -> Sequence[object]:
        (folder / name).write_text(text)
        return ["run", name, *options]

    return make


def options(*given: object) -> Make:
    """The small program with these options."""
    return lambda folder: ["run", "vote.got", *given]


def with_data(*given: object) -> Make:
    """A program that takes a list, with these options and a csv of lists."""

    def make(folder: Path) -> Sequence[object]:
        (folder / "sort.got").write_text(SORT)
        (folder / "sort_sim.py").write_text("def sort(rng, numbers):\n    return str(sorted(numbers))\n")
        digits(folder, rows=2, length=4)
        (folder / "texts.csv").write_text("numbers,question\nnot a list,why\n")
        (folder / "two.csv").write_text('left,right\n"[1, 2]","[3, 4]"\n')
        return ["run", "sort.got", *given]

    return make


def unwritable_cache(folder: Path) -> Sequence[object]:
    (folder / "file").write_text("")
    return ["run", "vote.got", *QUESTION, "--cache", "file/cache.sqlite"]


def corrupt_cache(folder: Path) -> Sequence[object]:
    (folder / "cache.sqlite").write_bytes(b"this is no database" * 100)
    return ["run", "vote.got", *QUESTION, "--cache", "cache.sqlite"]


def broken_json(folder: Path) -> Sequence[object]:
    (folder / "in.json").write_text('{"question": ')
    return ["run", "vote.got", "--inputs", "in.json"]


def json_list(folder: Path) -> Sequence[object]:
    (folder / "in.json").write_text('["why"]')
    return ["run", "vote.got", "--inputs", "in.json"]


def bad_simulator(folder: Path) -> Sequence[object]:
    (folder / "vote_sim.py").write_text("def answer(rng, question):\n    return 1 / 0\n")
    return ["run", "vote.got", *QUESTION]


def config(text: str) -> Make:
    def make(folder: Path) -> Sequence[object]:
        (folder / "gotc.toml").write_text(text)
        return ["run", "vote.got", *QUESTION]

    return make


WRONG: dict[str, tuple[Make, int, tuple[str, ...]]] = {
    "syntax": (write("a.got", "scheme s(x: str) -> str\n", "--input", "x=1"), 2, ("a.got:1", "GOT0001", "^")),
    "unknown name": (
        write("a.got", VOTE.replace("answer(question)", "anser(question)")),
        2,
        ("did you mean `answer`",),
    ),
    "wrong type": (
        write("a.got", VOTE.replace("k=tries", 'k="three"'), *QUESTION),
        2,
        ("`k` must be int", "a.got:11"),
    ),
    "missing file": (lambda folder: ["run", "vot.got"], 2, ("there is no file vot.got", "vote.got")),
    "folder for a file": (lambda folder: ["run", "."], 2, ("cannot read",)),
    "not text": (
        lambda folder: [(folder / "a.got").write_bytes(b"\xff\xfe\x00") and "run", "a.got"],
        2,
        ("UTF-8",),
    ),
    "input not text": (
        options("--input", "question=\udcff"),
        2,
        ("--input question: the text is not UTF-8",),
    ),
    "no scheme at all": (write("a.got", "# nothing\n"), 2, ("`a` has no scheme", "declare one")),
    "option of a file": (
        config('[run]\nmax-usd = "lots"\n'),
        2,
        ("'--max-usd': `lots`", "it is set in gotc.toml"),
    ),
    "no scheme of this name": (options(*QUESTION, "--scheme", "vot"), 2, ("no scheme `vot`", "vote")),
    "missing column": (
        with_data("--data", "digits.csv", "--map", "numbers=Unsort"),
        2,
        ("no column `Unsort`", "Unsorted"),
    ),
    "two columns that fit": (with_data("--data", "two.csv"), 2, ("--map numbers=left", "left, right")),
    "not a list": (with_data("--data", "texts.csv"), 2, ("expected int", "texts.csv", "row 0")),
    "row out of range": (
        with_data("--data", "digits.csv", "--row", "2", "--map", "numbers=Unsorted"),
        2,
        ("no row 2", "2 rows"),
    ),
    "missing data file": (with_data("--data", "digit.csv"), 2, ("no file digit.csv", "digits.csv")),
    "no data file": (with_data("--data", "sort.got"), 2, (".csv",)),
    "map of no input": (
        with_data("--data", "digits.csv", "--map", "number=Unsorted"),
        2,
        ("no input `number`", "numbers"),
    ),
    "map without data": (options(*QUESTION, "--map", "question=Q"), 2, ("--data",)),
    "inputs broken": (broken_json, 2, ("in.json is not JSON",)),
    "inputs no object": (json_list, 2, ("not a JSON object",)),
    "inputs missing": (options("--inputs", "no.json"), 2, ("there is no file no.json",)),
    "input missing": (options(), 2, ("needs `question`", "--input question=", "--data")),
    "row without data": (options(*QUESTION, "--row", "1"), 2, ("`--row`", "--data")),
    "input unknown": (options("--input", "qestion=why"), 2, ("no such input", "did you mean `question`")),
    "input no pair": (options("--input", "question"), 2, ("NAME=VALUE",)),
    "input twice": (options("--input", "question=a", "--input", "question=b"), 2, ("duplicate",)),
    "input of a wrong type": (with_data("--input", "numbers=one"), 2, ("--input numbers", "expected int")),
    "input half a list": (
        with_data("--input", "numbers=[1, 2"),
        2,
        ("expected list[int]", "JSON, such as `[1"),
    ),
    "no number": (options(*QUESTION, "--max-calls", "many"), 2, ("'many' is not a whole number", "--help")),
    "one scheme to compare": (
        lambda folder: ["compare", "vote.got", "--data", digits(folder, rows=1)],
        2,
        ("two schemes", "--schemes vote,single"),
    ),
    "option missing": (lambda folder: ["eval", "vote.got"], 2, ("error: missing option '--data'", "--help")),
    "set unknown": (options(*QUESTION, "--set", "tris=2"), 2, ("no param `tris`", "did you mean `tries`")),
    "set out of range": (options(*QUESTION, "--set", "tries=10"), 2, ("outside 1..9",)),
    "set of a wrong type": (options(*QUESTION, "--set", "tries=many"), 2, ("--set tries", "int")),
    "unknown model": (
        options(*QUESTION, "--model", "acme:large"),
        2,
        ("unknown model provider `acme`", "simulated"),
    ),
    "model without a key": (
        options(*QUESTION, "--model", "openai:gpt-4o-mini"),
        2,
        ("OPENAI_API_KEY is not set",),
    ),
    "base url that is none": (
        options(*QUESTION, "--model", "openai:m", "--base-url", "localhost"),
        2,
        ("http://",),
    ),
    "budget not a number": (options(*QUESTION, "--max-usd", "nan"), 2, ("not an amount of US dollars",)),
    "limit below nothing": (options(*QUESTION, "--max-usd", "-1"), 2, ("not an amount of US dollars",)),
    "a limit for a budget": (
        options(*QUESTION, "--budget", "0.5"),
        2,
        ("not the name of a budget", "--max-usd"),
    ),
    "a budget without a limit": (options(*QUESTION, "--budget", "team"), 2, ("no budget `team", "--max-usd")),
    "a budget without a cache": (
        options(*QUESTION, "--budget", "team", "--max-usd", "1", "--no-cache"),
        2,
        ("stored with the cache", "--no-cache"),
    ),
    "concurrency of none": (options(*QUESTION, "--concurrency", "0"), 2, ("whole number of at least 1",)),
    "unknown option": (options(*QUESTION, "--max-cals", "3"), 2, ("--max-cals",)),
    "unknown command": (lambda folder: ["chekc", "vote.got"], 2, ("did you mean `check`",)),
    "no file named": (lambda folder: ["run"], 2, ("FILE",)),
    "resume of no run": (lambda folder: ["run", "--resume", "abc"], 2, ("no runs in",)),
    "unwritable cache": (unwritable_cache, 2, ("cache", "--cache")),
    "corrupt cache": (corrupt_cache, 2, ("not a SQLite database", "--cache")),
    "unwritable trace": (
        options(*QUESTION, "--trace", "vote.got/t.jsonl"),
        2,
        ("--trace", "is not a folder"),
    ),
    "missing prices": (
        options(*QUESTION, "--model", "openai:m", "--base-url", "http://127.0.0.1:9", "--prices", "no.json"),
        2,
        ("cannot read the price file",),
    ),
    "no python": (options(*QUESTION, "--no-python"), 2, ("--no-python",)),
    "simulator that fails": (bad_simulator, 1, ("ZeroDivisionError", "vote_sim.py")),
    "option that is none in a file": (
        config("[run]\nmax-us = 1\n"),
        2,
        ("gotc.toml", "did you mean `max-usd`"),
    ),
    "file that does not parse": (config("[run\n"), 2, ("gotc.toml does not parse",)),
    "no simulators": (write("a.got", VOTE.partition("\n")[2], *QUESTION), 2, ("--model openai:NAME",)),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_a_wrong_input_gives_one_message(case: str, tmp_path: Path) -> None:
    vote(tmp_path)
    make, code, words = WRONG[case]
    check_message(gotc(*make(tmp_path), cwd=tmp_path), code, *words)


def test_a_refused_connection(tmp_path: Path) -> None:
    vote(tmp_path)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    url = f"http://127.0.0.1:{port}/v1"
    done = gotc(
        "run", "vote.got", *QUESTION, "--model", "openai:m", "--base-url", url, "--no-retry", cwd=tmp_path
    )
    check_message(done, 1, url)


def test_a_wrong_key_is_not_repeated_anywhere(tmp_path: Path) -> None:
    vote(tmp_path)
    with OpenAIServer(key="another") as server:
        done = gotc(
            *("run", "vote.got", *QUESTION, "--model", "openai:m", "--json", "--trace", "trace.jsonl"),
            cwd=tmp_path,
            OPENAI_API_KEY=KEY,
            OPENAI_BASE_URL=server.url,
        )
    check_message(done, 1, "OPENAI_API_KEY")
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert all(KEY.encode() not in content for content in (*kept, done.stdout.encode(), done.stderr.encode()))


def test_a_model_that_the_endpoint_does_not_know(tmp_path: Path) -> None:
    vote(tmp_path)
    with OpenAIServer(models=["small"]) as server:
        command = ("run", "vote.got", *QUESTION, "--model", "openai:large", "--base-url", server.url)
        check_message(gotc(*command, cwd=tmp_path), 1, "large", "does not exist")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is unwritable for root")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    vote(tmp_path)
    tmp_path.chmod(0o500)
    check_message(gotc("run", "vote.got", *QUESTION, cwd=tmp_path), 2, ".gotc")


def test_a_limit_in_dollars_needs_a_known_price(tmp_path: Path) -> None:
    vote(tmp_path)
    with OpenAIServer() as server:
        command = (
            "run",
            "vote.got",
            *QUESTION,
            "--model",
            "openai:mine",
            "--base-url",
            server.url,
            "--max-usd",
            "1",
        )
        check_message(gotc(*command, cwd=tmp_path), 2, "--prices", "--max-calls")
    assert server.requests == []


def test_an_error_is_a_document_too_where_json_is_asked_for(tmp_path: Path) -> None:
    import json

    vote(tmp_path)
    done = gotc("run", "vote.got", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["error"]["exit_code"] == done.returncode == 2
    (tmp_path / "a.got").write_text("scheme")
    found = json.loads(gotc("run", "a.got", "--json", cwd=tmp_path).stdout)["error"]
    assert found["diagnostics"][0]["file"] == "a.got"
