"""Data files: the published formats as they are, and every way in which a file or an option can be wrong."""

from __future__ import annotations

import csv
import json
import sys
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.timing import cost

from gotlang.data import Table, fingerprint, inputs, load, parse_value
from gotlang.data import table as table_module
from gotlang.errors import UsageError
from gotlang.types import BOOL, DYNAMIC, FLOAT, INT, STR, DictType, ListType, LiteralType, RecordType, Type

NUMBERS = ListType(INT)
NAMES = ListType(STR)


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# ---------------------------------------------------------------------------------- published formats


def test_sorting_csv(tmp_path: Path) -> None:
    path = write(
        tmp_path, "s.csv", 'ID,Unsorted,Sorted\r\n0,"[3, 1, 2]","[1, 2, 3]"\r\n1,"[9, 8]","[8, 9]"\r\n'
    )
    table = load(path)
    assert table.columns == ("ID", "Unsorted", "Sorted") and len(table) == 2
    values = inputs(
        table, 1, {"numbers": "Unsorted", "truth": "Sorted"}, {"numbers": NUMBERS}, {"truth": NUMBERS}
    )
    assert values == {"numbers": [9, 8], "truth": [8, 9]}


def test_set_csv(tmp_path: Path) -> None:
    path = write(tmp_path, "s.csv", 'ID,SET1,SET2,INTERSECTION\n0,"[11, 60, 1]","[1, 11]","[1, 11]"\n')
    values = inputs(
        load(path), 0, {"truth": "INTERSECTION"}, {"set1": NUMBERS, "set2": NUMBERS}, {"truth": DYNAMIC}
    )
    assert values == {"set1": [11, 60, 1], "set2": [1, 11], "truth": [1, 11]}


@pytest.mark.parametrize(
    "cell", ['"[\'Peru\', ""Côte d\'Ivoire""]"', '"[Peru, Côte d\'Ivoire]"', '"Peru, Côte d\'Ivoire"']
)
def test_countries_csv(tmp_path: Path, cell: str) -> None:
    text = '"She said, ""Peru"", and left for Côte d\'Ivoire."'
    path = write(tmp_path, "c.csv", f"ID,Text,Countries,Sentences,Characters\n0,{text},{cell},1,42\n")
    values = inputs(
        load(path),
        0,
        {"truth": "Countries"},
        {"text": STR, "sentences": INT},
        {"truth": NAMES},
    )
    assert values["text"] == 'She said, "Peru", and left for Côte d\'Ivoire.'
    assert values["truth"] == ["Peru", "Côte d'Ivoire"]
    assert values["sentences"] == 1


def test_documents_csv(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    texts = [f'AGREEMENT {i}\n\n1. "Term", {i}%\n' + "long " * 60_000 for i in range(4)]
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "problem", "document1", "document2", "document3", "document4"])
        rows.writerow([0, "Merge", *texts])
    before = csv.field_size_limit()
    wanted: dict[str, Type] = {f"document{i}": STR for i in range(1, 5)}
    assert list(inputs(load(path), 0, {}, wanted).values()) == texts
    assert csv.field_size_limit() == before


def test_game_of_24_csv(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "24.csv",
        "Rank,Puzzles,AMT (s),Solved rate\n1,1 1 4 6,4.4,99.20%\n2,1 1 11 11,4.41,99.60%\n",
    )
    table = load(path)
    assert inputs(table, 0, {"numbers": "Puzzles"}, {"numbers": NUMBERS}) == {"numbers": [1, 1, 4, 6]}
    assert inputs(table, 1, {"puzzle": "Puzzles"}, {"puzzle": STR}) == {"puzzle": "1 1 11 11"}
    assert inputs(table, 1, {"t": "AMT (s)", "rate": "Solved rate"}, {"t": FLOAT, "rate": FLOAT}) == {
        "t": 4.41,
        "rate": 99.6,
    }


