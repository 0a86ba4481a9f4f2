"""Evaluations and comparisons as the history stores them, and back.

The `document` of their record is the output of `--json` without the runs, with the additional field
`evaluations`: the settings of each scheme. Their rows are a file of lines, one for each row:

    {"row": 3, "inputs": {...}, "truth": ..., "runs": [{"scheme": 0, "repeat": 0, "state": "done", ...}]}

`scheme` is the index of the evaluation. A run has the fields that `--json` prints, and on a cluster its
`node`. Until the end, and in one that was killed, the document has only the schemes that have begun
(`unfinished`), the file a line for each run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import groupby
from typing import Any

from msgspec import Struct, structs

from gotlang.errors import UsageError
from gotlang.evaluate.comparison import ComparedScheme, Comparison, assemble
from gotlang.evaluate.evaluation import Evaluation
from gotlang.evaluate.rows import Row
from gotlang.evaluate.runs import RowRun, RunLine
from gotlang.metric import ScoreKind
from gotlang.models.base import Address
from gotlang.records import Count, InvalidRecord, from_plain


class _Scheme(Struct, frozen=True):
    """The settings of an evaluation, and the number of repeats on a row for one result."""

    name: str
    scheme: str
    kind: ScoreKind
    kinds: dict[str, ScoreKind]
    repeats: float
    repeat: int
    not_run: Count
    stopped: str | None
    program: str
    model: str
    simulated: bool
    seed: int
    data: str
    selection: str
    columns: dict[str, str]
    unscored: str | None
    endpoints: list[Address]


class _Results(Struct, frozen=True):
    evaluations: list[_Scheme]
    metric: str | None = None
    baseline: str | None = None
    equal_cost: bool = False
    unfinished: bool = False

    def __post_init__(self) -> None:
        if self.baseline is not None and self.baseline not in [one.name for one in self.evaluations]:
            raise ValueError("Expected a `baseline` among the evaluations")
        if not self.evaluations:
            raise ValueError("Expected an evaluation")


class _StoredRun(RunLine, frozen=True, kw_only=True):
    scheme: Count
    evaluation: str = ""


class RowLine(Struct, frozen=True):
    """A line of rows."""

    row: Count
    inputs: dict[str, Any]
    truth: Any
    runs: list[_StoredRun]


def as_comparison(results: Comparison | Evaluation) -> Comparison:
    """An evaluation as a comparison with one scheme."""
    if isinstance(results, Comparison):
        return results
    return assemble([ComparedScheme(results.scheme, results)], results.scheme)


def results_document(results: Comparison | Evaluation) -> dict[str, Any]:
    """The stored data of results besides their rows."""
    found = {name: value for name, value in results.to_dict().items() if name != "runs"}
    if isinstance(results, Comparison):
        found["schemes"] = [{k: v for k, v in one.items() if k != "runs"} for one in found["schemes"]]
    found["evaluations"] = [_settings(entry) for entry in as_comparison(results).entries]
    return found


def _settings(entry: ComparedScheme) -> dict[str, Any]:
    found = entry.evaluation
    own = {name: getattr(found, name) for name in _Scheme.__struct_fields__ if hasattr(found, name)}
    return {
        **own,
        "name": entry.name,
        "repeats": entry.repeats,
        "kind": structs.asdict(found.kind),
        "kinds": {name: structs.asdict(kind) for name, kind in found.kinds.items()},
        "endpoints": [structs.asdict(one) for one in found.endpoints],
    }


def unfinished(begun: Iterable[Evaluation]) -> dict[str, Any]:
    """The stored data of evaluations in progress besides rows."""
    found = list(begun)
    several = len({one.model for one in found}) > 1
    names = [f"{one.scheme} @ {one.model}" if several else one.scheme for one in found]
    entries = (ComparedScheme(name, one) for name, one in zip(names, found, strict=True))
    return {"unfinished": True, "evaluations": [_settings(entry) for entry in entries]}


def row_line(scheme: int, run: RowRun) -> dict[str, Any]:
    """A finished run, as the history stores it immediately."""
    return _line([(scheme, run)])


def rows_of(results: Comparison) -> Iterator[dict[str, Any]]:
    """The rows as the history stores them, in their order."""
    tagged = (_tagged(number, entry.evaluation.runs) for number, entry in enumerate(results.entries))
    for _, runs in groupby(merge(*tagged, key=lambda one: one[1].row.number), lambda one: one[1].row.number):
        yield _line(list(runs))


def _line(runs: Sequence[tuple[int, RowRun]]) -> dict[str, Any]:
    """A row with its runs, each with the number of its scheme."""
    row = runs[0][1].row
    made = [{"scheme": scheme, **run.to_line()} for scheme, run in runs]
    return {"row": row.number, "inputs": dict(row.inputs), "truth": row.truth, "runs": made}


def _tagged(number: int, runs: Iterable[RowRun]) -> Iterator[tuple[int, RowRun]]:
    return ((number, run) for run in runs)


def stored_results(document: Mapping[str, Any] | None, lines: Iterable[Mapping[str, Any]]) -> Comparison:
    """The comparison of a record's document and rows; an evaluation is one with one scheme.

    Raises UsageError for a record that has no results, or damaged ones.
    """
    if not document or "evaluations" not in document:
        raise UsageError("this evaluation has no rows: it was killed, failed, or is still running")
    try:
        head = from_plain(document, _Results)
        runs: list[dict[tuple[int, int], RowRun]] = [{} for _ in head.evaluations]
        for line in lines:
            read = from_plain(line, RowLine)
            row = Row(read.row, read.inputs, read.truth)
            for run in read.runs:
                if run.scheme >= len(runs):
                    raise InvalidRecord(f"there is no scheme {run.scheme}")
                runs[run.scheme][row.number, run.repeat] = run.run(row)
    except InvalidRecord as error:
        raise UsageError(
            f"the record of the evaluation is damaged: {error}",
            help="the same command creates it again, with responses from the cache",
        ) from None
    entries = [
        ComparedScheme(one.name, _evaluation(one, found, left=head.unfinished), one.repeats)
        for one, found in zip(head.evaluations, runs, strict=True)
        if found or not head.unfinished
    ]
    if not entries:
        raise UsageError("no row of this evaluation has ended")
    metric = None if len(entries) == 1 else head.metric
    return assemble(entries, head.baseline or entries[0].name, equal_cost=head.equal_cost, metric=metric)


def _evaluation(one: _Scheme, found: Mapping[tuple[int, int], RowRun], *, left: bool) -> Evaluation:
    own = {name: getattr(one, name) for name in _Scheme.__struct_fields__ if name not in ("name", "repeats")}
    if left:
        own["not_run"] = max(0, one.not_run - len(found))
    return Evaluation(runs=[found[place] for place in sorted(found)], **own)
