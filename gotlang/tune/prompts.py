"""Prompt search with DSPy: programs as its modules, and studies whose texts its optimizers propose.

Each prompt is a predictor with the prompt's inputs and an `answer`; its instructions and demos are the
prompt's instruction and examples. The predictors send no requests themselves: the module runs the whole
scheme with their texts, and reports to DSPy the inputs and the response of each predictor in that run.

    student = dspy_module(load("merge.got"), prompts=["improve"])
    better = dspy.COPRO(metric=metric).compile(student, trainset=examples, eval_kwargs={})
    tuned_program(better).run(documents=[...])

In a study an optimizer works on the untuned params. Every text that it tries is run on a few train rows and
recorded; of all texts tried for a prompt those with the largest lead over the original on the same rows
become choices of the search, whether the optimizer kept them or not.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from importlib.util import find_spec
from statistics import fmean
from typing import Any, TextIO, final

import msgspec

from gotlang.errors import BudgetExceeded, GotError, RunError, UsageError
from gotlang.evaluate.evaluation import RowRun
from gotlang.evaluate.rows import Row
from gotlang.ir.program import Program as IR
from gotlang.ir.program import Prompt
from gotlang.options import Options
from gotlang.packages import pip_install
from gotlang.program import CheckedProgram
from gotlang.result import Result
from gotlang.runtime.sampler.events import Asked, Event
from gotlang.runtime.sampler.ledger import Ledger
from gotlang.runtime.sampler.sampler import Sampler
from gotlang.session import Session, run_to_end
from gotlang.templates import Template
from gotlang.tune.plan import SEEDS, PromptSearch
from gotlang.tune.points import PointRunner
from gotlang.tune.proposer import Proposed, Proposer, StopOptimizer
from gotlang.tune.tuned import PromptTexts, Shot, rewritten

ANSWER = "answer"


def require_dspy() -> None:
    """Raise UsageError if DSPy is not installed."""
    if find_spec("dspy") is None:
        raise UsageError("prompt optimizers need DSPy", help=pip_install("prompts"))


def load_dspy() -> Any:
    """DSPy, without a cache of its own and without fetching its price list. Raises UsageError if it is not
    installed."""
    require_dspy()
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "true")
    # Otherwise LiteLLM reads variables, such as OPENAI_BASE_URL, from a project's file `.env`.
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    import dspy

    for name in ("dspy", "LiteLLM", "gepa", "optuna"):
        logging.getLogger(name).setLevel(logging.ERROR)
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    return dspy


# ---------------------------------------------------------------- a program as a module


@final
@dataclass(slots=True)
class SchemeRun:
    """One run of the scheme with some texts: its score (more is better), its value, the calls of prompts.

    `feedback` describes what went wrong, for optimizers that use it.
    """

    score: float
    value: Any
    asked: list[tuple[str, Mapping[str, Any], str]] = field(default_factory=list)
    feedback: str = ""


Run = Callable[[Mapping[str, PromptTexts], Mapping[str, Any]], SchemeRun]
"""Runs the scheme with texts by prompt on the fields of an example, blocking."""


@final
class PromptCalls:
    """Records the calls of prompts in a run, and the first responses."""

    def __init__(self, prompts: Sequence[str]) -> None:
        self._prompts = frozenset(prompts)
        self.asked: list[tuple[str, Mapping[str, Any], str]] = []

    def __call__(self, event: Event) -> None:
        """Process an event of the run."""
        if isinstance(event, Asked) and event.request.prompt in self._prompts:
            known = [sample for sample in event.samples if isinstance(sample, tuple)]
            if known:
                arguments = dict(event.request.arguments)
                self.asked.append((event.request.prompt, arguments, known[0][0].completion.text))


def instruction_of(prompt: Prompt) -> str:
    """The text of a prompt that optimizers change."""
    text = prompt.instruction or prompt.asking
    return text.text if text is not None else ""


def usable(prompt: Prompt, texts: PromptTexts) -> bool:
    """Whether texts can replace a prompt's own: the instruction must be a template that shows the same inputs
    and uses them according to their types."""
    if texts.instruction is None:
        return True
    try:
        template = Template.parse(texts.instruction)
    except GotError:
        return False
    same = template.names.keys() == Template.parse(instruction_of(prompt)).names.keys()
    return same and bool(texts.instruction.strip()) and not template.problems(dict(prompt.parameters))


def changes(texts: Mapping[str, PromptTexts]) -> dict[str, PromptTexts]:
    """The texts that differ from their prompt's own."""
    return {name: text for name, text in texts.items() if text != PromptTexts()}


