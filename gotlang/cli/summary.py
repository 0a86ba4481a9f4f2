"""What a run gave and cost, for people: the lines on stderr at its end."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gotlang.cli.output import Style, complain, count, shortened, to_json
from gotlang.cli.progress import duration
from gotlang.errors import MEMBERS_FAILED
from gotlang.result import Result, dollars
from gotlang.runtime.context import Failure
from gotlang.runtime.graph import within
from gotlang.span import Source

_GROUPS = 5
"""Reasons for failures that are shown."""
_WIDTH = 13


def shown_value(value: Any, most: int | None = None) -> str:
    """A value as people read it: a text as it stands, all else as JSON."""
    text = value if isinstance(value, str) else to_json(value)
    return text if most is None else shortened(text, most)


def summary(result: Result, sources: Mapping[str, Source], seconds: float) -> None:
    """Print it. `seconds` is how long the run really took."""
    style = Style.of(sys.stderr)
    outcome = result.outcome
    made_up = " · simulated: no real model was asked" if result.simulated else ""
    complain("")
    complain(style.bold(f"{outcome.scheme} by {result.model}{made_up}") + style.dim(f" · run {result.run}"))
    for name, text in _rows(result, seconds):
        complain(f"  {style.dim(name.ljust(_WIDTH))} {text}")
    failures(outcome.failures, sources)
    for note in outcome.notes:
        complain(f"  {style.yellow('note'.ljust(_WIDTH))} {note}")
    if outcome.partial is not None:
        complain(f"  {style.yellow('partial'.ljust(_WIDTH))} {outcome.partial}")
        if outcome.skipped:
            complain(f"  {' ' * _WIDTH} {count(outcome.skipped, 'answer')} not asked for")
        if outcome.value is None:
            complain(f"  {' ' * _WIDTH} there is no result yet")


def _rows(result: Result, seconds: float) -> Iterable[tuple[str, str]]:
    outcome = result.outcome
    ledger = outcome.ledger
    without, paid = ledger.accounts[0], ledger.spent
    if outcome.score is not None:
        yield "score", f"{outcome.score:g}"
    if outcome.truth is not None:
        yield "ground truth", "right" if outcome.truth else "wrong"
    shared = without.calls - ledger.accounts[1].calls
    stored = ledger.accounts[1].calls - paid.calls
    parts = [f"{paid.calls:,} paid in {count(paid.requests, 'request')}"]
    if shared > 0:
        parts.append(f"{shared:,} the same as others of this run")
    if stored > 0:
        parts.append(f"{stored:,} from the cache")
    yield "answers", f"{without.calls:,}: {', '.join(parts)}"
    would = " simulated, at the prices of gpt-3.5-turbo" if result.simulated and paid.usd else ""
    saved = f" ({dollars(without.usd)} with nothing shared or kept)" if shared + stored > 0 else ""
    tokens = f"{paid.input_tokens:,} tokens in, {paid.output_tokens:,} out"
    yield "cost", f"{dollars(paid.usd)}{would}{saved} · {tokens}"
    if paid.lost:
        yield "lost", f"{count(paid.lost, 'request')} brought nothing and may have been charged besides"
    path = f"{count(outcome.hops, 'model call')}, {duration(outcome.times[0])}"
    yield "longest path", f"{path} · {count(outcome.thought_count, 'thought')}, volume {outcome.volume}"
    simulated = f" ({duration(outcome.wall_s)} of simulated time)" if result.simulated else ""
    yield "time", f"{duration(seconds)}{simulated}"


def failures(found: Sequence[Failure], sources: Mapping[str, Source], *, told: str = "") -> None:
    """What failed, grouped by reason, each with its first place in the source; but for reasons that stand in
    `told`, the message that follows."""
    # An operation that failed since all its thoughts did, or its members, has nothing to add to these.
    explained = {failure.operation for failure in found if failure.sample is not None}
    found = [f for f in found if f.sample is not None or f.operation not in explained]
    found = [f for f in found if f.reason != MEMBERS_FAILED]
    times = Counter(failure.reason for failure in found if failure.reason not in told)
    if not times:
        return
    style = Style.of(sys.stderr)
    first = {failure.reason: failure for failure in reversed(found)}
    also = " besides" if times.total() < len(found) else ""
    complain(f"  {style.yellow('failed'.ljust(_WIDTH))} {count(times.total(), 'time')}{also}")
    for reason, number in times.most_common(_GROUPS):
        complain(f"  {f'{number} x'.rjust(_WIDTH)} {shortened(reason, 300)}")
        complain(f"  {' ' * _WIDTH} {style.dim('at ' + place(first[reason], sources))}")
    if len(times) > _GROUPS:
        complain(f"  {' ' * _WIDTH} and {count(len(times) - _GROUPS, 'more reason')}; --json has all")


def place(failure: Failure, sources: Mapping[str, Source]) -> str:
    """Where something failed: file and line, and what the program names there."""
    source = sources.get(failure.span.source)
    if source is None:
        return failure.operation
    return f"{source.name}:{source.position(failure.span.start)[0]}{within(failure.operation)}"