def test_question_json(tmp_path: Path) -> None:
    rows = [
        {"_id": "5a", "question": "Who?", "answer": "1969", "supporting_facts": [["A", 0]], "level": "hard"}
    ]
    table = load(write(tmp_path, "h.json", json.dumps(rows)))
    values = inputs(table, 0, {"truth": "answer"}, {"question": STR}, {"truth": STR})
    assert values == {"question": "Who?", "truth": "1969"}


@pytest.mark.parametrize("name", ["q.jsonl", "q.ndjson", "q.JSONL"])
def test_json_lines(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name, '{"n": 7, "tags": ["a\u2028b"]}\r\n\r\n{"n": "8"}\n')
    table = load(path)
    assert table.columns == ("n", "tags")
    assert inputs(table, 0, {}, {"n": INT, "tags": NAMES}) == {"n": 7, "tags": ["a\u2028b"]}
    assert inputs(table, 1, {}, {"n": INT}, {"tags": NAMES}) == {"n": 8}


def test_json_of_columns(tmp_path: Path) -> None:
    table = load(write(tmp_path, "c.json", '{"a": [1, 2], "b": [[3], [4]]}'))
    assert table.rows == ({"a": 1, "b": [3]}, {"a": 2, "b": [4]})


def test_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    path = tmp_path / "24.parquet"
    dated = pyarrow.map_(pyarrow.string(), pyarrow.date32())
    columns = {
        "Puzzles": ["1 1 4 6"],
        "numbers": [[1, 1, 4, 6]],
        "day": [date(2024, 5, 1)],
        "price": [Decimal("1.50")],
        "took": [timedelta(milliseconds=1500)],
        "known": pyarrow.array([[("since", date(2024, 5, 1))]], dated),
    }
    parquet.write_table(pyarrow.table(columns), path)
    table = load(path)
    wanted: dict[str, Type] = {"puzzles": NUMBERS, "numbers": NUMBERS, "day": STR, "price": FLOAT}
    assert inputs(table, 0, {}, wanted) == {
        "puzzles": [1, 1, 4, 6],
        "numbers": [1, 1, 4, 6],
        "day": "2024-05-01",
        "price": 1.5,
    }
    assert (table.row(0)["took"], table.row(0)["known"]) == (1.5, [["since", "2024-05-01"]])
    assert len(fingerprint(table)) == 64
    finest = pyarrow.array([1_234_567_890_123_456_789], pyarrow.timestamp("ns"))
    parquet.write_table(pyarrow.table({"when": finest}), tmp_path / "fine.parquet")
    if find_spec("pandas") is None:
        with pytest.raises(UsageError, match=r"is not a readable parquet file.*Nanosecond"):
            load(tmp_path / "fine.parquet")
    with pytest.raises(UsageError, match="is not a readable parquet file"):
        load(write(tmp_path, "no.parquet", "ID,Unsorted\n"))


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match="need pyarrow") as caught:
        load(write(tmp_path, "x.parquet", b"PAR1"))
    assert caught.value.help == "pip install 'gotlang[parquet]'"


# --------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("cell", "type_", "value"),
    [
        ("7", INT, 7), ("7.0", INT, 7), ("1,234", INT, 1234), ("0.5", FLOAT, 0.5), ("yes", BOOL, True),
        ("[1, 2]", NUMBERS, [1, 2]), ("1, 2", NUMBERS, [1, 2]), ("1 2", NUMBERS, [1, 2]),
        ("(1, 2)", NUMBERS, [1, 2]),
        ("{'Peru': 2}", DictType(INT), {"Peru": 2}), ("Counter({'Peru': 2})", DictType(INT), {"Peru": 2}),
        ('{"left": [1]}', RecordType((("left", NUMBERS),)), {"left": [1]}),
        ("Sure", LiteralType(("sure", "likely")), "sure"), ("", STR, ""), (" a ", STR, " a "),
        ("7", STR, "7"),
        ("7", DYNAMIC, 7), ("[1]", DYNAMIC, [1]), ("Paris", DYNAMIC, "Paris"),
    ],
)  # fmt: skip
def test_cells_and_options(cell: str, type_: Type, value: Any) -> None:
    table = Table("t.csv", ("x",), ({"x": cell},), as_text=True)
    assert inputs(table, 0, {}, {"x": type_}) == {"x": value}
    assert parse_value(cell, type_, "--input x") == value