def module(dspy: Any, program: IR, prompts: Sequence[str], run: Run) -> Any:
    """The module of a scheme, with a predictor for each of these prompts."""
    base: Any = dspy.Module

    class Scheme(base):
        """A scheme of a .got program."""

        def __init__(self) -> None:
            super().__init__()
            for name in prompts:
                setattr(self, name, dspy.Predict(_signature(dspy, program.prompt(name))))

        def forward(self, **fields: Any) -> Any:
            """Run the scheme with the predictors' texts."""
            texts = {name: texts_of(program.prompt(name), getattr(self, name)) for name in prompts}
            broken = [name for name, text in texts.items() if not usable(program.prompt(name), text)]
            words = f"the text of {', '.join(broken)} no longer shows the inputs that it must"
            ran = SchemeRun(0.0, None, feedback=words) if broken else run(texts, fields)
            trace = dspy.settings.trace
            if trace is not None:
                for name, arguments, answer in ran.asked:
                    trace.append((getattr(self, name), dict(arguments), dspy.Prediction(**{ANSWER: answer})))
            return dspy.Prediction(result=ran.value, score=ran.score, feedback=ran.feedback)

    return Scheme()


def _signature(dspy: Any, prompt: Prompt) -> Any:
    fields: dict[str, Any] = {name: (Any, dspy.InputField()) for name, _ in prompt.parameters}
    fields[ANSWER] = (str, dspy.OutputField())
    return dspy.make_signature(fields, instruction_of(prompt) or "Answer.", prompt.name)


def texts_of(prompt: Prompt, predictor: Any) -> PromptTexts:
    """The texts of a predictor for its prompt, without those that are the prompt's own."""
    instruction = str(predictor.signature.instructions)
    own = instruction_of(prompt) or "Answer."
    names = [name for name, _ in prompt.parameters]
    shots = [
        Shot({name: demo[name] for name in names}, demo[ANSWER])
        for demo in predictor.demos
        if all(name in demo for name in (*names, ANSWER))
    ]
    changed = None if instruction.strip() == own.strip() else instruction
    return PromptTexts(changed, tuple({repr(shot): shot for shot in shots}.values()) or None)


def dspy_module(
    program: CheckedProgram,
    *,
    scheme: str | None = None,
    prompts: Sequence[str] | None = None,
    options: Options | None = None,
) -> Any:
    """The module of a program: called with a scheme's inputs, it returns a prediction with `result` and
    `score`.

    `prompts` are those whose texts optimizers may change (default: all). A run that fails has a `result` of
    None and its reason in `feedback`. Raises UsageError for an unknown prompt, and if DSPy is not installed.
    """
    ir, given = program.ir(0), options or Options()
    names = [prompt.name for prompt in ir.prompts] if prompts is None else list(prompts)
    for name in names:
        if name not in {prompt.name for prompt in ir.prompts}:
            raise UsageError(f"`{program.name}` has no prompt `{name}`")
    chosen = program.scheme(scheme).name

    def run(texts: Mapping[str, PromptTexts], fields: Mapping[str, Any]) -> SchemeRun:
        calls = PromptCalls(names)

        async def work() -> Result:
            async with Session(
                _with_texts(program, texts), msgspec.structs.replace(given, observe=calls)
            ) as session:
                return await session.run(fields, scheme=chosen)

        try:
            result = run_to_end(work(), virtual=given.simulated)
        except RunError as error:
            return SchemeRun(0.0, None, calls.asked, error.message)
        return SchemeRun(result.score or 0.0, result.value, calls.asked)

    made = module(load_dspy(), ir, names, run)
    made.program, made.prompts = program, names
    return made


