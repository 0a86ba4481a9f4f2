"""Question sets with their own paragraphs, in the forms of HotpotQA, 2WikiMultihopQA and MuSiQue.

The rows are made up; what is held fast is how they are written.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gotlang.api import Options, compile
from gotlang.data.corpus import open_corpus
from gotlang.errors import RunError, UsageError
from gotlang.models.simulated import SimulatedModel
from gotlang.semantics.builtins import BUILTINS

QUESTION = "In which town was the singer of The Blue Lanterns born?"
TITLES = ("Leo Bolt", "The Blue Lanterns", "Sorn")
TEXTS = ("Leo Bolt was born in Falminster.", "A band. Its singer is Leo Bolt.", "A river.")
SENTENCES = (["Leo Bolt was born in Falminster."], ["A band.", " Its singer is Leo Bolt."], ["A river."])
FACTS = [["The Blue Lanterns", 1], ["Leo Bolt", 0]]
CONTEXT = [[title, sentences] for title, sentences in zip(TITLES, SENTENCES, strict=True)]
HOTPOT = {
    "_id": "5a8b",
    "answer": "Falminster",
    "question": QUESTION,
    "supporting_facts": FACTS,
    "context": CONTEXT,
    "type": "bridge",
    "level": "hard",
}
TWO_WIKI = {
    "_id": "61a4",
    "type": "compositional",
    "question": QUESTION,
    "context": [[title, [each.strip() for each in sentences]] for title, sentences in CONTEXT],
    "supporting_facts": FACTS,
    "evidences": [["The Blue Lanterns", "singer", "Leo Bolt"]],
    "answer": "Falminster",
}
MUSIQUE = {
    "id": "2hop__1_2",
    "paragraphs": [
        {"idx": at, "title": title, "paragraph_text": text, "is_supporting": at < 2}
        for at, (title, text) in enumerate(zip(TITLES, TEXTS, strict=True))
    ],
    "question": QUESTION,
    "question_decomposition": [
        {
            "id": 1,
            "question": "The Blue Lanterns >> singer",
            "answer": "Leo Bolt",
            "paragraph_support_idx": 1,
        },
        {
            "id": 2,
            "question": "In which town was #1 born?",
            "answer": "Falminster",
            "paragraph_support_idx": 0,
        },
    ],
    "answer": "Falminster",
    "answer_aliases": ["Falminster town"],
    "answerable": True,
}
FILES = {
    "hotpot_dev_distractor_v1.json": json.dumps([HOTPOT]),
    "2wiki_dev.json": json.dumps([TWO_WIKI]),
    "musique_ans_v1.0_dev.jsonl": json.dumps(MUSIQUE) + "\n",
}
READING = """
type Paragraph = {title: str, text: str}
prompt read(question: str, found: list[str]) -> str:
    "{{ question }} {{ found }}"
metric overlap(answer: str, truth: str) -> higher, best 1, failed 0:
    f1(answer, truth)
scheme typed(question: str, paragraphs: list[Paragraph]) -> str:
    found = bm25([p.title + ": " + p.text for p in paragraphs], question, 2)
    Generate() read(question, found)
scheme texts(question: str, paragraphs: list[str]) -> str:
    found = Retrieve(k=2) paragraphs(question)
    Generate() read(question, found)
"""


def read(rng: Any, question: str, found: list[str]) -> str:
    """What the second of the two paragraphs says."""
    assert found == [f"{TITLES[1]}: {TEXTS[1]}", f"{TITLES[0]}: {TEXTS[0]}"]
    return found[1].split()[-1].strip(".")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("scheme", ["typed", "texts"])
def test_a_question_is_read_with_its_own_paragraphs(tmp_path: Path, name: str, scheme: str) -> None:
    (tmp_path / name).write_text(FILES[name])
    program = compile(READING, "read.got")
    columns = {} if "musique" in name else {"paragraphs": "context"}
    options = Options(model=SimulatedModel({"read": read}), cache=None)
    found = program.evaluate(
        tmp_path / name, scheme=scheme, columns={**columns, "truth": "answer"}, options=options
    )
    assert found.failures() == {}
    assert found.mean("overlap") == 1
    if scheme == "typed":  # only paragraphs can be read as such a list, so the column needs no name
        data = program.dataset(tmp_path / name, scheme=scheme)
        assert data.rows[0].inputs["paragraphs"][0] == {"title": TITLES[0], "text": TEXTS[0]}
        assert data.matching.columns["truth"] == "answer"


def test_the_known_answers_are_an_answer_and_its_aliases(tmp_path: Path) -> None:
    text = """
