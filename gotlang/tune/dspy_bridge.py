"""A program as a module of DSPy, so that any of its optimizers can change the program's prompts.

Each prompt is a predictor with the prompt's inputs and an `answer`; its instructions and demos are the
prompt's instruction and examples. The predictors ask nothing themselves: the module runs the whole scheme
with whatever texts they hold, and tells DSPy which predictor was asked what in that run and what it
answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from gotlang.errors import GotError
from gotlang.ir.program import Program as IR
from gotlang.ir.program import Prompt
from gotlang.runtime.sampler.events import Asked, Event
from gotlang.templates import Template
from gotlang.tune.dspy_engine import load_dspy
from gotlang.tune.texts import Shot, Texts, shot

ANSWER = "answer"


@final
@dataclass(slots=True)
class Ran:
    """One run of the scheme with some texts: what it was worth (more is better), its value, what was asked.

    `feedback` says in words what went wrong, for optimizers that read.
    """

    score: float
    value: Any
    asked: list[tuple[str, Mapping[str, Any], str]] = field(default_factory=list)
    feedback: str = ""


Run = Callable[[Mapping[str, Texts], Mapping[str, Any]], Ran]
"""Runs the scheme with texts by prompt on the fields of an example, and waits."""


@final
class Listener:
    """Notes what prompts are asked in a run, and the first answers."""

    def __init__(self, prompts: Sequence[str]) -> None:
        self._prompts = frozenset(prompts)
        self.asked: list[tuple[str, Mapping[str, Any], str]] = []

    def __call__(self, event: Event) -> None:
        """Something happened in the run."""
        if isinstance(event, Asked) and event.request.prompt in self._prompts:
            for sample in event.samples:
                if isinstance(sample, tuple):
                    arguments = dict(event.request.arguments)
                    self.asked.append((event.request.prompt, arguments, sample[0].completion.text))
                    break


def instruction_of(prompt: Prompt) -> str:
    """The text of a prompt that optimizers change."""
    text = prompt.instruction or prompt.user
    return text.text if text is not None else ""


def usable(prompt: Prompt, text: str) -> bool:
    """Whether a text may stand in the place of a prompt's own: it is a template, and shows the same
    inputs."""
    try:
        return Template.parse(text).names == Template.parse(instruction_of(prompt)).names and bool(
            text.strip()
        )
    except GotError:
        return False


def module(program: IR, prompts: Sequence[str], run: Run) -> Any:
    """The module of a scheme: a predictor for each of these prompts. Raises ImportError without DSPy."""
    dspy = load_dspy()
    base: Any = dspy.Module

    class Scheme(base):
        """A scheme of a .got program."""

        def __init__(self) -> None:
            super().__init__()
            for name in prompts:
                setattr(self, name, dspy.Predict(signature(dspy, program.prompt(name))))

        def forward(self, **fields: Any) -> Any:
            """Run the scheme with the texts that the predictors hold."""
            texts = {name: texts_of(program.prompt(name), getattr(self, name)) for name in prompts}
            broken = [
                name
                for name, text in texts.items()
                if text.instruction is not None and not usable(program.prompt(name), text.instruction)
            ]
            if broken:
                words = f"the text of {', '.join(broken)} no longer shows the inputs that it must"
                ran = Ran(0.0, None, feedback=words)
            else:
                ran = run(texts, fields)
            trace = dspy.settings.trace
            if trace is not None:
                for name, arguments, answer in ran.asked:
                    trace.append((getattr(self, name), dict(arguments), dspy.Prediction(**{ANSWER: answer})))
            return dspy.Prediction(result=ran.value, score=ran.score, feedback=ran.feedback)

    return Scheme()


def signature(dspy: Any, prompt: Prompt) -> Any:
    """A prompt as a signature of DSPy's."""
    fields: dict[str, Any] = {name: (Any, dspy.InputField()) for name, _ in prompt.parameters}
    fields[ANSWER] = (str, dspy.OutputField())
    return dspy.make_signature(fields, instruction_of(prompt) or "Answer.", prompt.name)


def texts_of(prompt: Prompt, predictor: Any) -> Texts:
    """What a predictor holds, as texts of its prompt; what is the prompt's own is left as it is."""
    instruction = str(predictor.signature.instructions)
    own = instruction_of(prompt) or "Answer."
    shots = []
    for demo in predictor.demos:
        inputs = {name: demo[name] for name, _ in prompt.parameters if name in demo}
        if len(inputs) == len(prompt.parameters) and ANSWER in demo:
            shots.append(shot(inputs, demo[ANSWER]))
    kept: list[Shot] = list(dict.fromkeys(shots))
    return Texts(None if instruction.strip() == own.strip() else instruction, tuple(kept) if kept else None)
