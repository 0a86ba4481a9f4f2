"""Every diagnostic code with what it means and how to mend it: what `gotc explain GOT0203` prints.

`docs/diagnostics.md` is made from this table. Codes are for ever: one that is no longer given stays free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Code:
    """A diagnostic code: what is wrong, why it matters, and where a line can show it, a wrong and a mended one."""

    code: str
    title: str
    text: str
    wrong: str = ""
    right: str = ""


_ALL = (
    # ------------------------------------------------------------ syntax
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
        "A line is indented like none of the blocks it could belong to, or with a tab. Indent by "
        "four spaces.",
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
        "Expressions, brackets and blocks may stand 100 levels inside each other. Give the parts names.",
    ),
    Code(
        "GOT0006",
        "the file is too long",
        "A program may have 4 million characters. Cut it and `import` the parts.",
    ),
    Code(
        "GOT0007",
        "a number too large",
        "Numbers have at most 40 digits.",
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
        "a slip in writing",
        "The line reads like another language's form of the same thing; the help says how it is "
        "written here.",
    ),
    Code(
        "GOT0011",
        "a word of the language as a name",
        "This word has a meaning at this place, so nothing can be called by it.",
    ),
    # ------------------------------------------------------------ names
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
    # ------------------------------------------------------------ types
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
    # ------------------------------------------------------------ pipelines
    Code(
        "GOT0301",
        "a scheme that leaves nothing",
        "Its last step leaves no thought, so there is no result.",
    ),
    Code(
        "GOT0302",
        "several thoughts for one result",
        "The scheme declares one result and may end with several thoughts.",
        "Generate(k=5) sort(numbers)",
        "Generate(k=5) sort(numbers)\nVote()",
    ),
    Code(
        "GOT0303",
        "a score's form",
        "A score is bindings, if any, and then one expression: its number.",
    ),
    Code(
        "GOT0304",
        "steps after `return`",
        "`return` gives the result, so it stands last.",
    ),
    Code(
        "GOT0305",
        "an expression by itself",
        "A line of a pipeline is a step, a binding, a block or a scheme's call.",
        "sorted(it)",
        "Map() sorted(it)",
    ),
    Code(
        "GOT0306",
        "no thoughts to work on",
        "The pipeline is at its start, or holds a single thought where several are gone through.",
        "foreach x:",
        "foreach x in it:",
    ),
    Code(
        "GOT0307",
        "a merge that leaves several",
        "Each merge of a `reduce` leaves exactly one thought.",
        "Aggregate(10) merge(a, b)",
        "Aggregate(10) merge(a, b)\nScore() mistakes(it, a + b)\nKeepBestN(1)",
    ),
    Code(
        "GOT0308",
        "branches that differ",
        "Whatever branch is taken, the same type of thoughts must come out.",
    ),
    Code(
        "GOT0309",
        "`Repeat` and what follows a step",
        "After a step only `Repeat(k)` may stand, and only where the step asks a model. To repeat "
        "several steps, write `repeat k:`.",
    ),
    Code(
        "GOT0310",
        "an operation's form",
        "Parentheses for the settings, even empty, and then what the operation works on.",
        "Score mistakes(it)",
        "Score() mistakes(it)",
    ),
    Code(
        "GOT0311",
        "no such setting",
        "The operation does not take this setting, takes it once, or needs one that lacks.",
    ),
    Code(
        "GOT0312",
        "a setting too small",
        "`k`, `n` and `max_tokens` are at least 1; temperatures are not negative.",
    ),
    Code(
        "GOT0313",
        "not a prompt",
        "`Generate`, `Improve`, `Aggregate` and `ValidateAndImprove` ask a prompt. A scheme is "
        "called on a line of its own.",
    ),
    Code(
        "GOT0314",
        "no score to go by",
        "`KeepBestN` keeps the best scored thoughts, and nothing has scored these since they were made.",
        "Generate(k=5) sort(part)\nKeepBestN(1)",
        "Generate(k=5) sort(part)\nScore() mistakes(it, part)\nKeepBestN(1)",
    ),
    Code(
        "GOT0315",
        "not a corpus, not a Python function",
        "`Retrieve` asks a corpus (`import corpus`), `Call` a Python function (`import python`).",
    ),
    # ------------------------------------------------------------ prompts
    Code(
        "GOT0401",
        "a prompt without a text",
        "There is nothing to ask: give it a text or an instruction.",
    ),
    Code(
        "GOT0402",
        "no such setting of a prompt",
        "A prompt takes `temperature`, `top_p`, `max_tokens`, `stop`, `model` and `logprobs`, each once.",
    ),
    Code(
        "GOT0403",
        "a text that is no template",
        "The text does not parse as a template, or asks for what a template may not do: calls, "
        "attributes of objects, files, unbounded work.",
    ),
    Code(
        "GOT0404",
        "a text that shows what the prompt does not take",
        "Only the prompt's own parameters can be shown in its texts.",
        "{{ nubmers }}",
        "{{ numbers }}",
    ),
    Code(
        "GOT0405",
        "an example that does not fit",
        "An example gives every parameter once and an answer of the result's type, or the answer "
        "as raw text.",
    ),
    Code(
        "GOT0406",
        "a way of reading that cannot be",
        "The tag, the words or the pattern after `parse` cannot be used, or the function is not imported.",
    ),
    # ------------------------------------------------------------ warnings
    Code(
        "GOT0501",
        "a param nobody uses",
        "Setting or tuning it would change nothing.",
    ),
    Code(
        "GOT0502",
        "a score nobody uses",
        "Nothing rates thoughts with it.",
    ),
    Code(
        "GOT0503",
        "a prompt nobody asks",
        "No step refers to it.",
    ),
    Code(
        "GOT0504",
        "an input nobody uses",
        "The scheme asks for it and never looks at it.",
    ),
    Code(
        "GOT0505",
        "a prompt that never shows a parameter",
        "The model does not get to see it.",
    ),
    Code(
        "GOT0506",
        "a name nobody uses",
        "The thoughts bound to it are made, and paid, for nothing.",
    ),
    Code(
        "GOT0507",
        "thoughts nobody takes",
        "The next step does not start from them, and nothing names them: they are paid for nothing.",
    ),
    # ------------------------------------------------------------ studies
    Code(
        "GOT0601",
        "a study that lacks something",
        "A study names its program, its data and what it wants.",
    ),
)

CODES: dict[str, Code] = {entry.code: entry for entry in _ALL}


def as_markdown() -> str:
    """The page of all codes."""
    out = [
        "# Error codes",
        "",
        "Made from `gotlang/codes.py`. `gotc explain CODE` prints the same.",
    ]
    for entry in _ALL:
        out += ["", f"## {entry.code}: {entry.title}", "", entry.text]
        for word, example in (("Wrong", entry.wrong), ("Mended", entry.right)):
            if example:
                out += ["", f"{word}:", "", "```text", example, "```"]
    return "\n".join(out) + "\n"
