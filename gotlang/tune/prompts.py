"""Prompt search with DSPy: programs as its modules, and studies whose texts its optimizers propose.

Each prompt is a predictor with the prompt's inputs and an `answer`; its instructions and demos are the
prompt's instruction and examples. The predictors ask nothing themselves: the module runs the whole scheme
with whatever texts they hold, and tells DSPy which predictor was asked what in that run and what it answered.

    student = dspy_module(load("merge.got"), prompts=["improve"])
    better = dspy.COPRO(metric=metric).compile(student, trainset=examples, eval_kwargs={})
    tuned_program(better).run(documents=[...])

In a study an optimizer works on the untuned params. Whatever it tries is run on a few train rows and
recorded; of all texts tried for a prompt those with the largest lead over the original on the same rows
become choices of the search, whether the optimizer kept them or not.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, final

from gotlang.errors import BudgetExceeded, CacheError, GotError, ModelError, RunError, UsageError
from gotlang.evaluate.evaluation import RowRun
from gotlang.evaluate.rows import Row
from gotlang.ir.program import Program as IR
from gotlang.ir.program import Prompt
from gotlang.models.base import (
    PERMITTED,
    Completion,
    DecodingSettings,
    Message,
    Model,
    Permit,
    Price,
    Reply,
    Request,
    Usage,
)
from gotlang.models.tokens import estimate_tokens
from gotlang.options import Options
from gotlang.program import CheckedProgram
from gotlang.records import InvalidRecord, from_json, to_json
from gotlang.result import Result
from gotlang.runtime.sampler.events import Asked, Event, MissingSample
from gotlang.runtime.sampler.ledger import Ledger
from gotlang.runtime.sampler.sampler import Sampler
from gotlang.runtime.sampler.shared import ROLE
from gotlang.session import Session, run_to_end
from gotlang.templates import Template
from gotlang.tune.plan import SEEDS, PromptSearch
from gotlang.tune.points import PointRunner
from gotlang.tune.tuned import Shot, Texts, rewritten
from gotlang.writing import replace_file

ANSWER = "answer"
PROMPT = "proposal"
"""The prompt name of optimizers' requests in caches and traces."""
MAX_TOKENS = 2000


def load_dspy() -> Any:
    """DSPy, without a cache of its own and without fetching its price list. Raises UsageError if it is not
    installed."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "true")
    # Otherwise LiteLLM takes the environment, such as OPENAI_BASE_URL, from a project's file `.env`.
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    try:
        import dspy
    except ImportError:
        raise UsageError("prompt optimizers need DSPy", help="pip install 'gotlang[tune]'") from None
    for name in ("dspy", "LiteLLM", "gepa", "optuna"):
        logging.getLogger(name).setLevel(logging.ERROR)
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    return dspy


# ---------------------------------------------------------------- a program as a module


@final
@dataclass(slots=True)
class Ran:
    """One run of the scheme with some texts: its score (more is better), its value, what was asked.

    `feedback` says in words what went wrong, for optimizers that read.
    """

    score: float
    value: Any
    asked: list[tuple[str, Mapping[str, Any], str]] = field(default_factory=list)
    feedback: str = ""


Run = Callable[[Mapping[str, Texts], Mapping[str, Any]], Ran]
"""Runs the scheme with texts by prompt on the fields of an example, and waits."""


@final
class PromptCalls:
    """Records what prompts are asked in a run, and the first responses."""

    def __init__(self, prompts: Sequence[str]) -> None:
        self._prompts = frozenset(prompts)
        self.asked: list[tuple[str, Mapping[str, Any], str]] = []

    def __call__(self, event: Event) -> None:
        """Something happened in the run."""
        if isinstance(event, Asked) and event.request.prompt in self._prompts:
            known = [sample for sample in event.samples if isinstance(sample, tuple)]
            if known:
                arguments = dict(event.request.arguments)
                self.asked.append((event.request.prompt, arguments, known[0][0].completion.text))


def instruction_of(prompt: Prompt) -> str:
    """The text of a prompt that optimizers change."""
    text = prompt.instruction or prompt.user
    return text.text if text is not None else ""


def usable(prompt: Prompt, texts: Texts) -> bool:
    """Whether texts can replace a prompt's own: the instruction is a template that shows the same inputs, and
    does with them what their types allow."""
    if texts.instruction is None:
        return True
    try:
        template = Template.parse(texts.instruction)
    except GotError:
        return False
    same = template.names.keys() == Template.parse(instruction_of(prompt)).names.keys()
    return same and bool(texts.instruction.strip()) and not template.problems(dict(prompt.parameters))


def changes(texts: Mapping[str, Texts]) -> dict[str, Texts]:
    """The texts that change their prompt."""
    return {name: text for name, text in texts.items() if text != Texts()}


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
            """Run the scheme with the texts that the predictors hold."""
            texts = {name: texts_of(program.prompt(name), getattr(self, name)) for name in prompts}
            broken = [name for name, text in texts.items() if not usable(program.prompt(name), text)]
            words = f"the text of {', '.join(broken)} no longer shows the inputs that it must"
            ran = Ran(0.0, None, feedback=words) if broken else run(texts, fields)
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


def texts_of(prompt: Prompt, predictor: Any) -> Texts:
    """What a predictor holds, as texts of its prompt; what is the prompt's own is left out."""
    instruction = str(predictor.signature.instructions)
    own = instruction_of(prompt) or "Answer."
    names = [name for name, _ in prompt.parameters]
    shots = [
        Shot({name: demo[name] for name in names}, demo[ANSWER])
        for demo in predictor.demos
        if all(name in demo for name in (*names, ANSWER))
    ]
    changed = None if instruction.strip() == own.strip() else instruction
    return Texts(changed, tuple({repr(shot): shot for shot in shots}.values()) or None)


