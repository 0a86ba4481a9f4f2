"""Texts for prompts: optimizers of DSPy propose them, and the best of what they tried takes part in the
search.

An optimizer works on the untuned params. Whatever it tries is run on a few train rows and noted; of all
texts tried for a prompt those that led the original furthest on the same rows are kept, whether the
optimizer kept them or not. In the search they are choices beside the params.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, final

from gotlang.errors import BudgetExceeded, GotError, UsageError
from gotlang.runtime.sampler.ledger import Ledger
from gotlang.runtime.sampler.sampler import Sampler
from gotlang.tune.dspy_bridge import Listener, Ran, module, usable
from gotlang.tune.dspy_engine import Proposer, language_model, load_dspy
from gotlang.tune.evaluation import Evaluation
from gotlang.tune.objective import Measured
from gotlang.tune.plan import SEEDS, Plan, PromptSearch
from gotlang.tune.rows import Row
from gotlang.tune.texts import Texts

ROWS = 10
KEEP = 4
SHARE = 0.5
"""The most of a study's budget that proposals may take."""


def worth(plan: Plan, measured: Measured) -> float:
    """A row's first objective as optimizers want it: more is better, and 1 is perfect where 0 is for us."""
    value = measured.objectives[0]
    if measured.failure is not None or value is None:
        return 0.0
    if plan.objectives[0].maximize:
        return value
    return 1 / (1 + value) if value >= 0 else 2 - 1 / (1 - value)


@final
class Trials:
    """Runs what optimizers try, and notes what each text was worth on each row."""

    def __init__(
        self, plan: Plan, evaluation: Evaluation, rows: Sequence[Row], prompts: Sequence[str]
    ) -> None:
        self.plan = plan
        self.evaluation = evaluation
        self.rows = {row.number: row for row in rows}
        self.prompts = tuple(prompts)
        self.worth: dict[str, dict[int, float]] = {}
        self.texts: dict[str, Mapping[str, Texts]] = {}
        self._loop = asyncio.get_running_loop()

    def run(self, texts: Mapping[str, Texts], fields: Mapping[str, Any]) -> Ran:
        """One run for a thread that is not the loop's."""
        row = self.rows[int(fields["row"])]
        changed = {name: text for name, text in texts.items() if text != Texts()}
        return asyncio.run_coroutine_threadsafe(self.measure(changed, row), self._loop).result()

    async def measure(self, texts: Mapping[str, Texts], row: Row) -> Ran:
        """One run of one row with some texts."""
        listener = Listener(self.prompts)
        (measured,) = await self.evaluation.run(texts, {}, [row], observe=listener)
        score = worth(self.plan, measured)
        key = repr(sorted(texts.items()))
        self.texts[key] = dict(texts)
        self.worth.setdefault(key, {})[row.number] = score
        return Ran(score, measured.objectives[0], listener.asked, self._feedback(measured, row))

    def _feedback(self, measured: Measured, row: Row) -> str:
        objective = self.plan.objectives[0]
        better = "more" if objective.maximize else "less"
        parts = [f"{objective.text} is {measured.objectives[0]} here ({better} is better)."]
        if measured.failure is not None:
            parts = [f"No result: {measured.failure}."]
        parts += [f"Its {name}: {_short(value)}." for name, value in row.inputs.items()]
        if row.truth is not None:
            parts.append(f"The right answer: {_short(row.truth)}.")
        parts += [f"An answer could not be read: {note}." for note in measured.notes[:3]]
        return " ".join(parts)

    def best(self, prompt: str, keep: int) -> list[Texts]:
        """The texts of a prompt that led the original furthest, the original first."""
        original = self.worth.get("[]", {})
        leads: dict[Texts, float] = {}
        for key, by_row in self.worth.items():
            text = self.texts[key].get(prompt)
            seen = by_row.keys() & original.keys()
            if text is None or not seen:
                continue
            lead = fmean(by_row[row] - original[row] for row in seen)
            leads[text] = max(lead, leads.get(text, lead))
        ranked = sorted(leads, key=lambda text: -leads[text])
        return [Texts(), *[text for text in ranked if leads[text] > 0][:keep]]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 300 else text[:297] + "..."


