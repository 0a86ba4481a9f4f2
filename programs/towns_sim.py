"""Simulators of the prompts about the made-up country: they know, read and guess facts about it.

From memory a simulator knows some of the facts, always the same ones; from pages it reads what is there,
nearly without mistakes. Where it does not know, it guesses, and its words are less probable. Only the
constants at the top set how often.
"""

from __future__ import annotations

import json
import math
import random
from typing import Any

from towns import ASK, facts, follow, hops, parse

from gotlang.models.simulated import Simulated
from gotlang.models.tokens import estimate_tokens

KNOWN = 0.55
"""The share of facts that are known from memory."""
MISREAD = 0.03
"""The chance that a fact on a page is misread."""
ASKED = 0.9
"""The same for a fact that is asked for by itself, in Socratic questioning."""
SURE, UNSURE = 0.93, 0.55
"""The probability of a token where the answer is known, and where it is a guess."""
SPREAD = 0.06
"""The standard deviation of both."""


# ---------------------------------------------------------------- knowing


def _remembers(relation: str, entity: str, share: float = KNOWN) -> bool:
    return random.Random(f"remembers {relation} {entity}").random() < share


def _reads(pages: list[str], entity: str) -> bool:
    return any(page.startswith(f"{entity}:") for page in pages)


def _guess(rng: random.Random, relation: str) -> str:
    return rng.choice(sorted({value for (known, _), value in facts().items() if known == relation}))


def _hop(rng: random.Random, relation: str, entity: str, pages: list[str]) -> tuple[str, bool]:
    """One hop, and whether it is more than a guess."""
    right = facts().get((relation, entity))
    if right is not None and (_reads(pages, entity) or (not pages and _remembers(relation, entity))):
        return (right, True) if rng.random() >= MISREAD else (_guess(rng, relation), True)
    return _guess(rng, relation), False


def _walk(rng: random.Random, entity: str, chain: list[str], pages: list[str]) -> tuple[str, bool]:
    sure = True
    for relation in chain:
        entity, known = _hop(rng, relation, entity, pages)
        sure = sure and known
    return entity, sure


def _reply(rng: random.Random, question: str, pages: list[str]) -> tuple[str, bool]:
    parsed = parse(question)
    if parsed is None:
        return "unknown", False
    entities, chain = parsed
    if chain != ["older"]:
        return _walk(rng, entities[0], chain, pages)
    walked = [_walk(rng, *hops(phrase), pages) for phrase in entities]
    years = [_hop(rng, "founded", town, pages) for town, _ in walked]
    first = 0 if years[0][0] < years[1][0] else 1
    return walked[first][0], all(sure for _, sure in (*walked, *years))


def _said(rng: random.Random, text: str, sure: bool) -> Simulated:
    probability = min(0.999, max(0.05, rng.gauss(SURE if sure else UNSURE, SPREAD)))
    return Simulated(text, estimate_tokens(text) * math.log(probability))


# ---------------------------------------------------------------- ProbTree


def understand(rng: random.Random, question: str) -> str:
    """The tree of a question."""
    tree: dict[str, list[str]] = {}
    _grow(tree, question)
    return json.dumps(tree)


def _grow(tree: dict[str, list[str]], question: str) -> None:
    parts = _parts(question)
    if parts:
        tree[question] = parts
        _grow(tree, parts[0])


def _parts(question: str) -> list[str]:
    """Two simpler questions, or no question."""
    parsed = parse(question)
    if parsed is None:
        return []
    entities, chain = parsed
    if chain == ["older"]:
        return [ASK["founded"][0].format(e=phrase) for phrase in entities]
    if len(chain) < 2:
        return []
    phrase = entities[0]
    for relation in chain[:-2]:
        phrase = ASK[relation][1].format(e=phrase)
    return [ASK[chain[-2]][0].format(e=phrase), ASK[chain[-1]][0].format(e="<1>")]


def closed_book(rng: random.Random, question: str) -> Simulated:
    """An answer from memory."""
    found, sure = _reply(rng, question, [])
    return _said(rng, f"As far as I know it is {found}. So the answer is: {found}.", sure)


def open_book(rng: random.Random, question: str, pages: list[str]) -> Simulated:
    """An answer from pages."""
    found, sure = _reply(rng, question, pages or ["nothing"])
    return _said(rng, f"The pages say {found}. So the answer is: {found}.", sure)


def next_step(rng: random.Random, question: str, texts: list[str]) -> str:
    """A turn of ReAct: the page that is needed next is looked up; once all are there, the answer is given."""
    for entity, chain in _phrases(question):
        for relation in chain:
            if not _reads(texts, entity):
                thought = f"I need the page of {entity}."
                return json.dumps({"type": "Search", "thought": thought, "query": entity})
            entity, _ = _hop(rng, relation, entity, texts)
    answer, _ = _reply(rng, question, texts)
    return json.dumps({"type": "Finish", "thought": "The pages say it.", "answer": answer})


