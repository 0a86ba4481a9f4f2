"""Real processes whose system calls fail: then the same command again, as a user would give it.

LAWS=300 python -m pytest tests/cli/test_system_faults.py
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import pytest
from support import postgres
from support.caches import contents, postgres_schema
from support.gotc import document, gotc
from support.laws import NEW, times
from support.openai_server import OpenAIServer
from support.studies import GUESS
from support.system_faults import KINDS, Ended, Faults, gotc_under, why_not

from gotlang.cache import open_cache
from gotlang.cache.cassette import open_recording
from gotlang.models.base import Price
from gotlang.runtime.sampler.budget import cost
from gotlang.tune.tuned import read_tuned

from .test_full_disk import answer

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

PROGRAM = """\
prompt guess(place: int) -> int:
    max_tokens 10
    "guess {{ place }}"

scheme many(start: int) -> list[int]:
    foreach i in range(6):
        Generate(k=2) guess(i + start)
        Score() it % 10
        KeepBestN(1)
"""
CALLS, AT_ONCE = 12, 2
MOST_UNDER_WAY = AT_ONCE * 2


def command(server: OpenAIServer, *more: str) -> tuple[str, ...]:
    model = ("--model", "openai:m", "--base-url", server.url, "--concurrency", str(AT_ONCE))
    return ("run", "many.got", "--input", "start=3", *model, "--json", *more)


def answers(server: OpenAIServer) -> int:
    """The answers that were charged."""
    return sum(seen.n for seen in server.requests)


def check(faults: Faults, ended: Ended) -> None:
    """It ended as documented, and said why."""
    told = f"{faults}\n{ended.met}{ended.code}\n{ended.errors}"
    assert "Traceback" not in ended.errors and "bug in gotc" not in ended.errors, told
    assert ended.code in ((-9,) if faults.kills and ended.met else (0, 1, 2, 3, 6)), told
    words = ("rror", "not in the cache", "the cache is lost")
    assert ended.code == 0 or faults.kills or any(each in ended.errors for each in words), told


@pytest.mark.parametrize("number", range(times(12)))
def test_stored_responses_are_not_paid_for_again(number: int, tmp_path: Path) -> None:
    chance = Random() if NEW else Random(number)
    folder = tmp_path / "faulty"
    folder.mkdir()
    (folder / "many.got").write_text(PROGRAM)
    faults = Faults.drawn(chance, 120)
    cassette = folder / "recorded.jsonl"
    with OpenAIServer(answer) as server:
        ended = gotc_under(faults, *command(server, "--record", cassette.name), cwd=folder)
        check(faults, ended)
        if cassette.exists():
            open_recording(cassette)
        paid, stored = answers(server), contents(folder / ".gotc" / "cache.sqlite")[1]
        again = document(gotc(*command(server), cwd=folder))
        after = answers(server) - paid
    told = f"{faults}: paid {paid}, stored {stored}, then paid {after}\n{ended.met}{ended.errors}"
    assert after == CALLS - stored, told
    assert again["result"] == [
        int(answer({"messages": [{"content": f"guess {i + 3}"}]}, 0)) for i in range(6)
    ]
    if faults.kills:
        assert paid - stored <= MOST_UNDER_WAY, told
    assert again["spent"]["calls"] == after
    assert gotc("runs", "--json", cwd=folder).returncode == 0


@pytest.mark.skipif(bool(postgres.why_not()), reason=postgres.why_not())
@pytest.mark.parametrize("number", range(times(4)))
def test_a_database_server_out_of_reach(number: int, tmp_path: Path) -> None:
    chance = Random() if NEW else Random(number)
    (tmp_path / "many.got").write_text(PROGRAM)
    faults = Faults.drawn(chance, 60)
    with OpenAIServer(answer) as server, postgres_schema() as cache:
        port = urlsplit(postgres.address()).port
        ended = gotc_under(faults, *command(server, "--cache", cache), cwd=tmp_path, port=port)
        check(faults, ended)
        paid = answers(server)
        with closing(open_cache(cache)) as opened:
            stored = sum(entry.samples for entry in opened.entries())
        again = document(gotc(*command(server, "--cache", cache), cwd=tmp_path))
        after = answers(server) - paid
    told = f"{faults}: paid {paid}, stored {stored}, then paid {after}\n{ended.met}{ended.errors}"
    assert after == CALLS - stored, told
    assert again["spent"]["calls"] == after
    if faults.kills:
        assert paid - stored <= MOST_UNDER_WAY, told


STUDY = """
study near:
    data "numbers.csv" (target = Target), train 4, test 3
    minimize error(result, target)
    trials 4
    budget 20
    batching false, early_stop false
"""
PROMPTS = "    prompts guess with bootstrap(demos=1, sets=1, rows=2)\n"
PRICES = "[m]\ninput_per_million = 1000\noutput_per_million = 1000\n"


def study(folder: Path, *, prompts: bool) -> tuple[str, ...]:
    """A study in a folder, and the command for it; with `prompts`, texts are proposed too."""
    folder.mkdir()
    program = GUESS.replace('simulate with "guess_sim.py"\n', "")
    (folder / "guess.got").write_text(program + STUDY + PROMPTS * prompts)
    (folder / "numbers.csv").write_text("Target\n" + "".join(f"{n * 37 % 101}\n" for n in range(8)))
    (folder / "p.toml").write_text(PRICES)
    model = ("--model", "openai:m", "--prices", "p.toml", "--concurrency", str(AT_ONCE))
    return ("tune", "guess.got", *model, "--report", "report.html", "--json")


@pytest.mark.parametrize("number", range(times(12)))
def test_a_study_goes_on_after_any_fault_and_loses_nothing_paid(number: int, tmp_path: Path) -> None:
    """Journal, budgets, cache, texts, result or report: whatever cannot be written is said, and the same
    command goes on."""
    chance = Random() if NEW else Random(number)
    folder = tmp_path / "faulty"
    command = study(folder, prompts=number % 8 == 0)
    # Each kind early, and where the result, its texts and the report are written.
    faults = Faults(KINDS[number % len(KINDS)], int(250 ** chance.random()), chance.choice((1, 3, 100_000)))
    with OpenAIServer(answer) as server:
        at = ("--base-url", server.url)
        ended = gotc_under(faults, *command, *at, cwd=folder)
        check(faults, ended)
        paid, stored = answers(server), contents(folder / ".gotc" / "cache.sqlite")[1]
        again = document(gotc(*command, *at, cwd=folder))
        after = answers(server) - paid
        charged = float(cost(Price(1000.0, 1000.0), server.charged))
        for name in ("near.tuned.json", "report.html"):
            (folder / name).unlink()
        third = document(gotc(*command, *at, cwd=folder))
        assert answers(server) == paid + after
    told = f"{faults}: paid {paid}, stored {stored}, then paid {after}\n{ended.met}{ended.errors}"
    # What was stored is never asked for again, and what is paid then is stored.
    assert contents(folder / ".gotc" / "cache.sqlite")[1] == stored + after, told
    assert paid - stored <= AT_ONCE or not faults.kills, told
    assert paid == stored or faults.kills or "not in the cache" in ended.errors, told
    assert again["partial"] is None, told
    spent = again["spent"]
    assert spent["usd"] - 1e-9 <= charged <= spent["usd"] + spent["uncertain_usd"] + 1e-9, told
    assert read_tuned(folder / "near.tuned.json").params.keys() <= {"tries", "style"}
    assert "</html>" in (folder / "report.html").read_text()
    assert third["tuned"] == again["tuned"]
