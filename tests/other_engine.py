"""Another engine, written from docs/ir.md alone: enough of the IR to run the paper's listings.

It uses nothing of gotlang. `ask` gives the response to messages under a sample's number, `python` has the
program's functions.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from jinja2 import Environment

Data = dict[str, Any]
Ask = Callable[[tuple[tuple[str, str], ...], int], "str | None"]
JINJA = Environment(finalize=lambda value: value if isinstance(value, str) else json.dumps(value))
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "==": lambda a, b: a == b,
    "in": lambda a, b: a in b,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "len": len,
    "range": lambda n: list(range(n)),
    "sorted": sorted,
    "set": lambda xs: sorted(set(xs)),
    "flatten": lambda xss: [x for xs in xss for x in xs],
    "intersection": lambda a, b: [x for x in dict.fromkeys(a) if x in b],
    "descents": lambda xs: sum(a > b for a, b in pairwise(xs)),
    "count_difference": lambda a, b: sum(abs(Counter(a)[x] - Counter(b)[x]) for x in {*a, *b}),
}


class Thought:
    """A value, and its goodness once it is scored."""

    def __init__(self, value: Any, goodness: float | None = None) -> None:
        self.value, self.goodness = value, goodness


class Pool(list[Thought]):
    """Thoughts; `single` where there is exactly one by the program."""

    single = False


def pool(thoughts: list[Thought], single: bool) -> Pool:
    found = Pool(thoughts)
    found.single = single
    return found


def inside(space: bytes, *marks: object) -> bytes:
    return hashlib.blake2b(space + "\0".join(map(str, marks)).encode(), digest_size=16).digest()


def marks(value: Any, seen: Counter[str]) -> tuple[str, int]:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    seen[text] += 1
    return text, seen[text] - 1


class Engine:
    """Runs a document."""

    def __init__(self, document: Data, ask: Ask, python: dict[str, Callable[[str], Any]]) -> None:
        program = document["program"]
        self.ask, self.python = ask, python
        self.prompts, self.scores, self.schemes = (
            {each["name"]: each for each in program.get(kind, [])}
            for kind in ("prompts", "scores", "schemes")
        )
        self.params = {each["name"]: each["default"] for each in program.get("params", [])}
        self.main = program["main"]

    def run(self, inputs: Data) -> Any:
        found = self.scheme(self.main, inputs, b"")
        values = [thought.value for thought in found]
        return values if self.schemes[self.main]["many"] else values[0]

    def scheme(self, name: str, arguments: Data, space: bytes) -> Pool:
        scheme = self.schemes[name]
        start = {scheme["body"]["entry"]: pool([Thought(None)], True)}
        found = self.region(scheme["body"], {**self.params, **arguments, **start}, space)
        if scheme["collect"]:
            return pool([Thought([thought.value for thought in found])], True)
        return pool(found, not scheme["many"])

    def region(self, region: Data, names: Data, space: bytes) -> Pool:
        names = dict(names)
        for step in region["steps"]:
            found = getattr(self, step["is"])(step, names[step["pool"]], names, space)
            if not found:
                raise ValueError(f"{step['is']} leaves no thought")
            names[step["result"]] = pool(found, step["single"])
        result: Pool = names[region["result"]]
        return result

    # ------------------------------------------------------------ steps

    def Generate(self, step: Data, given: Pool, names: Data, space: bytes) -> list[Thought]:
        asked: Counter[Any] = Counter()
        return [new for one in given for new in self.samples(step, {**names, "it": one.value}, space, asked)]

    def Aggregate(self, step: Data, given: Pool, names: Data, space: bytes) -> list[Thought]:
        return self.samples(step, {**names, "thoughts": given}, space, Counter())

    def samples(self, step: Data, names: Data, space: bytes, asked: Counter[Any]) -> list[Thought]:
        prompt = self.prompts[step["prompt"]]
        arguments = {name: self.value(value, names) for name, value in step["arguments"]}
        messages = self.messages(prompt, arguments)
        space = inside(space, *step["line"]) if step.get("line") else space
        if rank := asked[messages]:
            space = inside(space, 0, rank)
        asked[messages] += 1
        first = 2**52 | int.from_bytes(space[:8], "big") >> 12 if space else 0
        found: list[Thought] = []
        for number in range(first, first + self.value(step["k"], names)):
            response = self.ask(messages, number)
            found += [Thought(value) for value in self.read(prompt, response, arguments)] if response else []
        return found

    def messages(self, prompt: Data, arguments: Data) -> tuple[tuple[str, str], ...]:
        user = JINJA.from_string(prompt["user"])
        parts = (
            [JINJA.from_string(prompt["instruction"]).render(arguments)] if prompt.get("instruction") else []
        )
        for example in prompt.get("examples", []):
            text, response = user.render(dict(example["inputs"])), example["response"]
            parts.append(
                f"{text}{' ' if text.endswith(':') and chr(10) not in response else chr(10)}{response}"
            )
        system = (
            [("system", JINJA.from_string(prompt["system"]).render(arguments))]
            if prompt.get("system")
            else []
        )
        return (*system, ("user", "\n\n".join([*parts, user.render(arguments)])))

    def read(self, prompt: Data, response: str, arguments: Data) -> list[Any]:
        try:
            if prompt.get("reader"):
                return [self.python[prompt["reader"]](response)]
            found = json.loads(re.findall(r"\{.*\}|\[.*\]", response, re.DOTALL)[-1])
        except (ValueError, IndexError):
            return []
        values = [*found.values()] if isinstance(found, dict) else found
        if not prompt["many"]:
            return [found]
        count = self.value(prompt["count"], arguments) if prompt.get("count") else len(values)
        return values if len(values) == count else []

    def Score(self, step: Data, given: Pool, names: Data, space: bytes) -> list[Thought]:
        score = self.scores[step["score"]]
        found = []
        for one in given:
            inner = {n: self.value(value, {**names, "it": one.value}) for n, value in step["arguments"]}
            number = self.value(score["value"], {**self.params, **inner})
            found.append(Thought(one.value, -number if score["lower"] else number))
        return found

    def KeepBestN(self, step: Data, given: Pool, names: Data, space: bytes) -> list[Thought]:
        return sorted(given, key=lambda one: -(one.goodness or 0))[: self.value(step["count"], names)]

    def GroundTruth(self, step: Data, given: Pool, names: Data, space: bytes) -> list[Thought]:
        return given

    def Pool(self, step: Data, given: Pool, names: Data, space: bytes) -> list[Thought]:
        found: list[Thought] = []
        for member in step["values"]:
            bound = self.thoughts(member, {**names, "thoughts": given})
            found += bound if bound is not None else [Thought(self.value(member, names))]
        return found

    def thoughts(self, node: Data, names: Data) -> list[Thought] | None:
        """The thoughts of a name, or of a position in it."""
        if node["is"] == "Index" and (of := self.thoughts(node["value"], names)) is not None:
            return [of[self.value(node["index"], names)]]
        bound = names.get(node.get("name", ""))
        return bound if node["is"] == "Reference" and isinstance(bound, Pool) else None

    def Foreach(self, step: Data, given: Pool, names: Data, space: bytes) -> list[Thought]:
        elements = given if step["iterable"] is None else self.thoughts(step["iterable"], names)
        if elements is None:
            elements = [Thought(value) for value in self.value(step["iterable"], names)]
        found: list[Thought] = []
        seen: Counter[str] = Counter()
        for one in elements:
            element = {step["name"]: pool([one], True), step["body"]["entry"]: pool([one], True)}
            found += self.region(
                step["body"], {**names, **element}, inside(space, "element", *marks(one.value, seen))
            )
        return found

    def Block(self, step: Data, given: Pool, names: Data, space: bytes) -> list[Thought]:
        return self.region(step["body"], {**names, **{new: names[old] for new, old in step["names"]}}, space)

    def Invoke(self, step: Data, given: Pool, names: Data, space: bytes) -> list[Thought]:
        arguments = {name: self.value(value, names) for name, value in step["arguments"]}
        return self.scheme(step["scheme"], arguments, inside(space, "call", *(step.get("line") or ())))

    # ------------------------------------------------------------ expressions

    def value(self, node: Data, names: Data) -> Any:
        match node["is"]:
            case "Constant":
                return node["value"]
            case "Reference":
                bound = names[node["name"]]
                values = [each.value for each in bound] if isinstance(bound, Pool) else bound
                return values[0] if isinstance(bound, Pool) and bound.single else values
            case "Binary":
                sides = self.value(node["left"], names), self.value(node["right"], names)
                return OPERATORS[node["operator"]](*sides)
            case "Compare":
                ((operator, other),) = node["rest"]
                return OPERATORS[operator](self.value(node["first"], names), self.value(other, names))
            case "Index":
                return self.value(node["value"], names)[self.value(node["index"], names)]
            case "Slice":
                ends = (node.get(end) and self.value(node[end], names) for end in ("start", "stop"))
                return self.value(node["value"], names)[slice(*ends)]
            case "Call":
                given = [self.value(each["value"], names) for each in node["arguments"]]
                return FUNCTIONS[node["function"]["text"]](*given)
            case "Comprehension":
                (name,) = (each["text"] for each in node["names"])
                inner = ({**names, name: each} for each in self.value(node["iterable"], names))
                condition = node["condition"]
                chosen = (each for each in inner if condition is None or self.value(condition, each))
                return [self.value(node["element"], each) for each in chosen]
        raise ValueError(f"unknown expression {node['is']}")