def dspy_module(
    program: CheckedProgram,
    *,
    scheme: str | None = None,
    prompts: Sequence[str] | None = None,
    options: Options | None = None,
) -> Any:
    """The module of a program: called with a scheme's inputs, it gives a prediction with `result` and
    `score`.

    `prompts` are those whose texts optimizers may change (default: all). A run that fails gives a `result` of
    None and says why in `feedback`. Raises UsageError for an unknown prompt, and if DSPy is not installed.
    """
    ir, given = program.ir(0), options or Options()
    names = [prompt.name for prompt in ir.prompts] if prompts is None else list(prompts)
    for name in names:
        if name not in {prompt.name for prompt in ir.prompts}:
            raise UsageError(f"`{program.name}` has no prompt `{name}`")
    chosen = program.scheme(scheme).name

    def run(texts: Mapping[str, Texts], fields: Mapping[str, Any]) -> Ran:
        calls = PromptCalls(names)

        async def work() -> Result:
            async with Session(_with_texts(program, texts), replace(given, observe=calls)) as session:
                return await session.run(fields, scheme=chosen)

        try:
            result = run_to_end(work(), virtual=given.simulated)
        except RunError as error:
            return Ran(0.0, None, calls.asked, error.message)
        return Ran(result.score or 0.0, result.value, calls.asked)

    made = module(load_dspy(), ir, names, run)
    made.program, made.prompts = program, names
    return made


def tuned_program(made: Any) -> Any:
    """The program of a module, of the kind it was made of, with the texts that its predictors hold now."""
    ir = made.program.ir(0)
    return _with_texts(
        made.program, {name: texts_of(ir.prompt(name), getattr(made, name)) for name in made.prompts}
    )


def _with_texts(program: CheckedProgram, texts: Mapping[str, Texts]) -> CheckedProgram:
    changed = changes(texts)
    return program.changed(rewritten(program.compilation, {}, changed)) if changed else program


# ---------------------------------------------------------------- the model that proposes


@final
class Proposer:
    """Answers optimizers through the study's cache and budget, which `sampler` holds. Equal requests get
    consecutive samples. If the model is simulated, a simulated proposer answers instead."""

    def __init__(self, model: Model, sampler: Sampler, loop: asyncio.AbstractEventLoop, seed: int) -> None:
        self.model = SimulatedProposer(model) if model.simulated else model
        self._sampler = sampler
        self._loop = loop
        self._seed = seed
        self._asked: dict[str, int] = {}

    def complete(self, request: Any) -> Any:
        """One candidate for a request of DSPy's."""
        from dspy.lm15 import Message as Said
        from dspy.lm15 import Response, TextPart, Usage

        found = asyncio.run_coroutine_threadsafe(self._completion(request), self._loop).result()
        return Response(
            id=None,
            model=self.model.name,
            message=Said.assistant([TextPart(found.text or " ")]),
            finish_reason="stop",
            usage=Usage(input_tokens=None, output_tokens=found.output_tokens),
        )

    async def _completion(self, request: Any) -> Completion:
        roles = {"developer": "system"}
        said = [Message(roles.get(m.role, m.role), m.text or "") for m in request.messages]
        if (system := request.system) is not None:
            text = system if isinstance(system, str) else "".join(part.text for part in system)
            said.insert(0, Message("system", text))
        config = request.config
        settings = DecodingSettings(
            temperature=config.temperature, max_tokens=config.max_tokens or MAX_TOKENS
        )
        endpoint = self.model.endpoint
        asked = Request(self.model.name, tuple(said), settings, self._seed, PROMPT, endpoint=endpoint)
        number = self._asked.get(asked.key(), 0)
        self._asked[asked.key()] = number + 1
        ROLE.set("proposer")  # of this task alone
        (found, *_), _ = await self._sampler.sample(self.model, asked, asked.key(), [number], None)
        if isinstance(found, MissingSample):
            raise BudgetExceeded(found.reason) if found.cut_off else ModelError(found.reason)
        return found[0].completion

    def stream(self, request: Any) -> Any:
        """The same as events."""
        from dspy.lm15 import response_to_events

        return response_to_events(self.complete(request))

    def close(self) -> None:
        """Nothing to close."""


