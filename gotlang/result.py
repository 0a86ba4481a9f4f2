"""The result of a run for Python, for notebooks and for `--json`; and the common base of all results."""

from __future__ import annotations

import reprlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Self, final

from msgspec import Struct, field, structs

from gotlang.errors import InvalidResult, PartialResult, RunError, UsageError
from gotlang.metric import NO_TRUTH, Metric, MetricScore
from gotlang.models.base import Address
from gotlang.models.prices import NOTHING_SPENT as NOTHING_SPENT
from gotlang.models.prices import Spent as Spent
from gotlang.models.prices import dollars as dollars
from gotlang.runtime.outcome import Outcome, judged, named
from gotlang.runtime.plain import RequestLog, operations, thoughts
from gotlang.span import Source

FORMAT_VERSION: Final = 2
"""The version of every JSON document of `--json` and `to_dict`."""


Status = Literal["complete", "invalid", "partial"]
"""The status of a run with a value: `invalid` if the last validation found the result invalid, `partial` if a
limit or an interruption ended the run early."""


class Displayed:
    """A result that notebooks and pandas can show."""

    __slots__ = ()

    @abstractmethod
    def facts(self) -> Sequence[tuple[str, str]]:
        """What a notebook shows: names and texts. The first one identifies the result."""

    @abstractmethod
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """The rows of a data frame: one mapping per row."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The whole result as plain JSON data, as `--json` prints it."""

    def __repr__(self) -> str:
        (_, first), *rest = self.facts()
        return f"<{type(self).__name__} {', '.join([first, *(f'{name} {text}' for name, text in rest)])}>"

    def _repr_html_(self) -> str:
        from html import escape

        cells = (f"<tr><th>{escape(n)}</th><td>{escape(text)}</td></tr>" for n, text in self.facts())
        return f"<table>{''.join(cells)}</table>"

    def to_pandas(self) -> Any:
        """The rows as a `pandas.DataFrame`. Raises UsageError if pandas is not installed."""
        try:
            import pandas
        except ImportError:
            raise UsageError("to_pandas() needs pandas", help="pip install pandas") from None
        return pandas.DataFrame.from_records([dict(row) for row in self.rows()])


