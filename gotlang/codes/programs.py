"""Codes of what a program does: pipelines, prompts, warnings, studies."""

from __future__ import annotations

from gotlang.codes.code import Code

PIPELINES = (
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
)

PROMPTS = (
    Code(
        "GOT0401",
        "a prompt without a text",
        "There is nothing to ask: give it a text or an instruction.",
    ),
    Code(
        "GOT0402",
        "no such setting of a prompt",
        "A prompt takes `temperature`, `top_p`, `max_tokens`, `stop`, `model`, `logprobs`, `structured` and, "
        "beside `many`, `count`, each once. `structured` is for prompts that give a record or a dict, read "
        "as JSON.",
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
        "An example gives every parameter once, as a constant, and an answer of the result's type, or the "
        "answer as raw text. It shows the prompt's text filled in, so there must be one.",
    ),
    Code(
        "GOT0406",
        "a way of reading that cannot be",
        "The tag, the words or the pattern after `parse` cannot be used, or the function is not imported.",
    ),
)

WARNINGS = (
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
)

STUDIES = (
    Code(
        "GOT0601",
        "a study that lacks something",
        "A study names its program, its data and what it wants.",
    ),
    Code(
        "GOT0602",
        "a study that does not fit its program",
        "The program it names, or the scheme, input, param or prompt that it refers to, is not there.",
    ),
    Code(
        "GOT0603",
        "a study that wants no number",
        "Objectives are numbers, or true and false; constraints compare one with a bound made of numbers and"
        " `baseline`.",
    ),
    Code(
        "GOT0604",
        "a setting that a study cannot have",
        "It is not known, or its value is of the wrong kind or outside the range that the program gives.",
    ),
)
