"""Studies for tests: small programs, and a model that does what the instruction in its prompt says."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gotlang.models.base import PERMITTED, Completion, Model, Permit, Price, Reply, Request, Usage
from gotlang.tune.plan import StudyPlan, read_plan
from gotlang.tune.trials import Trial

GUESS = """
simulate with "guess_sim.py"

param tries = 2 in 1..8
param style = "plain" in ["plain", "fancy"]

# The number of tries decides how near the guess comes.
prompt guess(target: int, style: str) -> int:
    max_tokens 20
    "Guess {{ target }} in {{ style }} style."

score error(attempt: int, target: int) -> lower, best 0:
    abs(attempt - target)

scheme near(target: int) -> int:
    Generate(k=tries) guess(target, style)
    Score() error(it, target)
    KeepBestN(1)
    GroundTruth() it == target
"""

GUESS_SIM = """
def guess(rng, target, style):
    spread = 20 if style == "plain" else 6
    return str(target + rng.randint(-spread, spread))
"""


def guess_study(folder: Path, clauses: str, rows: int = 40) -> Path:
    """A study of the guessing program in a folder, with these clauses in addition to its program and data."""
    (folder / "pyproject.toml").write_text("")
    (folder / "guess.got").write_text(GUESS)
    (folder / "guess_sim.py").write_text(GUESS_SIM)
    numbers = random.Random(1).sample(range(1000), rows)
    (folder / "numbers.csv").write_text("Target\n" + "".join(f"{n}\n" for n in numbers))
    path = folder / "study.got"
    lines = "".join(f"    {line.strip()}\n" for line in clauses.strip().splitlines())
    path.write_text(
        f'study near:\n    program "guess.got"\n    data "numbers.csv" (target = Target), {lines.strip()}\n'
    )
    return path


def guess_plan(folder: Path, clauses: str = "", rows: int = 40) -> StudyPlan:
    """Its plan; by default small, for the error at no more than the cost."""
    default = """
        train 20, test 20
        minimize error(result, target)
        subject to cost <= 2 * baseline
        trials 20
        batching false, early_stop false
    """
    return read_plan(guess_study(folder, clauses or default, rows))


def course(records: Mapping[int, Trial]) -> list[tuple[Any, ...]]:
    """All that a study decided."""
    return [
        (n, tuple(r.point.items()), r.ended, r.result.values, tuple(m.objectives for m in r.rows))
        for n, r in records.items()
    ]


TWO_PROMPTS = """
prompt double(number: int) -> int:
    max_tokens 20
    instruction "Do something with the number."
    "Number: {{ number }}"

prompt mirror(number: int) -> int:
    max_tokens 20
    instruction "Do something else with the number."
    "Value: {{ number }}"

scheme both(number: int) -> list[int]:
    a = Generate() double(number)
    b = Generate() mirror(number)
    Pool() a, b
"""

SECRETS = {"double": "Double it.", "mirror": "Turn its sign round."}
"""What an instruction must say for the model below to answer a prompt right. It is right without for
numbers that three divides, and where an example shows how."""
HARM = "Say anything you like."
"""Where an instruction says this, the model's answer is right for no number."""


class Obedient(Model):
    """A model that is right where the instruction says how, and proposes what `script` gives."""

    name = "obedient"
    simulated = False
    price = Price(1.0, 2.0)
    batch = 1

    def __init__(self, script: Any) -> None:
        self.script = script
        self.proposals = 0
        self.answers = 0

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """One answer."""
        text = "\n".join(message.content for message in request.messages)
        if request.prompt == "proposal":
            said = self.script(text, self.proposals)
            self.proposals += 1
        else:
            self.answers += 1
            number = int(request.arguments["number"])
            factor = 2 if request.prompt == "double" else -1
            shown = re.findall(r": (-?\d+)\n(-?\d+)", text)
            taught = any(int(answer) == factor * int(asked) for asked, answer in shown)
            easy = number % 3 == 0 and HARM not in text
            said = str(number * factor if SECRETS[request.prompt] in text or taught or easy else number)
        return Reply((Completion(said, output_tokens=5),), Usage(50, 5), 0.1)


def fields_of(text: str) -> list[str]:
    """The fields that a request of DSPy's wants in its answer."""
    return list(re.findall(r"\[\[ ## (\w+) ## \]\]", text.rpartition("Respond with")[2]))


def as_answer(text: str, proposal: str) -> str:
    """A proposal in the form that DSPy asks for: JSON, its fields, or a block where it names none."""
    _, json_wanted, wanted = text.rpartition("Respond with a JSON object")
    if json_wanted:
        return json.dumps(dict.fromkeys(re.findall(r"`(\w+)`", wanted), proposal))
    fields = fields_of(text)
    if not fields:
        return f"```\n{proposal}\n```"
    return "\n\n".join(f"[[ ## {name} ## ]]\n{'' if name == 'completed' else proposal}" for name in fields)


def prompt_plan(folder: Path, optimizer: str, more: str = "", program: str = TWO_PROMPTS) -> StudyPlan:
    """A study that searches both prompts of the program above."""
    (folder / "both.got").write_text(program)
    (folder / "numbers.csv").write_text("number\n" + "".join(f"{n}\n" for n in range(3, 33)))
    path = folder / "study.got"
    path.write_text(
        'study both:\n    program "both.got"\n    data "numbers.csv", train 12, test 12\n'
        "    minimize abs(result[0] - 2 * number) + abs(result[1] + number)\n"
        f"    prompts double, mirror with {optimizer}\n    trials 12\n{more}"
    )
    return read_plan(path)
