"""Options of `gotc tune` and of `--tuned`: none is without effect, and what cannot be is told."""

from __future__ import annotations

import json
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

from cli.conftest import Gotc
from support.studies import guess_study

SMALL = "train 4, test 4\nminimize error(result, target)\ntrials 2\nseed 7"


def test_limits_and_seeds_reach_the_study(gotc: Gotc, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guess_study(folder, SMALL)
    given: list[Any] = []

    def noted(plan: Any, options: Any, **_: Any) -> None:
        given.append((plan.seed, options.seed, options.rpm, options.tpm, options.timeout))
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("gotlang.tune.study"), "tune", noted)
    some = ("tune", "study.got", "--model", "simulated")
    assert gotc(*some, "--rpm", 5, "--tpm", 100, "--timeout", 3, "--seed", 0).code == 130
    gotc(*some)
    gotc(*some, "--seed", -4)
    assert given == [(0, 0, 5.0, 100.0, 3.0), (7, 7, None, None, None), (-4, -4, None, None, None)]


@pytest.mark.parametrize(("file", "flag", "budget"), [(50, (), 1), (0.5, (), 0.5), (50, ("--max-usd", 2), 2)])
def test_a_configured_limit_does_not_raise_that_of_the_study(
    gotc: Gotc,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: float,
    flag: tuple[Any, ...],
    budget: float,
) -> None:
    guess_study(folder, f"{SMALL}\nbudget 1.0")
    (folder / "gotc.toml").write_text(f"max-usd = {file}\n")
    given: list[Any] = []

    def noted(plan: Any, options: Any, **_: Any) -> None:
        given.append(plan.budget)
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("gotlang.tune.study"), "tune", noted)
    assert gotc("tune", "study.got", "--model", "simulated", *flag).code == 130
    assert given == [budget]


def test_a_result_needs_a_file(gotc: Gotc, folder: Path) -> None:
    guess_study(folder, SMALL)
    done = gotc("tune", "study.got", "--model", "simulated", "--out", "-")
    assert (done.code, done.out) == (2, "")
    assert "must be files" in done.err


@pytest.mark.parametrize(
    ("more", "schedule", "concurrency"),
    [((), "depth-first", 2), (("--concurrency", 64, "--schedule", "best-first"), "best-first", 64)],
    ids=["the study's", "the user's"],
)
def test_what_a_study_chose_for_the_run_is_so_unless_it_is_given(
    gotc: Gotc,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    more: tuple[object, ...],
    schedule: str,
    concurrency: int,
) -> None:
    guess_study(folder, SMALL)
    content = {"format": "gotlang.tuned", "format_version": 1, "program": "guess", "scheme": "near"}
    rest: dict[str, Any] = {"params": {}, "prompts": {}, "held_out": {}, "provenance": {}}
    settings = {"concurrency": 2, "schedule": "depth-first", "temperature": 0.25}
    (folder / "near.json").write_text(json.dumps({**content, **rest, "settings": settings}))
    given: list[Any] = []

    def noted(order: Any, _: Any) -> None:
        prompt = order.program.ir(0).prompts[0]
        asked = {name: value.value for name, value in prompt.settings}
        given.append((order.options.schedule, order.options.concurrency, asked["temperature"]))
        raise KeyboardInterrupt

    monkeypatch.setattr("gotlang.cli.run._execute", noted)
    done = gotc("run", "guess.got", "--input", "target=3", "--tuned", "near.json", *more)
    assert done.code == 130, done.err
    assert given == [(schedule, concurrency, 0.25)]


def test_whose_result_a_tuned_file_is_is_said(gotc: Gotc, folder: Path) -> None:
    guess_study(folder, SMALL)
    content = {"format": "gotlang.tuned", "format_version": 1, "program": "other", "scheme": "near"}
    rest: dict[str, Any] = {"prompts": {}, "held_out": {}, "provenance": {}, "settings": {}}
    (folder / "fits.json").write_text(json.dumps({**content, **rest, "params": {"tries": 1}}))
    (folder / "not.json").write_text(json.dumps({**content, **rest, "params": {"branches": 1}}))
    some = ("run", "guess.got", "--input", "target=3", "--tuned")
    fits = gotc(*some, "fits.json", "--model", "simulated")
    assert fits.code == 0
    assert "fits.json is the result of a study of `other`, not of `guess`" in fits.err
    unfit = gotc(*some, "not.json")
    assert unfit.code == 2
    assert "has no param `branches`" in unfit.err
    assert "a study of the program `other`" in unfit.err


