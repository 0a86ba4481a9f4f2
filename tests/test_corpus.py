"""Corpora: search results, errors, and saved indexes, which equal new ones."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

import pytest

import gotlang.data.corpus as corpus
from gotlang.data.corpus import open_corpus
from gotlang.errors import UsageError

DOCUMENTS = [
    {"title": "Ardel", "text": "Ardel lies on the river Sorn. It was founded in 1204."},
    {"title": "Brimm", "text": "Brimm lies on the river Tarn."},
    {"text": "The Sorn rises on Mount Kell."},
    {"title": "Ardel Bridge", "text": ["It crosses the Sorn. ", "It is old."]},
]


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    path = tmp_path / "pages.jsonl"
    path.write_text("\n\n".join(json.dumps(d) for d in DOCUMENTS) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("query", "k", "found"),
    [
        ("founded", 5, ["Ardel: Ardel lies on the river Sorn. It was founded in 1204."]),
        ("Which mountain does the SORN rise on? Kell", 1, ["The Sorn rises on Mount Kell."]),
        ("Tarn", 2, ["Brimm: Brimm lies on the river Tarn."]),
        ("crosses", 1, ["Ardel Bridge: It crosses the Sorn. It is old."]),
        ("nothing whatever", 3, []),
        ("the of and", 3, []),
        ("", 3, []),
        ("Sorn", 0, []),
    ],
)
def test_the_best_documents_come_first_and_others_not_at_all(
    pages: Path, query: str, k: int, found: list[str]
) -> None:
    assert open_corpus(pages)(query, k) == found


def test_equally_good_documents_keep_the_order_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "same.jsonl"
    path.write_text("".join(json.dumps({"text": f"red {n}"}) + "\n" for n in range(30)))
    assert open_corpus(path)("red", 4) == ["red 0", "red 1", "red 2", "red 3"]


def test_an_index_that_was_kept_finds_the_same_and_is_made_anew_when_the_file_changes(
    pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "LARGE", 1)
    first = open_corpus(pages)("Sorn river", 4)
    assert (pages.parent / "pages.jsonl.bm25" / "made_from.json").exists()
    with monkeypatch.context() as only_kept:
        only_kept.setattr(corpus, "_read", lambda path: pytest.fail("indexed a second time"))
        assert open_corpus(pages)("Sorn river", 4) == first
    pages.write_text(json.dumps({"text": "only the river"}) + "\n")
    os.utime(pages, ns=(1, 1))
    assert open_corpus(pages)("river", 4) == ["only the river"]


def test_without_bm25s_only_a_large_corpus_is_refused(
    pages: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    assert open_corpus(pages)("Tarn", 2) == ["Brimm: Brimm lies on the river Tarn."]
    assert open_corpus(notes)("small", 1) == ["rivers/small/Tarn: # Tarn\n\nThe Tarn is a river."]
    monkeypatch.setattr(corpus, "LARGE", 50)
    for path in (pages, notes):
        with pytest.raises(UsageError, match=f"searching {path.name}, which has 8 MB or more") as one:
            open_corpus(path)
        assert one.value.help == "pip install 'gotlang[retrieval]'"


def test_a_large_corpus_is_ranked_as_a_small_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """bm25s is an implementation of the formula by others; it counts in 32 bits."""
    rng = random.Random(5)
    words = ["river", "town", "bridge", "singer", "band", "born", "the", "lantern", "blue", "mill"]
    texts = [f"{n} " + " ".join(rng.choices(words, k=rng.randint(3, 12))) for n in range(40)]
    path, folder = tmp_path / "pages.jsonl", tmp_path / "pages"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    folder.mkdir()
    for n, text in enumerate(texts):
        (folder / f"{n:02}.md").write_text(text)
    queries = ("Which band?", "river, town and the river", "blue lantern singer", "nothing", "the")
    small = [open_corpus(where)(query, 5) for where in (path, folder) for query in queries]
    monkeypatch.setattr(corpus, "LARGE", 1)
    assert [open_corpus(where)(query, 5) for where in (path, folder) for query in queries] == small
    assert small[0] and not small[3]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "a b"}\n{"text": ', "pages.jsonl, line 2: not JSON"),
        ('{"body": "a b"}\n', "pages.jsonl, line 1: expected an object with"),
        ("[1]\n", "pages.jsonl, line 1: expected an object with"),
        ("", "has no documents"),
    ],
)
def test_what_is_no_corpus_is_refused_with_its_line(pages: Path, content: str, message: str) -> None:
    pages.write_text(content)
    with pytest.raises(UsageError, match=message):
        open_corpus(pages)


def test_a_corpus_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the corpus"):
        open_corpus(tmp_path / "none.jsonl")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "rivers" / "small").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (folder / "ardel.txt").write_text("\ufeffArdel lies on the river Sorn.\n", encoding="utf-8")
    (folder / "rivers" / "small" / "Tarn.md").write_text("# Tarn\n\nThe Tarn is a river.\n")
    (folder / "empty.txt").write_text(" \n")
    (folder / "table.csv").write_text("river\n")
    (folder / ".hidden" / "secret.txt").write_text("river")
    return folder


def test_a_folder_of_texts_is_a_corpus(notes: Path) -> None:
    """Titles are paths in the folder, and are searched too; other files are left out."""
    search = open_corpus(notes)
    assert sorted(search("river", 9)) == [
        "ardel: Ardel lies on the river Sorn.",
        "rivers/small/Tarn: # Tarn\n\nThe Tarn is a river.",
    ]
    assert search("small", 1) == ["rivers/small/Tarn: # Tarn\n\nThe Tarn is a river."]


def test_what_is_no_folder_of_texts_is_refused_with_its_place(notes: Path) -> None:
    with pytest.raises(UsageError, match=r"ardel\.txt is one text") as one:
        open_corpus(notes / "ardel.txt")
    assert one.value.help == "name its folder"
    (notes / "latin.txt").write_bytes("Fl\xfcsse".encode("latin-1"))
    with pytest.raises(UsageError, match=r"latin\.txt is not UTF-8 \(byte 2\)"):
        open_corpus(notes)
    (notes / "latin.txt").unlink()
    os.mkfifo(notes / "pipe.txt")
    with pytest.raises(UsageError, match=r"pipe\.txt: it is not a regular file"):
        open_corpus(notes)
    (notes / "pipe.txt").unlink()
    (notes / "loop.txt").symlink_to("loop.txt")
    with pytest.raises(UsageError, match=r"cannot read .*loop\.txt"):
        open_corpus(notes)
    (notes / "loop.txt").unlink()
    (notes.parent / "other.txt").write_text("out there")
    (notes / "link.txt").symlink_to(notes.parent / "other.txt")
    with pytest.raises(UsageError, match=r"link\.txt leads out of the corpus"):
        open_corpus(notes)
    (notes.parent / "none").mkdir()
    with pytest.raises(UsageError, match="none has no documents"):
        open_corpus(notes.parent / "none")