def test_option_errors_name_the_option() -> None:
    with pytest.raises(UsageError, match=r"^--set keep: expected int, found 'five'$"):
        parse_value("five", INT, "--set keep")


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        (
            "[1, 2",
            "expected list[int], found '[1, 2'",
            "write a list as JSON, such as `[1, 2]`, or separated by commas",
        ),
        ('[1, "x"]', "element 1: expected int, found 'x'", None),
    ],
)
def test_the_form_is_told_only_to_who_did_not_write_it(text: str, message: str, help: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        parse_value(text, ListType(INT), "--input x")
    assert (caught.value.message, caught.value.help) == (f"--input x: {message}", help)


def test_a_column_of_the_same_name_is_taken_exactly_first() -> None:
    table = Table("t.csv", ("Text", "text", "Name"), ({"Text": "A", "text": "b", "Name": "c"},), as_text=True)
    assert inputs(table, 0, {}, {"text": STR, "name": STR}) == {"text": "b", "name": "c"}


@pytest.mark.parametrize(
    ("arguments", "message", "help"),
    [
        ((7, {}, {"text": STR}), "t.csv has no row 7", "it has 1 row, counted from 0 to 0"),
        ((-1, {}, {"text": STR}), "t.csv has no row -1", "it has 1 row"),
        (
            (0, {"txt": "text"}, {"text": STR}),
            "no input `txt`",
            "did you mean `text`?",
        ),
        ((0, {"zzz": "text"}, {"text": STR}), "no input `zzz`", "the inputs are: text"),
        ((0, {"text": "txt"}, {"text": STR}), "t.csv has no column `txt`", "did you mean `text`?"),
        ((0, {"text": "zzz"}, {"text": STR}), "t.csv has no column `zzz`", "it has: text, number"),
        ((0, {}, {"texts": STR}), "t.csv has no column `texts`", "`--map texts=text`"),
        (
            (0, {}, {"number": INT}),
            "t.csv, row 0, column `number`: expected int, found 'x', for input `number`",
            None,
        ),
    ],
)
def test_errors_say_where_and_what_to_do(arguments: tuple[Any, ...], message: str, help: str | None) -> None:
    table = Table("t.csv", ("text", "number"), ({"text": "a", "number": "x"},), as_text=True)
    with pytest.raises(UsageError) as caught:
        inputs(table, *arguments)
    assert message in caught.value.message
    assert help is None or help in str(caught.value.help)


def test_a_row_of_json_may_lack_a_column() -> None:
    table = Table("t.jsonl", ("a", "b"), ({"a": 1},))
    with pytest.raises(UsageError, match=r"t\.jsonl, row 0 has no `b`, required by input `b`"):
        inputs(table, 0, {}, {"b": INT})


# ---------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.csv", "", "is empty"),
        ("e.csv", "\ufeff \n", "is empty"),
        ("e.csv", "a,b\n", "has a header but no rows"),
        ("e.csv", "a,b\n1,2\n1,2,3\n", "line 3 (row 1): expected 2 cells, found 3"),
        ("e.csv", "a,b\n1\n", "line 2 (row 0): expected 2 cells, found 1"),
        ("e.csv", 'a,b\n1,"x"y\n', "line 2 (row 0): "),
        ("e.csv", 'a,b\n1,"never ends\n', "(row 0): "),
        ("e.csv", "a,b,a\n1,2,3\n", "line 1: duplicate column `a`"),
        ("e.csv", "a;b\n1;2\n", "line 1: columns are separated by `;`; expected `,`"),
        ("e.csv", "\ufeffa\tb\r\n1\t2\r\n", "line 1: columns are separated by tabs"),
        ("e.csv", "a,b\n1,\0\n", "line 2: a NUL byte"),
        ("e.csv", b"a,b\n1,\xff\n", "line 2: not UTF-8"),
        ("e.csv", "a,b\n1,2\n".encode("utf-16"), "a NUL byte"),
        ("e.jsonl", "", "is empty"),
        ("e.jsonl", '{"a": 1}\n{"a": }\n', "line 2, column 7: "),
        ("e.jsonl", '{"a": 1}\n[1]\n', "line 2: not an object"),
        ("e.jsonl", '{"a": NaN}\n', "line 1: NaN is not a JSON value"),
        ("e.jsonl", '{"a": 1}\n{"a": 1, "b": 2, "a": 3}\n', "line 2: duplicate key `a`"),
        ("e.jsonl", '{"a": {"b": 1, "b": 2}}\n', "line 1: duplicate key `b`"),
        ("e.json", '[{"a": 1, "a": 2}]', "line 1: duplicate key `a`"),
        ("e.json", '[\n{"a": 1,\n "a": 2}\n]\n', "e.json: duplicate key `a`"),
        ("e.jsonl", '{"a": "x\\ud83d"}\n', "line 1: `\\ud83d` is half of a character"),
        ("e.jsonl", '{"\\uDE00": 1}\n', "line 1: `\\ude00` is half of a character"),
        ("e.json", '[{"a": 1},\n {"a": ]', "line 2, column 8: "),
        ("e.json", "[]", "has no rows"),
        ("e.json", "{}", "neither a list of objects nor an object of lists"),
        ("e.json", '{"a": 1}', "neither a list of objects nor an object of lists"),
        ("e.json", '{"a": [1], "b": []}', "differ in length: `a` 1, `b` 0"),
        ("e.json", '[{"a": 1}, 2]', "row 1: not an object"),
        ("e.json", "[" * 100_000, "too deep"),
        ("e.xlsx", "x", "unsupported data format"),
        ("e", "x", "unsupported data format"),
    ],
)
def test_wrong_files(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(UsageError) as caught:
        load(path)
    assert message in caught.value.message
    assert caught.value.message.startswith(str(path))
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    ("name", "text"), [("a.csv", "x,y\n1,2\n3,4\n5\n"), ("a.jsonl", '{"x": 1, "y": 2}\n{"x": 3}\nbroken\n')]
)
def test_of_the_first_rows_nothing_else_is_read(tmp_path: Path, name: str, text: str) -> None:
    path = write(tmp_path, name, text)
    table = load(path, 2)
    assert (len(table), table.columns) == (2, ("x", "y"))
    with pytest.raises(UsageError):
        load(path)
    assert len(load(write(tmp_path, "b.json", '[{"x": 1}, {"x": 2}, {"x": 3}]'), 2)) == 2
    assert len(load(write(tmp_path, "c.csv", "x\n1\n"), 2)) == 1


