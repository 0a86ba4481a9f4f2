"""The cost of a prompt proposer that returns nonsense, on a server that counts its charges.

    python -m benchmarks nonsense --write

Each optimizer has each kind of nonsense `--seeds` times, with other rows. Stopped in time means that the
result says why the proposer was stopped, within ten proposals. Each study appends a line to `--out`, so that
the benchmark can be interrupted and continued.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from measurement import Found, report, resumed, study_options
from support.gotc import document, gotc
from support.openai_server import Body, OpenAIServer

OPTIMIZERS = {name: f"{name}()" for name in ("copro", "miprov2", "gepa")}
ANSWERS = {
    "words": "Bananas are rich in potassium, and they bend.",
    "a number": "42",
    "other JSON": '{"bananas": 3}',
    "half a form": "[[ ## proposed_prefix_for_output_field ## ]]\nBananas",
}
MOST = 10
"""Proposals until it must be told."""
BUDGET = 0.05
PROGRAM = """
prompt next(number: int) -> int:
    max_tokens 20
    instruction "Say a number."
    "Number: {{ number }}"

scheme once(number: int) -> int:
    Generate() next(number)

study words:
    data "numbers.csv", train 8, test 8
    minimize abs(result - number - 1)
    prompts next with OPTIMIZER
    trials 4
    budget BUDGET
"""


def is_proposal(body: Body) -> bool:
    """Whether a request is an optimizer's."""
    return "Respond with" in body["messages"][-1]["content"]


def studied(optimizer: str, answer: str, seed: int) -> Found:
    """How many answers it took, what was said, and what they cost as a share of the budget."""

    def reply(body: Body, _: int) -> str:
        return ANSWERS[answer] if is_proposal(body) else "7"

    numbers = random.Random(seed).sample(range(100), 16)
    program = PROGRAM.replace("OPTIMIZER", OPTIMIZERS[optimizer]).replace("BUDGET", str(BUDGET))
    with tempfile.TemporaryDirectory() as temporary, OpenAIServer(reply) as server:
        folder = Path(temporary)
        (folder / "pyproject.toml").write_text("")
        (folder / "numbers.csv").write_text("number\n" + "".join(f"{n}\n" for n in numbers))
        (folder / "prices.toml").write_text("[small]\ninput_per_million = 1.0\noutput_per_million = 2.0\n")
        (folder / "words.got").write_text(program)
        command = "tune", "words.got", "--model", "openai:small", "--prices", "prices.toml", "--json"
        found: Any = document(
            gotc(*command, cwd=folder, OPENAI_API_KEY="sk-none", OPENAI_BASE_URL=server.url)
        )
        asked = [seen for seen in server.requests if is_proposal(seen.body)]
    usd = sum(seen.charged.input_tokens + 2 * seen.charged.output_tokens for seen in asked) / 1e6
    (proposed,) = found["proposed"]
    return {"asked": len(asked), "told": proposed["stopped"], "share": usd / BUDGET}


def studies(seeds: int) -> list[Found]:
    """What names each study."""
    return [
        {"optimizer": optimizer, "answer": answer, "seed": seed}
        for seed in range(1, seeds + 1)
        for optimizer in OPTIMIZERS
        for answer in ANSWERS
    ]


def told(line: Found) -> bool:
    """Whether a study said it in time."""
    return line["told"] is not None and line["asked"] <= MOST


COLUMNS = {
    "optimizer": "{}",
    "studies": "{}",
    "stopped in time": "{}",
    "most proposals": "{}",
    "most of the budget": "{:.1%}",
}


def table(lines: Sequence[Found]) -> Iterator[tuple[Any, ...]]:
    """A row for each optimizer."""
    for optimizer in OPTIMIZERS:
        some = [line for line in lines if line["optimizer"] == optimizer]
        asked, share = (max(line[name] for line in some) for name in ("asked", "share"))
        yield optimizer, len(some), sum(map(told, some)), asked, share


if __name__ == "__main__":
    parser = study_options(__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    report(given, COLUMNS, table(resumed(given.out, studies(given.seeds), studied, given.jobs)))
