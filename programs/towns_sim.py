"""Simulators of the prompts about the made-up country: they know, read and guess facts about it.

From memory a simulator knows some of the facts, always the same ones; from pages it reads what is there,
nearly without mistakes. Where it does not know, it guesses, and its words are less probable, or it says that
it does not know, and is sure of that. It cuts questions wrongly at times, and at times answers without
looking at what it was told. Questions about anything else are refused. Only the constants at the top set how
often.
"""

from __future__ import annotations

import json
import math
import random
import re
from typing import Any

from towns import ASK, facts, follow, hops, parse

from gotlang.models.simulated import NotSimulated, Simulated
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
ADMITTED = 0.5
"""The chance that what is not known is called unknown, and not guessed."""
MISCUT = 0.2
"""The chance that a question is cut wrongly: not at all, into too many parts, or with a wrong reference."""
MISJUDGED = 0.1
"""The chance that somebody is sure of a guess, or not of what is known."""
HEEDLESS = 0.1
"""The chance that an answer looks only at the question, and not at what is known besides."""


# ---------------------------------------------------------------- knowing


def _asked(question: str) -> tuple[list[str], list[str]]:
    """The entities and the relations of a question. Raises NotSimulated for one about something else."""
    parsed = parse(question)
    if parsed is None:
        raise NotSimulated(f"only questions about the towns of towns.csv are, not {question!r:.80}")
    known = {entity for _, entity in facts()} | set(facts().values())
    for phrase in parsed[0]:
        entity, _ = hops(phrase)
        # What a wrong sub-question may name: a reference that nothing fills, an answer that is none, a part.
        if entity not in known and not re.search(r"<\d+>|^unknown$|^$", entity, re.IGNORECASE):
            raise NotSimulated(f"only the towns of towns.csv are known, not {entity!r:.80}")
    return parsed


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
    entities, chain = _asked(question)
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


def understand(rng: random.Random, question: str) -> Simulated:
    """The tree of a question, with its mistakes."""
    _asked(question)
    tree: dict[str, list[str]] = {question: []}
    wrong = False
    parts = _parts(question)
    while parts:
        if slipped := rng.random() < MISCUT:
            parts = rng.choice(SLIPS)(rng, question, parts)
        wrong = wrong or slipped
        tree[question] = parts
        if not parts or parts[0] == question:
            break
        question, parts = parts[0], _parts(parts[0])
    return _said(rng, json.dumps(tree), not wrong)


def _too_many(rng: random.Random, question: str, parts: list[str]) -> list[str]:
    relation = rng.choice(sorted(ASK))
    return [*parts, ASK[relation][0].format(e="<1>")]


def _wrong_reference(rng: random.Random, question: str, parts: list[str]) -> list[str]:
    return [part.replace("<1>", "<2>") for part in parts]


def _none(rng: random.Random, question: str, parts: list[str]) -> list[str]:
    return []


def _itself(rng: random.Random, question: str, parts: list[str]) -> list[str]:
    return [question]


SLIPS = (_none, _itself, _too_many, _wrong_reference)
"""Too few parts, a question that is its own part, too many, a reference to what comes later."""


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


def _from(rng: random.Random, question: str, pages: list[str], source: str) -> Simulated:
    found, sure = _reply(rng, question, pages)
    if not sure and rng.random() < ADMITTED:
        return _said(rng, f"{source} do not tell it. So the answer is: Unknown.", True)
    return _said(rng, f"{source} say that it is {found}. So the answer is: {found}.", sure)


def closed_book(rng: random.Random, question: str) -> Simulated:
    """An answer from memory."""
    return _from(rng, question, [], "My notes")


def open_book(rng: random.Random, question: str, pages: list[str]) -> Simulated:
    """An answer from pages."""
    return _from(rng, question, pages, "The pages")


open_book_of_parts = open_book


