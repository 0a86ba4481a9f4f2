"""Which token of a program is what, as the parser reads it: what highlighters are compared with."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from gotlang.span import Fragment, Source
from gotlang.syntax.grammar import reader, tokens_of_lark
from gotlang.syntax.parse import parse, scan
from gotlang.syntax.reader import Unreadable

ROOT = Path(__file__).parents[2]
_KINDS = {
    "NAME": "name",
    "OPERATION": "capital",
    **dict.fromkeys(("TRUE", "FALSE", "NONE"), "constant"),
    **dict.fromkeys(("INT", "FLOAT"), "number"),
    **dict.fromkeys(("STRING", "LONG_STRING"), "string"),
}


@dataclass
class _Kinds:
    """A builder that only notes the kind of each token."""

    base: int
    found: list[tuple[int, int, str]] = field(default_factory=list)

    def token(self, kind: str, text: str, start: int, end: int) -> None:
        if re.fullmatch(r"[a-z]+", text) and kind not in _KINDS:
            self.found.append((self.base + start, self.base + end, "keyword"))
        elif kind in _KINDS:
            self.found.append((self.base + start, self.base + end, _KINDS[kind]))

    def rule(self, name: str, start: int, end: int, parts: list[Any]) -> None:
        pass


def tokens(text: str) -> list[tuple[int, int, str]]:
    """The words, numbers, strings and comments of a program: where each starts and ends, and its kind, one of
    `keyword`, `constant`, `name`, `capital`, `number`, `string`, `comment`."""
    chunks, comments = scan(Fragment("program.got", text))
    found = [(c.span.start, c.span.end, "comment") for c in comments]
    for chunk in chunks:
        part = text[chunk.start : chunk.end]
        builder = _Kinds(chunk.start)
        try:
            reader().read(reader().tokens(part), "module", builder)
        except Unreadable:
            builder = _Kinds(chunk.start)
            reader().read(tokens_of_lark(part, "module"), "module", builder)
        found += builder.found
    return sorted(found)


def programs() -> dict[str, str]:
    """Every program of the tree by its place: files, and the blocks of the documentation."""
    folders = ("programs", "studies", "gotlang", "benchmarks")
    found = {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.got"))
    }
    for page in sorted((*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md")):
        blocks = re.findall(r"^```got\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
        found |= {f"{page.relative_to(ROOT)} block {n}": block for n, block in enumerate(blocks, 1)}
    return found


@cache
def cases() -> dict[str, str]:
    """Every program without syntax errors among the golden cases, by its place."""
    found = {}
    for path in sorted((ROOT / "tests" / "cases").rglob("*.case")):
        parts = re.split(r"^\[\w[^\]]*\]\n", path.read_text("utf-8"), flags=re.MULTILINE)
        for number, text in enumerate(parts):
            declared = re.search(
                r"^(?:scheme|prompt|score|param|type|study|import|test|law)\b", text, re.MULTILINE
            )
            basic = all(ord(character) < 0x10000 for character in text)  # VS Code counts others twice
            if declared and basic and not parse(Source("case.got", text))[1]:
                found[f"{path.relative_to(ROOT)} part {number}"] = text
    return found