def tuned_program(made: Any) -> Any:
    """The program of a module, of the class it was made of, with the current texts of the predictors."""
    ir = made.program.ir(0)
    return _with_texts(
        made.program, {name: texts_of(ir.prompt(name), getattr(made, name)) for name in made.prompts}
    )


def _with_texts(program: CheckedProgram, texts: Mapping[str, PromptTexts]) -> CheckedProgram:
    changed = changes(texts)
    return program.changed(rewritten(program.compilation.compiled(), {}, changed)) if changed else program


# ---------------------------------------------------------------- texts for a study


ROWS = 10
KEEP = 4
SHARE = 0.5
"""The largest share of a study's budget for proposals."""
TOLD = 5
"""Progress is reported after this number of further responses, or of tried texts."""
COMPLETED = 3
"""Number of texts that run on all rows per text that is kept."""
DOUBT = 3
"""Number of imaginary rows without a lead for each text: a lead on a few rows is mostly luck."""
PARTS = ("instruction", "examples")
"""The parts of a prompt that are chosen separately."""
_ORIGINAL = "[]"

Choices = dict[str, list[PromptTexts]]
"""The texts that a study chooses from, the original first, for each part of a prompt: `sort.instruction`."""


@final
class ProposedTexts(msgspec.Struct, frozen=True):
    """The texts that a study chooses from, and the results of each optimizer, as they are stored with its
    trials: a resumed study, and each worker, has the same."""

    choices: Choices = {}
    proposed: list[Proposed] = []


