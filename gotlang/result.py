"""What a run gave, as Python and notebooks see it and as `--json` prints it."""

from __future__ import annotations

import html
import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

from gotlang.runtime.plain import Asks, operations, thoughts
from gotlang.runtime.run import Outcome
from gotlang.span import Source

FORMAT_VERSION = 1


@final
@dataclass(frozen=True, slots=True)
class Result:
    """A run's result: `value` and its `score`, whether it was right (`ground_truth`, None where not known),
    what it cost (`ledger`), and why it is only partial, where it is. `sources` are the program's texts."""

    run: str
    program: str
    model: str
    simulated: bool
    seed: int
    outcome: Outcome
    sources: Mapping[str, Source] = field(default_factory=dict, repr=False, compare=False)

    def graph(self) -> list[dict[str, Any]]:
        """The execution graph as plain data, an operation a line; `docs/graphs.md` says what it holds."""
        return list(operations(self.outcome.graph, self.sources, Asks()))

    def thoughts(self) -> list[dict[str, Any]]:
        """The reasoning graph as plain data, a thought a line."""
        return list(thoughts(self.outcome.graph))

    def __repr__(self) -> str:
        # Short: asyncio itself asks for it at the end of every run.
        return f"<Result of {self.program}.{self.outcome.scheme}: {reprlib.repr(self.value)}>"

    @property
    def value(self) -> Any:
        """The result itself."""
        return self.outcome.value

    @property
    def score(self) -> float | None:
        """Its score, where the scheme scored it."""
        return self.outcome.score

    @property
    def ground_truth(self) -> bool | None:
        """Whether it equals the known answer."""
        return self.outcome.truth

    @property
    def partial(self) -> str | None:
        """Why the run ended before its end, or None."""
        return self.outcome.partial

    def as_json(self) -> dict[str, Any]:
        """The document that `gotc run --json` prints."""
        o = self.outcome
        return {
            "format_version": FORMAT_VERSION,
            "run": self.run,
            "program": self.program,
            "scheme": o.scheme,
            "model": self.model,
            "simulated": self.simulated,
            "seed": self.seed,
            "result": o.value,
            "score": o.score,
            "ground_truth": o.truth,
            "partial": o.partial,
            "skipped": o.skipped,
            "ledger": o.ledger.as_json(),
            "paid": o.ledger.paid_json(),
            "graph": {
                "operations": o.operations,
                "thoughts": o.thought_count,
                "longest_path": o.hops,
                "volume": o.volume,
            },
            "wall_s": o.wall_s,
            "failed": [
                {"operation": f.operation, "reason": f.reason, "draw": f.draw, "file": f.span.source}
                for f in o.failures
            ],
            "notes": list(o.notes),
        }

    def _repr_html_(self) -> str:
        o = self.outcome
        none, paid = o.ledger.accounts[0], o.ledger.paid
        rows = [
            ("result", repr(o.value)),
            ("score", "unknown" if o.score is None else f"{o.score:g}"),
            ("right", {True: "yes", False: "no", None: "unknown"}[o.truth]),
            ("model", self.model + (" (simulated)" if self.simulated else "")),
            ("answers", f"{none.calls}, of which paid {paid.calls} in {paid.requests} requests"),
            ("cost", dollars(paid.usd)),
            ("longest path", f"{o.hops} model calls"),
        ]
        if o.partial:
            rows.append(("partial", o.partial))
        body = "".join(f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>" for name, text in rows)
        return f"<table>{body}</table>"


def dollars(amount: float | None) -> str:
    """An amount in US dollars; `unknown` where a price was not known. Below a hundredth of a cent it has two
    digits that count, so that it does not look like nothing."""
    if amount is None:
        return "unknown"
    if 0 < amount < 1e-4:
        return f"${amount:.{1 - math.floor(math.log10(amount))}f}"
    return f"${amount:.4f}" if amount < 1 else f"${amount:.2f}"