async def propose(
    plan: Plan, evaluation: Evaluation, rows: Sequence[Row], kept: Path | None
) -> dict[str, list[Texts]]:
    """Texts for every prompt that the study searches, the original first.

    `kept` is a file where they are kept: a study that goes on, or a second worker, finds them there. Raises
    UsageError without DSPy.
    """
    if not plan.searches:
        return {}
    if (before := _read(kept)) is not None:
        return before
    found: dict[str, list[Texts]] = {}
    for search in plan.searches:
        found.update(await _search(plan, evaluation, rows, search))
    if kept is not None:
        content = {name: [text.as_json() for text in texts] for name, texts in found.items()}
        beside = kept.with_name(kept.name + ".new")
        beside.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        beside.replace(kept)
    return found


def _read(kept: Path | None) -> dict[str, list[Texts]] | None:
    if kept is None or not kept.exists():
        return None
    whole = json.loads(kept.read_text(encoding="utf-8"))
    return {name: [Texts.of_json(text) for text in texts] for name, texts in whole.items()}


async def _search(
    plan: Plan, evaluation: Evaluation, rows: Sequence[Row], search: PromptSearch
) -> dict[str, list[Texts]]:
    given = search.optimizer.arguments
    some = rows[: int(given.get("rows", ROWS))]
    trials = Trials(plan, evaluation, some, search.prompts)
    runner = evaluation.session.runner
    model = runner.models(plan.proposer)
    sampler = Sampler(Ledger(), runner.budget, runner.gate.lane(), {}, cache=runner.cache)
    proposer = Proposer(model, sampler, asyncio.get_running_loop(), runner.settings.seed)
    try:
        for row in some:
            await trials.measure({}, row)
        await asyncio.to_thread(_optimize, trials, search, proposer, runner.settings.seed % SEEDS)
    except Exception as error:
        # DSPy wraps what goes wrong below it. Without money, what was tried so far is what there is.
        if not _caused_by(error, BudgetExceeded):
            if (cause := _caused_by(error, GotError)) is None:
                raise
            raise cause from None
    program = evaluation.session.ir
    keep = int(given.get("keep", KEEP))
    return {
        name: [
            text
            for text in trials.best(name, keep)
            if text.instruction is None or usable(program.prompt(name), text.instruction)
        ]
        for name in search.prompts
    }


def _caused_by(error: BaseException | None, kind: type[GotError]) -> GotError | None:
    """The error of a kind that led to this one, or is it."""
    while error is not None:
        if isinstance(error, kind):
            return error
        error = error.__cause__ or error.__context__
    return None


def _optimize(trials: Trials, search: PromptSearch, proposer: Proposer, seed: int) -> None:
    """Let an optimizer of DSPy work on the scheme, in a thread of its own."""
    try:
        dspy = load_dspy()
    except ImportError:
        raise UsageError("prompt search needs DSPy", help="pip install 'gotlang[tune]'") from None
    student = module(trials.evaluation.session.ir, search.prompts, trials.run)
    lm = language_model(dspy, proposer)
    examples = [
        dspy.Example(row=row.number, **_inputs(row)).with_inputs("row", *_inputs(row))
        for row in trials.rows.values()
    ]

    def metric(example: Any, prediction: Any, trace: Any = None) -> float:
        del example, trace
        return float(prediction.score)

    def feedback(
        gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
    ) -> Any:
        del gold, trace, pred_name, pred_trace
        return dspy.Prediction(score=float(pred.score), feedback=str(pred.feedback))

    original = trials.worth.get("[]", {})
    threshold = fmean(original.values()) if original else 0.0
    given = search.optimizer.arguments
    quiet = {"num_threads": 1, "display_progress": False, "display_table": 0}
    with dspy.context(lm=lm, trace=[], num_threads=1), _silent():
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
                demos = given.get("demos", 4)
                for number in range(int(given.get("sets", 3))):
                    turned = examples[number:] + examples[:number]
                    done = dspy.BootstrapFewShot(
                        metric=metric,
                        metric_threshold=threshold,
                        max_bootstrapped_demos=demos,
                        max_labeled_demos=0,
                    ).compile(student.deepcopy(), trainset=turned)
                    for example in examples:
                        done(**example.inputs())


def _inputs(row: Row) -> dict[str, Any]:
    return {f"input_{name}": value for name, value in row.inputs.items()}


@contextlib.contextmanager
def _silent() -> Any:
    """Optimizers print and show bars; a study has its own."""
    import io

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