@final
class Attempts:
    """Runs the texts that optimizers try, and records the objective of each text on each row, None if there
    is none. `found` counts, and `tell` is called whenever it changed."""

    def __init__(
        self,
        points: PointRunner,
        rows: Sequence[Row],
        prompts: Sequence[str],
        found: Proposed,
        tell: Callable[[], None],
    ) -> None:
        self.points = points
        self.rows = {row.number: row for row in rows}
        self.prompts = tuple(prompts)
        self.found = found
        self.values: dict[str, tuple[Mapping[str, PromptTexts], dict[int, float | None]]] = {
            _ORIGINAL: ({}, {})
        }
        self._tell = tell
        self._tried: set[str] = set()
        self._loop = asyncio.get_running_loop()
        self.thread = threading.current_thread()

    def run(self, texts: Mapping[str, PromptTexts], fields: Mapping[str, Any]) -> SchemeRun:
        """One run, from a thread that is not the loop's. Raises StopOptimizer."""
        work = self.measure(changes(texts), self.rows[int(fields["row"])])
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except GotError as error:
            raise StopOptimizer(error) from None

    @property
    def original(self) -> dict[int, float | None]:
        """The objective of the prompts' own texts."""
        return self.values[_ORIGINAL][1]

    def score(self, value: float | None) -> float:
        """The score for optimizers, which maximize and consider 1 to be perfect: if the objective is
        minimized, 0 becomes 1 and the mean of the original a half."""
        if value is None or self.points.plan.objectives[0].maximize:
            return value or 0.0
        known = [abs(own) for own in self.original.values() if own is not None]
        share = value / (fmean(known or [1.0]) or 1.0)
        return 1 / (1 + share) if share >= 0 else 2 - 1 / (1 - share)

    def lead(self, by_row: Mapping[int, float | None]) -> float:
        """The shrunken lead of values over the original's on the same rows: less for few rows."""
        sign, total = self.points.plan.objectives[0].sign, 0.0
        rows = by_row.keys() & self.original.keys()
        for row in rows:
            own, value = self.original[row], by_row[row]
            if own is not None and value is not None:
                total += sign * (own - value)
            elif own is not None or value is not None:  # one without a value counts as worse
                total += (1 if own is None else -1) * (1 + abs(own or value or 0.0))
        return total / (len(rows) + DOUBT)

    def _count(self, texts: Mapping[str, PromptTexts]) -> None:
        """Count the parts of texts that ran for the first time. Examples count as proposed here: they are
        responses of the program itself."""
        for name, text in texts.items():
            for part in PARTS:
                value = getattr(text, part)
                if value is None or (key := repr((name, value))) in self._tried:
                    continue
                self._tried.add(key)
                self.found.tried += 1
                if part == "examples":
                    self.found.proposed += 1
                    self.found.usable += 1
                self._tell()

    async def measure(self, texts: Mapping[str, PromptTexts], row: Row) -> SchemeRun:
        """One run of one row with some texts."""
        calls = PromptCalls(self.prompts)
        (run,) = await self.points.run(texts, [row], calls)
        value = self.points.measured(run).objectives[0]
        self._of(texts)[row.number] = value
        self._count(texts)
        score = 0.0 if run.state == "failed" else self.score(value)
        return SchemeRun(score, value, calls.asked, self._feedback(run, value))

    def _of(self, texts: Mapping[str, PromptTexts]) -> dict[int, float | None]:
        return self.values.setdefault(repr(sorted(texts.items(), key=str)), (texts, {}))[1]

    async def complete(self, untried: Iterable[Mapping[str, PromptTexts]], most: int) -> None:
        """Run the most promising texts, and those that the optimizer did not try, on the remaining rows: the
        best of many on few rows would be a lucky one."""
        for texts in untried:
            self._of(texts)
        ranked = sorted(list(self.values.values())[1:], key=lambda known: -self.lead(known[1]))
        for texts, seen in ranked[:most]:
            left = [row for number, row in self.rows.items() if number not in seen]
            await _all(self.measure(texts, row) for row in left)

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

    def best(self, prompt: str, part: str, keep: int) -> list[PromptTexts]:
        """The texts of one part of a prompt with the largest leads over the original, the original first."""
        leads: dict[str, tuple[float, PromptTexts]] = {}
        for texts, by_row in self.values.values():
            value = getattr(texts.get(prompt, PromptTexts()), part)
            if value is not None:
                lead = self.lead(by_row)
                known, _ = leads.get(repr(value), (lead, None))
                leads[repr(value)] = max(lead, known), PromptTexts(**{part: value})
        ranked = sorted(leads.values(), key=lambda found: -found[0])
        return [PromptTexts(), *[text for lead, text in ranked if lead > 0][:keep]]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 300 else text[:297] + "..."


async def propose(
    points: PointRunner, rows: Sequence[Row], tell: Callable[[str], None] = lambda _: None
) -> ProposedTexts:
    """Texts for every prompt that the study searches, and the results of each optimizer.

    `tell` is called with the progress in words. Raises UsageError without DSPy, and for an optimizer that
    fails.
    """
    choices, proposed = Choices(), list[Proposed]()
    for search in points.plan.searches:
        found = Proposed(search.optimizer.name, search.prompts)
        choices.update(await _search(points, rows, search, found, tell))
        proposed.append(found)
    return ProposedTexts(choices, proposed)