metric best(answer: str, truth: list[str]) -> higher, best 1, failed 0:
    max([f1(answer, one) for one in truth])
scheme main(question: str) -> str, truth list[str]:
    Pool() "the town of Falminster"
scheme short(question: str) -> str:
    Pool() "Falminster"
"""
    program, options = compile(text, "p.got"), Options(model="simulated", cache=None)
    aliases = {"columns": {"truth": "answer, answer_aliases"}, "options": options}
    path, table = tmp_path / "musique.jsonl", tmp_path / "musique.csv"
    path.write_text(FILES["musique_ans_v1.0_dev.jsonl"])
    table.write_text("question,answer,answer_aliases\nWhere?,Falminster,\"['Falminster town']\"\n")
    for data in (path, table):
        found = program.evaluate(data, scheme="main", **aliases)
        assert found.runs[0].row.truth == ["Falminster", "Falminster town"]
        assert found.mean("best") == pytest.approx(0.8)  # of three words and two, two are the same
    with pytest.raises(UsageError, match="only a list accepts several columns"):
        program.evaluate(path, scheme="short", **aliases)
    with pytest.raises(UsageError, match="has no column `answer_alias`"):
        program.dataset(path, scheme="main", columns={"truth": "answer,answer_alias"})


def test_a_decomposition_refers_to_earlier_answers(tmp_path: Path) -> None:
    text = """
type Part = {question: str, answer: str}
scheme main(parts: list[Part]) -> list[str]:
    foreach part in parts after references(part.question):
        Pool() fill(part.question, [parts[i].answer for i in references(part.question)])
"""
    program = compile(text, "p.got")
    path = tmp_path / "musique.jsonl"
    path.write_text(FILES["musique_ans_v1.0_dev.jsonl"])
    data = program.dataset(path, columns={"parts": "question_decomposition"})
    result = program.run(data.rows[0].inputs, options=Options(model="simulated", cache=None))
    assert result.value == ["The Blue Lanterns >> singer", "In which town was Leo Bolt born?"]


@pytest.mark.parametrize(
    ("text", "positions", "filled"),
    [
        ("Who founded #2 before #1?", [1, 0], "Who founded b before a?"),
        ("Was <1> the #1 hit?", [0], "Was a the #1 hit?"),
        ("#0 and # 1 and #1st", [], "#0 and # 1 and #1st"),
    ],
)
def test_references(text: str, positions: list[int], filled: str) -> None:
    assert BUILTINS["references"].call(text) == positions
    assert BUILTINS["fill"].call(text, ["ab"[at] for at in positions]) == filled


def test_paragraphs_of_another_form_are_an_error_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps([{**HOTPOT, "context": [["Leo Bolt", 1]]}]))
    with pytest.raises(UsageError, match="row 0, column `context`"):
        compile(READING, "read.got").dataset(path, scheme="typed", columns={"paragraphs": "context"})


def test_retrieve_searches_a_list_for_each_thought() -> None:
    text = """
scheme main(queries: list[str], texts: list[str]) -> list[str]:
    more = texts + ["the Tarn"]
    foreach query in queries:
        Retrieve(k=1) more(it)
"""
    program = compile(text, "p.got")
    assert program.compilation.diagnostics == ()
    for level in (0, 2):
        options = Options(model="simulated", cache=None, level=level)
        inputs = {"queries": ["Which Tarn?", "Sorn or Kell?"], "texts": ["the Sorn", "Mount Kell"]}
        assert program.run(inputs, options=options).value == ["the Tarn", "the Sorn"]
    with pytest.raises(RunError, match="`more` has no matching document"):
        program.run(queries=["Ardel"], texts=[], options=Options(model="simulated", cache=None))


def test_the_ranking_is_that_of_a_corpus(tmp_path: Path) -> None:
    texts = ["the river Sorn", "a town on the river", "a bridge", "the river, the river"]
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    search = open_corpus(path)
    for query in ("Which river?", "river, town and the river", "nothing", "the"):
        assert BUILTINS["bm25"].call(texts, query, 5) == search(query, 5)
    assert search("river", 5)[0] == "the river, the river"
    assert BUILTINS["bm25"].call([], "river", 3) == BUILTINS["bm25"].call(["the"], "river", 3) == []
