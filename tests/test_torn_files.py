"""Every prefix of every file that gotc writes opens, or is refused with the way out: a kill or a full disk
may have torn it, and a copy may have been broken off. The journal of a study has its own tests.

All offsets of the last 4 KB are tried, and 200 random ones before; TORN is the share of them.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from support.studies import guess_study

from gotlang import load
from gotlang.api import Options
from gotlang.cache import open_cache
from gotlang.cache.base import StoredSample
from gotlang.cache.cassette import open_recording
from gotlang.cache.coordination import Coordination
from gotlang.cache.sqlite import SqliteCoordination
from gotlang.errors import CacheError, UsageError
from gotlang.models.base import Completion, DecodingSettings, Message, Request, Usage
from gotlang.models.batches import PendingBatches, ProviderBatch
from gotlang.models.capabilities import CapabilityStore
from gotlang.models.prices import price_of
from gotlang.records import to_json
from gotlang.report.history import History
from gotlang.tune.tuned import read_tuned

OLD = Path(__file__).with_name("old")
RUN = "06ebdf8b"
SHARE = float(os.environ.get("TORN", "0.2"))


def offsets(size: int) -> Iterator[int]:
    """Where a file is cut."""
    chance = random.Random(size)
    last = max(0, size - 4096)
    yield 0
    for cut in sorted({chance.randrange(size) for _ in range(200)} | set(range(last, size))):
        if cut > size - 3 or chance.random() < SHARE:
            yield cut


def tear(path: Path, whole: bytes, read: Callable[[], object]) -> int:
    """Read every prefix of a file; how many were refused."""
    refused = 0
    for cut in offsets(len(whole)):
        path.write_bytes(whole[:cut])
        try:
            read()
        except (UsageError, CacheError) as error:
            assert error.help, f"cut at {cut}: {error}"
            refused += 1
    path.write_bytes(whole)
    read()
    return refused


def test_the_record_of_a_run(tmp_path: Path) -> None:
    path, history = tmp_path / f"{RUN}.json", History(tmp_path)
    (tmp_path / "other.json").write_text((OLD / path.name).read_text().replace(RUN, "other"))
    whole = (OLD / path.name).read_bytes()

    def read() -> None:
        assert [record.run for record in history.runs()][-1] == "other" or not history.damaged()
        history.find(RUN)

    assert tear(path, whole, read) > 5
    path.write_bytes(whole[:300])
    assert history.damaged()[RUN]
    assert history.find("last").run == "other"


def test_the_graph_of_a_run(tmp_path: Path) -> None:
    path, whole = tmp_path / f"{RUN}.graph.jsonl", (OLD / f"{RUN}.graph.jsonl").read_bytes()
    known = [json.loads(line) for line in whole.splitlines()]

    def read() -> None:
        found = list(History(tmp_path).graph(RUN))
        assert [line["operation"] for line in found] == [line["operation"] for line in known][: len(found)]

    assert tear(path, whole, read) > 5


def test_a_tuned_file(tmp_path: Path) -> None:
    whole = (OLD / "near.tuned.json").read_bytes()
    assert tear(tmp_path / "t.json", whole, lambda: read_tuned(tmp_path / "t.json")) > 5


def test_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    assert tear(path, (OLD / "c.jsonl").read_bytes(), lambda: open_recording(path)) > 5


def test_what_endpoints_support(tmp_path: Path) -> None:
    path = tmp_path / "endpoints.json"
    learned = {"endpoint": "e", "model": "m", "refused": ["n"], "good": 1, "bad": None, "at": 4e9}
    whole = to_json({"format": 1, "learned": [learned]}).encode()
    assert tear(path, whole, lambda: CapabilityStore(path).all()) == 0


def test_batches_under_way(tmp_path: Path) -> None:
    path = tmp_path / "abc.json"
    whole = to_json(ProviderBatch("abc", "e", tuple("line"), 4e9, "id")).encode()
    assert tear(path, whole, lambda: PendingBatches(tmp_path, "e").find("l")) == 0
    assert PendingBatches(tmp_path, "e").find("l") is not None


def test_prices(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    whole = to_json({"m": {"input_per_million": 1, "output_per_million": 2}}).encode()
    assert tear(path, whole, lambda: price_of("m", path)) > 5


def test_a_cache(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    cache = open_cache(path)
    for number in range(40):
        request = Request(
            "m", (Message("user", f"{number}" * 50),), DecodingSettings(max_tokens=5), 0, "p", endpoint="e"
        )
        sample = StoredSample(Completion("7" * 90, "stop", 1), Usage(1, 1), 0.1, 1, 0, 1.0)
        cache.put(request.key(), request, {0: sample})
    cache.close()
    assert not path.with_name("cache.sqlite-wal").exists()

    def read() -> None:
        for end in ("-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
        opened = open_cache(path)
        try:
            for entry in opened.entries():
                for found in opened.get(entry.key).values():
                    assert found.completion.text == "7" * 90
        finally:
            opened.close()

    assert tear(path, path.read_bytes(), read) > 5


def test_coordination_files(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite.coordination"
    shared = Coordination(SqliteCoordination(path))
    shared.make("team", Fraction(5), None)
    for number in range(30):
        shared.claim(f"key {number}", range(20))
    shared.close()
    whole = path.read_bytes()

    def read() -> None:
        for end in ("-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
        opened = Coordination(SqliteCoordination(path))
        try:
            assert [one.name for one in opened.budgets()] == ["team"]
        finally:
            opened.close()

    assert tear(path, whole, read) > 5


def test_files_of_an_older_version_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runs").mkdir()
    for name in (f"{RUN}.json", f"{RUN}.graph.jsonl"):
        (tmp_path / "runs" / name).write_bytes((OLD / name).read_bytes())
    history = History(tmp_path / "runs")
    assert history.find("last").inputs == {"target": 40}
    assert [line["kind"] for line in history.graph(RUN)][1:3] == ["Generate", "Score"]
    guess_study(tmp_path, "minimize cost\ntrain 1, test 1")
    monkeypatch.chdir(tmp_path)
    tuned = read_tuned(OLD / "near.tuned.json")
    program = load("guess.got").tuned(tuned)
    assert program.params["tries"].default == 5
    replay = Options(model=f"replay:{OLD / 'c.jsonl'}")
    assert load("guess.got").run(target=40, options=replay).value == 28
