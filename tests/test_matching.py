"""Column inference: by name, else the only possible one; never a guess between two."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gotlang.api import compile
from gotlang.data import table as table_module
from gotlang.data.table import Table
from gotlang.errors import UsageError
from gotlang.evaluate import rows as rows_module
from gotlang.evaluate.rows import match
from gotlang.types import INT, STR, ListType, LiteralType, Type

INTS = ListType(INT)


def table(as_text: bool = True, /, **columns: list[Any]) -> Table:
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    return Table("rows.csv", tuple(columns), tuple(rows), as_text=as_text)


SORTING = table(ID=["0", "1"], Unsorted=["[2, 1]", "[4, 3]"], Sorted=["[1, 2]", "[3, 4]"])


def found(rows: Table, inputs: dict[str, Type], truth: Type | None = None, **mapping: str) -> dict[str, str]:
    return match(rows, inputs, truth, mapping).columns


def test_the_only_column_that_fits_and_is_no_answer() -> None:
    matching = match(SORTING, {"numbers": INTS}, None, {})
    assert matching.columns == {"numbers": "Unsorted"}
    assert matching.inferred == ("numbers",)


def test_a_list_takes_numbered_columns() -> None:
    rows = table(ID=["0"], document1=["a"], document2=["b"], query=["c"])
    matching = match(rows, {"documents": ListType(STR), "question": STR}, None, {})
    assert matching.columns == {"question": "query"}
    assert matching.inferred == ("question",)


def test_the_known_answer_is_taken_only_where_it_is_looked_at() -> None:
    assert found(SORTING, {"numbers": INTS}, INTS) == {"numbers": "Unsorted", "truth": "Sorted"}
    assert found(SORTING, {"numbers": INTS}, STR)["truth"] == "Sorted"
    assert "truth" not in found(SORTING, {"numbers": INTS}, None)


COUNTRIES = table(
    ID=["0", "1"],
    Text=["To Peru, not to Chile.", "Peru it is."],
    Countries=["[Peru, Chile]", "[Peru]"],
    Sentences=["1", "1"],
)


def test_a_known_answer_of_parts_needs_no_name_where_one_column_is_left() -> None:
    matching = match(COUNTRIES, {"text": STR}, ListType(STR), {})
    assert matching.columns == {"text": "Text", "truth": "Countries"}
    assert matching.inferred == ("truth",)
    assert "truth" not in found(COUNTRIES, {"text": STR}, INT)  # numbers of sentences are no answer
    two = table(Text=["To Peru."], Countries=["[Peru]"], Towns=["[Lima]"])
    assert "truth" not in found(two, {"text": STR}, ListType(STR))
    named = table(Text=["To Peru."], Countries=["[Peru]"], Answer=["1 to Peru"])
    assert found(named, {"text": STR}, ListType(INT))["truth"] == "Answer"  # reading it says what is wrong


def test_a_column_named_like_an_answer_is_tried_though_a_cell_does_not_fit() -> None:
    labels = LiteralType(("positive", "negative"))
    rows = table(Text=["a", "b"], label=["positive", "negativ"])
    assert found(rows, {"text": STR}, labels) == {"text": "Text", "truth": "label"}
    several = table(Text=["a", "b"], label=["positive", "negative"], target=["negative", "negative"])
    with pytest.raises(UsageError, match="several columns that may be the known answer: label, target"):
        found(several, {"text": STR}, labels)
    one = table(Text=["a", "b"], label=["positive", "negative"], target=["1", "2"])
    assert found(one, {"text": STR}, labels)["truth"] == "label"


def test_names_go_before_guesses() -> None:
    matching = match(SORTING, {"unsorted": INTS}, None, {})
    assert (matching.columns, matching.inferred) == ({"unsorted": "Unsorted"}, ())
    assert found(SORTING, {"numbers": INTS}, numbers="Sorted") == {"numbers": "Sorted"}
    assert found(SORTING, {"id": INT, "numbers": INTS}) == {"id": "ID", "numbers": "Unsorted"}


@pytest.mark.parametrize(
    "rows",
    [
        table(first=["[1]"], second=["[2]"]),  # two that fit
        table(first=["one"]),  # none that fits
        table(answer=["[1]"], id=["[2]"]),  # only answers and numbers
    ],
)
def test_what_is_not_clear_is_asked(rows: Table) -> None:
    with pytest.raises(UsageError, match="no column `numbers`") as error:
        found(rows, {"numbers": INTS})
    assert "--map numbers=" in str(error.value.help)


def test_two_inputs_never_share_a_guess() -> None:
    with pytest.raises(UsageError, match="no column `left`"):
        found(table(both=["[1]"]), {"left": INTS, "right": INTS})


def test_one_bad_cell_is_enough_to_refuse_a_guess() -> None:
    with pytest.raises(UsageError):
        found(table(values=["[1]", "[x]"]), {"numbers": INTS})


def test_numbers_that_stand_alone_are_no_lists() -> None:
    puzzles = table(Rank=["1", "2"], Puzzles=["1 1 1 8", "4 6 1 1"])
    assert found(puzzles, {"numbers": INTS}) == {"numbers": "Puzzles"}


def test_texts_take_the_only_column_of_texts() -> None:
    assert found(table(id=["1"], words=["a"], answer=["b"]), {"question": STR}) == {"question": "words"}
    mixed = table(False, words=["a", "b"], counts=[1, 2])
    assert found(mixed, {"question": STR}) == {"question": "words"}


def test_a_column_that_is_not_there_is_said() -> None:
    with pytest.raises(UsageError, match="no column `Unsortd`") as error:
        found(SORTING, {"numbers": INTS}, numbers="Unsortd")
    assert error.value.help == "did you mean `Unsorted`?"


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_rows_that_are_read_when_they_run_are_the_same(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, cells = tmp_path / f"rows{suffix}", [f"{n} {n + 1}" for n in range(50)]
    if suffix == ".csv":
        path.write_text("numbers,truth\n" + "".join(f'"{cell}",{cell[0]}\n' for cell in cells))
    else:
        path.write_text("".join(json.dumps({"numbers": [n], "truth": "a"}) + "\n" for n in range(50)))
    program = compile(
        'prompt p(numbers: list[int]) -> str:\n    "{{ numbers }}"\n\nscheme s(numbers: list[int]) -> str:\n'
        "    Generate() p(numbers)\n    GroundTruth() it == truth\n",
        "s.got",
    )
    kept = program.dataset(path, rows="3:", sample=20)
    monkeypatch.setattr(table_module, "KEPT_BYTES", -1)
    monkeypatch.setattr(rows_module, "_MOST_KEPT", 0)
    found = program.dataset(path, rows="3:", sample=20)
    assert not isinstance(found.rows, tuple) and tuple(found.rows) == kept.rows and len(found) == 20
    assert tuple(found.rows[2:5]) == kept.rows[2:5]
    assert [found.row(row.number) for row in kept.rows] == [kept.row(row.number) for row in kept.rows]
    path.write_text(path.read_text().replace("41", "x", 1))
    with pytest.raises(UsageError, match=r"line 42|row 40|row 41"):
        program.dataset(path)
