"""Tests the soundness of the check: programs that pass fail only by data, and correct programs pass.

Programs are generated over the whole language and edited as people edit. What is refused must be refused
where the edit is, or in a declaration that uses what was edited.

    python -m tests.soundness --runs 20000

It says every 500 programs how many were tried; `--first` goes on from there. `tests/test_soundness.py` runs a
few of the same.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Set
from itertools import pairwise
from random import Random

from gotlang.api import Options, compile
from gotlang.compiler import compile_source
from gotlang.diagnostics import Diagnostic, render
from gotlang.errors import GotError, RunError
from gotlang.ir.evaluate import Evaluator
from gotlang.metric import measure
from gotlang.models.simulated import SimulatedModel
from gotlang.span import Source
from tests.support.edits import edited
from tests.support.laws import command
from tests.support.newer_programs import newer_program
from tests.support.typed_programs import TypedProgram, typed_program

EDITS = 3
"""Edited versions of each program."""
MOST_CALLS = 300

BY_DATA = re.compile(
    r"is true for no thought|thoughts is valid|position -?\d+ of \d+ |zero|of an empty list|has no value|"
    r"is not a (whole )?number|no thought|negative|budget does not allow|left nothing|leaves nothing|"
    r"more than [\d,]+ |too large|no such name|than its `best |its end is unknown|no response within|"
    r"cut off at max_tokens|leaves no state|calls a tool in the last of its"
)
"""Reasons for a failure that are in the data, or in a limit."""
UNREAD = re.compile(r"(expected|none of) .*\bfound\b|field .* is missing|\bno .+ found: ")
"""What an edit of a prompt's result leads to, since its simulator gives what it gave before."""

RULED_OUT = re.compile(r" and none are never equal$|^field `\w+` is (?!missing)")
"""What the generator cannot know of its own program: that a condition has ruled `none` out, or that a record
without a declared type, of which it takes a field over, holds no `none` there."""


class Unsound(AssertionError):
    """A program that shows that the check is wrong."""


def errors_of(text: str) -> tuple[Source, list[Diagnostic]]:
    """A program's errors."""
    source = Source.of("law.got", text)
    compilation = compile_source(source)
    return source, [found for found in compilation.diagnostics if found.severity == "error"]


def run(program: TypedProgram, text: str, level: int) -> None:
    """Run what passed the check. Raises Unsound if it fails by anything but data."""
    try:
        compiled = compile(text, "law.got")
        scheme = compiled.scheme("main" if "main" in compiled.schemes else None)
        inputs = {
            name: value for name, value in program.inputs.items() if name in {p for p, _ in scheme.parameters}
        }
        options = Options(
            model=SimulatedModel(program.simulators()), cache=None, level=level, max_calls=MOST_CALLS
        )
        result = compiled.run(inputs, scheme=scheme.name, options=options)
        if result.status != "complete":  # an edit asks for more calls than MOST_CALLS
            return
        value = result.value
        ir = compiled.ir(0)
        evaluate = Evaluator({score.name: score for score in ir.scores}, {}, ir.results)
        params = {param.name: param.default for param in ir.params}
        for found in measure(compiled.metrics(scheme), value, inputs, value, evaluate, params).values():
            if found.reason is not None and not BY_DATA.search(found.reason.partition(": ")[2]):
                raise Unsound(f"-O{level}: {found.reason}")
    except RunError as error:
        for failure in error.failures or (error,):
            reason = getattr(failure, "reason", None) or str(failure)
            misread = text != program.text and UNREAD.search(str(reason))
            if not misread and not BY_DATA.search(str(reason)):
                raise Unsound(f"-O{level}: {reason}") from None
    except GotError as error:
        if not BY_DATA.search(str(error)) and not re.search("input|^scheme `main` needs", str(error)):
            raise Unsound(f"-O{level}: {type(error).__name__}: {error}") from error


def declarations(text: str) -> list[tuple[int, int, str]]:
    """The first line, the line after the last, and the text of each declaration."""
    lines = text.split("\n")
    starts = [i for i, line in enumerate(lines) if line and not line.startswith(" ")] + [len(lines)]
    return [(a, b, "\n".join(lines[a:b])) for a, b in pairwise(starts)]


def in_place(text: str, touched: frozenset[int], names: Set[str], source: Source, found: Diagnostic) -> bool:
    """Whether an error is in a declaration that was edited, or in one that uses a name in an edited line."""
    line = source.text.count("\n", 0, found.span.start)
    if line in touched:
        return True
    lines = text.split("\n")
    names = {*names, *(name for at in touched for name in re.findall(r"\w+", " ".join(lines[at : at + 1])))}
    for first, after, own in declarations(text):
        if any(first <= at < after for at in touched):
            names |= set(re.findall(r"\w+", own.split("\n")[0]))
            if first <= line < after:
                return True
    return any(
        first <= line < after and names & set(re.findall(r"\w+", own))
        for first, after, own in declarations(text)
    )


def hold(seed: str) -> Counter[str]:
    """One generated program and its edits; the codes of the errors. Raises Unsound."""
    program = newer_program(seed) if int(seed) % 5 == 0 else typed_program(seed)
    source, errors = errors_of(program.text)
    if errors and all(
        found.code in ("GOT0221", "GOT0330") or RULED_OUT.search(found.message) for found in errors
    ):
        # A constant that has no value, a literal that a value of several is never, or what is RULED_OUT.
        return Counter(found.code for found in errors)
    if errors:
        raise Unsound(
            "a right program is refused:\n"
            + "\n".join(render(e, {source.name: source}) for e in errors)
            + "\n"
            + program.text
        )
    codes: Counter[str] = Counter()
    for number in range(EDITS + 1):
        text, touched, names = program.text, frozenset[int](), frozenset[str]()
        if number:
            text, touched, names = edited(Random(f"{seed}/{number}"), program.text)
        try:
            source, errors = errors_of(text)
            codes.update({e.code for e in errors} or {"runs"})
            if not errors:
                for level in (0, 2):
                    run(program, text, level)
            for found in errors:
                if not in_place(text, touched, names, source, found):
                    raise Unsound("refused elsewhere:\n" + render(found, {source.name: source}))
        except Unsound as error:
            raise Unsound(f"{error}\nlines {sorted(line + 1 for line in touched)}\n{text}") from None
        except Exception as error:
            raise Unsound(f"{type(error).__name__}: {error}\n{text}") from error
    return codes


if __name__ == "__main__":
    sys.exit(command(__doc__, hold, runs=20_000))
