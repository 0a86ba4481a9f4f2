"""Corpora for `Retrieve`: documents in a jsonl file or texts in a folder, searched with BM25.

In a file each line is an object with a `text` (or a list of texts, which are joined) and maybe a `title`. In
a folder each `.txt` and `.md` file, at any depth, is a document, whose title is its path in the folder
without the ending; hidden files and folders, empty files and files of other kinds are left out. Text is
UTF-8. A corpus of 8 MB or more is ranked by bm25s, with the same formula, which needs the extra
`retrieval`; the index of such a file is saved next to it, as `NAME.bm25`, and rebuilt when the file changes.
"""

from __future__ import annotations

import json
import os
import shutil
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

from gotlang.disk import real_path
from gotlang.errors import UsageError, reporting
from gotlang.packages import pip_install
from gotlang.semantics.bm25 import Ranking, words_of

Search = Callable[[str, int], list[str]]
"""`search(query, k)`: up to k documents that share a word with the query, the best first."""

LARGE: Final = 8_000_000
"""Size in bytes from which a corpus is ranked by bm25s, and the index of such a file is saved."""
TEXTS: Final = (".txt", ".md")
"""The files of a folder that are documents."""
_LINE: Final = 'each line is an object such as {"title": "...", "text": "..."}'
_STAMP: Final = "made_from.json"
_OFFSETS: Final = "lines.bin"


def open_corpus(path: str | Path) -> Search:
    """A search function over a corpus: a jsonl file, or a folder of texts.

    Raises UsageError if a file cannot be read, a line is invalid, or bm25s is needed and not installed.
    """
    path = Path(path)
    with reporting(f"cannot read the corpus {path}"):
        state = path.stat()
    if path.is_dir():
        return _folder(path)
    if path.suffix.lower() in TEXTS:
        raise UsageError(f"{path} is one text; a corpus is a .jsonl file or a folder", help="name its folder")
    if state.st_size >= LARGE:
        return _large(path, {"version": 1, "bytes": state.st_size, "changed_ns": state.st_mtime_ns})
    documents, ranking = [], Ranking()
    for _, entry in _entries(path):
        title, text = _title_and_text(entry)
        documents.append(_shown(title, text))
        ranking.add(f"{title} {text}")
    if not ranking:
        raise UsageError(f"the corpus {path} has no documents", help=_LINE)
    return lambda query, k: [documents[number] for number in ranking.best(query, k)]


def _large(path: Path, stamp: dict[str, int]) -> Search:
    """A search function over a file that is not kept in memory."""
    bm25s = _bm25s(path)
    folder = path.with_name(f"{path.name}.bm25")
    offsets = _saved_offsets(folder, stamp)
    if offsets is not None:
        index = bm25s.BM25.load(str(folder), mmap=True)
    else:
        offsets, words = _read(path)
        index = bm25s.BM25()
        index.index(words, show_progress=False)
        del words
        _save(index, offsets, folder, stamp)

    def document(number: int) -> str:
        with path.open("rb") as file:
            file.seek(offsets[number])
            return _shown(*_title_and_text(json.loads(file.readline())))

    return _searcher(index, len(offsets), document)


def _bm25s(path: Path) -> Any:
    try:
        import bm25s
    except ImportError:
        raise UsageError(
            f"searching {path.name}, which has 8 MB or more, needs bm25s", help=pip_install("retrieval")
        ) from None
    return bm25s


