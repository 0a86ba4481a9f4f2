"""A model that answers any prompt with some value of its type: for programs that bring no simulators."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gotlang.answers.reader import write
from gotlang.ir.evaluate import evaluate
from gotlang.ir.program import Program, Prompt
from gotlang.models.simulated import SimulatedModel
from gotlang.types import AnyType, DictType, ListType, LiteralType, RecordType, Simple, Type, UnionType

PICTURE = Path(__file__).parents[2] / "programs" / "data" / "invoices" / "invoice0.png"
WORDS = ("alpha", "beta", "gamma", "delta")


def some_value(type_: Type, chance: random.Random, depth: int = 0) -> Any:
    """A small random value of a type. Lists are empty so deep inside it, where it may be recursive."""
    inner = depth + 1
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
            return [some_value(element, chance, inner) for _ in range(chance.randrange(1, 4) * (depth < 6))]
        case DictType(value=value):
            return {word: some_value(value, chance, inner) for word in chance.sample(WORDS, 2 * (depth < 6))}
        case RecordType(fields=fields):
            return {name: some_value(field, chance, inner) for name, field in fields}
        case UnionType(cases):
            least = min(cases, key=lambda case: len(case.fields))
            return some_value(chance.choice(cases) if depth < 6 else least, chance, inner)
        case Simple("image"):
            return str(PICTURE)
        case Simple("file"):
            return __file__
        case Simple() | AnyType():
            return " ".join(chance.sample(WORDS, 2))


def answering(prompt: Prompt, params: Mapping[str, Any]) -> Callable[..., str]:
    """A simulator for a prompt; it gives as many values as were asked for."""
    result = ListType(prompt.result) if prompt.many else prompt.result

    def answer(rng: random.Random, **arguments: Any) -> str:
        if prompt.count is None:
            return write(some_value(result, rng), result, prompt.form)
        count = evaluate(prompt.count, {**params, **arguments})
        return write([some_value(prompt.result, rng) for _ in range(count)], result, prompt.form)

    return answer


def any_model(program: Program, seed: int = 0) -> SimulatedModel:
    """A model with a simulator for every prompt of a program."""
    params = {param.name: param.default for param in program.params}
    return SimulatedModel({prompt.name: answering(prompt, params) for prompt in program.prompts}, seed=seed)
