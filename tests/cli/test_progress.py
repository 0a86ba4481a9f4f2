"""What the progress line counts, when it is written, and how it is put."""

from __future__ import annotations

import asyncio
import io
import os
import re
import sys
import time

import pytest
from support.gotc import VOTE

from gotlang.api import Options, compile
from gotlang.cache.coordination import Charge
from gotlang.cli.output import ascii_fallback, duration
from gotlang.cli.progress import Progress, display
from gotlang.models.base import Price, Request, Usage
from gotlang.models.simulated import SimulatedModel
from gotlang.runtime.sampler.budget import Budget, cost

PROGRAM = compile(VOTE.partition("\n")[2])


def simulator(rng: object, question: str) -> str:
    return "7" if question != "bad" else "none"


def counted(question: str, **more: object) -> Progress:
    progress = Progress(now=iter(range(0, 10_000, 2)).__next__)
    options = Options(
        model=SimulatedModel({"answer": simulator}), observe=progress, params={"tries": 5}, **more
    )  # type: ignore[arg-type]
    PROGRAM.run(question=question, options=options)
    return progress


def test_it_counts_operations_and_answers() -> None:
    progress = counted("why")
    assert (progress.paid, progress.cached, progress.failed, progress.running) == (5, 0, 0, 0)
    assert progress.done == progress.operations > 2
    assert progress.waiting == 0
    assert "5 calls" in progress.line()


def test_runs_that_share_it_are_counted_together() -> None:
    progress = Progress(rows=2)
    counts = []
    for question in ("why", "how"):
        options = Options(model=SimulatedModel({"answer": simulator}), observe=progress)
        PROGRAM.run(question=question, options=options)
        counts.append((progress.operations, progress.done, progress.waiting))
    (operations, done, waiting), twice = counts
    assert operations == done > 2
    assert twice == (2 * operations, 2 * done, waiting)
    with pytest.raises(Exception, match="every thought failed"):
        PROGRAM.run(question="bad", options=options)
    assert progress.running == 0
    assert progress.lost == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, term: str | None, columns: int) -> list[str]:
    """The lines that a terminal is given as a run of three rows starts."""
    written = Terminal()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setenv("TERM", term) if term is not None else monkeypatch.delenv("TERM", raising=False)
    monkeypatch.setenv("COLUMNS", str(columns))
    with display(Progress(rows=3)):
        pass
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", written.getvalue())
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_a_narrow_terminal_shows_all_of_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, "xterm", 24)
    assert "0 of 3 rows" in lines[0]
    words = " ".join(lines)
    assert "0 operations done, 0 running, 0 waiting" in words
    assert "0 calls" in words
    assert max(map(len, lines)) <= 24


@pytest.mark.skipif(os.name == "nt", reason="Windows has no TERM")
@pytest.mark.parametrize("term", ["dumb", "unknown", "", None])
def test_a_terminal_that_cannot_write_over_a_line_gets_plain_ones(
    monkeypatch: pytest.MonkeyPatch, term: str | None
) -> None:
    assert shown(monkeypatch, term, 80) == []
    written = Terminal()
    monkeypatch.setattr(sys, "stderr", written)
    deadline = time.monotonic() + 60
    with display(Progress(rows=3), every_s=0.01):
        while "\n" not in written.getvalue():
            assert time.monotonic() < deadline
            time.sleep(0.005)
    assert written.getvalue().startswith("0 of 3 rows · 0 operations done")


def test_where_there_is_nothing_but_ascii_our_marks_become_plain() -> None:
    with pytest.raises(UnicodeEncodeError) as caught:
        "1 of 2 · 漢".encode("ascii")
    assert ascii_fallback(caught.value) == ("-", 8)
    with pytest.raises(UnicodeEncodeError) as caught:
        "漢…".encode("ascii")
    assert ascii_fallback(caught.value) == ("\\u6f22...", 2)


def test_a_terminal_shows_rows_operations_and_answers_on_lines_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = Terminal()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "70")
    progress = Progress(rows=3)
    progress.row_done()
    with display(progress):
        assert written.getvalue()  # drawn as it starts
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", written.getvalue()).splitlines()]
    assert any(re.search("━ 1 of 3 rows · .* left", line) for line in lines)
    assert "0 operations done, 0 running, 0 waiting" in lines
    assert any(line.startswith("0 calls") for line in lines)
    assert written.getvalue().endswith("\x1b[2K")  # and nothing is left of it


def test_answers_that_cannot_be_read_are_counted_as_failed() -> None:
    progress = Progress()
    options = Options(model=SimulatedModel({"answer": simulator}), observe=progress)
    with pytest.raises(Exception, match="every thought failed"):
        PROGRAM.run(question="bad", options=options)
    assert progress.failed >= 3
    assert f"{progress.failed} failed" in progress.line()


def test_spent_and_limits() -> None:
    progress = Progress()
    assert "$" not in progress.line()
    progress.budget = budget = Budget(0.5, 100)

    async def spend() -> None:
        price = Price(1.0, 1.0)
        reservation = await budget.reserve(Request("a-model", ()), 7, price)
        budget.settle(reservation, Charge(7, cost(price, Usage(125_000))))

    asyncio.run(spend())
    assert "$0.1250 of $0.5000 spent, 7 of 100 calls made" in progress.line()
    progress.priced = False
    assert "cost unknown, 7 of 100 calls" in progress.line()
    assert "$" not in progress.line()


def test_time_left_is_said_where_it_is_known() -> None:
    now = 0.0
    progress = Progress(rows=10, now=lambda: now)
    assert progress.seconds_left is None
    now = 30.0
    for _ in range(4):
        progress.row_done()
    assert progress.seconds_left == 45.0
    assert "4 of 10 rows" in progress.line() and "45 s left" in progress.line()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (59, "59 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_plain_lines_come_while_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    deadline = time.monotonic() + 60
    with display(Progress(), every_s=0.01):
        while written.getvalue().count("\n") < 3:
            assert time.monotonic() < deadline
            time.sleep(0.005)
    seen = written.getvalue()
    assert all("operations done" in line for line in seen.splitlines())
    with display(Progress(), quiet=True, every_s=0.0):
        time.sleep(0.02)
    assert written.getvalue() == seen