def test_a_missing_file(tmp_path: Path) -> None:
    write(tmp_path, "sorting_032.csv", "a\n1\n")
    with pytest.raises(UsageError, match="there is no file") as caught:
        load(tmp_path / "sorting_32.csv")
    assert "sorting_032.csv" in str(caught.value.help)
    with pytest.raises(UsageError, match="there is no file"):
        load(tmp_path / "no" / "folder.csv")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(UsageError, match="cannot read"):
        load(tmp_path / "folder.csv")


def test_a_byte_order_mark_and_blank_lines_are_no_trouble(tmp_path: Path) -> None:
    table = load(write(tmp_path, "b.csv", "\ufeffID,Text\n\n0,é\n\n"))
    assert table.columns == ("ID", "Text") and table.rows == ({"ID": "0", "Text": "é"},)


def test_an_index_without_a_name(tmp_path: Path) -> None:
    assert load(write(tmp_path, "p.csv", ",a\n0,x\n")).columns == ("column 0", "a")


def test_the_fingerprint_is_of_the_rows(tmp_path: Path) -> None:
    one = load(write(tmp_path, "one.csv", "a,b\n1,x\n"))
    assert fingerprint(one) == fingerprint(load(write(tmp_path, "two.csv", 'a,b\r\n"1","x"\r\n')))
    assert fingerprint(one) != fingerprint(load(write(tmp_path, "three.csv", "a,b\n1,y\n")))
    assert len(fingerprint(one)) == 64