def _phrases(question: str) -> list[tuple[str, list[str]]]:
    """From which entities a question is answered, each with the relations to go through."""
    parsed = parse(question)
    if parsed is None:
        return []
    entities, chain = parsed
    if chain != ["older"]:
        return [(entities[0], chain)]
    return [(entity, [*inner, "founded"]) for entity, inner in map(hops, entities)]


def combine(rng: random.Random, question: str, parts: list[str], answers: list[str]) -> Simulated:
    """An answer from those to the parts."""
    found = answers[-1]
    parsed = parse(question)
    if parsed is not None and parsed[1] == ["older"]:
        phrase = parsed[0][0 if answers[0] < answers[1] else 1]
        found = follow(*hops(phrase)) or phrase
    return _said(rng, f"From the answers above it is {found}. So the answer is: {found}.", True)


# ---------------------------------------------------------------- Socratic questioning


def attempt(rng: random.Random, question: str, hints: list[str]) -> str:
    """An answer, and how sure."""
    parsed = parse(question)
    found, sure = "unknown", False
    if parsed is not None and parsed[1] == ["older"]:
        years = [_told(hints, ASK["founded"][0].format(e=phrase)) for phrase in parsed[0]]
        found, sure = _reply(rng, question, [])
        if None not in years:
            phrase = parsed[0][0 if str(years[0]) < str(years[1]) else 1]
            found, sure = follow(*hops(phrase)) or phrase, True
    elif parsed is not None:
        found, sure = _hinted(rng, parsed[0][0], parsed[1], hints)
    return f"Answer: {found}\nSure: {'high' if sure else rng.choice(('low', 'medium'))}"


def _told(hints: list[str], question: str) -> str | None:
    told = [hint for hint in hints if hint.startswith(question)]
    return told[-1].rpartition("? ")[2].rstrip(".") if told else None


def _hinted(rng: random.Random, entity: str, chain: list[str], hints: list[str]) -> tuple[str, bool]:
    sure, alone = True, len(chain) == 1
    for relation in chain:
        told = _told(hints, ASK[relation][0].format(e=entity))
        right = facts().get((relation, entity))
        if told is not None:
            entity = told
        elif alone and right is not None and _remembers(relation, entity, ASKED):
            entity = right
        else:
            entity, known = _hop(rng, relation, entity, [])
            sure = sure and known
    return entity, sure


def as_hint(rng: random.Random, question: str, answer: str) -> str:
    """The question and its answer, one after the other."""
    return f"{question} {answer}."


def raise_questions(rng: random.Random, question: str, hints: list[str]) -> str:
    """The first hop that no hint tells yet; of a comparison, both years."""
    parsed = parse(question)
    if parsed is None:
        return f"1. {question}"
    entity = parsed[0][0]
    if parsed[1] == ["older"]:
        asked = [ASK["founded"][0].format(e=phrase) for phrase in parsed[0]]
        return "\n".join(f"{number}. {text}" for number, text in enumerate(asked, 1))
    for relation in parsed[1]:
        text = ASK[relation][0].format(e=entity)
        told = _told(hints, text)
        if told is None:
            return f"1. {text}"
        entity = told
    return f"1. {question}"


# ---------------------------------------------------------------- adaptive graph of thoughts


def next_tasks(rng: random.Random, question: str, notes: list[dict[str, Any]]) -> str:
    """The two halves of the question, one after the other, then nothing."""
    parts = _parts(question) or [question]
    if "<1>" not in parts[-1]:
        return json.dumps([] if notes else parts)
    if len(notes) >= len(parts):
        return "[]"
    return json.dumps([parts[len(notes)].replace("<1>", str(notes[-1]["result"]) if notes else "")])


def is_complex(rng: random.Random, task: str) -> str:
    """Whether it takes several hops."""
    return "Yes." if _parts(task) else "No."


def carry_out(rng: random.Random, task: str, notes: list[dict[str, Any]], pages: list[str]) -> str:
    """The result, from pages."""
    return _reply(rng, task, pages or ["nothing"])[0]


def conclude(rng: random.Random, question: str, notes: list[dict[str, Any]]) -> str:
    """The last result, or the older of two."""
    parsed = parse(question)
    if parsed is not None and parsed[1] == ["older"] and len(notes) == 2:
        phrase = parsed[0][0 if notes[0]["result"] < notes[1]["result"] else 1]
        return follow(*hops(phrase)) or phrase
    return str(notes[-1]["result"]) if notes else "unknown"
