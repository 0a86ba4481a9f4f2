"""Prompt search: optimizers of DSPy propose texts, and the best of what they tried are choices of the search.

An optimizer works on the untuned params. Whatever it tries is run on a few train rows and recorded; of all
texts tried for a prompt those with the largest lead over the original on the same rows are kept, whether the
optimizer kept them or not."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from statistics import fmean
from typing import Any, final

from gotlang.errors import BudgetExceeded, GotError
from gotlang.evaluate.evaluation import RowRun
from gotlang.evaluate.rows import Row
from gotlang.records import from_json, to_json
from gotlang.runtime.sampler.ledger import Ledger
from gotlang.runtime.sampler.sampler import Sampler
from gotlang.tune.dspy_bridge import PromptCalls, Proposer, Ran, changes, load_dspy, module, usable
from gotlang.tune.plan import SEEDS, PromptSearch
from gotlang.tune.points import PointRunner
from gotlang.tune.tuned import Texts, write_whole

ROWS = 10
KEEP = 4
SHARE = 0.5
"""The largest share of a study's budget for proposals."""
_ORIGINAL = "[]"


@final
class Attempts:
    """Runs what optimizers try, and records the score of each text on each row."""

    def __init__(self, points: PointRunner, rows: Sequence[Row], prompts: Sequence[str]) -> None:
        self.points = points
        self.rows = {row.number: row for row in rows}
        self.prompts = tuple(prompts)
        self.scores: dict[str, dict[int, float]] = {}
        self.texts: dict[str, Mapping[str, Texts]] = {}
        self._loop = asyncio.get_running_loop()

    def run(self, texts: Mapping[str, Texts], fields: Mapping[str, Any]) -> Ran:
        """One run, from a thread that is not the loop's."""
        work = self.measure(changes(texts), self.rows[int(fields["row"])])
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def measure(self, texts: Mapping[str, Texts], row: Row) -> Ran:
        """One run of one row with some texts."""
        calls = PromptCalls(self.prompts)
        (run,) = await self.points.run(texts, {}, [row], observe=calls)
        value = self.points.measured(run).objectives[0]
        score = 0.0
        if run.state != "failed" and value is not None:
            # Optimizers maximize; where we minimize, our 0 is their perfect 1.
            score = 1 / (1 + value) if value >= 0 else 2 - 1 / (1 - value)
            score = value if self.points.plan.objectives[0].maximize else score
        key = repr(sorted(texts.items(), key=str))
        self.texts[key] = dict(texts)
        self.scores.setdefault(key, {})[row.number] = score
        return Ran(score, value, calls.asked, self._feedback(run, value))

    def _feedback(self, run: RowRun, value: float | None) -> str:
        objective, row = self.points.plan.objectives[0], run.row
        better = "more" if objective.maximize else "less"
        parts = [f"{objective.text} is {value} here ({better} is better)."]
        if run.state == "failed":
            parts = [f"No result: {run.reason}."]
        parts += [f"Its {name}: {_short(given)}." for name, given in row.inputs.items()]
        if row.truth is not None:
            parts.append(f"The right answer: {_short(row.truth)}.")
        if run.state != "failed":
            parts += [f"An answer could not be read: {note}." for note in run.notes]
        return " ".join(parts)

    def best(self, prompt: str, keep: int) -> list[Texts]:
        """The texts of a prompt with the largest leads over the original, the original first."""
        original = self.scores.get(_ORIGINAL, {})
        leads: dict[str, tuple[float, Texts]] = {}
        for key, by_row in self.scores.items():
            text = self.texts[key].get(prompt)
            seen = by_row.keys() & original.keys()
            if text is not None and seen:
                lead, known = fmean(by_row[row] - original[row] for row in seen), leads.get(repr(text))
                leads[repr(text)] = (lead if known is None else max(lead, known[0]), text)
        ranked = sorted(leads.values(), key=lambda found: -found[0])
        return [Texts(), *[text for lead, text in ranked if lead > 0][:keep]]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 300 else text[:297] + "..."


async def propose(points: PointRunner, rows: Sequence[Row], file: Path) -> dict[str, list[Texts]]:
    """Texts for every prompt that the study searches, the original first.

    They are stored in a file, where a resumed study or a second worker finds them. Raises UsageError without
    DSPy.
    """
    if not points.plan.searches:
        return {}
    if (before := _read(file)) is not None:
        return before
    found: dict[str, list[Texts]] = {}
    for search in points.plan.searches:
        found.update(await _search(points, rows, search))
    write_whole(file, to_json(found))
    return found