_ADVICE = (
    "Work step by step.",
    "Check your answer before you give it.",
    "Be exact and leave nothing out.",
    "Keep to the form that is asked for.",
    "Think of what is often overlooked.",
    "Give the answer and nothing else.",
)
_FIELDS = re.compile(r"\[\[ ## (\w+) ## \]\]")
_GIVEN = re.compile(r"```\n?(.*?)```|\]\]\n(.*?)(?:\n\n|\Z)", re.DOTALL)


@final
class SimulatedProposer(Model):
    """A proposer for simulated models: repeats the text that it is given with a piece of general advice, a
    new one for each sample. It has the price of the model."""

    simulated = True
    price: Price | None = None
    batch = 1

    def __init__(self, model: Model) -> None:
        self.name = f"{model.name}-proposer"
        self.price = model.price

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """One completion, with every field that the request asks for."""
        asked = request.messages[-1].content
        found = _GIVEN.search(asked)  # the text to improve is the first field, or the first block
        given = (found[1] or found[2] or "").strip() if found is not None else ""
        advice = _ADVICE[(first + len(asked)) % len(_ADVICE)]
        proposal = _in_form(asked, f"{given}\n{advice}".strip())
        tokens = estimate_tokens(proposal)
        usage = Usage(sum(estimate_tokens(m.content) for m in request.messages), tokens)
        return Reply((Completion(proposal, output_tokens=tokens),), usage, 0.0)


def _in_form(asked: str, proposal: str) -> str:
    """A proposal in the form that a request asks for: JSON, marked fields, or a block."""
    _, _, wanted = asked.rpartition("Respond with")
    if "JSON object" in wanted:
        return json.dumps(dict.fromkeys(re.findall(r"`(\w+)`", wanted), proposal))
    if names := [name for name in _FIELDS.findall(wanted) if name != "completed"]:
        filled = "\n\n".join(f"[[ ## {name} ## ]]\n{proposal}" for name in names)
        return f"{filled}\n\n[[ ## completed ## ]]"
    return f"```\n{proposal}\n```"


# ---------------------------------------------------------------- texts for a study


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
        self.scores: dict[str, tuple[Mapping[str, Texts], dict[int, float]]] = {_ORIGINAL: ({}, {})}
        self._loop = asyncio.get_running_loop()

    def run(self, texts: Mapping[str, Texts], fields: Mapping[str, Any]) -> Ran:
        """One run, from a thread that is not the loop's."""
        work = self.measure(changes(texts), self.rows[int(fields["row"])])
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    @property
    def original(self) -> dict[int, float]:
        """The scores of the prompts' own texts."""
        return self.scores[_ORIGINAL][1]

    async def measure(self, texts: Mapping[str, Texts], row: Row) -> Ran:
        """One run of one row with some texts."""
        calls = PromptCalls(self.prompts)
        (run,) = await self.points.run(texts, [row], calls)
        value = self.points.measured(run).objectives[0]
        score = 0.0
        if run.state != "failed" and value is not None:
            # Optimizers maximize; where we minimize, our 0 is their perfect 1.
            score = 1 / (1 + value) if value >= 0 else 2 - 1 / (1 - value)
            score = value if self.points.plan.objectives[0].maximize else score
        key = repr(sorted(texts.items(), key=str))
        self.scores.setdefault(key, (texts, {}))[1][row.number] = score
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
        leads: dict[str, tuple[float, Texts]] = {}
        for texts, by_row in self.scores.values():
            text, seen = texts.get(prompt), by_row.keys() & self.original.keys()
            if text is not None and seen:
                lead = fmean(by_row[row] - self.original[row] for row in seen)
                known, _ = leads.get(repr(text), (lead, text))
                leads[repr(text)] = max(lead, known), text
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
    try:
        replace_file(file, to_json(found).encode())
    except OSError as error:
        raise CacheError(f"cannot write the proposed texts to {file}: {error.strerror}") from None
    return found


def _read(file: Path) -> dict[str, list[Texts]] | None:
    try:
        return from_json(file.read_bytes(), dict[str, list[Texts]]) if file.exists() else None
    except (OSError, InvalidRecord) as error:
        raise UsageError(f"cannot read the proposed texts in {file}: {error}", help="delete it") from None


async def _search(points: PointRunner, rows: Sequence[Row], search: PromptSearch) -> dict[str, list[Texts]]:
    given = search.optimizer.arguments
    some = rows[: int(given.get("rows", ROWS))]
    attempts = Attempts(points, some, search.prompts)
    runner = points.session.runner
    model, seed = runner.models(points.plan.proposer), runner.settings.seed
    queue = runner.limits.queue()
    sampler = Sampler(Ledger(), runner.budget, queue, {}, cache=runner.cache, on_loss=runner.on_loss)
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

    threshold = fmean(attempts.original.values()) if attempts.original else 0.0
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
