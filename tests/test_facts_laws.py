"""Facts that the check derives about thoughts are true in the run."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from support.generated import Generated, programs
from support.laws import tried

from gotlang.compiler import compile_source
from gotlang.errors import RunError
from gotlang.span import Source

ASKS = (
    "KeepBestN(2)",
    "KeepValid()",
    "Vote(weight=score)",
    "Select() score >= 0 or true",
    "Select() valid or true",
    "Map() it if score >= 0 else it",
    "Score() it",
    "Validate() it >= 0",
)
MISSING = ("has no score", "no thought has a score", "no log-probability", "`score` takes one thought")


@st.composite
def asking(draw: st.DrawFn) -> Generated:
    """A program with a few lines more that ask for what may not be known."""
    program = draw(programs())
    lines = program.text.split("\n")
    first = next(at for at, line in enumerate(lines) if line.startswith("scheme "))
    for _ in range(draw(st.integers(1, 4))):
        places = [at for at in range(first + 1, len(lines)) if lines[at].startswith("    ")]
        at = draw(st.sampled_from(places))
        margin = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        lines.insert(at, margin + draw(st.sampled_from(ASKS)))
    return replace(program, text="\n".join(lines))


@tried(60)
@given(asking())
def test_a_program_that_passes_never_lacks_what_it_asks_for(program: Generated) -> None:
    found = compile_source(Source.of("main.got", program.text)).diagnostics
    if any(problem.severity == "error" for problem in found):
        return
    result = program.try_run(level=0)
    outcome = result.outcome
    said = [failure.reason for failure in outcome.failures] if outcome is not None else []
    said += [result.message] if isinstance(result, RunError) else []
    assert not [reason for reason in said if any(missing in reason for missing in MISSING)]
