"""`gotc cache`: sums, lists, texts that go from one cache to another, and forgetting."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Gotc

from gotlang.cache import open_cache
from gotlang.cache.base import StoredSample
from gotlang.cli.options import CACHE
from gotlang.cli.output import harmless
from gotlang.models.base import Completion, Message, Request, Usage

RUN = ("run", "vote.got", "--json", "--input")


@pytest.fixture
def filled(gotc: Gotc) -> Gotc:
    """Two requests of three answers each."""
    for question in ("why", "how"):
        assert gotc(*RUN, f"question={question}").code == 0
    return gotc


def test_there_is_none_yet(gotc: Gotc) -> None:
    for command in ("stats", "list"):
        done = gotc("cache", command)
        assert done.code == 2
        assert "no cache in this folder yet" in done.err
        other = gotc("cache", command, "--cache", "other.sqlite")
        assert other.code == 2
        assert "cache other.sqlite not found" in other.err


def test_what_came_from_a_stranger_steers_no_terminal(gotc: Gotc) -> None:
    request = Request("m\x1b[31m", (Message("user", "hi\x1b[2J\u3000"),), prompt="p\x9b")
    with closing(open_cache("odd.sqlite")) as cache:
        cache.put(
            request.key(), request, {0: StoredSample(Completion("a\x07"), Usage(1, 1), 0.1, created=1e300)}
        )
    where = ("--cache", "odd.sqlite")
    assert "unknown time" in gotc("cache", "list", *where).out
    told = [gotc("cache", *words, *where).out for words in (("list",), ("stats",), ("show", request.key()))]
    assert all("m\\x1b[31m" in text for text in told)
    assert "a\x07" in told[2], "what goes elsewhere than to a terminal is as it was"
    assert harmless("a\x07\tb\n\u3000") == "a\\x07\tb\n\u3000"


def test_the_cache_is_not_written_over(filled: Gotc) -> None:
    kept = Path(".gotc/cache.sqlite").read_bytes()
    for words in (("cache", "export", ".gotc/cache.sqlite"), (*RUN, "question=who", "--record", str(CACHE))):
        done = filled(*words)
        assert done.code == 2 and "is a database and would be overwritten" in done.err
    assert Path(".gotc/cache.sqlite").read_bytes() == kept
    done = filled(*RUN, "question=who", "--record", "/dev/null")
    assert done.code == 2 and "not a regular file" in done.err


def test_an_amount_that_is_none_is_told(filled: Gotc) -> None:
    for amount in ("much", "9" * 400 + "gb", "-1"):
        done = filled("cache", "prune", f"--keep-size={amount}")
        assert done.code == 2 and "is not an amount" in done.err


def test_stats_and_list(filled: Gotc) -> None:
    found = filled("cache", "stats", "--json").json()
    assert (found["total"]["requests"], found["total"]["samples"]) == (2, 6)
    assert list(found["models"]) == [name for name in found["models"] if name.startswith("simulated@")]
    assert "total" in filled("cache", "stats").out
    entries = filled("cache", "list", "--json").json()["entries"]
    assert [entry["prompt"] for entry in entries] == ["answer", "answer"]
    assert len(filled("cache", "list").out.splitlines()) == 2
    assert filled("cache", "list", "--prompt", "another").out == ""
    assert filled("cache", "list", "--model", "gpt-4o").out == ""


def test_a_request_with_its_answers(filled: Gotc) -> None:
    key = filled("cache", "list", "--json").json()["entries"][0]["key"]
    shown = filled("cache", "show", key[:9])
    assert "--- user ---\nwhy" in shown.out
    assert shown.out.count("--- sample ") == 3
    found = filled("cache", "show", key, "--json").json()
    assert found["request"]["messages"] == [["user", "why"]]
    assert len(found["samples"]) == 3
    assert "no request" in filled("cache", "show", "zz").err
    assert "several requests" in filled("cache", "show", "").err


def test_a_cache_goes_to_another_folder_as_text(filled: Gotc, folder: Path) -> None:
    assert filled("cache", "export", "answers.jsonl").code == 0
    assert filled("cache", "export").out == (folder / "answers.jsonl").read_text()
    done = filled("cache", "import", "answers.jsonl", "--cache", "other.sqlite")
    assert "imported 2 requests: 6 samples added" in done.err
    assert "6 already cached" in filled("cache", "import", "answers.jsonl", "--cache", "other.sqlite").err
    assert filled(*RUN, "question=why", "--cache", "other.sqlite").json()["spent"]["calls"] == 0


def test_a_text_that_was_changed_is_refused(filled: Gotc, folder: Path) -> None:
    text = filled("cache", "export").out.splitlines()
    line = json.loads(text[1])
    line["request"]["messages"][0][1] = "another question"
    (folder / "bad.jsonl").write_text("\n".join([text[0], json.dumps(line)]))
    done = filled("cache", "import", "bad.jsonl", "--cache", "other.sqlite")
    assert done.code == 2
    assert "line 2" in done.err
    assert filled("cache", "import", "gone.jsonl").code == 2
    (folder / "bytes.jsonl").write_bytes(b"\xff\xfe")
    assert filled("cache", "import", "bytes.jsonl").code == 2
    assert filled("cache", "export", "bad.jsonl/x.jsonl").code == 2


def test_forgetting_by_age_and_size(filled: Gotc) -> None:
    assert filled("cache", "prune").code == 2
    assert "0 requests" in filled("cache", "prune", "--older-than", "1h").err
    assert "0 requests" in filled("cache", "prune", "--keep-size", "1GB").err
    assert "is not an amount" in filled("cache", "prune", "--keep-size", "much").err
    assert "is not an amount" in filled("cache", "prune", "--older-than", "3 moons").err
    done = filled("cache", "prune", "--keep-size", "1.2KB")
    assert "pruned 1 request with 3 samples" in done.err, done.err
    assert "pruned 1 request with 3 samples" in filled("cache", "prune", "--older-than", "0s").err
    assert filled("cache", "stats", "--json").json()["total"]["samples"] == 0
    assert filled("cache", "prune", "--older-than", "1d", "--cache", "gone.sqlite").code == 2
