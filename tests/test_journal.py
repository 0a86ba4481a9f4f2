"""A study's journal survives kills, full disks, torn writes and an older version: what is whole is kept, what
is lost is said, and what is damaged is refused with the way out."""

from __future__ import annotations

import errno
import json
import logging
import os
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

from support.gotc import gotc, on_a_full_disk
from support.laws import NEW
from support.studies import guess_study

from gotlang import disk
from gotlang.cli.main import exit_code
from gotlang.errors import CacheError, GotError, UsageError
from gotlang.tune.journal import StudyJournal
from gotlang.tune.space import Space
from gotlang.tune.trials import Trial, TrialResult, TrialStore

OLD = Path(__file__).with_name("old") / "study.journal"
CLAUSES = """
train 4, test 2
minimize error(result, target)
trials 3
"""


def study(path: Path, trials: int = 3) -> dict[int, Trial]:
    """A small study in a journal."""
    store = TrialStore(str(path), "near", [False], facts={"data": "d"})
    for _ in range(trials):
        number = store.claim(99)
        assert number is not None
        store.finish(
            Space((), {}), Trial(number, {"x": 1}, (), TrialResult((float(number),), {}), "complete")
        )
    return store.finished()


def records(path: Path) -> list[dict[str, Any]]:
    return StudyJournal(path).read_logs(0)


@pytest.mark.parametrize("old", [False, True])
def test_every_prefix_opens_with_its_complete_records_and_continues(tmp_path: Path, old: bool) -> None:
    path = tmp_path / "study.journal"
    if not old:
        study(path)
    whole = OLD.read_bytes() if old else path.read_bytes()
    lines = whole.splitlines(keepends=True)[0 if old else 1 :]
    known = records(path) if not old else []
    if old:
        path.write_bytes(whole)
        known = records(path)
    assert len(known) == len(lines) > 20
    ends = [at for at, byte in enumerate(whole) if byte == ord("\n")]
    some = {*range(0, len(whole), 1 if NEW else 11), *ends, *(end + 1 for end in ends)} - {len(whole)}
    for cut in sorted(some):
        path.write_bytes(whole[:cut])
        kept = whole[:cut].count(b"\n") - (not old)
        journal = StudyJournal(path)
        assert journal.read_logs(0) == known[: max(kept, 0)]
        journal.append_logs([{"op_code": 6, "worker_id": "me", "cut": cut}])
        assert records(path) == [*known[: max(kept, 0)], {"op_code": 6, "worker_id": "me", "cut": cut}]


def test_a_study_goes_on_with_the_trials_before_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    done = study(path)
    whole = path.read_bytes()
    cuts = {*range(0, len(whole), 211), len(whole) - 1}
    for cut in sorted(cuts):
        path.write_bytes(whole[:cut])
        ends = [i for i, line in enumerate(whole[:cut].splitlines(keepends=True)) if b'"op_code":6' in line]
        if whole[:cut] and not whole[:cut].endswith(b"\n"):
            ends = [i for i in ends if i < whole[:cut].count(b"\n")]
        store = TrialStore(str(path), "near", [False])
        assert store.finished() == {n: done[n] for n in range(len(ends))}
        store.orphan(99)
        store.leave()


def test_what_is_dropped_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "study.journal"
    study(path)
    path.write_bytes(path.read_bytes()[:-7])
    with caplog.at_level(logging.WARNING):
        first = records(path)
        assert caplog.messages == [
            f"the last line of {path} was not written completely: it is dropped and repeated"
        ]
        assert records(path) == first
    assert len(caplog.messages) == 1


