"""Answers as models write them, one case a form, and the laws of reading."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.laws import tried
from support.timing import within

from gotlang.answers.forms import After, Form, Json, Lines, Tag
from gotlang.answers.reader import read, write
from gotlang.api import compile
from gotlang.errors import CompileError, EvaluationError, ReadError
from gotlang.types import (
    BOOL,
    DYNAMIC,
    FLOAT,
    INT,
    STR,
    DictType,
    ListType,
    LiteralType,
    RecordType,
    Type,
    optional,
)

NUMBERS = ListType(INT)
NAMES = ListType(STR)
COUNTS = DictType(INT)
LISTS = ListType(NUMBERS)
JUDGE = LiteralType(("sure", "likely", "impossible"))
LETTER = LiteralType(("A", "B", "C"))
STEP = RecordType((("left", INT), ("right", INT), ("result", FLOAT), ("rest", ListType(FLOAT))))
CARD = RecordType((("name", STR), ("path_length", INT)))

# form of the answer, type, answer, value
ONE: list[tuple[str, Type, str, Any]] = [
    ("JSON", NUMBERS, "[1, 2, 3]", [1, 2, 3]),
    ("white space around", NUMBERS, "\n\n  [1, 2, 3]\t\n", [1, 2, 3]),
    ("a json fence", NUMBERS, "Here you are:\n```json\n[1, 2, 3]\n```\nAnything else?", [1, 2, 3]),
    ("a fence", NUMBERS, "```\n[1, 2, 3]\n```", [1, 2, 3]),
    ("a fence of tildes", NUMBERS, "~~~\n[1, 2, 3]\n~~~", [1, 2, 3]),
    ("a fence that is not closed", NUMBERS, "```json\n[1, 2, 3]", [1, 2, 3]),
    ("a fence in the same line", NUMBERS, "It is ```[1, 2, 3]```.", [1, 2, 3]),
    ("the last fence", NUMBERS, "```\n[3, 1, 2]\n```\nsorted:\n```\n[1, 2, 3]\n```", [1, 2, 3]),
    ("a fence of Python", NUMBERS, "```python\nresult = [1, 2, 3]\nprint(result)\n```", [1, 2, 3]),
    ("Output:", NUMBERS, "Output: [1, 2, 3]", [1, 2, 3]),
    ("Answer:", NUMBERS, "**Answer:** [1, 2, 3]", [1, 2, 3]),
    ("a sentence before", NUMBERS, "Sure! Here is the sorted list:\n[1, 2, 3]", [1, 2, 3]),
    ("words after", NUMBERS, "[1, 2, 3]\n\nThe list is now in ascending order.", [1, 2, 3]),
    ("an apostrophe in the sentence", NUMBERS, "Here's what you're after: [1, 2, 3]", [1, 2, 3]),
    ("brackets in the sentence", NUMBERS, "The input (see above) [sorted below] gives [1, 2, 3].", [1, 2, 3]),
    ("a smiley", NUMBERS, "I tried :( but: [1, 2, 3]", [1, 2, 3]),
    ("spread over lines", NUMBERS, "[\n  1,\n  2,\n  3\n]", [1, 2, 3]),
    ("single quotes", NAMES, "['a', 'b']", ["a", "b"]),
    ("an apostrophe in single quotes", NAMES, "['it's', 'b']", ["it's", "b"]),
    ("quotes inside quotes", NAMES, '["the "old" house", "b"]', ['the "old" house', "b"]),
    ("curly quotes", NAMES, "[“a”, “b”]", ["a", "b"]),
    ("no quotes", NAMES, "[Peru, United States, Côte d'Ivoire]", ["Peru", "United States", "Côte d'Ivoire"]),
    ("quotes are surer than none", NAMES, '["a", "b"] [done]', ["a", "b"]),
    ("Python's names", ListType(BOOL), "[True, False]", [True, False]),
    ("a tuple", NUMBERS, "(1, 2, 3)", [1, 2, 3]),
    ("a set", NUMBERS, "{1, 2, 3}", [1, 2, 3]),
    ("numpy", NUMBERS, "array([1 2\n 3])", [1, 2, 3]),
    ("a trailing comma", NUMBERS, "[1, 2, 3,]", [1, 2, 3]),
    ("a double comma", NUMBERS, "[1, 2,, 3]", [1, 2, 3]),
    ("slash comments", NUMBERS, "[1, // one\n 2, /* two */ 3]", [1, 2, 3]),
    ("hash comments", NUMBERS, "[1, # one\n 2,\n 3] # done", [1, 2, 3]),
    ("a missing bracket", NUMBERS, "Output: [1, 2, 3", [1, 2, 3]),
    ("a missing bracket before more text", NUMBERS, "[1, 2, 3\n\nNote: this is sorted.", [1, 2, 3]),
    ("a missing bracket before the fence", NUMBERS, "```json\n[1, 2, 3\n```\n", [1, 2, 3]),
    ("a bracket of the wrong kind missing", NUMBERS, '{"sorted": [1, 2, 3}', [1, 2, 3]),
    ("cut off in an element", NAMES, '["a", "b", "c is tru', ["a", "b"]),
    ("cut off in a list of lists", LISTS, "[[1, 2], [3, 4], [5, 6", [[1, 2], [3, 4]]),
    ("cut off counts as the last list", NUMBERS, "From [3, 2, 1] we get [1, 2, 3", [1, 2, 3]),
    ("the last list counts", NUMBERS, "First [3, 1, 2], then [1, 3, 2], at last [1, 2, 3].", [1, 2, 3]),
    ("what the model repeats does not", NUMBERS, "Output: [1, 2, 3]\nInput: [3, 2, 1]", [1, 2, 3]),
    ("a list in an object", NUMBERS, '{"sorted": [1, 2, 3]}', [1, 2, 3]),
    (
        "the last list in an object",
        NUMBERS,
        '{"input": [3, 2, 1], "sorted": [1, 2, 3], "ok": true}',
        [1, 2, 3],
    ),
    ("a list in a text in an object", NUMBERS, '{"output": "[1, 2]"}', [1, 2]),
    ("double braces", COUNTS, '{{ "Peru": 2 }}', {"Peru": 2}),
    ("double brackets", NUMBERS, "[[1, 2, 3]]", [1, 2, 3]),
    ("numbers in quotes", NUMBERS, '["1", "2", "3"]', [1, 2, 3]),
    ("whole numbers with a point", NUMBERS, "[1.0, 2.0]", [1, 2]),
    ("numbers as texts", NAMES, "[1, 2]", ["1", "2"]),
    ("an empty list", NUMBERS, "There are none: []", []),
    ("numbers without brackets", NUMBERS, "1, 2, 3", [1, 2, 3]),
    ("numbers with spaces", NUMBERS, "Output: 1 2 3", [1, 2, 3]),
    ("a sentence and numbers", NUMBERS, "Sorted it is:\n1, 2, 3", [1, 2, 3]),
    ("numbers one a line", NUMBERS, "1\n2\n3", [1, 2, 3]),
    ("numbers with bullets", NUMBERS, "The numbers:\n- 1\n- 2\n- 3", [1, 2, 3]),
    ("texts with bullets", NAMES, "Sure:\n\n* one thing\n* another\n\nGood luck!", ["one thing", "another"]),
    ("texts with numbers", NAMES, "1. one thing\n2) another", ["one thing", "another"]),
    ("words of a fixed set", ListType(JUDGE), "sure, likely", ["sure", "likely"]),
    ("an object of numbered entries", NAMES, '{"Sentence 1": "a", "Sentence 2": "b"}', ["a", "b"]),
    ("an object", COUNTS, '{"Peru": 2, "Chile": 1}', {"Peru": 2, "Chile": 1}),
    ("Python's dict", COUNTS, "{'Peru': 2, 'Chile': 1}", {"Peru": 2, "Chile": 1}),
    ("names without quotes", COUNTS, "{Peru: 2, Costa Rica: 1}", {"Peru": 2, "Costa Rica": 1}),
    ("Counter", COUNTS, "Counter({'Peru': 2})", {"Peru": 2}),
    ("pairs", COUNTS, "[('Peru', 2), ('Chile', 1)]", {"Peru": 2, "Chile": 1}),
    ("objects one by one", COUNTS, '[{"Peru": 2}, {"Chile": 1}]', {"Peru": 2, "Chile": 1}),
    ("an object in an object", COUNTS, '{"frequencies": {"Peru": 2}}', {"Peru": 2}),
    ("a missing comma at a line's end", COUNTS, '{"Peru": 2\n "Chile": 1}', {"Peru": 2, "Chile": 1}),
    ("a cut object", COUNTS, '{"Peru": 2, "Chile": 1, "Bra', {"Peru": 2, "Chile": 1}),
    ("lines of names and numbers", COUNTS, "Here it is:\n- Peru: 2\n- **Chile**: 1", {"Peru": 2, "Chile": 1}),
    ("a record", CARD, '{"name": "a", "path_length": 3}', {"name": "a", "path_length": 3}),
    ("more fields", CARD, '{"id": 7, "name": "a", "path_length": 3}', {"name": "a", "path_length": 3}),
    ("names in another case", CARD, '{"Name": "a", "Path Length": "3"}', {"name": "a", "path_length": 3}),
    ("camel case", CARD, '{"name": "a", "pathLength": 3}', {"name": "a", "path_length": 3}),
    (
        "a record in an object",
        CARD,
        '{"card": {"name": "a", "path_length": 3}}',
        {"name": "a", "path_length": 3},
    ),
    ("a record in a list", CARD, '[{"name": "a", "path_length": 3}]', {"name": "a", "path_length": 3}),
    ("a record in prose", CARD, "Well: {'name': 'a', 'path_length': 3}.", {"name": "a", "path_length": 3}),
    ("a record as lines", CARD, "**Name**: a b\nPath length: 3", {"name": "a b", "path_length": 3}),
    ("LaTeX in JSON", NAMES, r'["\(x\)", "\d"]', [r"\(x\)", r"\d"]),
    ("a new line in JSON", NAMES, '["a\nb"]', ["a\nb"]),
    ("escapes", NAMES, r"""["\u00e9\n\ud83d\ude00", '\'']""", ["é\n😀", "'"]),
    ("half a character", NAMES, r'["\ud83d"]', ["\N{REPLACEMENT CHARACTER}"]),
    ("a number", INT, "42", 42),
    ("a number and a full stop", INT, "The answer is 42.", 42),
    ("a bold number", INT, "The total is **42**", 42),
    ("a boxed number", INT, r"So $\boxed{42}$", 42),
    ("a number with commas", INT, "1,234", 1234),
    ("a number with a point", INT, "4.0", 4),
    ("a negative number", INT, "It is -7.", -7),
    ("a range is no minus", INT, "Between 10-20, I say: the answer is 20", 20),
    ("a number after answer", INT, "3 + 4 = 7 and 7 * 2 = 14. The answer is 14 (2 steps).", 14),
    ("a number after the last answer", INT, "The answer is 3? No, the answer is 4, not 5.", 4),
    ("a number in the last line", INT, "First 3, then 4.\n\n**7**", 7),
    ("a number after =", INT, "3 + 4 = 7 for 2 numbers", 7),
    ("the end of an equation", INT, "The answer is 3 + 15 = $18, of 2 kinds", 18),
    ("the last number", INT, "First 3, then 4", 4),
    ("a number below the label", INT, "Steps: 3, 4\nAnswer:\n7 apples", 7),
    ("a number in an object", INT, '{"reason": "2 of 3", "score": 7}', 7),
    ("the usual name of several", INT, '{"steps": 3, "answer": 7}', 7),
    ("a number in JSON quotes", INT, '"42"', 42),
    ("a fraction", FLOAT, "0.25", 0.25),
    ("a quotient", FLOAT, "that makes 3/4", 0.75),
    ("a rating", FLOAT, "I would rate it 8/10, for 2 reasons", 8),
    ("a rating in words", FLOAT, "Score: 7.5 out of 10", 7.5),
    ("a percentage", FLOAT, "about 85%", 85),
    ("an amount", FLOAT, "$1,234.50", 1234.5),
    ("an exponent", FLOAT, "1e-3", 0.001),
    ("an int for a float", FLOAT, "3", 3),
    ("yes", BOOL, "Yes", True),
    ("true", BOOL, "true", True),
    ("False", BOOL, "False.", False),
    ("yes and why", BOOL, "Yes, because there is no error in it and it is not false.", True),
    ("no and why", BOOL, "No. It would be true for a longer list.", False),
    ("no errors is no no", BOOL, "There are no errors, so: yes", True),
    ("a verdict", BOOL, "Nothing is true at first sight. Answer: no, sadly true.", False),
    ("a last line", BOOL, "yes is tempting\n**No**", False),
    ("a fixed word", JUDGE, "likely", "likely"),
    ("a fixed word in another case", JUDGE, "Likely.", "likely"),
    ("a fixed word in a sentence", JUDGE, "I think it is likely.", "likely"),
    ("the last word counts", JUDGE, "Sure! 10 + 14 is 24, but 13 remains: impossible", "impossible"),
    ("a word after evaluation", JUDGE, "Evaluation: sure (impossible only for 25)", "sure"),
    ("a part of a word is none", JUDGE, "It is unlikely, even impossible.", "impossible"),
    ("a word in an object", JUDGE, '{"reason": "sure enough", "answer": "likely"}', "likely"),
    ("a letter", LETTER, "A better choice than C is B", "B"),
    ("a letter in brackets", LETTER, "(b)", "B"),
    ("a small letter is an article", LETTER, "C is a good choice", "C"),
    ("the longer word", LiteralType(("likely", "very likely")), "It is very likely", "very likely"),
    ("a number as word", LiteralType(("1", "2")), "2", "2"),
    ("a text", STR, "  Paris, I think.\n", "Paris, I think."),
    ("a text in quotes", STR, '"Paris"', "Paris"),
    ("a text with quotes", STR, '"Paris" or "Rome"', '"Paris" or "Rome"'),
    ("a text in a fence", STR, "```\ncode\n```", "```\ncode\n```"),
    ("none, said", optional(INT), "None.", None),
    ("none in JSON", optional(STR), "```json\nnull\n```", None),
    ("what may be none, and is not", optional(INT), "The answer is 12.", 12),
    ("a text that may be none", optional(STR), "none of these fits", "none of these fits"),
    ("a field left out", RecordType((("a", INT), ("b", optional(STR)))), '{"a": 1}', {"a": 1, "b": None}),
    (
        "a field that is null",
        RecordType((("a", INT), ("b", optional(STR)))),
        '{"a": 1, "b": null}',
        {"a": 1, "b": None},
    ),
    ("elements that are null", ListType(optional(INT)), "[1, null, 3]", [1, None, 3]),
    ("anything in JSON", DYNAMIC, '{"a": [1, null]}', {"a": [1, None]}),
    ("an abbreviation is no list of anything", DYNAMIC, "[1, 2, ..., 9]", "[1, 2, ..., 9]"),
    ("anything else", DYNAMIC, "just words", "just words"),
]


@pytest.mark.parametrize(("type_", "answer", "value"), [c[1:] for c in ONE], ids=[c[0] for c in ONE])
def test_one_value(type_: Type, answer: str, value: Any) -> None:
    (found,) = read(answer, type_, None, False)
    assert found == value
    assert type(found) is type(value)


MANY: list[tuple[str, Type, str, list[Any]]] = [
    ("an object of lists", NUMBERS, '{"List 1": [3, 4], "List 2": [2, 9]}', [[3, 4], [2, 9]]),
    ("a list of lists", NUMBERS, "[[3, 4], [2, 9]]", [[3, 4], [2, 9]]),
    ("lists one a line", NUMBERS, "List 1: [3, 4]\nList 2: [2, 9]", [[3, 4], [2, 9]]),
    ("lists without brackets", NUMBERS, "List 1: 3, 4\nList 2: 2, 9", [[3, 4], [2, 9]]),
    ("lists in fences", NUMBERS, "```json\n[3, 4]\n```\n```json\n[2, 9]\n```", [[3, 4], [2, 9]]),
    ("a tuple of lists", NUMBERS, "([3, 4], [2, 9])", [[3, 4], [2, 9]]),
    ("one list", NUMBERS, "[3, 4]", [[3, 4]]),
    ("what the model repeats", NUMBERS, 'Input: [3, 4, 2]\nOutput: {"1": [3, 4], "2": [2]}', [[3, 4], [2]]),
    ("the last object of lists", NUMBERS, 'Not {"a": [1], "b": [2]} but {"a": [3], "b": [4]}', [[3], [4]]),
    ("words beside the lists", NUMBERS, '{"Thought": "halves", "a": [3, 4], "b": [2, 9]}', [[3, 4], [2, 9]]),
    ("lists inside an object", NUMBERS, '{"parts": {"a": [3, 4], "b": [2, 9]}}', [[3, 4], [2, 9]]),
    ("double braces", NUMBERS, '{{ "List 1": [3], "List 2": [2] }}', [[3], [2]]),
    ("a cut object of lists", NUMBERS, '{"List 1": [3, 4], "List 2": [2, 9]', [[3, 4], [2, 9]]),
    ("numbers", INT, "[3, 4]", [3, 4]),
    ("numbers one a line", INT, "3\n4", [3, 4]),
    ("texts in an object", STR, '{"Paragraph 1": "a, b", "Paragraph 2": "c"}', ["a, b", "c"]),
    ("texts with bullets", STR, "Questions:\n1. Who?\n2. Where?", ["Who?", "Where?"]),
    ("words", JUDGE, '["sure", "likely"]', ["sure", "likely"]),
    ("records", CARD, '[{"name": "a", "path_length": 1}, {"name": "b", "path_length": 2}]',
     [{"name": "a", "path_length": 1}, {"name": "b", "path_length": 2}]),
    ("JSON lines", CARD, '{"name": "a", "path_length": 1}\n{"name": "b", "path_length": 2}',
     [{"name": "a", "path_length": 1}, {"name": "b", "path_length": 2}]),
    ("one record", CARD, '{"name": "a", "path_length": 1}', [{"name": "a", "path_length": 1}]),
    ("dicts under names", COUNTS, '{"P1": {"Peru": 1}, "P2": {"Chile": 2}}', [{"Peru": 1}, {"Chile": 2}]),
    ("none", NUMBERS, "[]", []),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "answer", "values"), [c[1:] for c in MANY], ids=[c[0] for c in MANY])
def test_many_values(type_: Type, answer: str, values: list[Any]) -> None:
    assert read(answer, type_, None, True) == values


FORMS: list[tuple[str, Form, Type, bool, str, list[Any]]] = [
    ("json", Json(), NUMBERS, False, "[1, 2]", [[1, 2]]),
    ("json in a fence", Json(), CARD, False, 'So:\n```json\n{"name": "a", "path_length": 3}\n```',
     [{"name": "a", "path_length": 3}]),
    ("json, many in an object", Json(), NUMBERS, True, '{"a": [1], "b": [2]}', [[1], [2]]),
    ("json, a text", Json(), STR, False, '{"answer": "Paris"}', ["Paris"]),
    ("tag", Tag("Merged"), STR, False, "Here:\n<Merged>\nThe text.\n</Merged> Fine?", ["The text."]),
    ("tag in another case", Tag("Merged"), STR, False, "<merged>x</MERGED>", ["x"]),
    ("tag that is not closed", Tag("Merged"), STR, False, "<Merged>The text", ["The text"]),
    ("tag that the prompt opened", Tag("Merged"), STR, False, "The text</Merged>", ["The text"]),
    ("tag that is talked about", Tag("S"), INT, False, "I use <S> tags: <S>7</S>", [7]),
    ("the last tag", Tag("S"), INT, False, "<S>3</S> no, <S>4</S>", [4]),
    ("an empty tag at the end", Tag("S"), INT, False, "<S>3</S> as in <S>", [3]),
    ("a tag with attributes", Tag("S"), INT, False, '<S unit="m">3</S>', [3]),
    ("a longer tag is another", Tag("S"), INT, False, "<Score>9</Score><S>3</S>", [3]),
    ("a sentence in a tag", Tag("Redundancy"), FLOAT, False, "<Redundancy>say 7 or so</Redundancy>", [7]),
    ("many tags", Tag("Part"), STR, True, "<Part>a</Part>\n<Part>b</Part>", ["a", "b"]),
    ("many in one tag", Tag("Parts"), NUMBERS, True, "<Parts>[[1], [2]]</Parts>", [[1], [2]]),
    ("after", After("So the answer is:"), STR, False, "He left. So the answer is: Paris.", ["Paris"]),
    ("after the last", After("So the answer is:"), STR, False,
     "So the answer is: Rome? So the answer is: Paris", ["Paris"]),
    ("after, without its colon", After("The answer is:"), STR, False, "So the  answer is Paris.", ["Paris"]),
    ("after, an abbreviation", After("So the answer is:"), STR, False, "So the answer is: U.S.", ["U.S."]),
    ("after, a number", After("answer:"), INT, False, "1 or 2? Answer: 2.", [2]),
    ("after, a list", After("Sorted:"), NUMBERS, False, "From [2, 1]. Sorted: [1, 2]", [[1, 2]]),
    ("lines", Lines(), NAMES, False, "one\n\n two \nthree: 3", [["one", "two", "three: 3"]]),
    ("lines with numbers", Lines(), NAMES, False, "Sure:\n1. one\n2. two\nBye!", [["one", "two"]]),
    ("lines, many", Lines(), INT, True, "- 3\n- 4", [3, 4]),
    ("lines, many lists", Lines(), NUMBERS, True, "[1, 2]\n[3]", [[1, 2], [3]]),
    ("lines, one value", Lines(), INT, False, "Let me see\n7", [7]),
    ("a pattern", Lines("{left} + {right} = {result} (left: {rest})"), STEP, True,
     "Steps:\n2 + 8 = 10 (left: 8 10 14)\n- 8+14 = 22 ( nothing )\n3. 8 + 14 = 22 (left: 2, 8, 22).\nDone",
     [{"left": 2, "right": 8, "result": 10, "rest": [8, 10, 14]},
      {"left": 8, "right": 14, "result": 22, "rest": [2, 8, 22]}]),
    ("a pattern without its spaces", Lines("{left} + {right} = {result} (left: {rest})"), STEP, False,
     "2+8=10(left:8 10 14)", [{"left": 2, "right": 8, "result": 10, "rest": [8, 10, 14]}]),
    ("a pattern, one value", Lines("answer: {_} is {x}"), STR, False,
     "Answer: it is\nAnswer: the city is Rome", ["Rome"]),
    ("a pattern, a list", Lines("* {x}:"), ListType(JUDGE), False,
     "* sure: a\n* maybe: b\n* Likely: c", [["sure", "likely"]]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("form", "type_", "many", "answer", "values"), [c[1:] for c in FORMS], ids=[c[0] for c in FORMS]
)
def test_forms(form: Form, type_: Type, many: bool, answer: str, values: list[Any]) -> None:
    assert read(answer, type_, form, many) == values


UNREADABLE: list[tuple[str, Form | None, Type, str, str]] = [
    ("nothing", None, NUMBERS, " \n", "empty response"),
    ("a refusal", None, NUMBERS, "I am sorry, I cannot do that.", "no list[int] found"),
    ("only a heading with a number", None, NUMBERS, "1. The numbers:", "no list[int] found"),
    ("words for numbers", None, NUMBERS, '["one", "two"]', "element 0: expected int, found 'one'"),
    ("a fraction", None, NUMBERS, "[1, 2.5]", "element 1: expected int, found 2.5"),
    ("a fraction for an int", None, INT, "4.5", "expected int, found 4.5"),
    ("an abbreviation", None, NUMBERS, "[1, 2, ..., 9]", "element 2: expected int, found ..."),
    ("NaN", None, ListType(FLOAT), "[NaN]", "expected float"),
    ("infinity", None, FLOAT, "Infinity", "no number"),
    ("too large for a float", None, ListType(FLOAT), "[1e999]", "expected float"),
    ("too many digits", None, NUMBERS, "[" + "9" * 5000 + "]", "expected int"),
    ("null", None, NUMBERS, "[1, null]", "element 1: expected int, found nothing"),
    ("a missing field", None, CARD, '{"name": "a"}', "field `path_length` is missing"),
    ("a wrong field", None, CARD, '{"name": "a", "path_length": "far"}', "field `path_length`: expected int"),
    ("an object of several", None, INT, '{"a": "x", "b": "y"}', "no number"),
    ("no number", None, INT, "three", "no number found"),
    ("no word of those", None, JUDGE, "perhaps", "none of sure, likely, impossible found"),
    ("neither yes nor no", None, BOOL, "There are no issues", "neither yes nor no found"),
    ("a comma for the point", None, FLOAT, "The answer is 3,14", "no number found"),
    ("points for the commas", None, FLOAT, "The answer is 1.234,5", "no number found"),
    ("a version", None, FLOAT, "Release 1.2.3", "no number found"),
    ("texts without bullets", None, NAMES, "Sure, I can help.", "no list[str] found"),
    ("plain lines", None, NAMES, "Ann\nBob", "no list[str] found (`parse lines` reads plain lines)"),
    ("no JSON", Json(), NUMBERS, "Output: [1, 2]", "not JSON"),
    ("single quotes", Json(), NAMES, "['a']", "not JSON"),
    ("NaN in JSON", Json(), ListType(FLOAT), "[NaN]", "not JSON"),
    ("no tag", Tag("Merged"), STR, "The text", "nothing between <Merged> and </Merged>"),
    ("an empty tag", Tag("Merged"), STR, "<Merged> </Merged>", "nothing between"),
    ("not said", After("answer:"), STR, "Paris", "`answer:` not found"),
    ("nothing after", After("answer:"), STR, "answer: ", "nothing follows `answer:`"),
    ("a line that is none", Lines(), NUMBERS, "1\ntwo", "line 2:"),
    ("only a fence", Lines(), NUMBERS, "```\n```", "no lines found"),
    ("no line like that", Lines("{x}!"), INT, "7", "no line matches `{x}!`"),
    ("a line that does not fit", Lines("{x}!"), INT, "seven!", "expected int, found 'seven'"),
    ("a field without a hole", Lines("{name}!"), CARD, "a!", "field `path_length` is missing"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("form", "type_", "answer", "reason"), [c[1:] for c in UNREADABLE], ids=[c[0] for c in UNREADABLE]
)
def test_reasons(form: Form | None, type_: Type, answer: str, reason: str) -> None:
    with pytest.raises(ReadError) as caught:
        read(answer, type_, form, False)
    assert reason in caught.value.message
    assert len(caught.value.message) < 200


# ------------------------------------------------------------------------------------------------ laws

ATOMS: dict[str, tuple[Type, st.SearchStrategy[Any]]] = {
    "int": (INT, st.integers()),
    "float": (FLOAT, st.floats(allow_nan=False, allow_infinity=False)),
    "bool": (BOOL, st.booleans()),
    "str": (STR, st.text()),
    "literal": (JUDGE, st.sampled_from(JUDGE.values)),
}
FIELDS = ["left", "right", "path_length"]


def typed(depth: int = 2) -> st.SearchStrategy[tuple[Type, Any]]:
    """A type with a value of it."""

    def values(pair: tuple[Type, st.SearchStrategy[Any]]) -> st.SearchStrategy[tuple[Type, Any]]:
        return st.tuples(st.just(pair[0]), pair[1])

    return types(depth).flatmap(values)


def types(depth: int) -> st.SearchStrategy[tuple[Type, st.SearchStrategy[Any]]]:
    atoms = st.sampled_from(list(ATOMS.values()))
    if depth == 0:
        return atoms
    inner = types(depth - 1)
    return st.one_of(
        atoms,
        inner.map(lambda pair: (ListType(pair[0]), st.lists(pair[1], max_size=4))),
        inner.map(lambda pair: (DictType(pair[0]), st.dictionaries(st.text(), pair[1], max_size=3))),
        st.lists(inner, min_size=1, max_size=3).map(record),
    )


def record(pairs: list[tuple[Type, st.SearchStrategy[Any]]]) -> tuple[Type, st.SearchStrategy[Any]]:
    fields = list(zip(FIELDS, pairs, strict=False))
    type_ = RecordType(tuple((name, pair[0]) for name, pair in fields))
    return type_, st.fixed_dictionaries({name: pair[1] for name, pair in fields})


@tried(300)
@given(typed())
def test_json_reads_back(case: tuple[Type, Any]) -> None:
    type_, value = case
    for form in (None, Json()):
        assert read(json.dumps(value), type_, form, False) == [value]
    assert read(json.dumps([value, value]), type_, Json(), True) == [value, value]


@tried(300)
@given(typed())
def test_python_reads_back(case: tuple[Type, Any]) -> None:
    type_, value = case
    if isinstance(value, list | dict):
        assert read(f"result = {value!r}", type_, None, False) == [value]


@tried(300)
@given(typed(), st.sampled_from([None, Json(), Tag("Answer"), After("So it is:"), Lines()]))
def test_rendered_values_read_back(case: tuple[Type, Any], form: Form | None) -> None:
    type_, value = case
    try:
        answer = write(value, type_, form)
    except EvaluationError:
        assert isinstance(form, Lines | After)  # a text may hold a new line, or the words themselves
        return
    assert read(answer, type_, form, False) == [value]


@given(st.lists(st.fixed_dictionaries({"left": st.integers(), "right": st.integers(),
       "result": st.integers(), "rest": st.lists(st.integers(), min_size=1)}), min_size=1))  # fmt: skip
def test_a_filled_pattern_reads_back(steps: list[dict[str, Any]]) -> None:
    form = Lines("{left} + {right} = {result} (left: {rest})")
    answer = write(steps, ListType(STEP), form)
    assert read(answer, STEP, form, True) == steps


@pytest.mark.parametrize(
    ("value", "type_", "form", "answer"),
    [
        ([1, 2], NUMBERS, None, "[1, 2]"),
        ("Paris", STR, None, "Paris"),
        (" Paris", STR, None, '" Paris"'),
        ("likely", JUDGE, None, "likely"),
        (True, BOOL, None, "true"),
        ([[1], [2]], LISTS, Tag("Parts"), "<Parts>[[1], [2]]</Parts>"),
        ("a </T> b", STR, Tag("T"), '<T>"a \\u003c/T> b"</T>'),
        ("Paris", STR, After("It is:"), "It is: Paris"),
        ("etc.", STR, After("It is:"), 'It is: "etc."'),
        (["a", "b"], NAMES, Lines(), "a\nb"),
        (["- a", "b"], NAMES, Lines(), "1. - a\n2. b"),
        ([{"left": 2, "right": 8, "result": 10, "rest": [8, 10]}], ListType(STEP),
         Lines("{left} + {right} = {result} {_} ({rest})"), "2 + 8 = 10 ... (8 10)"),
    ],
)  # fmt: skip
def test_rendering(value: Any, type_: Type, form: Form | None, answer: str) -> None:
    assert write(value, type_, form) == answer


def test_what_cannot_be_written_is_said() -> None:
    with pytest.raises(EvaluationError, match="cannot be written"):
        write("a! b", STR, Lines("{x}!"))


SIGNS = [*"[]{}()<>,:;'\"`#/*\\.-+=0123 \n“”’", "```", "```json\n", "...", "true", "None", "word", "Answer:"]
SOUP = st.lists(st.sampled_from([*SIGNS, "<T>", "</T>", "\\u00", "NaN", "1e999"]), max_size=30).map("".join)


@tried(600)
@given(
    SOUP | st.text(max_size=60),
    types(2).map(lambda pair: pair[0]) | st.just(DYNAMIC),
    st.sampled_from(
        [None, Json(), Tag("T"), After("Answer:"), Lines(), Lines("{left}: {right}"), Lines("{x}=")]
    ),
    st.booleans(),
)
def test_any_text_gives_values_or_a_read_error(text: str, type_: Type, form: Form | None, many: bool) -> None:
    try:
        values = read(text, type_, form, many)
    except ReadError as error:
        assert error.message
        return
    assert many or len(values) == 1
    json.dumps(values, allow_nan=False).encode()


SIZE = 150_000
HUGE = {
    "open": "[" * (SIZE // 4),
    "nested": "[" * (SIZE // 8) + "]" * (SIZE // 8),
    "braces": '{"a":' * (SIZE // 20),
    "empty": "[]" * (SIZE // 8),
    "lists": "[1, 2]\n" * (SIZE // 28),
    "quotes": "['" * (SIZE // 2),
    "quotes that never close": '["' * (SIZE // 2) + "x",
    "open quotes": '["' + '" ' * (SIZE // 2),
    "backslashes": '["' + "\\" * SIZE,
    "comments": "[/*" * (SIZE // 3),
    "fences": "```\n" * (SIZE // 4),
    "digits": "9" * SIZE,
    "groups": "1,111" + ",111" * (SIZE // 4) + "x",
    "numbers": "1 " * (SIZE // 8),
    "equations": "1 = 2 " * (SIZE // 24),
    "spaces": "x" + " " * SIZE + "x",
    "tags": "<T " * (SIZE // 3),
    "open tags": "<T>a" * (SIZE // 4),
    "words": "sure answer " * (SIZE // 12),
    "labels": "a_" * (SIZE // 2),
    "label lines": "a: b\n" * (SIZE // 5),
    "stars": "*" * SIZE,
    "answers": "Answer: " * (SIZE // 8),
    "pluses": "1 + " * (SIZE // 4),
}


@pytest.mark.parametrize("name", HUGE)
def test_a_long_answer_of_anything_is_read_in_linear_time(name: str) -> None:
    # Quadratic time takes longer by far; what is counted is this process's own time.
    text = HUGE[name]
    pattern = Lines("{left} + {right} {result} {rest}")
    cases: list[tuple[Type, Form | None]] = [(NUMBERS, None), (FLOAT, None), (JUDGE, None), (CARD, None)]
    cases += [(STR, Tag("T")), (STR, After("Answer:")), (NAMES, Lines()), (STEP, pattern)]
    for type_, form in cases:

        def reading(type_: Type = type_, form: Form | None = form) -> None:
            with suppress(ReadError):
                read(text, type_, form, False)

        within(2, reading)


def test_a_megabyte_of_brackets_is_no_crash() -> None:
    with pytest.raises(ReadError):
        read("[" * 1_000_000, NUMBERS, None, False)
    with pytest.raises(ReadError):
        read("[" * 50_000 + "1" + "]" * 50_000, NUMBERS, Json(), False)


def test_an_example_that_the_form_cannot_express_is_a_compile_error() -> None:
    text = 'prompt p(x: int) -> str:\n    examples:\n        x = 1 -> "a! b"\n    "{{ x }}"\n'
    text += '    parse lines matching "{x}!"\n'
    text += "scheme s(x: int) -> str:\n    Generate() p(x)\n"
    with pytest.raises(CompileError) as caught:
        compile(text, "s.got")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "GOT0405" and "cannot be written" in diagnostic.message
    assert text[diagnostic.span.start : diagnostic.span.end] == '"a! b"'
