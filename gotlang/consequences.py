"""Which errors are only consequences of others: of lines that cannot be parsed, or are unfinished."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from gotlang.diagnostics import Diagnostic
from gotlang.packages import STANDARD
from gotlang.span import Source, Span
from gotlang.syntax.expressions import HOLE
from gotlang.syntax.nodes import ANY_OPERATION, Module, Study

_NAMES = frozenset(
    {"GOT0103", "GOT0104", "GOT0105", "GOT0106", "GOT0219", "GOT0313", "GOT0315", "GOT0404", "GOT0406"}
    | {"GOT0323", "GOT0403", "GOT0602", "GOT0605", "GOT0702", "GOT0711", "GOT0746", "GOT0749"}
)
"""Errors in the use of a name, which an unreadable line may have declared."""
_INSIDE = _NAMES - {"GOT0106"} | {"GOT0201", "GOT0209", "GOT0213", "GOT0305"}
"""Errors in a block or a declaration that may follow from an error in its first line."""
_ABSENT = frozenset(
    {"GOT0113", "GOT0301", "GOT0302", "GOT0303", "GOT0306", "GOT0308"}
    | {"GOT0213", "GOT0316", "GOT0322", "GOT0325", "GOT0340", "GOT0341"}
)
"""Errors that may follow from an unreadable part of the same declaration."""
_ANYWHERE = frozenset({"GOT0316", "GOT0322", "GOT0323", "GOT0601", "GOT0603"})
"""Errors that may follow from an unreadable part of another declaration."""
_OF_CALLS = frozenset({"GOT0105", "GOT0202", "GOT0305", "GOT0746"})
"""Errors that may follow from the inputs of another declaration's call."""
_BROKEN = frozenset({"GOT0001", "GOT0003", "GOT0004", "GOT0009", "GOT0011"})
"""Errors after which a line does not mean what its author intended: no further errors are reported for it."""
_UNFINISHED = frozenset(
    {"GOT0010", "GOT0103", "GOT0104", "GOT0105", "GOT0106", "GOT0219", "GOT0303", "GOT0305", "GOT0741"}
)
"""Errors that a line has while its last word is being typed."""


class UnknownNames:
    """The unknown parts of a program: the names that unreadable lines may have declared (`*` for any, `*A`
    for any operation, `so*` for those with this prefix), and the places whose first line is unreadable."""

    def __init__(
        self, modules: Sequence[Module], sources: Mapping[str, Source], found: Iterable[Diagnostic]
    ) -> None:
        self.names = set[str]().union(*(module.unsure for module in modules))
        self._unreadable = [span for module in modules for span in module.unreadable]
        self._sources = sources
        places = [problem.span for problem in found]
        self._broken = {self._line(problem.span) for problem in found if problem.code in _BROKEN}
        declarations = [node.span for module in modules for node in module.declarations]
        starts = {span.start for span in declarations}
        self._headless = any(span.start in starts for span in self._unreadable)
        if self._headless:  # a study sees the inputs of its scheme
            studies = (d for module in modules for d in module.declarations if isinstance(d, Study))
            self._unreadable += [study.span for study in studies]
        self._damaged = [span for span in declarations if any(_within(place, span) for place in places)]

    def text(self, span: Span) -> str:
        """The text of a place in one of the sources."""
        return self._sources[span.source].text[span.start : span.end] if span.source in self._sources else ""

    def without_consequences(self, found: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
        """The errors that do not follow from the unknown parts. Warnings are left out: a name that seems
        unused may be used in an unknown part."""
        errors = [p for p in found if p.severity == "error" and self._line(p.span) not in self._broken]
        follow = {id(problem) for problem in errors if self._follows(problem)}
        steps = {self._line(p.span) for p in errors if id(p) in follow and p.code == "GOT0106"}
        return (p for p in errors if id(p) not in follow and self._line(p.span) not in steps)

    def _line(self, span: Span) -> tuple[str, int]:
        source = self._sources.get(span.source)
        return span.source, source.position(span.start)[0] if source is not None else span.start

    def _follows(self, found: Diagnostic) -> bool:
        if found.code in _INSIDE and any(_within(found.span, place) for place in self._unreadable):
            return True
        if self._headless and found.code in _OF_CALLS:
            return True
        if found.code in _ANYWHERE or (
            found.code in _ABSENT and any(_within(found.span, place) for place in self._damaged)
        ):
            return True
        quoted = re.findall(r"`([^`]+)`", f"{found.message} {found.at}")
        if HOLE in quoted:
            return True
        if found.code not in _NAMES or not quoted:
            return False
        starts = tuple(word[:-1] for word in self.names if word.endswith("*") and word != "*")
        words = [word for word in quoted[-1].split() if not word.isdigit()]
        alike = any if len(words) > 1 else all  # part of a label may remain
        if alike(word in self.names or word.startswith(starts) for word in words):
            return True
        if found.code == "GOT0106":
            return ANY_OPERATION in self.names or ("*" in self.names and words[0] in _standard())
        return "*" in self.names and found.code != "GOT0404"


@cache
def _standard() -> frozenset[str]:
    """The operations of the modules of `std`."""
    texts = (path.read_text("utf-8") for path in STANDARD.glob("*.got"))
    return frozenset(name for text in texts for name in re.findall(r"^operation (\w+)", text, re.MULTILINE))


def _within(place: Span, whole: Span) -> bool:
    return place.source == whole.source and whole.start <= place.start < whole.end


def unfinished(found: Iterable[Diagnostic], source: Source) -> tuple[Diagnostic, ...]:
    """The errors in the last word of a line: while it is being typed, the meaning of the line is unknown."""
    return tuple(
        problem
        for problem in found
        if problem.span.source == source.name
        and problem.span.use is None
        and (
            problem.code == "GOT0402"
            or (problem.code in _UNFINISHED and _at_end(source.text, problem.span.end))
        )
    )


def _at_end(text: str, at: int) -> bool:
    return not text[at:].split("\n", 1)[0].split("#", 1)[0].strip()


def on_line(found: Diagnostic, others: Iterable[Diagnostic], source: Source) -> bool:
    """Whether an error is on the same line as one of some others."""
    line = source.position(found.span.start)[0]
    return found.span.source == source.name and any(
        source.position(other.span.start)[0] == line for other in others
    )
