"""Studies on a real endpoint that is away for a while, by four workers, killed, on a database that restarts:
the result is that of a study which nobody disturbed, and nothing is paid twice.

An outage is forty times as short here, for processes that wait a fortieth of the time. The whole:

    OUTAGE=200 python -m pytest tests/test_study_endpoint.py tests/cli/test_outage.py
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

from support import postgres
from support.caches import no_postgres, postgres_schema
from support.gotc import document, environment, gotc, start
from support.openai_server import Body, OpenAIServer, Seen, status
from support.waiting import SCALE, SOONER, sooner

GUESS = """
param effort = 1       in 1..6
param style  = "plain" in ["plain", "fancy", "terse"]

prompt guess(target: int, effort: int, style: str) -> int:
    max_tokens 20
    "Guess {{ target }} with {{ effort }} in {{ style }} style."

score error(attempt: int, target: int) -> lower, best 0:
    abs(attempt - target)

scheme near(target: int) -> int:
    Generate() guess(target, effort, style)
    Score() error(it, target)

study near:
    data "numbers.csv", train 16, test 12
    minimize error(result, target)
    trials 10
"""
AT_ONCE = 8
OUTAGE_S = float(os.environ.get("OUTAGE", "0"))
"""Seconds of a real outage; 0: of one on another scale."""


def answer(body: Body, index: int) -> str:
    """As good as the setting, and the same to everyone who asks."""
    target, effort, style = re.findall(r"Guess (\d+) with (\d+) in (\w+)", body["messages"][-1]["content"])[0]
    away = 3 * abs(int(effort) - 4) + {"plain": 6, "fancy": 2, "terse": 9}[style]
    return str(int(target) + away + int(target) * int(effort) % 5)


def written(folder: Path) -> Path:
    """The study, in a folder."""
    (folder / "guess.got").write_text(GUESS)
    (folder / "numbers.csv").write_text("target\n" + "".join(f"{37 * n + 11}\n" for n in range(40)))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the study."""
    return written(tmp_path)


def command(server: OpenAIServer, *more: str) -> tuple[str, ...]:
    """`gotc tune` on the study."""
    fixed = ("--model", "openai:small", "--base-url", server.url, "--concurrency", str(AT_ONCE), "--json")
    return ("tune", "guess.got", *fixed, *more)