def combine(rng: random.Random, question: str, known: list[str]) -> Simulated:
    """An answer from those to the parts, or without looking at them."""
    entities, chain = _asked(question)
    if rng.random() < HEEDLESS:
        return closed_book(rng, question)
    answers = [each.rpartition("? ")[2].rstrip(".") for each in known]
    found = answers[-1]
    if chain == ["older"] and len(answers) > 1:
        phrase = entities[0 if answers[0] < answers[1] else 1]
        found = follow(*hops(phrase)) or phrase
    text = f"From the answers above it is {found or 'Unknown'}. So the answer is: {found or 'Unknown'}."
    return _said(rng, text, bool(found))


# ---------------------------------------------------------------- ReAct


def next_step(rng: random.Random, question: str, past: list[dict[str, Any]]) -> str:
    """A turn of ReAct: the page that is needed next is looked up; once all are there, the answer is given."""
    texts = [text for turn in past for text in turn["found"]]
    if rng.random() >= HEEDLESS:
        for entity, chain in _phrases(question):
            for relation in chain:
                if not _reads(texts, entity):
                    thought = f"I need the page of {entity}."
                    return json.dumps({"type": "Search", "thought": thought, "query": entity})
                entity, _ = _hop(rng, relation, entity, texts)
    answer, _ = _reply(rng, question, texts)
    return json.dumps({"type": "Finish", "thought": "That is enough to answer.", "answer": answer})


def _phrases(question: str) -> list[tuple[str, list[str]]]:
    """From which entities a question is answered, each with the relations to go through."""
    entities, chain = _asked(question)
    if chain != ["older"]:
        return [(entities[0], chain)]
    return [(entity, [*inner, "founded"]) for entity, inner in map(hops, entities)]


# ---------------------------------------------------------------- Socratic questioning


def attempt(rng: random.Random, question: str, hints: list[str]) -> str:
    """An answer, and how sure."""
    entities, chain = _asked(question)
    if hints and rng.random() < HEEDLESS:
        hints = []
    if chain == ["older"]:
        years = [_told(hints, ASK["founded"][0].format(e=phrase)) for phrase in entities]
        found, sure = _reply(rng, question, [])
        if None not in years:
            phrase = entities[0 if str(years[0]) < str(years[1]) else 1]
            found, sure = follow(*hops(phrase)) or phrase, True
    else:
        found, sure = _hinted(rng, entities[0], chain, hints)
    sure = sure if rng.random() >= MISJUDGED else not sure
    used = ", ".join(str(number) for number, _ in enumerate(hints, 1)) or "none"
    confidence = "high" if sure else rng.choice(("low", "middle"))
    return f"It is {found}. [Answer: {found}; Used hints: {used}; Confidence: {confidence}]"


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
    """The first hop that no hint tells yet; of a comparison, both years. At times something else, or more."""
    entities, chain = _asked(question)
    entity, asked = entities[0], list[str]()
    if chain == ["older"]:
        asked = [ASK["founded"][0].format(e=phrase) for phrase in entities]
    else:
        for relation in chain:
            asked = [ASK[relation][0].format(e=entity)]
            if (told := _told(hints, asked[0])) is None:
                break
            entity = told
    if rng.random() < MISCUT:
        beside = ASK[rng.choice(sorted(ASK))][0].format(e=hops(entities[0])[0])
        asked = [*asked, beside] if rng.random() < 0.5 else [beside]
    return "\n".join(f"{number}. {text}" for number, text in enumerate(asked, 1))


# ---------------------------------------------------------------- adaptive graph of thoughts


Node = dict[str, Any]


def _trails(question: str) -> list[tuple[str, list[str]]]:
    """From which entities a question is answered, each with the relations to go through."""
    entities, chain = _asked(question)
    if chain != ["older"]:
        return [(entities[0], chain)]
    return [(entity, [*inner, "founded"]) for entity, inner in map(hops, entities)]


def _through(entity: str, chain: list[str]) -> str:
    for relation in chain[:-1]:
        entity = ASK[relation][1].format(e=entity)
    return ASK[chain[-1]][0].format(e=entity)