def test_a_byte_that_changed_is_found(tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    study(path)
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    chance = random.Random(4)
    for at in [
        0,
        5,
        13,
        20,
        last - 1,
        last,
        len(whole) - 1,
        *(chance.randrange(len(whole)) for _ in range(200)),
    ]:
        changed = bytearray(whole)
        changed[at] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        if at >= last - 1:
            left = whole[:last].count(b"\n") - 1
            assert len(records(path)) == (left if at >= last else left - 1)
            continue
        with pytest.raises(UsageError) as caught:
            records(path)
        assert caught.value.help
        assert path.read_bytes() == changed
    line = whole[: whole.index(b"\n", 200) + 1].count(b"\n")
    path.write_bytes(whole[:200] + b"#" + whole[201:])
    with pytest.raises(UsageError, match=f"is damaged at line {line}") as caught:
        records(path)
    assert f"sed -i '{line},$d' {path}" in str(caught.value.help)


@pytest.mark.parametrize("content", ["hello", "a\nb\n", '{"a": 1}', "gotc study 2\n", "\0" * 99, "x" * 9999])
def test_another_file_is_refused_and_stays(tmp_path: Path, content: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with pytest.raises(UsageError, match="is not the storage of a study"):
        TrialStore(str(path), "near", [False])
    assert path.read_text() == content


@pytest.mark.parametrize("part", [0, 1, 9, 60])
def test_a_write_that_fails_leaves_no_torn_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    path = tmp_path / "study.journal"
    study(path)
    before, journal = path.read_bytes(), StudyJournal(path)
    written = 0

    def full(file: int, content: bytes) -> int:
        nonlocal written
        if written >= part:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written += os.write(file, content[: part - written])
        return written

    with monkeypatch.context() as patch:
        patch.setattr(disk, "write", full)
        with pytest.raises(CacheError, match="No space left"):
            journal.append_logs([{"op_code": 8, "text": "x" * 50}])
    assert path.read_bytes() == before
    journal.append_logs([{"op_code": 8}])
    assert records(path)[-1] == {"op_code": 8}


@pytest.mark.parametrize(
    "change",
    [
        {"point": 3},
        {"rows": "[]["},
        {"rows": '[{"objectives": "x"}]'},
        {"ended": None},
        {"values": "x"},
        {"values": [None]},
        {"excess": []},
    ],
)
def test_a_trial_of_a_stranger_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "study.journal"
    study(path, 1)
    journal = StudyJournal(path)
    for number, record in enumerate(logs := journal.read_logs(0)):
        if record.get("user_attr", {}).keys() & change.keys():
            logs[number] = {**record, "user_attr": change}
    path.write_bytes(b"gotc study 1\n")
    StudyJournal(path).append_logs(logs)
    with pytest.raises(UsageError, match="trial 0 in the study's storage cannot be read"):
        TrialStore(str(path), "near", [False]).finished()


def test_records_that_are_no_operations_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    for record in ({"op_code": 99}, {"op_code": 4}, {"op_code": 0, "worker_id": 3}, {"op_code": "x"}, {}):
        path.write_bytes(b"")
        StudyJournal(path).append_logs([{"op_code": 6, **record}])
        with pytest.raises(GotError):
            TrialStore(str(path), "near", [False])


def test_an_old_journal_has_its_trials(tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    path.write_bytes(OLD.read_bytes())
    store = TrialStore(str(path), "near-a8583ef54b94fdab", [False])
    done = store.finished()
    assert [trial.result.values for trial in done.values()] == [(7.75,), (1.0,), (1.5,)]
    number = store.claim(99)
    assert number == 3
    store.finish(Space((), {}), Trial(3, {}, (), TrialResult((0.5,), {}), "complete"))
    assert len(TrialStore(str(path), "near-a8583ef54b94fdab", [False]).finished()) == 4


def test_workers_that_take_over_the_same_trial_store_it_once(tmp_path: Path) -> None:
    path = str(tmp_path / "study.journal")
    assert TrialStore(path, "near", [False]).claim(99) == 0
    first, second = (TrialStore(path, "near", [False], takeover=True) for _ in range(2))
    assert (first.orphan(99), second.orphan(99)) == (0, 0)
    first.finish(Space((), {}), Trial(0, {}, (), TrialResult((0.5,), {}), "complete"))
    second.finish(Space((), {}), Trial(0, {}, (), TrialResult((0.7,), {}), "complete"))
    assert first.finished() == second.finished()
    assert second.claim(99) == 1


def test_an_empty_journal_reports_the_loss(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "study.journal"
    study(path, 1)
    assert not caplog.records  # a missing one is simply new
    os.truncate(path, 0)
    study(path, 1)
    assert caplog.messages == [
        f"the study's storage {path} was an empty file: trials that were in it are lost, and are done again, "
        "with responses from the cache"
    ]


def test_a_study_whose_disk_was_full_goes_on(tmp_path: Path) -> None:
    guess_study(tmp_path, CLAUSES, rows=8)
    tune = ("tune", "study.got", "--model", "simulated", "--json", "--no-cache")
    full = on_a_full_disk(*tune, cwd=tmp_path, most=4000)
    assert full.returncode == 2
    assert "cannot create the file .gotc/tune/budgets.sqlite: the disk is full" in full.stderr
    done = gotc(*tune, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (journal,) = (tmp_path / ".gotc" / "tune").glob("*.journal")
    journal.write_bytes(journal.read_bytes()[:-7])
    again = gotc(*tune, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "was not written completely: it is dropped and repeated" in again.stderr


def test_a_result_that_cannot_be_stored_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    guess_study(tmp_path, CLAUSES, rows=8)
    monkeypatch.chdir(tmp_path)

    def full(draft: Path, path: Path) -> None:
        if path.name == "near.tuned.json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.replace(draft, path)

    monkeypatch.setattr(disk, "rename", full)
    assert exit_code(["tune", "study.got", "--model", "simulated", "--allow-python", "--quiet"]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["tuned"]["params"]["tries"]
    assert "cannot write near.tuned.json: No space left" in printed.err
    assert not (tmp_path / "near.tuned.json").exists()
