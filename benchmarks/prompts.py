"""Whether prompt search finds helpful advice, and its false positives where no advice helps.

    python -m benchmarks prompts --quick          three studies and five null studies of each optimizer
    python -m benchmarks prompts --write          ten and twenty

The simulator of the program guesses a number, and looks at the whole text of its prompt. Of the twelve pieces
of advice that the simulated proposer adds one halves the error, one doubles it, and ten have no effect; the
seed determines which, unknown to the proposer and the optimizer. For `bootstrap`, which proposes no texts, a
worked example helps. In a null study nothing helps. There are 30 train and 60 test rows. Found means the
verdict `better` for a program with what helps and without what harms; a false find is that verdict for one
without. Each study appends a line to `--out`, so that the benchmark can be interrupted and continued.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from measurement import Found, report, resumed, study_options

from gotlang.api import Options
from gotlang.cache.memory import MemoryCache
from gotlang.tune.plan import StudyPlan, read_plan
from gotlang.tune.proposer import ADVICE
from gotlang.tune.study import tune

OPTIMIZERS = {
    "copro": "copro(breadth=8, depth=3)",
    "miprov2": "miprov2(candidates=12, trials=15)",
    "gepa": "gepa(calls=150)",
    "bootstrap": "bootstrap(demos=2, sets=4)",
}
EXAMPLE = "a worked example"
NOTHING = "(nothing)"
PROGRAM = """
simulate with "words_sim.py"

prompt guess(number: int) -> int:
    max_tokens 20
    instruction "Say a number near the one that is shown."
    "Number: {{{{ number }}}}"

scheme near(number: int) -> int:
    Generate() guess(number)

study words:
    data "numbers.csv", train 30, test 60, seed {seed}
    minimize abs(result - number)
    subject to cost <= 3 * baseline
    prompts guess with {optimizer}
    trials 10
    seed {seed}
    budget 0.5
"""
SIMULATOR = """
def guess(rng, number, messages):
    said = " ".join(message.content for message in messages)
    helped = said.count("Number:") > 1 if {helps!r} == {example!r} else {helps!r} in said
    spread = 20 * (0.5 if helped else 1) * (2 if {harms!r} in said else 1)
    return str(number + round(rng.gauss(0, spread)))
"""


def planted_plan(folder: Path, optimizer: str, seed: int, helps: str, harms: str) -> StudyPlan:
    """A study of the program in a folder, in which these words help and harm."""
    numbers = random.Random(seed).sample(range(1000, 10000), 90)
    (folder / "numbers.csv").write_text("number\n" + "".join(f"{n}\n" for n in numbers))
    (folder / "words_sim.py").write_text(SIMULATOR.format(helps=helps, harms=harms, example=EXAMPLE))
    path = folder / "words.got"
    path.write_text(PROGRAM.format(optimizer=OPTIMIZERS[optimizer], seed=seed))
    return read_plan(path)


def studied(optimizer: str, null: bool, seed: int) -> Found:
    """What a study finds."""
    helps, harms = random.Random(f"{optimizer} {seed} {null}").sample(ADVICE, 2)
    helps = NOTHING if null else EXAMPLE if optimizer == "bootstrap" else helps
    with tempfile.TemporaryDirectory() as folder:
        plan = planted_plan(Path(folder), optimizer, seed, helps, harms)
        done = tune(plan, Options(seed=seed, cache=MemoryCache()), folder=None)
    texts = done.tuned.texts.get("guess")
    said = (texts.instruction or "") if texts else ""
    helped = bool(texts and texts.examples) if helps == EXAMPLE else helps in said
    (proposed,) = done.proposed
    return {
        "verdict": done.held_out.verdict if done.held_out is not None else "not compared",
        "helped": helped,
        "harmed": harms in said,
        "proposed": proposed.to_dict(),
        "usd": done.usd,
    }


COLUMNS = {
    "optimizer": "{}",
    "studies": "{}",
    "found": "{}",
    "null studies": "{}",
    "false finds": "{}",
    "proposed": "{:.0f}",
    "tried": "{:.0f}",
    "kept": "{:.1f}",
    "proposer": "${:.4f}",
    "whole study": "${:.4f}",
}


def table(lines: Sequence[Found]) -> Iterator[tuple[Any, ...]]:
    """A row for each optimizer."""
    for optimizer in OPTIMIZERS:
        some = [line for line in lines if line["optimizer"] == optimizer]
        planted = [line for line in some if not line["null"]]
        better = [line for line in some if line["verdict"] == "better"]
        found = [line for line in better if line["helped"] and not line["harmed"]]
        if some:
            yield (
                optimizer,
                len(planted),
                len(found),
                len(some) - len(planted),
                len(better) - len(found),
                *(
                    fmean(line["proposed"][name] for line in some)
                    for name in ("proposed", "tried", "kept", "usd")
                ),
                fmean(line["usd"] for line in some),
            )


def studies(optimizers: Sequence[str], seeds: int, nulls: int) -> list[Found]:
    """What names each study."""
    return [
        {"optimizer": optimizer, "null": null, "seed": seed}
        for optimizer in optimizers
        for null, last in ((False, seeds), (True, nulls))
        for seed in range(1, last + 1)
    ]


if __name__ == "__main__":
    parser = study_options(__doc__)
    parser.add_argument("--quick", action="store_true", help="three studies and five null studies of each")
    parser.add_argument("--optimizers", nargs="+", default=[*OPTIMIZERS], choices=OPTIMIZERS)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--nulls", type=int)
    given = parser.parse_args()
    seeds, nulls = given.seeds or (3 if given.quick else 10), given.nulls or (5 if given.quick else 20)
    wanted = studies(given.optimizers, seeds, nulls)
    report(given, COLUMNS, table(resumed(given.out, wanted, studied, given.jobs)))