def _progress(trail: tuple[str, list[str]], nodes: list[Node]) -> tuple[list[str], list[str], list[int]]:
    """How far the results of some tasks lead: the entities, the relations that are left, the tasks."""
    (entity, left), used = trail, []
    reached = [entity]
    while left:
        steps = {_through(reached[-1], left[:n]): n for n in range(1, len(left) + 1)}
        fits = [i for i, node in enumerate(nodes, 1) if node["content"] in steps]
        if not fits:
            break
        left = left[steps[nodes[fits[-1] - 1]["content"]] :]
        reached.append(str(nodes[fits[-1] - 1]["result"]))
        used.append(fits[-1])
    return reached, left, used


def _task(content: str, uses: list[int]) -> dict[str, Any]:
    return {"title": " ".join(content.split()[-3:]).rstrip("?"), "content": content, "uses": uses}


def _layer(strategy: str, tasks: list[dict[str, Any]], final: bool = False) -> str:
    return json.dumps({"strategy": strategy, "final": final, "tasks": tasks})


def begin_graph(rng: random.Random, question: str, task: str, outer: list[Node], most: int) -> str:
    """The first hop or two, or both ways at once; what is known outside is left out."""
    tasks = []
    for trail in _trails(question):
        reached, left, _ = _progress(trail, outer if rng.random() >= HEEDLESS else [])
        if left:
            ways = [n for n in (1, 2) if n < len(left)] or [1]
            chosen = sorted(rng.sample(ways, rng.randint(1, len(ways))))
            tasks += [_task(_through(reached[-1], left[:n]), []) for n in chosen]
    if not tasks or rng.random() < MISCUT / 2:
        return _layer("Answer it at once.", [_task(question, [])])
    return _layer("Find out what the question begins with.", tasks[:most])


def extend(rng: random.Random, question: str, nodes: list[Node], strategies: list[str], most: int) -> str:
    """The next hops, or the final task; sometimes a result is checked, sometimes it all ends too early."""
    found = [_progress(trail, nodes) for trail in _trails(question)]
    used = [i for _, _, numbers in found for i in numbers]
    tasks = [_task(_through(reached[-1], left[:1]), numbers[-1:]) for reached, left, numbers in found if left]
    answered = any(node["content"] == question for node in nodes)
    if not tasks or answered or rng.random() < MISCUT / 4:
        return _layer("Put the results together.", [_task(question, used or [len(nodes)])], True)
    if rng.random() < MISCUT / 4:
        wrong = str(rng.choice(nodes)["result"])
        tasks[0] = _task(_through(wrong, found[0][1][:1] or ["founded"]), [rng.randint(1, len(nodes))])
    if len(tasks) < most and rng.random() < 0.6:
        tasks.append(_task(nodes[-1]["content"], []))
    return _layer("Go on from what was found, and check it where in doubt.", tasks[:most])


def close_graph(rng: random.Random, question: str, nodes: list[Node]) -> str:
    """The final task, from all results that lead on."""
    used = [i for trail in _trails(question) for i in _progress(trail, nodes)[2]]
    return json.dumps(_task(question, used or [len(nodes)]))


def is_complex(rng: random.Random, question: str, task: dict[str, Any], level: int, outer: list[Node]) -> str:
    """Whether it takes several hops, as far as that is seen."""
    _asked(question)
    several = bool(_parts(task["content"]))
    return "Yes." if several != (rng.random() < MISCUT / 4) else "No."


def carry_out(
    rng: random.Random,
    question: str,
    task: dict[str, Any],
    known: list[Node],
    outer: list[Node],
    pages: list[str],
) -> str:
    """The result, from pages; of the final task, from what is known."""
    if pages or rng.random() < HEEDLESS / 2:
        return _reply(rng, task["content"], pages)[0]
    trails = [_progress(trail, [*outer, *known]) for trail in _trails(task["content"])]
    for reached, left, _ in trails:
        reached.extend(_hop(rng, relation, reached[-1], ["nothing"])[0] for relation in left)
    if len(trails) == 1:
        return trails[0][0][-1]
    first = min(trails, key=lambda trail: trail[0][-1])
    return first[0][-2]
