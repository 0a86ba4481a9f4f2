"""`Ask` as a person meets it: `gotc run` at a terminal, a real one that the process believes in."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.openai_server import OpenAIServer
from support.terminal import Terminal

PROGRAM = """\
simulate with "sim.py"

prompt choose(titles: list[str]) -> int:
    "Which one?{% for title in titles %} {{ loop.index }}. {{ title }}{% endfor %}"

scheme main(titles: list[str]) -> str:
    number = Ask() choose(titles)
    why = Ask("Why this one?")
    Pool() titles[number - 1] + ": " + why
"""


def at_terminal(folder: Path, *arguments: str) -> Terminal:
    (folder / "main.got").write_text(PROGRAM)
    (folder / "sim.py").write_text("def nobody(rng):\n    return ''\n")
    return Terminal(folder, "run", "main.got", "--allow-python", *arguments)


TITLES = ("--input", 'titles=["Short \\u001b[31mwalks", "Long walks"]')


def test_a_person_answers_one_question_after_the_other_and_again_where_an_answer_cannot_be_read(
    tmp_path: Path,
) -> None:
    at = at_terminal(tmp_path, *TITLES)
    for question, answer in (
        ("Which one? 1. Short ", "the second"),  # no number: it is asked again, after the others
        ("Why this one?", "the view"),
        ("Which one? 1. Short ", "2"),
    ):
        at.until(question)
        at.until("> ")
        at.type(answer + "\n")
    at.until("Long walks: the view")
    assert at.end()[0] == 0
    again = at_terminal(tmp_path, *TITLES)  # the cache has both answers
    again.until("Long walks: the view")
    assert again.end()[0] == 0


def test_nothing_writes_over_a_question(tmp_path: Path) -> None:
    at = at_terminal(tmp_path, *TITLES)
    at.until("Which one? 1. Short ")
    at.until("> ")
    time.sleep(1)  # the lines of progress are redrawn 8 times a second, but for now
    at.type("1\n")
    at.until("Why this one?")
    shown = at.passed.rpartition("> ")[2]
    assert shown.partition("1\r\n")[0] == "", shown
    assert "\x1b[31m" not in at.passed
    at.until("> ")
    at.type("short\n")
    assert at.end()[0] == 0


@pytest.mark.parametrize("key", ["\x04", "\n"], ids=["end of input", "an empty line"])
def test_who_leaves_a_question_can_answer_it_in_the_next_run(tmp_path: Path, key: str) -> None:
    at = at_terminal(tmp_path, *TITLES)
    for keys in ("2\n", key):
        at.until("> ")
        at.type(keys)
    at.until("1 question to a person without an answer")
    assert at.end()[0] == 8
    again = at_terminal(tmp_path, *TITLES)
    again.until("Why this one?")
    assert "Which one?" not in again.passed
    again.until("> ")
    again.type("shade\n")
    again.until("Long walks: shade")
    assert again.end()[0] == 0


def test_ctrl_c_twice_at_a_question_ends_the_run(tmp_path: Path) -> None:
    at = at_terminal(tmp_path, *TITLES)
    at.until("> ")
    at.process.send_signal(signal.SIGINT)
    at.until("Ctrl-C again stops immediately")
    at.process.send_signal(signal.SIGINT)
    at.until("interrupted")
    assert at.end()[0] == 130


AGENT = """\
import python "tools.py": write -> str

prompt work(task: str) -> str:
    tools allowed, write
    turns 6
    "{{ task }}"

scheme allowed(file: str) -> str:
    Ask("May it write " + file + "?")

scheme main(task: str) -> str:
    Generate() work(task)
"""
TOOLS = """\
import time
from pathlib import Path


def write(file: str) -> str:
    with Path("written").open("a") as written:
        written.write(file + "\\n")
    while Path("slow").exists():
        time.sleep(0.01)
    return "done"
"""
CALLS = [("allowed", "a.txt"), ("write", "a.txt"), ("allowed", "b.txt"), ("write", "b.txt")]


def test_an_agent_that_is_killed_at_each_of_its_steps_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    """kill -9 while a person is asked, while a tool runs, and while a response is under way."""

    def answer(body: dict[str, Any], index: int) -> Any:
        turn = sum(message["role"] == "tool" for message in body["messages"])
        if turn == len(CALLS):
            return body["messages"][-3]["content"] + ", " + body["messages"][2]["content"]
        name, file = CALLS[turn]
        function = {"name": name, "arguments": json.dumps({"file": file})}
        call = {"id": f"c{turn}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    def until(done: Callable[[], bool]) -> None:
        limit = time.monotonic() + 60
        while not done():
            assert time.monotonic() < limit
            time.sleep(0.01)

    (tmp_path / "main.got").write_text(AGENT)
    (tmp_path / "tools.py").write_text(TOOLS)
    written, slow, open_ = tmp_path / "written", tmp_path / "slow", threading.Event()
    open_.set()
    with OpenAIServer(answer, latency_s=lambda body: open_) as server:
        model = ("--model", "openai:m", "--base-url", server.url)
        command = ("run", "main.got", "--allow-python", *model, "--input", "task=tidy up")
        at = Terminal(tmp_path, *command)
        at.until("May it write a.txt?")
        at.kill()  # while the person is asked
        at = Terminal(tmp_path, *command)
        at.until("May it write a.txt?")
        at.until("> ")
        assert len(server.requests) == 1
        slow.touch()
        at.type("yes\n")
        until(written.exists)
        at.kill()  # while a tool runs
        slow.unlink()
        assert len(server.requests) == 2
        at = Terminal(tmp_path, *command)
        at.until("May it write b.txt?")
        assert "a.txt?" not in at.passed and len(server.requests) == 3
        at.until("> ")
        open_.clear()
        at.type("no\n")
        until(lambda: len(server.requests) == 4)
        at.kill()  # while a response is under way, which is the one thing that is paid for again
        open_.set()
        at = Terminal(tmp_path, *command)
        at.until("no, yes")
        assert at.end()[0] == 0
        assert "May it" not in at.passed and len(server.requests) == len(CALLS) + 1 + 1
        again = Terminal(tmp_path, *command)
        again.until("no, yes")
        assert again.end()[0] == 0 and len(server.requests) == len(CALLS) + 1 + 1
