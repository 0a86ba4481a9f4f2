"""Runs the queries of queries.got: `sum price where town = Tarn and days > 5`."""

from __future__ import annotations

import csv
import re
from pathlib import Path

RENTALS = Path(__file__).parent / "data" / "rentals.csv"
_QUERY = re.compile(r"(?P<what>count|(?:sum|max) (?P<column>days|price))(?: where (?P<conditions>.+))?")
_CONDITION = re.compile(r"(town|kind) = (\w+)|(days|price) ([<>]) (\d+)")


def _holds(row: dict[str, str], condition: str) -> bool:
    read = _CONDITION.fullmatch(condition)
    if read is None:
        raise ValueError(f"this is no condition: {condition:.60}")
    column, wanted, number, sign, limit = read.groups()
    if column:
        return row[column] == wanted
    return int(row[number]) > int(limit) if sign == ">" else int(row[number]) < int(limit)


def run_query(query: str) -> int:
    """The number that a query gives. Raises ValueError for what is no query."""
    read = _QUERY.fullmatch(query.strip())
    if read is None:
        raise ValueError(f"this is no query: {query:.60}")
    with RENTALS.open(newline="", encoding="utf-8") as file:
        rows = [{name.lower(): value for name, value in row.items()} for row in csv.DictReader(file)]
    conditions = read["conditions"].split(" and ") if read["conditions"] else []
    fits = [row for row in rows if all(_holds(row, condition) for condition in conditions)]
    if read["column"] is None:
        return len(fits)
    numbers = [int(row[read["column"]]) for row in fits]
    return sum(numbers) if read["what"].startswith("sum") else max(numbers, default=0)