def test_what_was_not_compared_is_not_shown_as_if_it_were(gotc: Gotc, folder: Path) -> None:
    guess_study(folder, SMALL)
    some = ("tune", "study.got", "--model", "simulated", "--quiet")
    assert gotc(*some).code == 0
    (journal,) = (folder / ".gotc" / "tune").glob("*.journal")
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(line for line in lines if '"front"' not in line))  # ended before the test rows
    done = gotc(*some, "--max-usd", 0, "--no-cache")
    assert done.code == 3
    assert "not compared with the original: the " in done.out


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("train 4, test 5\ntrials 2", "with 5 test rows no difference is significant: 6 are needed"),
        ("train 4, test 5\ntrials 2\nbudget 1.0", None),  # which pays for further rows
        ("train 4, test 36\ntrials 2", None),
        ("train 4, test 9\ntrials 1", "with one trial only the untuned program runs"),
        ("train 4, test 9\ntrials 2\nsampler random", "`sampler random` is not used"),
        ("train 4, test 9\ntrials 20\nsampler grid(seed=3)", None),
    ],
)
def test_what_a_study_cannot_show_is_said_before_it_runs(
    gotc: Gotc, folder: Path, clauses: str, expected: str | None
) -> None:
    guess_study(folder, f"{clauses}\nminimize error(result, target)")
    said = gotc("tune", "study.got", "--model", "simulated").err
    first, _, rest = said.partition("1 point, 4 rows")
    assert rest or expected is None
    assert (
        expected in first
        if expected
        else "needed" not in said and "only" not in said and "not used" not in said
    )
    again = gotc("tune", "study.got", "--model", "simulated", "--pick", "original").err
    assert expected is None or expected not in again


def test_what_to_do_next_is_about_the_same_study(gotc: Gotc, folder: Path) -> None:
    guess_study(folder, "train 18, test 20\nminimize error(result, target)\ntrials 12")
    study = (folder / "study.got").read_text()
    (folder / "two ways.got").write_text(study + study.replace("study near", "study far"))
    given = (
        "--study",
        "far",
        "--seed",
        5,
        "--model",
        "simulated",
        "--sample",
        "38:1",
        "--out",
        "my file.json",
    )
    done = gotc("tune", "two ways.got", *given)
    lines = [
        line.partition("`gotc ")[2].partition("`")[0] for line in done.out.splitlines() if "`gotc " in line
    ]
    assert done.code == 0 and len(lines) >= 2
    for line in lines:
        words = shlex.split(line)
        again = gotc(*words)
        assert again.code == 0, (line, again.err)
        assert words[0] == "run" or "resuming the study" in again.err


def test_what_to_do_next_needs_no_other_permission(
    gotc: Gotc, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "nothing trusted"))
    guess_study(folder, "train 18, test 20\nminimize error(result, target)\ntrials 12")
    assert gotc("tune", "study.got", "--model", "simulated").code == 2
    done = gotc("tune", "study.got", "--model", "simulated", "--allow-python")
    lines = [line.partition("`gotc ")[2].partition("`")[0] for line in done.out.splitlines()]
    for line in filter(None, lines):
        again = gotc(*shlex.split(line))
        assert again.code == 0, (line, again.err)
    assert "--tuned" in done.out and "--apply" in done.out
    stored = "".join(path.read_text() for path in folder.glob(".gotc/**/*.json"))
    assert "tune study.got" in stored and "--allow-python" not in stored  # others may read it


def test_a_scheme_that_a_study_chose_is_named_where_it_is_used(gotc: Gotc, folder: Path) -> None:
    clauses = "train 18, test 20\nminimize error(result, target)\nvary scheme in [far, near], tries in 6..8"
    guess_study(folder, f"{clauses}\ntrials 8")
    text = (folder / "guess.got").read_text()
    (folder / "guess.got").write_text(
        text + "scheme far(target: int) -> int:\n    Generate() guess(target, style)\n"
    )
    done = gotc("tune", "study.got", "--model", "simulated")
    assert "no measurable effect: scheme" not in done.err
    (line,) = (line for line in done.out.splitlines() if "gotc run" in line)
    used = gotc(*shlex.split(line.partition("`gotc ")[2].partition("`")[0]), "--json")
    assert json.loads(used.out)["scheme"] == "near"
    original = gotc("tune", "study.got", "--model", "simulated", "--pick", "original")
    assert "original: this is the untuned program itself" in original.out
    assert "nothing better was found" not in original.out and "is best at" not in original.out
    applied = gotc("tune", "study.got", "--model", "simulated", "--apply")
    assert "the scheme is not written: choose it with `--scheme near`" in applied.err


def test_another_scheme_than_the_tuned_one_is_said(gotc: Gotc, folder: Path) -> None:
    guess_study(folder, SMALL)
    path = folder / "two.got"
    text = (folder / "guess.got").read_text()
    path.write_text(text + "scheme far(target: int) -> int:\n    Generate() guess(target, style)\n")
    content = {"format": "gotlang.tuned", "format_version": 1, "program": "two", "scheme": "near"}
    rest: dict[str, Any] = {"prompts": {}, "held_out": {}, "provenance": {}, "settings": {}, "params": {}}
    (folder / "t.json").write_text(json.dumps({**content, **rest}))
    some = ("run", "two.got", "--input", "target=3", "--tuned", "t.json", "--model", "simulated")
    assert "select it with `--scheme near`" in gotc(*some).err
    assert "takes it" not in gotc(*some, "--scheme", "far").err
    assert "takes it" not in gotc(*some, "--scheme", "near").err
