"""A first simulator for a program without one: Python with made-up responses to each of its prompts. They can
be parsed, so that the program runs without a model; the author edits their content."""

from __future__ import annotations

import keyword
import random
from collections.abc import Mapping
from typing import Any

from gotlang.answers.reader import read, write
from gotlang.answers.regex import Regex
from gotlang.errors import EvaluationError, ReadError
from gotlang.ir.evaluate import evaluate
from gotlang.ir.program import Program, Prompt
from gotlang.ir.text import to_text
from gotlang.types import (
    FLOAT,
    AnyType,
    DictType,
    ListType,
    LiteralType,
    OptionalType,
    RecordType,
    Simple,
    Type,
    UnionType,
)

WORDS = ("alpha", "beta", "gamma", "delta")
VARIANTS = 4
"""Number of responses per prompt; duplicates are dropped."""
TRIES = 20
"""Number of texts generated from a regular expression in search of one that can be parsed."""
VECTOR = 8
"""Length of a list of numbers that may be a vector."""
DEEPEST = 6
"""Nesting depth from which lists and mappings are empty, because a type may be recursive."""
HEAD = '''\
"""Made-up responses to the prompts of {program}. Edit them to what a model might say."""
'''
TOLD = '''
import math

from gotlang.models.simulated import Simulated
from gotlang.models.tokens import split_tokens


def _with_logprobs(rng, text):
    """A response with a log-probability for each token, and for a few others."""
    tokens = []
    for token in split_tokens(text):
        sure = rng.uniform(0.5, 0.99)
        likeliest = [(token, math.log(sure))] + [("?", math.log((1 - sure) / 2**i)) for i in range(1, 5)]
        tokens.append((token, math.log(sure), tuple(likeliest)))
    return Simulated(text, sum(logprob for _, logprob, _ in tokens), tuple(tokens))
'''
"""Used where the program asks for log-probabilities."""


def made_up(type_: Type, chance: random.Random, depth: int = 0) -> Any:
    """A small random value of a type that a model can write."""
    inner, deep = depth + 1, depth >= DEEPEST
    match type_:
        case Simple("int"):
            return chance.randrange(10)
        case Simple("float"):
            return round(chance.uniform(0, 10), 1)
        case Simple("bool"):
            return chance.random() < 0.5
        case LiteralType(values):
            return chance.choice(values)
        case ListType(element=element):
            return [made_up(element, chance, inner) for _ in range(0 if deep else chance.randrange(1, 4))]
        case DictType(value=value):
            return {word: made_up(value, chance, inner) for word in chance.sample(WORDS, 0 if deep else 2)}
        case OptionalType(inner=least):
            return None if deep or chance.random() < 0.25 else made_up(least, chance, inner)
        case RecordType(fields=fields):
            return {name: made_up(field, chance, inner) for name, field in fields}
        case UnionType(cases):
            least = min(cases, key=lambda case: len(case.fields))
            return made_up(least if deep else chance.choice(cases), chance, inner)
        case Simple() | AnyType():
            return " ".join(chance.sample(WORDS, 2))


def simulator_text(program: Program, name: str) -> str:
    """A Python file with a function for each prompt of a program whose file is called `name`."""
    params = {param.name: param.default for param in program.params}
    told = "logprobs" in to_text(program)
    functions = [_function(prompt, params, told) for prompt in program.prompts if prompt.name.isidentifier()]
    return "\n\n".join([HEAD.format(program=name) + (TOLD if told else ""), *functions])


def _function(prompt: Prompt, params: Mapping[str, Any], told: bool) -> str:
    """The function of a prompt, with log-probabilities if the program asks for them."""
    names = [name for name, _ in prompt.parameters]
    given = "**arguments" if any(map(keyword.iskeyword, names)) else ", ".join(names)
    responses = list(dict.fromkeys(_response(prompt, params, variant) for variant in range(VARIANTS)))
    head = ", ".join(filter(None, ["rng", given]))
    lines = "".join(f"        {response!r},\n" for response in responses)
    one = "_with_logprobs(rng, rng.choice(responses))" if told else "rng.choice(responses)"
    return f"def {prompt.name}({head}):\n    responses = [\n{lines}    ]\n    return {one}\n"


def _response(prompt: Prompt, params: Mapping[str, Any], variant: int) -> str:
    """A text that can be parsed as the prompt's type; with `many` values, the number it asks for, if
    known."""
    chance = random.Random(f"{prompt.name} {variant}")
    result = ListType(prompt.result) if prompt.many else prompt.result
    value = made_up(result, chance)
    if result == ListType(FLOAT):  # the vectors of an embedding model have the same length
        value = [made_up(FLOAT, chance) for _ in range(VECTOR)]
    try:
        if (wanted := dict(prompt.settings).get("regex")) is not None:
            regex = Regex.parse(evaluate(wanted, dict(params)))
            found = [regex.example(chance) for _ in range(TRIES)]
            return next((text for text in found if _reads(text, prompt)), found[0])
        if prompt.count is not None:
            value = [made_up(prompt.result, chance) for _ in range(evaluate(prompt.count, dict(params)))]
        return write(value, result, prompt.form)
    except (EvaluationError, KeyError):
        return f"{value}"


def _reads(text: str, prompt: Prompt) -> bool:
    try:
        return bool(read(text, prompt.result, prompt.form, prompt.many))
    except ReadError:
        return False
