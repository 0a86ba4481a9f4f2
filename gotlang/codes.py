"""Every diagnostic code with what it means and how to fix it: what `gotc explain GOT0203` prints.

`docs/diagnostics.md` is made from this table. A code that is no longer reported is never reused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Code:
    """A diagnostic code: its title, what it means, and a wrong and a right line where lines show it."""

    code: str
    title: str
    text: str
    wrong: str = ""
    right: str = ""


_ALL = (
    # ---------------------------------------------------------------- syntax
    Code(
        "GOT0001",
        "unexpected token",
        "The text stops being a program at this place. The words under the carets say what could have "
        "followed.",
        "scheme s(x: str) -> str",
        "scheme s(x: str) -> str:",
    ),
    Code(
        "GOT0002",
        "invalid character",
        "Control characters, null bytes and the like are not allowed. They are mostly left by a broken "
        "download or a wrong encoding: save the file as UTF-8.",
    ),
    Code(
        "GOT0003",
        "wrong indentation",
        "A line matches the indentation of none of the blocks it could belong to, or is indented with a "
        "tab, or a block has no indented line. Indent by four spaces; declarations start at the margin.",
    ),
    Code(
        "GOT0004",
        "unterminated string",
        "A string in quotes ends on its line; one in triple quotes ends with three quotes.",
        'temperature "warm',
        'model "warm"',
    ),
    Code(
        "GOT0005",
        "nested too deeply",
        "Expressions, brackets and blocks may be nested 100 levels deep: give the parts names. A type may "
        "be made of at most 200 types, with the types it names written out.",
    ),
    Code(
        "GOT0006",
        "program too long",
        "A program may have 4 million characters and 150,000 words and signs, where a string or a comment "
        "counts as one. Keep data in data files, or split the program and `import` the parts.",
    ),
    Code(
        "GOT0007",
        "number too large",
        "Numbers have at most 1,234 digits, and those with a fraction are below 1.8e308.",
    ),
    Code(
        "GOT0008",
        "duplicate part",
        "A prompt has one text, one instruction, one system message and one way to read its response; a "
        "study has one program and one data set.",
    ),
    Code(
        "GOT0009",
        "unmatched bracket",
        "A bracket is never closed, is closed by one of another kind, or closes nothing.",
        "Generate(k=5 sort(part)",
        "Generate(k=5) sort(part)",
    ),
    Code(
        "GOT0010",
        "missing parentheses",
        "The settings of an operation are in parentheses, which are required even when empty. Only `Call` "
        "needs none.",
        "Generate sort(part)",
        "Generate() sort(part)",
    ),
    Code(
        "GOT0011",
        "reserved word",
        "Words such as `if`, `in`, `as`, `from` and `until` end an expression or open a block, so they "
        "cannot be names.",
        "from = xs[0]",
        "first = xs[0]",
    ),
    # ---------------------------------------------------------------- names
    Code(
        "GOT0101",
        "duplicate name",
        "A name is declared once in a program, and bound once in a block.",
        "param k = 3\nparam k = 5",
        "param k = 3\nparam more = 5",
    ),
    Code(
        "GOT0102",
        "name already in use",
        "`it`, `thoughts`, `done`, `truth` and `result` have a meaning of their own, and a name inside a "
        "scheme cannot hide a declaration of the program.",
    ),
    Code(
        "GOT0103",
        "unknown name",
        "Nothing with this name is declared or bound here. A name bound inside a block is known only in it.",
        "Generate() srot(part)",
        "Generate() sort(part)",
    ),
    Code(
        "GOT0104",
        "unknown type",
        "There are `int`, `float`, `str`, `bool`, `any`, `list[...]`, `dict[str, ...]`, records, unions of "
        "strings, and the types that the program declares.",
    ),
    Code(
        "GOT0105",
        "name not available here",
        "`it` needs one current thought; `thoughts` is available in `Aggregate` and `Pool`, `truth` in "
        "`GroundTruth`, `done` in `foreach ... after`. A function's name needs its parentheses.",
    ),
    Code(
        "GOT0106",
        "unknown operation",
        "Operations start with a capital. docs/language.md lists them.",
        "Genrate(k=5) sort(part)",
        "Generate(k=5) sort(part)",
    ),
    Code(
        "GOT0107",
        "invalid import",
        "The file is missing, cannot be read, or is outside the program's folder. A program may come from "
        "an untrusted source, so it can open no other files.",
    ),
    # ---------------------------------------------------------------- types
    Code(
        "GOT0201",
        "type mismatch",
        "The value has another type than this place expects. The only implicit conversions are from `int` "
        "to `float` and from a union of strings to `str`.",
        "Generate(k=2.5) sort(part)",
        "Generate(k=2) sort(part)",
    ),
    Code("GOT0202", "wrong number of arguments", "Too many arguments, too few, or a duplicate."),
    Code(
        "GOT0203",
        "unknown parameter",
        "The prompt, score or scheme has no parameter with the name of this argument.",
        "Generate() sort(part=part)",
        "Generate() sort(numbers=part)",
    ),
    Code(
        "GOT0204",
        "wrong type arguments",
        "`list` takes the type of its elements, `dict` takes `str` and the type of its values; other types "
        "take no arguments.",
    ),
    Code(
        "GOT0205",
        "duplicate field or string",
        "The fields of a record and the strings of a union must be distinct.",
    ),
    Code(
        "GOT0206",
        "meaningless comparison",
        "These two can never be equal, or have no order.",
        'if verdict == "shure":',
        'if verdict == "sure":',
    ),
    Code("GOT0207", "no common type", "The values of a list, a conditional or a pool must have one type."),
    Code("GOT0208", "unknown field", "The record has no field with this name, or the value is not a record."),
    Code(
        "GOT0209",
        "model call inside an expression",
        "Prompts and schemes need steps of their own, so that each call can be seen, counted and cached.",
        "Map() sort(it) + [1]",
        "sorted_part = Generate() sort(it)\nMap() sorted_part + [1]",
    ),
    Code(
        "GOT0210",
        "default out of range",
        "A param's default must be one of the values that a study may try.",
        "param k = 50 in 1..10",
        "param k = 5 in 1..10",
    ),
    Code(
        "GOT0211",
        "invalid range",
        "A range is between two numbers, the lower one first; `each` needs a list.",
    ),
    # ---------------------------------------------------------------- pipelines
    Code("GOT0301", "no result", "The scheme's last step leaves no thought, so there is no result."),
    Code(
        "GOT0302",
        "several thoughts for one result",
        "The scheme declares one result and may end with several thoughts.",
        "Generate(k=5) sort(numbers)",
        "Generate(k=5) sort(numbers)\nVote()",
    ),
    Code("GOT0303", "invalid score", "A score consists of bindings, if any, and one expression: its number."),
    Code("GOT0304", "unreachable step", "`return` ends a scheme, so it must be the last statement."),
    Code(
        "GOT0305",
        "expression used as a step",
        "A line of a pipeline is a step, a binding, a block or a call of a scheme.",
        "sorted(it)",
        "Map() sorted(it)",
    ),
    Code(
        "GOT0306",
        "no thoughts to work on",
        "The pipeline has no thoughts yet, or a single one where the block iterates over several.",
        "foreach x:",
        "foreach x in it:",
    ),
    Code(
        "GOT0307",
        "several results of a merge",
        "Each merge of a `reduce` must leave exactly one thought.",
        "Aggregate(10) merge(a, b)",
        "Aggregate(10) merge(a, b)\nScore() mistakes(it, a + b)\nKeepBestN(1)",
    ),
    Code("GOT0308", "branches of different types", "All branches must leave the same type of thoughts."),
    Code(
        "GOT0309",
        "misplaced `Repeat`",
        "Only `Repeat(k)` may follow a step, and only one that calls a model. To repeat several steps, "
        "write `repeat k:`.",
    ),
    Code(
        "GOT0310",
        "malformed operation",
        "An operation is its name, its settings in parentheses (even when empty), and its operands.",
        "Score mistakes(it)",
        "Score() mistakes(it)",
    ),
    Code(
        "GOT0311",
        "invalid settings",
        "The operation does not have this setting, has it twice, or lacks a required one.",
    ),
    Code(
        "GOT0312",
        "setting too small",
        "`k`, `n` and `max_tokens` are at least 1; temperatures are not negative.",
    ),
    Code(
        "GOT0313",
        "not a prompt",
        "`Generate`, `Improve`, `Aggregate` and `ValidateAndImprove` take a prompt. A scheme is called on a "
        "line of its own.",
    ),
    Code(
        "GOT0314",
        "no scores to rank by",
        "`KeepBestN` keeps the thoughts with the best scores, and these have not been scored since they "
        "were made.",
        "Generate(k=5) sort(part)\nKeepBestN(1)",
        "Generate(k=5) sort(part)\nScore() mistakes(it, part)\nKeepBestN(1)",
    ),
    Code(
        "GOT0315",
        "not a corpus or Python function",
        "`Retrieve` takes a corpus (`import corpus`), `Call` a Python function (`import python`).",
    ),
    # ---------------------------------------------------------------- prompts
    Code("GOT0401", "empty prompt", "A prompt needs a text or an instruction."),
    Code(
        "GOT0402",
        "invalid prompt setting",
        "A prompt takes `temperature`, `top_p`, `max_tokens`, `stop`, `model`, `logprobs`, `structured` "
        "and, with `many`, `count`, each once. `structured` is for prompts that return a record or a dict, "
        "read as JSON.",
    ),
    Code(
        "GOT0403",
        "invalid template",
        "The text does not parse as a template, or does what a template must not: calls, attributes of "
        "objects, files, unbounded work.",
    ),
    Code(
        "GOT0404",
        "unknown name in a template",
        "A prompt's texts can show only its own parameters.",
        "{{ nubmers }}",
        "{{ numbers }}",
    ),
    Code(
        "GOT0405",
        "invalid example",
        "An example gives every parameter once, as a constant, and a response: a value of the result's type "
        "or raw text. It fills in the prompt's text, so there must be one.",
    ),
    Code(
        "GOT0406",
        "invalid `parse`",
        "The tag, the words or the pattern after `parse` cannot be used, or the function is not imported.",
    ),
    # ---------------------------------------------------------------- warnings
    Code("GOT0501", "unused param", "Setting or tuning it has no effect."),
    Code("GOT0502", "unused score", "No step scores thoughts with it."),
    Code("GOT0503", "unused prompt", "No step refers to it."),
    Code("GOT0504", "unused input", "The scheme declares it and never uses it."),
    Code("GOT0505", "prompt parameter never shown", "No text of the prompt shows it to the model."),
    Code("GOT0506", "unused name", "The thoughts bound to it are generated and billed, but never used."),
    Code(
        "GOT0507",
        "unused step output",
        "The next step does not start from these thoughts, and nothing refers to them: they are billed for "
        "nothing.",
    ),
    # ---------------------------------------------------------------- studies
    Code("GOT0601", "incomplete study", "A study needs a program, data and an objective."),
    Code(
        "GOT0602",
        "study does not match its program",
        "The program, or the scheme, input, param or prompt that the study refers to, does not exist.",
    ),
    Code(
        "GOT0603",
        "objective is not a number",
        "Objectives are numbers or booleans; constraints compare one with a bound of numbers and `baseline`.",
    ),
    Code(
        "GOT0604",
        "invalid study setting",
        "The setting is unknown, or its value has the wrong type or is outside the program's range.",
    ),
)

CODES: dict[str, Code] = {entry.code: entry for entry in _ALL}


def as_markdown() -> str:
    """The page of all codes, `docs/diagnostics.md`."""
    out = ["# Error codes", "", "Made from `gotlang/codes.py`. `gotc explain CODE` prints the same."]
    for entry in _ALL:
        out += ["", f"## {entry.code}: {entry.title}", "", entry.text]
        for word, example in (("Wrong", entry.wrong), ("Right", entry.right)):
            if example:
                out += ["", f"{word}:", "", "```text", example, "```"]
    return "\n".join(out) + "\n"
