"""A run's graph as plain data: what `gotc show` and pictures are made of.

A line an operation, in the order they were added:

    {"operation": 7, "path": "sort128/part[0]/sort", "kind": "Generate", "prompt": "sort", "state": "done",
     "file": "programs/sort128.got", "line": 95, "inputs": [6], "origin": 2, "hops": 2,
     "asked": [{"key": "5e1f...", "draws": [0, 1], "sources": ["model", "persistent"]}],
     "thoughts": [{"made": [7, 0], "value": [0, 1], "parents": [[6, 0]], "score": 0, "usd": 0.0001}]}

`made` is the operation that made a thought and its number there; the value and what it came from stand only
there, so that a thought which passes through several operations is written once. `lower` tells that a lower
score is the better one; `failed` tells why answers gave no thought, or why the operation gave none
(`[[2, "no number found"]]`, the draw's number or null). Where a block of the program ends, `block`
is what the block is called: operations in it have its path, with a number for each element, pair or round
(`sort128/part` and `sort128/part[0]/...`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, final

from gotlang.ir import program as ir
from gotlang.operations import block_title, record_of
from gotlang.operations.record import Block as BlockRecord
from gotlang.operations.record import Operation as OperationRecord
from gotlang.runtime.context import Failure
from gotlang.runtime.graph import STATES, Graph, Operation, path_text
from gotlang.runtime.sampler.events import Asked, Event
from gotlang.runtime.sampler.store import MissingSample, Sample
from gotlang.span import Source
from gotlang.thought import Thought


@final
class Asks:
    """An observer that remembers which draws of which requests each operation asked for."""

    def __init__(self) -> None:
        self._by_operation: dict[int, list[dict[str, Any]]] = {}

    def __call__(self, event: Event) -> None:
        """Note what was asked."""
        if isinstance(event, Asked) and event.operation is not None:
            sources = [source(sample) for sample in event.samples]
            self._by_operation.setdefault(id(event.operation), []).append(
                {"key": event.key, "draws": list(event.numbers), "sources": sources}
            )

    def of(self, operation: Operation) -> list[dict[str, Any]]:
        """What an operation asked, in order."""
        return self._by_operation.get(id(operation), [])


def source(draw: Sample) -> str:
    """Where an answer came from; `skipped` where it was never asked for, `missing` where none came."""
    if isinstance(draw, MissingSample):
        return "skipped" if draw.cut_off else "missing"
    return draw[1]


def operations(
    graph: Graph,
    sources: Mapping[str, Source],
    asks: Asks,
    program: ir.Program | None = None,
    failures: Iterable[Failure] = (),
) -> Iterator[dict[str, Any]]:
    """The operations of a graph as plain data; `sources` are the program's texts by name, `failures` what
    failed in the run. With the program it is also told (`within`) which operations stand in the call of a
    scheme."""
    calls = Calls(program) if program is not None else None
    failed: dict[str, list[list[Any]]] = {}
    for failure in failures:
        failed.setdefault(failure.operation, []).append([failure.sample, failure.reason])
    for operation in graph.operations:
        step = operation.step
        line: dict[str, Any] = {
            "operation": operation.sequence,
            "path": path_text(operation),
            "kind": kind(operation),
            "state": STATES[operation.state],
            "inputs": [before.sequence for before in operation.inputs],
            "origin": operation.origin.sequence if operation.origin is not None else None,
            "hops": operation.hops,
        }
        prompt = prompt_name(operation)
        if prompt is not None:
            line["prompt"] = prompt
        if step is not None and step.span.source in sources:
            text = sources[step.span.source]
            line["file"], line["line"] = text.name, text.position(step.span.start)[0]
        if calls is not None and (called := calls.of(operation.path)) is not None:
            line["within"] = f"scheme {called}"
        name = block(operation)
        if name is not None:
            line["block"] = name
        asked = asks.of(operation)
        if asked:
            line["asked"] = asked
        if line["path"] in failed:
            line["failed"] = failed[line["path"]]
        line["thoughts"] = [_thought(thought, operation) for thought in operation.output]
        yield line


def thoughts(graph: Graph) -> Iterator[dict[str, Any]]:
    """The thoughts of a graph as plain data: `thought` is the operation that made it and its number there,
    `parents` are those it came from. A thought that was scored later is told with its score."""
    known: dict[tuple[int, int], tuple[int, Thought]] = {}
    for operation in graph.operations:
        for thought in operation.output:
            if isinstance(thought.maker, Operation) and not thought.empty:
                known[thought.identity] = (thought.maker.sequence, thought)
    for _, thought in sorted(known.values(), key=lambda found: (found[0], found[1].index)):
        line = _thought(thought, thought.maker)
        yield {"thought": line.pop("made"), **line}


def both(graph: Graph, sources: Mapping[str, Source]) -> dict[str, Any]:
    """Both graphs of a run as they are now."""
    return {"operations": list(operations(graph, sources, Asks())), "thoughts": list(thoughts(graph))}


def kind(operation: Operation) -> str:
    """What an operation does, in a word: `Generate`, `KeepBestN`, `Score`, `join`, ..."""
    return operation.role


def prompt_name(operation: Operation) -> str | None:
    """The prompt, score, function or corpus that an operation uses, where it uses one."""
    step = operation.step
    if step is None or operation.role not in (type(step).__name__, "rated"):
        return None
    record = record_of(step)
    return record.label(step).name or None if isinstance(record, OperationRecord) else None


def block(operation: Operation) -> str | None:
    """What the block that an operation stands for is called: `foreach part`, `repeat`, `scheme tree`."""
    step = operation.step
    if step is None or operation.role not in ("join", "Pool", "rated"):
        return None
    record = record_of(step)
    return block_title(step) if isinstance(record, BlockRecord) or operation.role != "Pool" else None


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


@final
class Calls:
    """Tells for operations of one program's runs which scheme was called where they stand."""

    def __init__(self, program: ir.Program) -> None:
        self._program = program
        self._schemes = {scheme.name: scheme for scheme in program.schemes}
        self._scores = {score.name: score for score in program.scores}
        self._named = cache(self._find)

    def of(self, path: tuple[Any, ...]) -> str | None:
        """The scheme whose call is the innermost block around an operation; None where another block is."""
        owner, called = str(path[0]), None
        for part in path[1:-1]:
            name = str(part[0] if isinstance(part, tuple) else part)
            found = self._named(owner, name)
            called = found.scheme if isinstance(found, ir.Invoke) else None
            if called is not None:
                owner = called
            elif isinstance(found, ir.Score) and found.score is not None:
                owner = found.score
        return called

    def _find(self, owner: str, name: str) -> ir.Step | None:
        """The step of a scheme or a score that gives a name; names may stand without the compiler's `%`."""
        holder = self._schemes.get(owner) or self._scores.get(owner)
        if holder is None:
            return None
        return next((s for s in _steps(holder.body) if s.result.lstrip("%") == name.lstrip("%")), None)


def _steps(region: ir.Region) -> Iterator[ir.Step]:
    for step in region.steps:
        yield step
        for inner in step.regions:
            yield from _steps(inner)
