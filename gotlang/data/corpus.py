"""Corpora for `Retrieve`: documents in a jsonl file, searched with BM25.

Each line is an object with a `text` and, where there is one, a `title`. The ranking is bm25s' (Lucene's
formula, k1 1.5, b 0.75), which needs the extra `gotlang[retrieval]`. A large corpus is indexed once: the
index is kept beside the file, as `NAME.bm25`, and made anew when the file changes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

from gotlang.errors import UsageError

Search = Callable[[str, int], list[str]]
"""`search(query, k)`: up to k documents that share a word with the query, the best first."""

KEPT_FROM: Final = 8_000_000
"""Bytes from which on a corpus is large enough for its index to be kept on disk."""
_STAMP: Final = "made_from.json"
_OFFSETS: Final = "lines.bin"
_WORD: Final = re.compile(r"\w+")
_STOP_WORDS: Final = frozenset(
    (
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "his",
        "in",
        "is",
        "it",
        "its",
        "of",
        "on",
        "or",
        "she",
        "that",
        "the",
        "their",
        "they",
        "this",
        "to",
        "was",
        "were",
        "which",
        "who",
        "will",
        "with",
    )
)


def open_corpus(path: str | Path) -> Search:
    """A search function over a corpus. Raises UsageError where the file, a line of it or bm25s is missing."""
    path = Path(path)
    try:
        import bm25s
    except ImportError:
        raise UsageError(
            f"searching {path.name} needs bm25s", help="install it: pip install 'gotlang[retrieval]'"
        ) from None
    try:
        state = path.stat()
    except OSError as error:
        raise UsageError(f"cannot read the corpus {path}: {error.strerror}") from None
    kept = path.with_name(f"{path.name}.bm25") if state.st_size >= KEPT_FROM else None
    stamp = {"version": 1, "bytes": state.st_size, "changed_ns": state.st_mtime_ns}
    offsets = _kept_offsets(kept, stamp) if kept is not None else None
    if kept is not None and offsets is not None:
        index = bm25s.BM25.load(str(kept), mmap=True)
    else:
        offsets, words = _read(path)
        index = bm25s.BM25()
        index.index(words, show_progress=False)
        del words
        if kept is not None:
            _keep(index, offsets, kept, stamp)
    return _searcher(path, index, offsets)


def words_of(text: str) -> list[str]:
    """A text as BM25 sees it: its words in small letters, without the most frequent ones."""
    return [word for word in _WORD.findall(text.lower()) if word not in _STOP_WORDS]


def _searcher(path: Path, index: Any, offsets: array[int]) -> Search:
    import numpy

    def search(query: str, k: int) -> list[str]:
        known = [word for word in words_of(query) if word in index.vocab_dict]
        if not known or k < 1:
            return []
        scores = index.get_scores(known)[: len(offsets)]
        found = numpy.flatnonzero(scores > 0)
        if len(found) > k:
            found = found[scores[found] >= numpy.partition(scores[found], -k)[-k]]
        best = found[numpy.argsort(-scores[found], kind="stable")][:k]  # equals in the order of the file
        with path.open("rb") as file:
            return [_document(file, offsets[i]) for i in best]

    return search


def _document(file: Any, offset: int) -> str:
    file.seek(offset)
    title, text = _parts(json.loads(file.readline()))
    return f"{title}: {text}" if title else text


def _parts(entry: dict[str, Any]) -> tuple[str, str]:
    title, text = entry.get("title") or "", entry["text"]
    # HotpotQA's dump has lists of sentences where others have a text.
    return str(title), text if isinstance(text, str) else "".join(map(str, text))


@final
@dataclass(slots=True)
class _Words:
    """The words of every document as numbers, in the form bm25s takes them. Numbers, since a large corpus has
    more words than memory has room for as texts."""

    ids: list[array[int]] = field(default_factory=list)
    vocab: dict[str, int] = field(default_factory=dict)

    def add(self, words: Iterable[str]) -> None:
        """The words of one more document."""
        vocab = self.vocab
        self.ids.append(array("I", [vocab.setdefault(word, len(vocab)) for word in words]))


def _read(path: Path) -> tuple[array[int], _Words]:
    offsets: array[int] = array("q")
    words = _Words()
    for offset, entry in _entries(path):
        offsets.append(offset)
        words.add(words_of(" ".join(_parts(entry))))
    if not words.vocab:
        raise UsageError(f"the corpus {path} has no documents")
    return offsets, words


def _entries(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    entry = json.loads(line)
                except ValueError:
                    raise UsageError(f"{path}:{number}: this line is not JSON") from None
                if not isinstance(entry, dict) or not isinstance(entry.get("text"), str | list):
                    raise UsageError(f'{path}:{number}: a document is an object with a "text"')
                yield offset, entry
            offset += len(line)


def _kept_offsets(kept: Path, stamp: dict[str, int]) -> array[int] | None:
    """Where the documents begin, from an index made of this very file; None where there is none."""
    try:
        if json.loads((kept / _STAMP).read_text()) != stamp:
            return None
        offsets: array[int] = array("q")
        offsets.frombytes((kept / _OFFSETS).read_bytes())
        return offsets
    except (OSError, ValueError):
        return None


def _keep(index: Any, offsets: array[int], kept: Path, stamp: dict[str, int]) -> None:
    """Write the index beside the corpus, whole or not at all; a folder that is read-only is no error."""
    making = kept.with_name(f"{kept.name}.{os.getpid()}")
    try:
        index.save(str(making), show_progress=False)
        (making / _OFFSETS).write_bytes(offsets.tobytes())
        (making / _STAMP).write_text(json.dumps(stamp))
        shutil.rmtree(kept, ignore_errors=True)
        making.rename(kept)
    except OSError:
        shutil.rmtree(making, ignore_errors=True)
