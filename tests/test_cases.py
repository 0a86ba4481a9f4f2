"""Golden cases: `tests/cases/STAGE/*.case` contain sources with the exact output of a stage.

    [case a title]
    the source
    [out]
    what comes out

`pytest tests/test_cases.py --accept` writes what comes out now; read the difference before you commit it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gotlang.api import compile
from gotlang.compiler import compile_source
from gotlang.diagnostics import Diagnostic, render
from gotlang.ir.text import to_text
from gotlang.packages import package_text
from gotlang.span import Source
from gotlang.syntax.format import format_module
from gotlang.syntax.parse import parse
from tests.support.stages import PRELUDE, TYPED, programs_text, run_text, stages_text
from tests.support.tree import dump

CASES = Path(__file__).parent / "cases"
_CASE = re.compile(
    r"^\[case (?P<title>[^\n]+)\]\n(?P<source>.*?)^\[out\]\n(?P<out>.*?)(?=^\[case |\Z)", re.M | re.S
)


def _shown(problems: tuple[Diagnostic, ...], source: Source) -> str:
    return "\n".join(render(problem, {source.name: source}) for problem in problems)


def _parse(source: Source) -> str:
    module, problems = parse(source)
    return _shown(problems, source) or dump(module, source)


def _fmt(source: Source) -> str:
    module, problems = parse(source)
    return _shown(problems, source) or format_module(module, source)


def _check(source: Source) -> str:
    return _shown(compile_source(source).diagnostics, source) or "nothing to say"


class _Files:
    """The files of a case of `files`: each follows a line `--- its name`."""

    def __init__(self, parts: list[str]) -> None:
        self.texts = dict(part.split("\n", 1) for part in parts)

    def text(self, path: str) -> str:
        if path not in self.texts:
            raise FileNotFoundError(path)
        return self.texts[path].replace("\\xff", "\udcff")

    def missing(self, path: str) -> str | None:
        return None if path in self.texts else f"there is no file {path}"


def _files(source: Source) -> str:
    """The diagnostics of a program with files in its folder."""
    program, *parts = source.text.split("--- ")
    files = _Files(parts)

    def read(name: str) -> str:
        return package_text(name) if name.startswith("<") else files.text(name)

    done = compile_source(Source.of(source.name, program), read, files=files)
    return "\n".join(render(each, done.sources) for each in done.diagnostics) or "nothing to say"


def _ir(source: Source) -> str:
    return to_text(compile_source(source).compiled().program(0))


def _passes(source: Source) -> str:
    """The optimized program; of one that uses the prelude, its own schemes alone."""
    if "prompt " in source.text:
        return to_text(compile_source(source).compiled().program(2))
    program = compile(PRELUDE + source.text, source.name, functions=TYPED)
    return "scheme " + to_text(program.ir(2)).split("\nscheme ", 1)[1]


STAGES: dict[str, Callable[[Source], str]] = {
    "parse": _parse,
    "fmt": _fmt,
    "check": _check,
    "files": _files,
    "ir": _ir,
    "passes": _passes,
    "run": run_text,
    "operations": stages_text,
    "programs": programs_text,
}


@dataclass(frozen=True)
class Case:
    """One case and its file."""

    path: Path
    title: str
    source: str
    out: str

    def __str__(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}: {self.title}"

    def produced(self) -> str:
        """What comes out now."""
        # A character that no editor shows is written by its number, a very long text by how often it repeats.
        source = re.sub(r"<U\+([0-9A-F]{4})>", lambda match: chr(int(match[1], 16)), self.source)
        source = re.sub(r"<(\d+) times ([^>]+)>", lambda match: int(match[1]) * match[2], source)
        text = STAGES[self.path.parent.name](Source.of("case.got", source))
        return "".join(line.rstrip() + "\n" for line in text.rstrip("\n").split("\n"))


def _cases() -> list[Case]:
    return [
        Case(path, match["title"], match["source"], match["out"].rstrip("\n") + "\n")
        for path in sorted(CASES.rglob("*.case"))
        for match in _CASE.finditer(path.read_text())
    ]


ALL = _cases()


@pytest.mark.parametrize("case", ALL, ids=str)
def test_case(case: Case, accept: bool) -> None:
    produced = case.produced()
    if accept and produced != case.out:
        text = case.path.read_text()
        start = text.index("[out]\n", text.index(f"[case {case.title}]\n")) + len("[out]\n")
        following = text.find("\n[case ", start - 1)
        end = len(text) if following < 0 else following
        case.path.write_text(text[:start] + produced + text[end:])
        return
    assert produced == case.out


def test_no_case_is_overlooked() -> None:
    titles = sum(path.read_text().count("[case ") for path in CASES.rglob("*.case"))
    assert titles == len(ALL) == len({str(case) for case in ALL})
    assert {case.path.parent.name for case in ALL} <= set(STAGES)