def _read(file: Path) -> dict[str, list[Texts]] | None:
    if not file.exists():
        return None
    return from_json(file.read_bytes(), dict[str, list[Texts]])


async def _search(points: PointRunner, rows: Sequence[Row], search: PromptSearch) -> dict[str, list[Texts]]:
    given = search.optimizer.arguments
    some = rows[: int(given.get("rows", ROWS))]
    attempts = Attempts(points, some, search.prompts)
    runner = points.session.runner
    model, seed = runner.models(points.plan.proposer), runner.settings.seed
    sampler = Sampler(Ledger(), runner.budget, runner.limits.queue(), {}, cache=runner.cache)
    proposer = Proposer(model, sampler, asyncio.get_running_loop(), seed)
    try:
        for row in some:
            await attempts.measure({}, row)
        await asyncio.to_thread(_optimize, attempts, search, proposer, seed % SEEDS)
    except Exception as error:
        # DSPy wraps errors. Without money, what was tried so far counts.
        if not _caused_by(error, BudgetExceeded):
            if (cause := _caused_by(error, GotError)) is None:
                raise
            raise cause from None
    program, keep = points.session.ir, int(given.get("keep", KEEP))
    return {
        name: [text for text in attempts.best(name, keep) if usable(program.prompt(name), text)]
        for name in search.prompts
    }


def _caused_by(error: BaseException | None, kind: type[GotError]) -> GotError | None:
    """The error of a kind that led to this one, or is it."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error


def _optimize(attempts: Attempts, search: PromptSearch, proposer: Proposer, seed: int) -> None:
    """Let an optimizer of DSPy work on the scheme, in a thread of its own."""
    dspy = load_dspy()
    student = module(dspy, attempts.points.session.ir, search.prompts, attempts.run)
    lm = dspy.LM(f"gotlang/{proposer.model.name}", engine=proposer, cache=False, num_retries=0)
    fields = {
        row.number: {f"input_{name}": value for name, value in row.inputs.items()}
        for row in attempts.rows.values()
    }
    examples = [
        dspy.Example(row=number, **given).with_inputs("row", *given) for number, given in fields.items()
    ]

    def metric(example: Any, prediction: Any, trace: Any = None) -> float:
        return float(prediction.score)

    def feedback(
        gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
    ) -> Any:
        return dspy.Prediction(score=float(pred.score), feedback=str(pred.feedback))

    original = attempts.scores.get(_ORIGINAL, {})
    threshold = fmean(original.values()) if original else 0.0
    given = search.optimizer.arguments
    quiet = {"num_threads": 1, "display_progress": False, "display_table": 0}
    hidden = io.StringIO()  # optimizers print and show bars; a study has its own
    with dspy.context(lm=lm, trace=[], num_threads=1), redirect_stdout(hidden), redirect_stderr(hidden):
        match search.optimizer.name:
            case "copro":
                dspy.COPRO(
                    prompt_model=lm,
                    metric=metric,
                    breadth=given.get("breadth", 8),
                    depth=given.get("depth", 3),
                    init_temperature=given.get("temperature", 1.4),
                ).compile(student, trainset=examples, eval_kwargs=quiet)
            case "miprov2":
                dspy.MIPROv2(
                    metric=metric,
                    prompt_model=lm,
                    task_model=lm,
                    auto=None,
                    num_candidates=given.get("candidates", 6),
                    max_bootstrapped_demos=given.get("demos", 0),
                    max_labeled_demos=0,
                    num_threads=1,
                    seed=seed,
                    metric_threshold=threshold,
                ).compile(
                    student,
                    trainset=examples,
                    valset=examples,
                    num_trials=given.get("trials", 10),
                    minibatch=False,
                )
            case "gepa":
                dspy.GEPA(
                    metric=feedback,
                    max_metric_calls=given.get("calls", 10 * len(examples)),
                    reflection_lm=lm,
                    num_threads=1,
                    seed=seed,
                ).compile(student, trainset=examples, valset=examples)
            case _:
                for number in range(int(given.get("sets", 3))):
                    turned = examples[number:] + examples[:number]
                    done = dspy.BootstrapFewShot(
                        metric=metric,
                        metric_threshold=threshold,
                        max_bootstrapped_demos=given.get("demos", 4),
                        max_labeled_demos=0,
                    ).compile(student.deepcopy(), trainset=turned)
                    for example in examples:
                        done(**example.inputs())
