"""Each operation and block goes through every stage, and each field of its record is missed where it is
neutral.

The golden cases in `tests/cases/operations/` hold what every stage makes of each record. A mutation
replaces one field by a neutral value (a rule that accepts, no effect, an empty text); what the stages give
then must differ. CI tries a sample of the mutations, `LAWS=1 pytest tests/test_operation_records.py` tries
all.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import gotlang.operations as registry
from gotlang.amounts import ONE
from gotlang.flows import FREE, Flow
from gotlang.operations import BLOCKS, OPERATIONS
from gotlang.operations.map import Map
from gotlang.operations.record import BlockRecord, Local, OperationRecord, StepLabel, Syntax, local
from gotlang.operations.stages import Building
from gotlang.operations.vote import Vote
from gotlang.scope import PoolType
from gotlang.span import NOWHERE
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Constant
from tests.support.laws import NEW
from tests.test_cases import ALL, Case

ROOT = Path(__file__).parents[1]
CASES = {case.title: case for case in ALL if case.path.parent.name == "operations"}


def _nothing(node: n.Step, b: Building) -> Map:
    return Map(*b.base, Constant(NOWHERE, 0))


def _neutral(record: OperationRecord[Any] | BlockRecord[Any]) -> dict[str, Any]:
    """A neutral value for each field that has one."""
    none: frozenset[Any] = frozenset()
    values: dict[str, Any] = {
        "usage": "",
        "doc": "",
        "step": Map if record.name != "Map" else Vote,
        "text": "",
        "verify": lambda step, v: PoolType(step.type, step.single),
        "effects": lambda step, declared: none,
        "estimate": lambda step, scope, e: (Flow(ONE, single=True), FREE),
        "remaining": lambda step, remaining: 0,
        "label": lambda step: StepLabel(),
    }
    if isinstance(record, OperationRecord):
        values |= {
            "syntax": Syntax({}, "", operands=(0, None), bare=True),
            "fails": "",
            "asks": none,
            "keeps": False,
            "check": lambda node, c: c.pool,
            "build": _nothing,
            "run": local(lambda step, thoughts, running: thoughts),
            "family": "pass",
        }
    return values


ALREADY_NEUTRAL: dict[str, dict[str, Any]] = {
    "asks": {"asks": frozenset({"score"})},
    "keeps": {"keeps": True},
    "effects": {"effects": lambda step, declared: frozenset({"acts"})},
    "remaining": {"remaining": lambda step, remaining: 1},
    "label": {"label": lambda step: StepLabel("x")},
    "family": {"family": "ask"},
    "check": {"check": lambda node, c: PoolType(c.pool.type, not c.pool.single)},
    "verify": {"verify": lambda step, v: PoolType(step.type, not step.single)},
}
"""What a field becomes instead whose value is the neutral one: nothing would tell that from a forgotten
one."""
NEUTRAL_OF = {
    "effects": {"pure"},
    "remaining": {"no_calls"},
    "label": {"keep_valid", "if_", "try_", "skip"},
}
NOTHING_TO_CHECK = {("KeepValid", "check"), ("skip", "verify")}
"""A step without operands on thoughts that its record asks for; and one that leaves none, of any type."""


def _replacement(record: OperationRecord[Any] | BlockRecord[Any], field: str) -> Any:
    value = getattr(record, field)
    is_neutral = (
        (field == "family" and value == "pass")
        or (record.name, field) in NOTHING_TO_CHECK
        or (field in {"asks", "keeps"} and not value)
        or getattr(value, "__name__", "") in NEUTRAL_OF.get(field, ())
        or (field == "label" and value.__module__.rsplit(".", 1)[-1] in NEUTRAL_OF["label"])
    )
    return ALREADY_NEUTRAL[field][field] if is_neutral else _neutral(record)[field]


RECORDS: dict[str, OperationRecord[Any] | BlockRecord[Any]] = {**OPERATIONS, **BLOCKS}
MUTATIONS = [(name, field) for name, record in RECORDS.items() for field in _neutral(record)]
SAMPLE = MUTATIONS if NEW else random.Random(20).sample(MUTATIONS, 40)


def test_every_record_has_its_cases() -> None:
    assert set(CASES) == set(RECORDS)


def test_a_mutation_for_every_field() -> None:
    for record in RECORDS.values():
        fields = {*record.__struct_fields__} - {"name"}
        assert set(_neutral(record)) == fields


@pytest.mark.parametrize(("name", "field"), SAMPLE, ids=lambda value: str(value))
def test_a_neutral_field_is_missed(name: str, field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case: Case = CASES[name]
    record = RECORDS[name]
    changed = structs.replace(record, **{field: _replacement(record, field)})
    table: Any = OPERATIONS if name in OPERATIONS else BLOCKS
    monkeypatch.setitem(table, name, changed)
    if field == "step":
        own = registry._name_of

        def name_of(kind: type) -> str:
            if kind is record.step:
                raise KeyError(kind)
            return name if kind is Map else own(kind)

        monkeypatch.setattr(registry, "_name_of", name_of)
    assert case.produced() != case.out


def test_every_block_is_laid_out() -> None:
    from gotlang.runtime.expansion import BLOCKS as LAYOUTS

    in_files_of_their_own = {"search", "first"}
    assert {*BLOCKS} == {*LAYOUTS, *in_files_of_their_own}


def test_a_local_operation_runs_at_once() -> None:
    run = OPERATIONS["Map"].run(Map("x", None, True, "p", Constant(NOWHERE, 0)), None)  # type: ignore[arg-type]
    assert isinstance(run, Local)
