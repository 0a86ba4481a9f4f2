"""Studies on a real endpoint that is away for a while, by four workers, killed, on a database that restarts:
the result is that of a study which nobody disturbed, and nothing is paid twice.

An outage is forty times as short here, for processes that wait a fortieth of the time. The whole:

    OUTAGE=200 python -m pytest tests/test_study_endpoint.py tests/cli/test_outage.py
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

from support import postgres
from support.caches import no_postgres
from support.disturbed import AT_ONCE, CASES, answer, charges, command, disturbed, told, wait, written
from support.gotc import document, environment, gotc, start
from support.openai_server import OpenAIServer, Seen, status
from support.waiting import SCALE, SOONER, sooner

OUTAGE_S = float(os.environ.get("OUTAGE", "0"))
"""Seconds of a real outage; 0: of one on another scale."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the study."""
    return written(tmp_path)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one process finds on an endpoint that is well."""
    folder = written(tmp_path_factory.mktemp("alone"))
    with OpenAIServer(answer) as server:
        found = document(gotc(*command(server), cwd=folder))
    assert set(charges(server).values()) == {1}
    return found


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
    assert charges(server).total() - len(charges(server)) <= 1  # an answered probe
    assert found["spent"]["calls"] == charges(server).total()


def test_rows_that_were_lost_just_before_the_model_responds_again_do_not_count(
    folder: Path, alone: dict[str, Any]
) -> None:
    """The first request that is answered after an outage is a probe, that of the untuned program."""
    back: list[int] = []

    def fault(seen: Seen) -> Any:
        if seen.number < 40 or back:
            return None
        if "with 1 in plain" in seen.body["messages"][-1]["content"]:
            back.append(seen.number)
            return None
        return status(503)

    # During an outage one request at a time is sent, and which one is left to chance: the probe may be late.
    with OpenAIServer(answer, faults=fault) as server:
        worker = sooner(*command(server), cwd=folder, times=20)
        found = json.loads(worker.communicate(timeout=120)[0])
    assert back and server.statuses[503] > 0
    assert told(found) == told(alone)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_study_that_is_interrupted_goes_on_where_it_was(
    folder: Path, alone: dict[str, Any], number: signal.Signals
) -> None:
    with OpenAIServer(answer) as server:
        worker = start(*command(server), cwd=folder)
        wait(lambda: len(server.requests) >= 40)
        worker.send_signal(number)
        _, err = worker.communicate(timeout=60)
        assert worker.returncode == 130 and "Traceback" not in err
        assert "interrupted; the same command continues the study" in err
        (record,) = json.loads(gotc("runs", "--json", cwd=folder).stdout)["runs"]
        assert record["state"] == "interrupted"
        assert told(document(gotc(*command(server), cwd=folder))) == told(alone)


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
        wait(lambda: bool(away) and time.monotonic() - away[0] > lasts / 2, 2 * lasts + 60)
        workers[0].send_signal(signal.SIGKILL)
        workers[0].communicate(timeout=60)
        workers[0] = work()
        found = [worker.communicate(timeout=lasts + 120)[0] for worker in workers]
    said = (folder / "told.txt").read_text()
    assert [worker.returncode for worker in workers] == [0, 0], said
    for out in found:
        assert told(json.loads(out)) == told(alone)
    assert server.statuses[503] > 5 + 6  # longer than until an endpoint is given up
    counts = charges(server)
    assert counts.total() - len(counts) <= len(workers)  # answered probes of the endpoint, one by each
    assert len(counts) == alone["spent"]["calls"]
    lines = said.splitlines()
    assert sum("no response since" in line and "HTTP 503" in line for line in lines) >= 3
    assert "the model responds again" in lines


@pytest.mark.parametrize("name", [name for name in CASES if name != "nothing"])
def test_a_study_that_is_disturbed_ends_as_if_nobody_had(
    name: str, folder: Path, alone: dict[str, Any]
) -> None:
    if CASES[name].database and (why := no_postgres or (postgres.GIVEN and "the server is not ours")):
        pytest.skip(why)
    course = disturbed(folder, CASES[name], away_s=OUTAGE_S or 240 / SCALE, sooner=not OUTAGE_S)
    for found in course.documents:
        assert told(found) == told(alone)
    assert course.twice <= (CASES[name].workers if course.refused else 0)  # answered probes, one by each
    lost = sum(event != "outage" for _, event in CASES[name].events)
    assert course.under_way <= lost * CASES[name].workers * AT_ONCE
    again = course.under_way + course.twice
    assert course.documents[0]["spent"]["calls"] <= course.charged == again + alone["spent"]["calls"]
    assert "bug" not in course.said


def test_of_a_study_that_was_killed_a_point_is_picked_and_said_to_be_unfinished(
    folder: Path, alone: dict[str, Any]
) -> None:
    with OpenAIServer(answer, latency_s=0.01) as server:
        early = gotc(*command(server, "--pick", "best"), cwd=folder)
        assert "run it first" in document(early, 2)["error"]["help"]
        worker = start(*command(server), cwd=folder)
        wait(lambda: len(server.requests) >= 90)
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
            for point in picked["front"]:
                (ends,) = point["train_intervals"]
                assert ends is None or ends[0] < point["train"][0] < ends[1] < 100
            assert (params == {"effort": 1, "style": "plain"}) == (picked["written"] == "original")
        plain = (word for word in command(server, "--pick", "p1") if word != "--json")
        shown = gotc(*plain, "--report", "page.html", cwd=folder)
        assert "not compared with the original: the study has not ended" in shown.stdout
        assert (
            "next: continue the study: `gotc tune guess.got --model openai:small --base-url http://"
            in shown.stdout
        )
        assert "Not finished: the study has not ended" in (folder / "page.html").read_text()
        assert len(server.requests) == sent  # nothing is asked
        found = document(gotc(*command(server), cwd=folder))
        assert found["partial"] is None and told(found) == told(alone)
