"""ProbTree: the answer of a made tree is that of the authors' rule, computed here on its own."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.laws import tried

from benchmarks.schemes import program_of
from gotlang.api import Options
from gotlang.errors import RunError
from gotlang.models.base import PERMITTED, Completion, Model, Permit, Reply, Request, Usage
from gotlang.thought import ResponseLogprobs, Thought, entry_confidence

LOST = -100.0
Tokens = list[tuple[str, float]]


@dataclass
class Made:
    """A question with its parts; in the last part `<1>` refers to the answer to the first."""

    name: str
    parts: list[Made] = field(default_factory=list)

    def inner(self) -> Iterator[Made]:
        if self.parts:
            yield self
            for part in self.parts:
                yield from part.inner()


def made(rng: random.Random, levels: int, name: str = "What was founded first?") -> Made:
    tree = Made(name)
    if levels and rng.random() < 0.7:
        for number in range(rng.randint(1, 3)):
            reference = " with <1>" if number and rng.random() < 0.5 else ""
            part = f"{name[:-1]} {number}{reference}?"
            # A question with a reference is another one in each run, and is not cut further.
            tree.parts.append(Made(part) if "<" in part else made(rng, levels - 1, part))
    return tree


def spoken(rng: random.Random, text: str) -> Tokens:
    """A text in tokens of some characters, with their log-probabilities."""
    size = rng.randint(2, 9)
    return [(text[at : at + size], -rng.uniform(0.01, 3)) for at in range(0, len(text), size)]


class Scripted(Model):
    """Writes a made tree, and for every question an answer that its seed decides: a name, `Unknown`, or one
    that is cut off."""

    name, simulated, price, batch = "scripted", False, None, 8

    def __init__(self, seed: int, tree: Made) -> None:
        self.seed, self.tree = seed, tree
        self.entries = {one.name: spoken(self.rng(one.name), self.listed(one)) for one in tree.inner()}

    def rng(self, *what: str) -> random.Random:
        return random.Random(repr((self.seed, what)))

    def listed(self, one: Made) -> str:
        return json.dumps([part.name for part in one.parts])

    def reply(self, prompt: str, question: str) -> tuple[str, Tokens, bool]:
        rng = self.rng(prompt, question)
        answer = rng.choice(["Unknown", "Ada", "Bo", "Cy", "Di"])
        return answer, spoken(rng, f"Thought. So the answer is: {answer}."), rng.random() < 0.15

    def written(self) -> Tokens:
        tokens: Tokens = [("{", -0.1)]
        for number, (name, entry) in enumerate(self.entries.items()):
            tokens += [(", " if number else " ", -0.2), (json.dumps(name) + ": ", -5.0), *entry]
        return [*tokens, ("}", -0.3)]

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        question = request.arguments["question"]
        cut = False
        if request.prompt == "understand":
            tokens = self.written()
        else:
            _, tokens, cut = self.reply(request.prompt, question)
        text, total = "".join(token for token, _ in tokens), sum(one for _, one in tokens)
        done = Completion(text, "length" if cut else "stop", total, tuple(tokens), len(tokens))
        return Reply((done,) * n, Usage(1, len(tokens)), 0.0)


def expected(model: Scripted, one: Made, question: str) -> tuple[str, float]:
    """The authors' rule: `calculate_score2` and the maximum over three answers."""

    def told(prompt: str) -> tuple[str, float]:
        answer, tokens, cut = model.reply(prompt, question)
        return ("", LOST) if cut else (answer, fmean(logprob for _, logprob in tokens))

    options = [told("closed_book"), told("open_book_of_parts" if one.parts else "open_book")]
    if one.parts:
        solved: list[tuple[str, float]] = []
        for part in one.parts:
            solved.append(expected(model, part, part.name.replace("<1>", solved[0][0] if solved else "")))
        answer, own = told("combine")
        decomposed = fmean(logprob for _, logprob in model.entries[one.name])
        score = (own + decomposed + sum(score for _, score in solved)) / (len(solved) + 2)
        options.append((answer, score if answer else LOST))
    return max((("", LOST) if "Unknown" in a else (a, s) for a, s in options), key=lambda option: option[1])


@given(st.integers(0, 2**32), st.integers(0, 3))
@tried(60)
def test_the_answer_is_that_of_the_authors_rule(seed: int, levels: int) -> None:
    model = Scripted(seed, made(random.Random(seed), levels))
    result = program_of("probtree").run(
        {"question": model.tree.name}, options=Options(model=model, cache=None, python=True)
    )
    assert result.value == expected(model, model.tree, model.tree.name)[0]


def test_questions_about_something_else_are_refused_and_not_answered() -> None:
    options = Options(model="simulated", cache=None, python=True)
    for name in ("probtree", "socratic_questioning", "react"):
        for question in ("Who wrote Hamlet?", "Who is the mayor of Paris?"):
            with pytest.raises(RunError, match=r"does not simulate this: only .* towns"):
                program_of(name).run({"question": question}, options=options)


def test_the_confidence_of_an_entry_is_the_mean_of_its_tokens() -> None:
    tokens = (('{"a": ', -9.0), ("[1", -1.0), (", 2]", -2.0), (', "b": ', -9.0), ("[]}", -4.0))
    subject = Thought({"a": [1, 2], "b": []}, response=ResponseLogprobs(-5.0, tokens))
    assert entry_confidence(subject, "a") == pytest.approx(2.718281828**-1.5)
    assert entry_confidence(subject, "b") == pytest.approx(2.718281828**-4)
