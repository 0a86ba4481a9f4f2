"""The graph of a run as plain data, for `gotc show` and pictures.

One line per operation, in the order they were added:

    {"operation": 7, "path": "sort128/part[0]/sort", "kind": "Generate", "prompt": "sort", "state": "done",
     "file": "programs/sort128.got", "line": 95, "inputs": [6], "origin": 2, "hops": 2,
     "began": 0.31, "ended": 2.05,
     "asked": [{"key": "5e1f...", "samples": [0, 1], "sources": ["model", "persistent"]}],
     "thoughts": [{"made": [7, 0], "value": [0, 1], "parents": [[6, 0]], "score": 0, "usd": 0.0001}]}

`made` is the operation that made a thought and its index there; value and parents are given only there, so
that a thought which passes through several operations is written once. `lower` says that lower scores are
better; `began` and `ended` are seconds of the run's clock, of an operation that waited for a model or a tool
(of others only `ended`); `failed` says why samples gave no thought, or why the operation gave none
(`[[2, "no number found"]]`, the sample's number or null). `block` names the block that ends at an operation:
the operations in it have its path, with a number per element, pair or round (`sort128/part` and
`sort128/part[0]/...`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, final

from gotlang.ir import program as ir
from gotlang.operations import block_title, record_of
from gotlang.operations.record import BlockRecord
from gotlang.runtime.graph import Graph, Operation, path_text
from gotlang.runtime.sampler.events import Asked, Ended, Event, Failure, MissingSample, Sample, Started
from gotlang.span import Source
from gotlang.thought import Thought


@final
class RequestLog:
    """An observer that records which samples of which requests each operation requested, and when it began
    and ended."""

    def __init__(self) -> None:
        self._by_operation: dict[int, list[dict[str, Any]]] = {}
        self._times: dict[int, dict[str, float]] = {}
        self._zero: float | None = None

    def __call__(self, event: Event) -> None:
        """Record requests and times."""
        match event:
            case Asked(operation=operation) if operation is not None:
                sources = [source(sample) for sample in event.samples]
                self._by_operation.setdefault(id(operation), []).append(
                    {"key": event.key, "samples": list(event.numbers), "sources": sources}
                )
            case Started(operation=operation):
                self._times[id(operation)] = {"began": self._now()}
            case Ended(operation=operation):
                self._times.setdefault(id(operation), {})["ended"] = self._now()

    def _now(self) -> float:
        now = asyncio.get_running_loop().time()
        if self._zero is None:
            self._zero = now
        return round(now - self._zero, 4)

    def of(self, operation: Operation) -> list[dict[str, Any]]:
        """The requests of an operation, in order."""
        return self._by_operation.get(id(operation), [])

    def times(self, operation: Operation) -> dict[str, float]:
        """When an operation `began` and `ended`, if known."""
        return self._times.get(id(operation), {})


def source(sample: Sample) -> str:
    """The source of a sample; `skipped` if it was never requested, `missing` if the request failed."""
    if isinstance(sample, MissingSample):
        return "skipped" if sample.cut_off else "missing"
    return sample[1]


def operations(
    graph: Graph,
    sources: Mapping[str, Source],
    asks: RequestLog,
    failures: Iterable[Failure] = (),
) -> Iterator[dict[str, Any]]:
    """The operations of a graph as plain data. `sources` are the program's texts by name, `failures` those of
    the run; `within` names the scheme whose call an operation is part of."""
    failed: dict[str, list[list[Any]]] = {}
    for failure in failures:
        failed.setdefault(failure.operation, []).append([failure.sample, failure.reason])
    for operation in graph.operations:
        yield line(operation, sources, asks, failed)


def line(
    operation: Operation,
    sources: Mapping[str, Source],
    asks: RequestLog,
    failed: Mapping[str, list[list[Any]]],
) -> dict[str, Any]:
    """An operation as plain data in its present state; `failed` has failures by the paths of operations."""
    step, path = operation.step, path_text(operation)
    found: dict[str, Any] = {
        "operation": operation.sequence,
        "path": path,
        "kind": _kind(operation),
        "state": operation.state_name,
        "inputs": [before.sequence for before in operation.inputs],
        "origin": operation.origin.sequence if operation.origin is not None else None,
        "hops": operation.hops,
    }
    found |= _names(operation)
    if step is not None and step.span.source in sources:
        text = sources[step.span.source]
        found["file"], found["line"] = text.name, text.position(step.span.start)[0]
    if operation.frame.scheme is not None:
        found["within"] = f"scheme {operation.frame.scheme}"
    found |= asks.times(operation)
    if asked := asks.of(operation):
        found["asked"] = asked
    if path in failed:
        found["failed"] = failed[path]
    found["thoughts"] = [_thought(thought, operation) for thought in operation.output]
    return found


def thoughts(graph: Graph) -> Iterator[dict[str, Any]]:
    """The thoughts of a graph as plain data: `thought` is the operation that made it and its index there,
    `parents` are those it was made from. A thought that was scored later has its score."""
    known: dict[tuple[int, int], tuple[int, Thought]] = {}
    for operation in graph.operations:
        for thought in operation.output:
            if isinstance(thought.maker, Operation) and not thought.empty:
                known[thought.identity] = (thought.maker.sequence, thought)
    for _, thought in sorted(known.values(), key=lambda found: (found[0], found[1].index)):
        line = _thought(thought, thought.maker)
        yield {"thought": line.pop("made"), **line}


def both(graph: Graph, sources: Mapping[str, Source]) -> dict[str, Any]:
    """Both graphs of a run in their present state."""
    return {"operations": list(operations(graph, sources, RequestLog())), "thoughts": list(thoughts(graph))}


def _kind(operation: Operation) -> str:
    """The language's name for an operation; the operation behind a block that may fail has that of its
    clause."""
    match operation.role, operation.step:
        case "rescue", ir.Search():
            return "expand"
        case "wave", _:
            return "backup"
        case "rescue", ir.First(way=way):
            return "race" if way == "race" else "until"
        case "rescue", ir.Try():
            return "try"
        case "rescue", _:
            return "result"
    return operation.role


def _names(operation: Operation) -> dict[str, str]:
    """The prompt, score, function or corpus of an operation, and the block that ends at it."""
    step, role = operation.step, operation.role
    if step is None:
        return {}
    record = record_of(step)
    block = isinstance(record, BlockRecord)
    found = {}
    if not block and role in (type(step).__name__, "rated", "turn") and (name := record.label(step).name):
        found["prompt"] = name
    if role in ("join", "rated") or (role == "Pool" and block):
        found["block"] = block_title(step)
    return found


def _thought(thought: Thought, operation: Operation) -> dict[str, Any]:
    maker = thought.maker
    out: dict[str, Any] = {"made": [_number(maker), thought.index]}
    if maker is operation or not isinstance(maker, Operation):
        out["value"] = thought.value
        out["parents"] = [[_number(parent.maker), parent.index] for parent in thought.parents]
    for name in ("score", "valid", "logprob", "usd"):
        known = getattr(thought, name)
        if known is not None:
            out[name] = known
    if thought.lower and thought.score is not None:
        out["lower"] = True
    return out


def _number(maker: object) -> int | None:
    return maker.sequence if isinstance(maker, Operation) else None
