"""Ctrl-C and kill -9: nothing that was paid for is lost, and the same command continues."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.gotc import document, gotc, start
from support.openai_server import OpenAIServer

CHAIN = """\
prompt next(number: int) -> int:
    "{{ number }}"

scheme chain(number: int) -> int:
    Map() number
    repeat 40:
        Generate() next(it)
"""
STUCK = """\
simulate with "stuck_sim.py"

prompt next(number: int) -> int:
    "{{ number }}"

scheme stuck(number: int) -> int:
    Generate() next(number)
"""
FLAT = """\
prompt next(number: int) -> int:
    "{{ number }}"

scheme flat(number: int) -> list[int]:
    foreach i in range(12):
        Generate() next(i + number)
"""
COMMAND = ("--input", "number=0", "--model", "openai:m")


def wait_until(reached: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not reached():
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.01)


def counting(body: dict[str, object], index: int) -> str:
    messages = body["messages"]
    assert isinstance(messages, list)
    return str(int(messages[-1]["content"]) + 1)


def only_run(folder: Path) -> dict[str, object]:
    (path,) = (folder / ".gotc" / "runs").glob("*.json")
    found: dict[str, object] = json.loads(path.read_text())
    return found


def test_once_finishes_what_is_under_way_and_again_goes_on(tmp_path: Path) -> None:
    (tmp_path / "flat.got").write_text(FLAT)
    with OpenAIServer(counting, latency_s=0.5) as server:
        command = ("run", "flat.got", *COMMAND, "--base-url", server.url, "--concurrency", "4", "--json")
        process = start(*command, cwd=tmp_path)
        wait_until(lambda: len(server.requests) >= 4, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert "stopping: waiting for 4" in err
        assert "same command again" in err
        found = json.loads(out)
        assert (found["partial"], found["spent"]["calls"]) == ("interrupted", 4)
        assert only_run(tmp_path)["state"] == "interrupted"
        again = document(gotc(*command, cwd=tmp_path))
    assert again["result"] == list(range(1, 13))
    assert again["spent"]["calls"] == 8
    assert len(server.requests) == 12


def test_twice_stops_at_once(tmp_path: Path) -> None:
    (tmp_path / "flat.got").write_text(FLAT)
    with OpenAIServer(counting, latency_s=600) as server:
        process = start("run", "flat.got", *COMMAND, "--base-url", server.url, cwd=tmp_path)
        wait_until(lambda: len(server.requests) >= 12, process)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        while "stopping" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)  # the answers would take ten minutes
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "interrupted; run the same command again" in err
    assert only_run(tmp_path)["state"] == "interrupted"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_python_that_never_ends_is_no_obstacle(tmp_path: Path, number: int) -> None:
    (tmp_path / "stuck.got").write_text(STUCK)
    (tmp_path / "stuck_sim.py").write_text(
        "from pathlib import Path\ndef next(rng, number):\n    Path('there').touch()\n    while True: pass\n"
    )
    process = start("run", "stuck.got", "--input", "number=0", cwd=tmp_path)
    wait_until((tmp_path / "there").exists, process)
    process.send_signal(number)
    time.sleep(0.1)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert only_run(tmp_path)["state"] == "interrupted"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_program_is_read_is_reported(tmp_path: Path, number: int) -> None:
    os.mkfifo(tmp_path / "chain.got")
    process = start("run", "chain.got", "--input", "number=0", cwd=tmp_path)
    with (tmp_path / "chain.got").open("w"):  # waits until it is read
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "interrupted\n"


ENDLESS = """\
import python "tools.py": spin -> int

scheme endless(number: int) -> int:
    Pool() spin(number)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_an_endless_function_in_an_expression(tmp_path: Path, number: int) -> None:
    (tmp_path / "endless.got").write_text(ENDLESS)
    (tmp_path / "tools.py").write_text(
        "from pathlib import Path\ndef spin(number):\n    Path('there').touch()\n    while True: pass\n"
    )
    process = start("run", "endless.got", "--input", "number=0", "--allow-python", cwd=tmp_path)
    wait_until((tmp_path / "there").exists, process)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "partial: interrupted" in err
    assert only_run(tmp_path)["state"] == "interrupted"


def test_a_function_that_cannot_be_interrupted_ends_the_process(tmp_path: Path) -> None:
    (tmp_path / "endless.got").write_text(ENDLESS)
    (tmp_path / "tools.py").write_text(
        "import time\ndef spin(number):\n    while True:\n        try: time.sleep(9)\n        except: pass\n"
    )
    command = ("run", "endless.got", "--input", "number=0", "--allow-python", "--timeout", "0.1")
    process = start(*command, cwd=tmp_path)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "error: `spin` took longer than 0.1 s, and cannot be interrupted" in err
    assert only_run(tmp_path)["state"] == "failed"


def test_a_killed_run_is_known_and_goes_on_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "chain.got").write_text(CHAIN)
    with OpenAIServer(counting) as server:
        process = start("run", "chain.got", *COMMAND, "--base-url", server.url, cwd=tmp_path)
        wait_until(lambda: len(server.requests) >= 10, process)
        process.kill()
        process.communicate()
        (entry,) = document(gotc("runs", "--json", cwd=tmp_path))["runs"]
        assert entry["state"] == "killed"
        again = document(gotc("run", "--resume", entry["run"], "--json", cwd=tmp_path))
        assert again["result"] == 40
        assert again["spent"]["calls"] < 40
        assert len(server.requests) <= 41  # the one under way at the kill may be asked again
    states = [entry["state"] for entry in document(gotc("runs", "--json", cwd=tmp_path))["runs"]]
    assert states == ["done", "killed"]
    assert document(gotc("runs", "--json", cwd=tmp_path))["runs"][0]["resumed"] == entry["run"]
