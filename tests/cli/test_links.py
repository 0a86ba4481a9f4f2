"""An untrusted folder with links that lead out of it: nothing is written through them, and an error is
reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.gotc import gotc
from support.openai_server import OpenAIServer
from support.studies import guess_study

from gotlang.cache import open_cache
from gotlang.errors import CacheError

LEADS = "a link leads out of the current folder"
STUDY = "train 4, test 2\nminimize error(result, target)\ntrials 3"
SIMULATED = ("--model", "simulated", "--allow-python")
ROWS = ("--data", "numbers.csv", "--map", "target=Target", "--limit", "2", *SIMULATED)
RUN = ("run", "guess.got", "--input", "target=40", *SIMULATED)
REFUSED = {
    "page of a comparison": (".gotc/compare.html", ("compare", "guess.got", "--schemes", "near", *ROWS)),
    "page of an evaluation": ("eval.html", ("eval", "guess.got", *ROWS, "--html", "eval.html")),
    "picture": (".gotc/graphs/near.html", ("graph", "guess.got")),
    "picture in a file": ("out.svg", ("graph", "guess.got", "--out", "out.svg")),
    "cache": (".gotc/cache.sqlite", RUN),
    "trace": ("trace.jsonl", (*RUN, "--trace", "trace.jsonl")),
    "recording": ("run.jsonl", (*RUN, "--record", "run.jsonl")),
    "tuned file": ("near.tuned.json", ("tune", "study.got", *SIMULATED)),
    "report of a study": ("r.html", ("tune", "study.got", *SIMULATED, "--report", "r.html")),
    "trials": ("st.journal", ("tune", "study.got", *SIMULATED, "--storage", "st.journal")),
    "export": ("all.jsonl", ("cache", "export", "all.jsonl")),
    "formatted program": ("ugly.got", ("fmt", "ugly.got")),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An untrusted folder, next to one of the user's."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "victim").write_text("param x=1\n")
    (tmp_path / "theirs").mkdir()
    guess_study(tmp_path / "theirs", STUDY, rows=8)
    return tmp_path / "theirs"


def untouched(folder: Path) -> bool:
    own = folder.parent / "own"
    return {path.name: path.read_text() for path in own.rglob("*")} == {"victim": "param x=1\n"}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("to", ["victim", "new"])
def test_a_link_to_a_file_is_refused(folder: Path, what: str, to: str) -> None:
    place, command = REFUSED[what]
    if what == "export":
        assert gotc(*RUN, cwd=folder).returncode == 0
    if what == "formatted program":
        to = "victim"
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).symlink_to(folder.parent / "own" / to)
    done = gotc(*command, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert LEADS in done.stderr or "is not a cache" in done.stderr or "not a SQLite" in done.stderr
    assert untouched(folder)


@pytest.mark.parametrize("place", [".gotc", ".gotc/runs", ".gotc/tune", ".gotc/graphs", ".gotc/batches"])
def test_a_link_to_a_folder_is_refused(folder: Path, place: str) -> None:
    (folder / place).parent.mkdir(exist_ok=True)
    (folder / place).symlink_to(folder.parent / "own")
    with OpenAIServer(lambda body, index: "7", idempotent=True) as server:
        batched = ("--batch", "--model", "openai:m", "--base-url", server.url, "--data", "numbers.csv")
        commands = {
            ".gotc": RUN,
            ".gotc/runs": RUN,
            ".gotc/tune": ("tune", "study.got", *SIMULATED),
            ".gotc/graphs": ("graph", "guess.got"),
            ".gotc/batches": ("eval", "guess.got", *batched, "--map", "target=Target", "--limit", "1"),
        }
        done = gotc(*commands[place], cwd=folder)
    assert LEADS in done.stderr + done.stdout
    assert done.returncode == {".gotc/runs": 0, ".gotc/batches": 1}.get(place, 2), done.stderr
    assert untouched(folder)


def test_what_is_learned_of_an_endpoint_is_not_written_through_a_link(folder: Path) -> None:
    (folder / ".gotc").mkdir()
    (folder / ".gotc" / "endpoints.json").symlink_to(folder.parent / "own" / "victim")
    with OpenAIServer(lambda body, index: "7") as server:
        run = ("run", "guess.got", "--input", "target=40", "--model", "openai:m", "--base-url", server.url)
        assert gotc(*run, cwd=folder).returncode == 0
    assert untouched(folder)


def test_what_processes_agree_on_is_not_written_through_a_link(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "cache.sqlite.coordination").symlink_to(folder.parent / "own" / "new")
    cache = open_cache("cache.sqlite")
    coordination = cache.coordination()
    assert coordination is not None
    with pytest.raises(CacheError, match=LEADS):
        coordination.claim("k", [0])
    cache.close()
    assert untouched(folder)


def test_the_user_may_name_what_a_link_leads_to(folder: Path) -> None:
    place = folder.parent / "own" / "page.svg"
    assert gotc("graph", "guess.got", "--out", str(place), cwd=folder).returncode == 0
    assert place.read_text().startswith("<svg")


def test_a_formatter_follows_a_link_inside(folder: Path) -> None:
    (folder / "real.got").write_text("param x=1\n")
    (folder / "link.got").symlink_to("real.got")
    assert gotc("fmt", "link.got", cwd=folder).returncode == 0
    assert (folder / "link.got").is_symlink()
    assert (folder / "real.got").read_text() == "param x = 1\n"