@final
class Result(Displayed, Struct, frozen=True, eq=False):
    """The result of a run: `value`, `status`, `valid`, `score`, `cost`, `calls`.

    A run without a result raises RunError. One that is not `complete` is returned with its `status`;
    `raise_for_status()` turns that into an error. `simulated` tells that no real model was called. `sources`
    are the texts of the program, `outcome` has every detail of the run.
    """

    run: str
    program: str
    model: str
    simulated: bool
    seed: int
    outcome: Outcome
    metric: Metric
    scored: MetricScore
    sources: Mapping[str, Source] = field(default_factory=dict)
    endpoints: Sequence[Address] = ()
    """The addresses used, except providers' own."""
    measures: Mapping[str, MetricScore] = field(default_factory=dict)
    """The metrics that the program declares for its result: the value of each, or why it is missing."""

    @property
    def value(self) -> Any:
        """The result; for a partial run, the best thought so far, or None."""
        return self.outcome.value

    @property
    def status(self) -> Status:
        """`complete`, `invalid` or `partial`; a run that is both is `partial`."""
        if self.outcome.partial is not None:
            return "partial"
        return "invalid" if self.valid is False else "complete"

    @property
    def valid(self) -> bool | None:
        """The outcome of the last validation of the value; None if it was not validated. A list is valid if
        all its elements are."""
        return self.outcome.valid

    @property
    def not_valid(self) -> str | None:
        """The step that found the value invalid, with its place, or None."""
        found = judged(self.outcome)
        if found is None or found.step is None:
            return None
        source = self.sources.get(found.step.span.source)
        line = f" (line {source.position(found.step.span.start)[0]})" if source is not None else ""
        return f"the result does not pass `{named(found)}`{line}"

    def raise_for_status(self) -> Self:
        """Itself, if the result is complete. Raises PartialResult or InvalidResult otherwise."""
        error: RunError
        match self.status:
            case "complete":
                return self
            case "partial":
                error = PartialResult(f"the result is partial: {self.partial}")
            case "invalid":
                error = InvalidResult(self.not_valid or "the result is not valid")
        error.outcome, error.sources = self.outcome, self.sources
        raise error

    @property
    def score(self) -> float | None:
        """The score of the value against the inputs (by `metric`); None if it is unknown."""
        return self.scored.value

    @property
    def score_unknown(self) -> str | None:
        """Why this result has no score although the program scores its results; None otherwise."""
        return self.scored.reason or self.metric.help if self.score is None else None

    @property
    def ground_truth(self) -> bool | None:
        """Whether the value equals the known answer, or None."""
        return self.outcome.truth

    @property
    def partial(self) -> str | None:
        """The reason why the run ended early; None if it did not."""
        return self.outcome.partial

    @property
    def cost(self) -> float | None:
        """US dollars that are known to have been charged; None if a price is unknown. See `spent`."""
        return self.outcome.ledger.spent.usd

    @property
    def spent(self) -> Spent:
        """Charged, uncertain and free calls and US dollars."""
        return self.outcome.ledger.spent.paid

    @property
    def calls(self) -> int:
        """Completions used, including those from a cache."""
        return self.outcome.ledger.accounts[0].calls

    @property
    def cached(self) -> int:
        """How many of the calls came from a cache: the persistent one, or that of the run itself."""
        return self.calls - self.outcome.ledger.accounts[2].calls

    @property
    def requests(self) -> int:
        """HTTP requests sent."""
        return self.outcome.ledger.spent.requests

    @property
    def tokens(self) -> tuple[int, int]:
        """Input and output tokens spent."""
        return self.outcome.ledger.spent.input_tokens, self.outcome.ledger.spent.output_tokens

    def graph(self) -> list[dict[str, Any]]:
        """The execution graph as plain data, one mapping per operation, as described in `docs/graphs.md`."""
        return list(operations(self.outcome.graph, self.sources, RequestLog(), self.outcome.failures))

    def thoughts(self) -> list[dict[str, Any]]:
        """The reasoning graph as plain data, one mapping per thought."""
        return list(thoughts(self.outcome.graph))

    def rows(self) -> list[dict[str, Any]]:
        """The thoughts: a data frame has one row per thought."""
        return self.thoughts()

    def metric_facts(self) -> list[tuple[str, str]]:
        """The metrics as text, without those that need the known answer where it is not given."""
        told = {name: one for name, one in self.measures.items() if one.reason != NO_TRUTH}
        return [
            (name, f"{one.value:g}" if one.value is not None else f"unknown: {one.reason}")
            for name, one in told.items()
        ]

    def facts(self) -> list[tuple[str, str]]:
        """Value, score, model, calls and cost."""
        o = self.outcome
        facts = [
            ("result", f"of {self.program}.{o.scheme}: {reprlib.repr(o.value)}"),
            ("partial", o.partial or ""),
            ("not valid", self.not_valid or "" if self.valid is False else ""),
            ("score", "" if self.score is None else f"{self.score:g}"),
            ("ground truth", {True: "correct", False: "wrong", None: ""}[o.truth]),
            *self.metric_facts(),
            ("model", self.model + (" (simulated)" if self.simulated else "")),
            ("endpoint", ", ".join(map(str, self.endpoints))),
            ("calls", f"{self.calls} in {self.requests} requests, {self.cached} from cache"),
            ("cost", dollars(self.cost)),
            ("uncertain", self.spent.uncertain if self.spent.uncertain_calls else ""),
            ("critical path", f"{o.hops} calls"),
        ]
        return [(name, text) for name, text in facts if text]

    def to_dict(self) -> dict[str, Any]:
        """The document that `gotc run --json` prints."""
        o = self.outcome
        return {
            "format_version": FORMAT_VERSION,
            "run": self.run,
            "program": self.program,
            "scheme": o.scheme,
            "model": self.model,
            "simulated": self.simulated,
            "endpoints": [structs.asdict(one) for one in self.endpoints],
            "seed": self.seed,
            "status": self.status,
            "result": o.value,
            "valid": o.valid,
            "not_valid": self.not_valid,
            "score": self.score,
            "metric_name": self.metric.kind.name if self.metric.known else None,
            "metric_of": self.metric.kind.of,
            "score_unknown": self.score_unknown,
            "ground_truth": o.truth,
            "metrics": {name: one.value for name, one in self.measures.items()},
            "metrics_unknown": {name: one.reason for name, one in self.measures.items() if one.reason},
            "partial": o.partial,
            "waiting": [question._asdict() for question in o.waiting],
            "skipped": o.skipped,
            "ledger": o.ledger.accounts_json(),
            "spent": o.ledger.spent_json(),
            "graph": {
                "operations": o.operations,
                "thoughts": o.thought_count,
                "critical_path": o.hops,
                "volume": o.volume,
            },
            "wall_s": o.wall_s,
            "failed": [
                {
                    "operation": f.operation,
                    "reason": f.reason,
                    "sample": f.sample,
                    "file": f.span.source,
                    "handled": f.handled,
                }
                for f in o.failures
            ],
            "notes": list(o.notes),
        }