CELLS = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=5))
def test_what_python_writes_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    path = tmp_path_factory.getbasetemp() / "written.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["a", "b"], *rows])
    assert [list(row.values()) for row in load(path).rows] == rows


@given(st.binary(max_size=80) | st.text(alphabet='ab,"\n\r[]{}:1', max_size=60).map(str.encode),
       st.sampled_from([".csv", ".json", ".jsonl"]))  # fmt: skip
def test_any_bytes_give_a_table_or_a_usage_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, kind: str
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any{kind}"
    path.write_bytes(content)
    try:
        table = load(path)
    except UsageError:
        return
    assert len(table) and all(set(row) <= set(table.columns) for row in table.rows)


def test_a_list_takes_columns_numbered_from_one() -> None:
    table = Table(
        "t.csv",
        ("ID", "document1", "Document2", "document4"),
        ({"document1": "a", "Document2": "b"},),
        as_text=True,
    )
    assert inputs(table, 0, {}, {"documents": ListType(STR)}) == {"documents": ["a", "b"]}
    own = Table(
        "t.csv", ("documents", "document1"), ({"documents": "[1, 2]", "document1": "3"},), as_text=True
    )
    assert inputs(own, 0, {}, {"documents": ListType(INT)}) == {"documents": [1, 2]}
    gap = Table("t.jsonl", ("document1", "document2"), ({"document1": "a"},))
    with pytest.raises(UsageError, match="column `document2`: no value for input `documents`"):
        inputs(gap, 0, {}, {"documents": ListType(STR)})


CELLS = st.text(st.sampled_from('ab,"\n\ré '), max_size=6)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@given(cells=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=20), chance=st.randoms())
def test_a_large_file_has_the_rows_of_a_small_one(
    suffix: str, cells: list[tuple[str, str]], chance: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = [{"a": f"x{a}", "b": b} for a, b in cells]
    path = tmp_path_factory.mktemp("rows") / f"rows{suffix}"
    if suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        import pyarrow

        parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=7)
    elif suffix == ".jsonl":
        lines = (json.dumps(row) + chance.choice(["\n", "\r\n", "\n\n  \n"]) for row in rows)
        path.write_text("\ufeff" + "".join(lines), "utf-8", newline="")
    else:
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            for row in ({"a": "a", "b": "b"}, *rows):
                end = chance.choice(["\n", "\r\n", "\r", "\n\n"])
                csv.writer(file, lineterminator=end, quoting=csv.QUOTE_ALL).writerow(row.values())
    small = load(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_module, "KEPT_BYTES", -1)
        large = load(path)
    assert not isinstance(large.rows, tuple) and isinstance(small.rows, tuple)
    assert (large.columns, large.as_text, len(large)) == (small.columns, small.as_text, len(small))
    places = [chance.randrange(len(rows)) for _ in range(30)]
    assert [large.rows[place] for place in places] == [small.rows[place] for place in places]
    assert tuple(large.rows) == small.rows and large.rows[1:-1] == [*small.rows[1:-1]]
    assert fingerprint(large) == fingerprint(small)


def test_reading_takes_as_long_as_there_are_rows_however_lines_end(tmp_path: Path) -> None:
    """A file whose lines end in `\\r` was read in time that grows with the square of its rows."""
    took = []
    for end in ("\n", "\r\n", "\r"):
        path = tmp_path / "rows.csv"
        path.write_text(end.join(["number", *map(str, range(10_000)), ""]), newline="")
        assert len(load(path).rows) == 10_000
        took.append(cost(partial(load, path)))
    assert max(took) <= 3 * min(took) + 0.01, took


def test_a_large_file_that_changes_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "KEPT_BYTES", -1)
    path = write(tmp_path, "rows.csv", "a\n1\n2\n")
    table = load(path)
    with path.open("a") as file:
        file.write("3\n")
    with pytest.raises(UsageError, match=r"rows\.csv was changed while it was in use"):
        table.row(0)
