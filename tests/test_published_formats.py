"""Files in the published formats run as they are: each with its own columns and its own way of writing.

The rows are made up; what is held fast is how they are written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gotlang.api import load
from gotlang.data import inputs
from gotlang.data import load as load_data
from gotlang.result import Result

PROGRAMS = Path(__file__).parents[1] / "programs"

SORTING = 'ID,Unsorted,Sorted\n0,"[3, 1, 2, 1, 0, 9, 1]","[0, 1, 1, 1, 2, 3, 9]"\n'
SETS = 'ID,SET1,SET2,INTERSECTION\n0,"[8, 1, 5, 3]","[3, 9, 8, 2]","[8, 3]"\n'
COUNTRIES = (
    "ID,Text,Countries,Sentences,Characters\n"
    '0,"From Peru he went to Chile. Peru, he said, was warmer.","[Peru, Chile, Peru]",2,54\n'
)
DOCUMENTS = (
    "ID,document1,document2,document3,document4\n"
    '0,"NDA\nTerm: two years.","NDA\nTerm: one year.","NDA\nFee: none.","NDA\nLaw: Norland."\n'
)
GAMES = "Rank,Puzzles,AMT (s),Solved rate,1-sigma Mean (s),1-sigma STD (s)\n1,1 1 4 6,4.4,99.20%,4.67,1.48\n"
HOTPOT = [
    {
        "_id": "5a8b",
        "question": "In which town was the singer of The Blue Lanterns born?",
        "answer": "Falminster",
        "type": "bridge",
        "level": "hard",
        "supporting_facts": [["The Blue Lanterns", 0]],
        "context": [["The Blue Lanterns", ["A band.", " Its singer is Leo Bolt."]]],
    }
]
MUSIQUE = {
    "id": "2hop__1_2",
    "paragraphs": [
        {"idx": 0, "title": "Leo Bolt", "paragraph_text": "Born in Falminster.", "is_supporting": True}
    ],
    "question": "In which town was the singer of The Blue Lanterns born?",
    "question_decomposition": [{"id": 1, "question": "The Blue Lanterns >> singer", "answer": "Leo Bolt"}],
    "answer": "Falminster",
    "answer_aliases": [],
    "answerable": True,
}


def run(program: str, scheme: str, path: Path, columns: Mapping[str, str]) -> Result:
    loaded = load(PROGRAMS / f"{program}.got")
    chosen = loaded.scheme(scheme)
    optional = {"truth": chosen.truth} if "truth" in columns else {}
    given: dict[str, Any] = inputs(load_data(path), 0, columns, dict(chosen.parameters), optional)
    truth = given.pop("truth", None)
    return loaded.run(given, scheme=scheme, truth=truth)


@pytest.mark.parametrize(
    ("name", "content", "program", "scheme", "columns"),
    [
        ("sorting.csv", SORTING, "sorting", "got", {"numbers": "Unsorted", "truth": "Sorted"}),
        ("sets.csv", SETS, "sets", "got", {"set1": "SET1", "set2": "SET2", "truth": "INTERSECTION"}),
        ("countries.csv", COUNTRIES, "keywords", "gotx", {"text": "Text", "countries": "Countries"}),
        ("documents.csv", DOCUMENTS, "documents", "got", {}),
        ("24.csv", GAMES, "game24", "tot", {"numbers": "Puzzles"}),
        ("hotpot_dev_fullwiki_v1.json", json.dumps(HOTPOT), "probtree", "probtree", {"truth": "answer"}),
        (
            "musique_ans_v1.0_dev.jsonl",
            json.dumps(MUSIQUE) + "\n",
            "probtree",
            "probtree",
            {"truth": "answer"},
        ),
    ],
)
def test_a_published_file_runs_as_it_is(
    tmp_path: Path, name: str, content: str, program: str, scheme: str, columns: dict[str, str]
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    result = run(program, scheme, path, columns)
    assert result.value
    if program == "game24":
        assert result.value.endswith("= 24")
    elif program == "documents":
        assert "Law: Norland." in result.value
    else:
        assert result.ground_truth is True


def test_games_of_24_in_parquet_run_as_they_are(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"numbers": [[1, 1, 4, 6]], "solutions": [["(1+1+4)*4"]], "solved_rate": [0.99]})
    path = tmp_path / "24.parquet"
    parquet.write_table(table, path)
    assert "=" in run("game24", "tot", path, {}).value
