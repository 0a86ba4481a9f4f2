"""Codes of what stands in a line: syntax, names, types."""

from __future__ import annotations

from gotlang.codes.code import Code

SYNTAX = (
    Code(
        "GOT0001",
        "something does not fit here",
        "The text stops being a program at this place. Under the carets stands what could have followed.",
        "scheme s(x: str) -> str",
        "scheme s(x: str) -> str:",
    ),
    Code(
        "GOT0002",
        "a character that may not stand in a program",
        "Control characters, null bytes and the like are refused. They are mostly left by a "
        "broken download or a wrong encoding: save the file as UTF-8.",
    ),
    Code(
        "GOT0003",
        "indentation",
        "A line is indented like none of the blocks it could belong to, or with a tab, or a block has no "
        "indented line. Indent by four spaces; declarations start at the margin.",
    ),
    Code(
        "GOT0004",
        "a text is not closed",
        "A text in quotes ends on its line; one in triple quotes ends with three quotes.",
        'temperature "warm',
        'model "warm"',
    ),
    Code(
        "GOT0005",
        "nested too deeply",
        "Expressions, brackets and blocks may stand 100 levels inside each other: give the parts names. A "
        "type may be made of 200 types, those it names written out.",
    ),
    Code(
        "GOT0006",
        "the file is too long",
        "A program may have 4 million characters and 150,000 words and signs, where a text or a comment "
        "counts as one. Keep data in data files, or cut the program and `import` the parts.",
    ),
    Code(
        "GOT0007",
        "a number too large",
        "Numbers have at most 1,234 digits, and those with a fraction are below 1.8e308.",
    ),
    Code(
        "GOT0008",
        "a part stands twice",
        "A prompt has one text, one instruction, one system message and one way to read its "
        "answer; a study one program and one data set.",
    ),
    Code(
        "GOT0009",
        "brackets do not pair up",
        "A bracket is closed by none, or by one of another kind, or closes nothing.",
        "Generate(k=5 sort(part)",
        "Generate(k=5) sort(part)",
    ),
    Code(
        "GOT0010",
        "an operation without its parentheses",
        "The settings of an operation stand in parentheses, which are always there, even empty. Only "
        "`Call` does without.",
        "Generate sort(part)",
        "Generate() sort(part)",
    ),
    Code(
        "GOT0011",
        "a word of the language as a name",
        "Words such as `if`, `in`, `as`, `from` and `until` end an expression or open a block, so nothing "
        "can be called by them.",
        "from = xs[0]",
        "first = xs[0]",
    ),
)

NAMES = (
    Code(
        "GOT0101",
        "declared twice",
        "In one program a name stands for one thing; in one block it is bound once.",
        "param k = 3\nparam k = 5",
        "param k = 3\nparam more = 5",
    ),
    Code(
        "GOT0102",
        "a name that is taken",
        "`it`, `thoughts`, `done`, `truth` and `result` mean something by themselves, and what a "
        "program declares cannot be hidden by a name inside a scheme.",
    ),
    Code(
        "GOT0103",
        "a name that nothing has",
        "Nothing by this name is declared or bound here. A name bound inside a block is known only in it.",
        "Generate() srot(part)",
        "Generate() sort(part)",
    ),
    Code(
        "GOT0104",
        "an unknown type",
        "There are `int`, `float`, `str`, `bool`, `any`, `list[...]`, `dict[str, ...]`, records, "
        "unions of texts, and the types the program declares.",
    ),
    Code(
        "GOT0105",
        "a name without a meaning here",
        "`it` needs one current thought; `thoughts` stands in `Aggregate` and `Pool`; `truth` in "
        "`GroundTruth`; `done` inside `foreach ... after`. A function's name needs its "
        "parentheses.",
    ),
    Code(
        "GOT0106",
        "an unknown operation",
        "Operations start with a capital. docs/language.md lists them.",
        "Genrate(k=5) sort(part)",
        "Generate(k=5) sort(part)",
    ),
    Code(
        "GOT0107",
        "an import that cannot be",
        "The file is missing, cannot be read, or lies outside the program's folder. Programs come "
        "from strangers, so they open nothing else.",
    ),
)

TYPES = (
    Code(
        "GOT0201",
        "a value of another type",
        "What stands here has a type that does not fit its place. Only `int` for `float`, and one "
        "of a few texts for `str`, fit by themselves.",
        "Generate(k=2.5) sort(part)",
        "Generate(k=2) sort(part)",
    ),
    Code(
        "GOT0202",
        "the number of arguments",
        "Too many arguments, too few, or one of them twice.",
    ),
    Code(
        "GOT0203",
        "no such parameter",
        "An argument is given by a name that the prompt, score or scheme does not take.",
        "Generate() sort(part=part)",
        "Generate() sort(numbers=part)",
    ),
    Code(
        "GOT0204",
        "a type with the wrong brackets",
        "`list` takes the type of its elements, `dict` takes `str` and the type of its values, "
        "others take none.",
    ),
    Code(
        "GOT0205",
        "something stands twice in a type or record",
        "Fields and texts of a union are different from each other.",
    ),
    Code(
        "GOT0206",
        "a comparison that says nothing",
        "These two can never be equal, or have no order between them.",
        'if verdict == "shure":',
        'if verdict == "sure":',
    ),
    Code(
        "GOT0207",
        "values with no type in common",
        "A list, a conditional or a pool holds values of one type.",
    ),
    Code(
        "GOT0208",
        "no such field",
        "The record has no field by this name, or the value is no record.",
    ),
    Code(
        "GOT0209",
        "a model asked inside an expression",
        "Prompts and schemes take steps of their own, so that each call can be seen, counted and cached.",
        "Map() sort(it) + [1]",
        "sorted_part = Generate() sort(it)\nMap() sorted_part + [1]",
    ),
    Code(
        "GOT0210",
        "a default outside its range",
        "A param's default is one of the values a study may try.",
        "param k = 50 in 1..10",
        "param k = 5 in 1..10",
    ),
    Code(
        "GOT0211",
        "a range that is none",
        "A range is between two numbers, the lower one first; `each` goes with a list.",
    ),
)