def told(document: dict[str, Any]) -> dict[str, Any]:
    """What a study finds, apart from the time it took."""
    held = document["held_out"]
    compared = [each for each in held["compared"] if each["name"] != "latency"]
    kept = {name: document[name] for name in ("winner", "original", "trials")}
    return {**kept, "verdict": held["verdict"], "compared": compared}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one process finds on an endpoint that is well."""
    folder = written(tmp_path_factory.mktemp("alone"))
    with OpenAIServer(answer) as server:
        found = document(gotc(*command(server), cwd=folder))
    assert set(charges(server).values()) == {1}
    return found


def charges(server: OpenAIServer) -> Counter[str]:
    """How often the endpoint charged each request."""
    seen = (one for one in server.requests if one.charged.input_tokens)
    return Counter(json.dumps(one.body, sort_keys=True) for one in seen)


def test_an_endpoint_that_is_away_for_a_while_costs_nothing_and_spoils_nothing(
    folder: Path, alone: dict[str, Any]
) -> None:
    away: list[float] = []

    def fault(seen: Seen) -> Any:
        if seen.number < 40:
            return None
        away.append(time.monotonic())
        return status(503) if away[-1] - away[0] < (6 if OUTAGE_S else 1) else None

    with OpenAIServer(answer, faults=fault) as server:
        worker = start(*command(server), cwd=folder) if OUTAGE_S else sooner(*command(server), cwd=folder)
        found = json.loads(worker.communicate(timeout=120)[0])
    assert server.statuses[503] > 0
    assert told(found) == told(alone)
    assert set(charges(server).values()) == {1}
    assert found["spent"]["calls"] == sum(charges(server).values())


def test_a_study_outlasts_minutes_without_the_model_and_says_so(folder: Path, alone: dict[str, Any]) -> None:
    """By two workers, of which one is killed in the midst of it and started again."""
    lasts, away = OUTAGE_S or 240 / SCALE, list[float]()

    def fault(seen: Seen) -> Any:
        if seen.number < 40:
            return None
        away.append(time.monotonic())
        return status(503) if away[-1] - away[0] < lasts else None

    def work() -> subprocess.Popen[str]:
        err = (folder / "told.txt").open("a")
        words = [sys.executable, *(["-m", "gotlang"] if OUTAGE_S else ["-c", SOONER]), *command(server)]
        return subprocess.Popen(
            words, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=err, text=True
        )

    with OpenAIServer(answer, faults=fault) as server:
        workers = [work(), work()]
        _wait(lambda: bool(away) and time.monotonic() - away[0] > lasts / 2, 2 * lasts + 60)
        workers[0].send_signal(signal.SIGKILL)
        workers[0].communicate(timeout=60)
        workers[0] = work()
        found = [worker.communicate(timeout=lasts + 120)[0] for worker in workers]
    said = (folder / "told.txt").read_text()
    assert [worker.returncode for worker in workers] == [0, 0], said
    for out in found:
        assert told(json.loads(out)) == told(alone)
    assert server.statuses[503] > 5 + 6  # longer than until an endpoint is given up
    assert set(charges(server).values()) == {1}
    assert sum(charges(server).values()) == alone["spent"]["calls"]
    lines = said.splitlines()
    assert sum("no response since" in line and "HTTP 503" in line for line in lines) >= 3
    assert "the model responds again" in lines


def test_four_workers_find_what_one_finds(folder: Path, alone: dict[str, Any]) -> None:
    with OpenAIServer(answer, latency_s=0.02) as server:
        workers = [start(*command(server, "--out", f"{n}.json"), cwd=folder) for n in range(4)]
        ended = [worker.communicate(timeout=180) for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 4, ended
    for out, _ in ended:
        assert told(json.loads(out)) == told(alone)
    assert set(charges(server).values()) == {1}
    assert json.loads(ended[0][0])["spent"]["calls"] <= sum(charges(server).values())


def test_killed_three_times_it_ends_as_if_nobody_had(folder: Path, alone: dict[str, Any]) -> None:
    kills = iter((30, 70, 110))
    with OpenAIServer(answer, latency_s=0.01) as server:
        for moment in kills:
            worker = start(*command(server), cwd=folder)
            _wait(lambda: len(server.requests) >= moment or worker.poll() is not None)  # noqa: B023
            worker.send_signal(signal.SIGKILL)
            worker.communicate(timeout=60)
        found = document(gotc(*command(server), cwd=folder))
    assert told(found) == told(alone)
    twice = sum(times - 1 for times in charges(server).values())
    assert twice <= 3 * AT_ONCE  # what was under way at a kill, and nothing else
    assert found["spent"]["calls"] <= sum(charges(server).values())


def test_of_a_study_that_was_killed_a_point_is_picked_and_said_to_be_unfinished(
    folder: Path, alone: dict[str, Any]
) -> None:
    with OpenAIServer(answer, latency_s=0.01) as server:
        early = gotc(*command(server, "--pick", "best"), cwd=folder)
        assert "run it first" in document(early, 2)["error"]["help"]
        worker = start(*command(server), cwd=folder)
        _wait(lambda: len(server.requests) >= 90)
        worker.send_signal(signal.SIGKILL)
        worker.communicate(timeout=60)
        sent = len(server.requests)
        for name in ("original", "best", "p1"):
            picked = document(gotc(*command(server, "--pick", name), cwd=folder), 3)
            assert "the study has not ended: of " in picked["partial"] and picked["held_out"] is None
            assert picked["tuned"]["provenance"]["partial"] == picked["partial"]
            assert name in picked["written"] or name == "best"
            params = json.loads((folder / "near.tuned.json").read_text())["params"]
            assert params == picked["winner"]["point"]
            assert (params == {"effort": 1, "style": "plain"}) == (picked["written"] == "original")
        plain = (word for word in command(server, "--pick", "p1") if word != "--json")
        shown = gotc(*plain, "--report", "page.html", cwd=folder)
        assert "not compared with the original: the study has not ended" in shown.stdout
        assert "next: continue the study: `gotc tune guess.got`" in shown.stdout
        assert "Not finished: the study has not ended" in (folder / "page.html").read_text()
        assert len(server.requests) == sent  # nothing is asked
        found = document(gotc(*command(server), cwd=folder))
        assert found["partial"] is None and told(found) == told(alone)


@pytest.mark.skipif(bool(no_postgres or postgres.GIVEN), reason=no_postgres or "the server is not ours")
def test_a_database_that_restarts_under_four_workers_loses_and_repeats_nothing(
    folder: Path, alone: dict[str, Any]
) -> None:
    with OpenAIServer(answer, latency_s=0.02) as server, postgres_schema() as address:
        line = command(server, "--cache", address, "--storage", address)
        workers = [start(*line, "--out", f"{n}.json", cwd=folder) for n in range(4)]
        _wait(lambda: len(server.requests) >= 60)
        restarted = threading.Thread(target=postgres.restart)
        restarted.start()
        ended = [worker.communicate(timeout=180) for worker in workers]
        restarted.join()
        for worker, (_, err) in zip(workers, ended, strict=True):
            # What was being stored when it went is lost; all else waits until it is back.
            assert worker.returncode in (0, 6), err
            assert "bug" not in err
        found = document(gotc(*line, cwd=folder))
    assert told(found) == told(alone)
    twice = sum(times - 1 for times in charges(server).values())
    assert twice <= 4 * AT_ONCE


def _wait(until: Callable[[], bool], most_s: float = 120) -> None:
    end = time.monotonic() + most_s
    while not until():
        assert time.monotonic() < end
        time.sleep(0.005)