async def _search(
    points: PointRunner,
    rows: Sequence[Row],
    search: PromptSearch,
    found: Proposed,
    tell: Callable[[str], None],
) -> Choices:
    given, plan = search.optimizer.arguments, points.plan
    runner, program = points.session.runner, points.session.ir

    before = runner.budget.spent(priced=True).usd or 0.0

    def told() -> None:
        if found.usd is not None:
            found.runs_usd = max(0.0, (runner.budget.spent(priced=True).usd or 0.0) - before - found.usd)
        if (found.answers + found.tried) % TOLD == 1:
            tell(str(found))

    some = rows[: int(given.get("rows", ROWS))]
    attempts = Attempts(points, some, search.prompts, found, told)
    prompts = [program.prompt(name) for name in search.prompts]
    queue = runner.limits.queue()
    proposer = Proposer(
        runner.models(plan.proposer),
        Sampler(Ledger(), runner.budget, queue, {}, cache=runner.cache, on_loss=runner.on_loss),
        runner.settings.seed,
        [instruction_of(prompt) or "Answer." for prompt in prompts],
        lambda text: any(usable(prompt, PromptTexts(text)) for prompt in prompts),
        found,
        told,
        plan.budget,
    )
    keep, choices = int(given.get("keep", KEEP)), Choices()
    try:
        await _all(attempts.measure({}, row) for row in some)
        await asyncio.to_thread(_optimize, attempts, search, proposer, runner.settings.seed % SEEDS)
    except BudgetExceeded as error:  # texts tried so far count
        found.stopped = error.message
    except StopOptimizer as stop:
        if isinstance(stop.reason, GotError) and not isinstance(stop.reason, BudgetExceeded):
            raise stop.reason from None
        found.stopped = str(stop)
    except Exception as error:
        if isinstance(error, GotError):
            raise
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UsageError(
            f"the optimizer `{found.optimizer}` failed: {said}", help="choose another, or other `rows`"
        ) from error
    own = {instruction_of(prompt) or "Answer.": prompt for prompt in prompts}
    texts = ((own[old], PromptTexts(new)) for new, old in proposer.fresh.items())
    untried = ({prompt.name: text} for prompt, text in texts if usable(prompt, text))
    try:
        await attempts.complete(untried, COMPLETED * keep)
    except BudgetExceeded as error:
        found.stopped = found.stopped or error.message
    for prompt in prompts:
        for part in PARTS:
            best = attempts.best(prompt.name, part, keep)
            choices[f"{prompt.name}.{part}"] = [text for text in best if usable(prompt, text)]
    found.kept = sum(len(texts) - 1 for texts in choices.values())
    told()
    tell(str(found))
    return choices


@final
class _Others(io.TextIOBase):
    """A stream that discards the output of optimizers, which print and show bars, and keeps that of the main
    thread: a study has its own progress."""

    def __init__(self, stream: TextIO, *threads: threading.Thread) -> None:
        self._stream = stream
        self._threads = {threading.main_thread(), *threads}

    def write(self, text: str) -> int:
        """Print a text, or discard it."""
        return self._stream.write(text) if threading.current_thread() in self._threads else len(text)

    def flush(self) -> None:
        """Print what is buffered."""
        self._stream.flush()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._stream.isatty()


def _optimize(attempts: Attempts, search: PromptSearch, proposer: Proposer, seed: int) -> None:
    """Let an optimizer of DSPy work on the scheme, in a thread of its own. Raises StopOptimizer."""
    dspy = load_dspy()
    student = module(dspy, attempts.points.session.ir, search.prompts, attempts.run)
    lm = dspy.LM(f"gotlang/{proposer.model.name}", engine=proposer, cache=False, num_retries=0)
    examples = []
    for number, row in attempts.rows.items():
        fields = {"row": number, **{f"input_{name}": value for name, value in row.inputs.items()}}
        examples.append(dspy.Example(**fields).with_inputs(*fields))

    def metric(example: Any, prediction: Any, trace: Any = None) -> float:
        return float(prediction.score)

    def feedback(
        gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
    ) -> Any:
        return dspy.Prediction(score=float(pred.score), feedback=str(pred.feedback))

    threshold = fmean(map(attempts.score, attempts.original.values())) if attempts.original else 0.0
    given = search.optimizer.arguments
    quiet = {"num_threads": 1, "display_progress": False, "display_table": 0}
    out, err = _Others(sys.stdout, attempts.thread), _Others(sys.stderr, attempts.thread)
    with dspy.context(lm=lm, trace=[], num_threads=1), redirect_stdout(out), redirect_stderr(err):
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


async def _all(work: Iterable[Awaitable[object]]) -> None:
    """Await all of it, then raise the first error: if one fails, requests that another has sent are paid
    for."""
    for found in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(found, BaseException):
            raise found
