"""The graph of a run in a file while it runs: watching it, and the graph of a killed run."""

from __future__ import annotations

import json
import time
from pathlib import Path

from support import slow
from support.gotc import gotc, start
from support.openai_server import OpenAIServer

from gotlang.report.history import History, LiveGraphReader


def test_a_run_that_is_killed_leaves_its_graph_as_far_as_it_got(tmp_path: Path) -> None:
    slow.write(tmp_path)
    process = start("run", "slow.got", "--input", "count=40", cwd=tmp_path, GOTC_ALLOW_PYTHON="1")
    history, until = History(tmp_path / ".gotc" / "runs"), time.monotonic() + 60
    seen: list[int] = []
    while time.monotonic() < until and len(seen) < 3:
        runs = history.runs()
        done = sum(line["state"] == "done" for line in history.graph(runs[0].run)) if runs else 0
        if done and done not in seen:
            seen.append(done)
        time.sleep(0.05)
    process.kill()
    process.communicate()
    assert seen == sorted(seen) and len(seen) == 3, seen
    lines = list(history.graph(runs[0].run))
    assert any(line["state"] != "done" for line in lines)
    shown = gotc("show", "last", cwd=tmp_path)
    assert shown.returncode == 0 and "Generate guess" in shown.stdout and "killed" in shown.stdout
    assert gotc("graph", "last", "--out", "x.html", cwd=tmp_path).returncode == 0
    assert (tmp_path / "x.html").is_file()


def test_the_file_goes_with_the_end_of_the_run_and_the_graph_is_whole(tmp_path: Path) -> None:
    slow.write(tmp_path)
    done = gotc("run", "slow.got", "--input", "count=5", cwd=tmp_path, GOTC_ALLOW_PYTHON="1", PAUSE="0")
    assert (done.returncode, done.stdout) == (0, "15\n")
    runs = tmp_path / ".gotc" / "runs"
    assert not list(runs.glob("*.live.jsonl"))
    (graph,) = runs.glob("*.graph.jsonl")
    asked = [line for line in map(json.loads, graph.read_text().splitlines()) if "asked" in line]
    assert len(asked) == 9
    for line in asked:
        assert 0 <= line["began"] < line["ended"]


def test_a_line_that_is_not_whole_yet_waits_and_a_later_one_replaces_an_earlier(tmp_path: Path) -> None:
    def line(number: int, state: str) -> str:
        about = {"path": f"x/{number}", "kind": "Generate", "inputs": [], "origin": None, "hops": 0}
        return json.dumps({"operation": number, "state": state, "thoughts": [], **about}) + "\n"

    path = tmp_path / "x.live.jsonl"
    following = LiveGraphReader(path)
    assert following.more().operations == []
    path.write_text(line(0, "running") + line(1, "waiting")[:30])
    assert [one["state"] for one in following.more().operations] == ["running"]
    with path.open("a") as file:
        file.write(line(1, "waiting")[30:] + "no JSON\n" + line(0, "done"))
    assert [one["state"] for one in following.more().operations] == ["done", "waiting"]


def test_responses_that_stream_are_in_the_file_as_they_grow(tmp_path: Path) -> None:
    (tmp_path / "say.got").write_text(
        'prompt tell(about: str) -> str:\n    "Tell of {{ about }}."\n\n'
        "scheme say(about: str) -> str:\n    Generate() tell(about)\n"
    )
    words = " ".join(f"word{number}" for number in range(30))
    with OpenAIServer(lambda body, index: words, gap_s=0.05) as server:
        model = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-x", "OPENAI_MODEL": "small"}
        command = ("run", "say.got", "--input", "about=x", "--as", "s", "--stream", "--quiet")
        process = start(*command, cwd=tmp_path, **model)
        following = LiveGraphReader(tmp_path / ".gotc" / "runs" / "s.live.jsonl")
        seen: list[str] = []
        while process.poll() is None:
            seen += [text for texts in following.more().streams.values() for text in texts.values()]
            time.sleep(0.05)
        out, errors = process.communicate()
    assert (process.returncode, out.strip()) == (0, words)
    assert "word" not in errors  # `--quiet` prints no stream
    assert len(set(seen)) > 3 and all(words.startswith(text) for text in seen)


def test_a_response_that_begins_anew_replaces_what_was_there_and_the_end_takes_it_away(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x.live.jsonl"
    following = LiveGraphReader(path)
    path.write_text(
        '{"streamed":[0,7,0,"ab"]}\n{"streamed":[0,7,2,"c"]}\n{"streamed":[1,0,0,"x"]}\n{"streamed":[1]}\n'
    )
    assert following.more().streams == {0: {7: "abc"}, 1: {0: "x"}}
    about = {"path": "x/0", "kind": "Generate", "inputs": [], "origin": None, "hops": 0, "thoughts": []}
    with path.open("a") as file:
        file.write(
            '{"streamed":[0,7,0,"z"]}\n' + json.dumps({"operation": 1, "state": "done", **about}) + "\n"
        )
    assert following.more().streams == {0: {7: "z"}}
