"""What all runs of a program share: tables by identity, which must not confuse parts that come and go."""

from __future__ import annotations

from typing import Any, cast

import pytest
from msgspec import structs

from gotlang.ir import program as ir
from gotlang.runtime import program_tables
from gotlang.runtime.context import RunSettings
from gotlang.runtime.program_tables import PartTable
from gotlang.runtime.run import Runner


def test_a_part_that_is_gone_is_never_taken_for_another() -> None:
    table = PartTable[list[int], int]()
    for number in range(1_000):  # each list may lie where the one before lay
        assert table.of([number], sum) == number


def test_a_part_is_looked_at_once() -> None:
    table, part = PartTable[list[int], object](), [1]
    assert table.of(part, lambda one: object()) is table.of(part, lambda one: object())


def test_a_table_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_tables, "_MOST", 10)
    table = PartTable[list[int], int]()
    parts = [[number] for number in range(25)]
    assert [table.of(part, sum) for part in parts * 2] == [*range(25), *range(25)]
    assert len(table._found) <= 10


def test_what_is_known_of_a_program_is_not_of_another_one() -> None:
    missing = cast(Any, None)
    runner = Runner(ir.Program("one"), missing, {}, {}, {}, RunSettings(), missing, missing)
    tables, other = runner.tables, structs.replace(runner, program=ir.Program("two"))
    assert runner.tables is tables is structs.replace(runner, params={"n": 1}).tables
    assert other.tables.program.name == "two"
    assert structs.replace(runner, functions={"f": len}).tables is not tables