def _folder(path: Path) -> Search:
    """A search function over the texts in a folder."""
    documents: list[str] = []
    files = (Path(at) / name for at, _, names in os.walk(path) for name in names)
    for file in sorted(files, key=lambda file: file.relative_to(path).parts):
        place = file.relative_to(path)
        if file.suffix.lower() not in TEXTS or any(part.startswith(".") for part in place.parts):
            continue
        if not real_path(file).is_relative_to(real_path(path)):
            raise UsageError(f"{file} leads out of the corpus {path}", help="copy the file into the folder")
        if file.exists() and not file.is_file():
            raise UsageError(f"cannot read {file}: it is not a regular file")
        try:
            text = file.read_bytes().decode("utf-8-sig").strip()
        except UnicodeDecodeError as error:
            raise UsageError(f"{file} is not UTF-8 (byte {error.start})") from None
        except OSError as error:
            raise UsageError(f"cannot read {file}: {error.strerror}") from None
        if text:
            documents.append(_shown(place.with_suffix("").as_posix(), text))
    if sum(map(len, documents)) >= LARGE:
        words = _WordIndex()
        for document in documents:
            words.add(document)
        index = _bm25s(path).BM25()
        index.index(words, show_progress=False)
        return _searcher(index, len(documents), documents.__getitem__)
    ranking = Ranking(documents)
    if not ranking:
        raise UsageError(
            f"the corpus {path} has no documents",
            help="a folder is searched for .txt and .md files with text",
        )
    return lambda query, k: [documents[number] for number in ranking.best(query, k)]


def _searcher(index: Any, size: int, document: Callable[[int], str]) -> Search:
    import numpy

    def search(query: str, k: int) -> list[str]:
        known = [word for word in words_of(query) if word in index.vocab_dict]
        if not known or k < 1:
            return []
        scores = index.get_scores(known)[:size]
        found = numpy.flatnonzero(scores > 0)
        if len(found) > k:
            found = found[scores[found] >= numpy.partition(scores[found], -k)[-k]]
        best = found[numpy.argsort(-scores[found], kind="stable")][:k]  # ties in the order of the corpus
        return [document(int(number)) for number in best]

    return search


def _shown(title: str, text: str) -> str:
    return f"{title}: {text}" if title else text


def _title_and_text(entry: dict[str, Any]) -> tuple[str, str]:
    text = entry["text"]  # in HotpotQA's dump a list of sentences
    return str(entry.get("title") or ""), text if isinstance(text, str) else "".join(map(str, text))


@final
@dataclass(slots=True)
class _WordIndex:
    """The words of every document in the form of bm25s: as numbers, since those of a large corpus do not fit
    into memory as texts."""

    ids: list[array[int]] = field(default_factory=list)
    vocab: dict[str, int] = field(default_factory=dict)

    def add(self, text: str) -> None:
        """One more document."""
        self.ids.append(array("I", [self.vocab.setdefault(w, len(self.vocab)) for w in words_of(text)]))


def _read(path: Path) -> tuple[array[int], _WordIndex]:
    offsets: array[int] = array("q")
    words = _WordIndex()
    for offset, entry in _entries(path):
        offsets.append(offset)
        words.add(" ".join(_title_and_text(entry)))
    if not words.vocab:
        raise UsageError(f"the corpus {path} has no documents", help=_LINE)
    return offsets, words


def _entries(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    entry = json.loads(line)
                except ValueError:
                    raise UsageError(f"{path}, line {number}: not JSON", help=_LINE) from None
                if not isinstance(entry, dict) or not isinstance(entry.get("text"), str | list):
                    raise UsageError(f'{path}, line {number}: expected an object with a "text"', help=_LINE)
                yield offset, entry
            offset += len(line)


def _saved_offsets(folder: Path, stamp: dict[str, int]) -> array[int] | None:
    """The offsets of the documents, from a saved index of this file, or None."""
    try:
        if json.loads((folder / _STAMP).read_text()) != stamp:
            return None
        offsets: array[int] = array("q")
        offsets.frombytes((folder / _OFFSETS).read_bytes())
        return offsets
    except (OSError, ValueError):
        return None


def _save(index: Any, offsets: array[int], folder: Path, stamp: dict[str, int]) -> None:
    """Write the index next to the corpus, completely or not at all; a read-only folder is not an error."""
    draft = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        index.save(str(draft), show_progress=False)
        (draft / _OFFSETS).write_bytes(offsets.tobytes())
        (draft / _STAMP).write_text(json.dumps(stamp))
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
