"""`gotc prompts`: every prompt as a model would get it, without asking one.

What is asked before the first answer is found by running the scheme with a model that notes what it is asked
and never answers. The prompts behind it depend on answers: their texts are shown with the holes in them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import click

from gotlang.cli.options import input_options, pairs, param_options
from gotlang.cli.output import FORMAT_VERSION, Style, document, errors_as_document, say
from gotlang.errors import ModelError, RunError, UsageError
from gotlang.models.base import PERMITTED, Message, Model, Permit, Price, Reply, Request

if TYPE_CHECKING:
    from gotlang.api import Program
    from gotlang.ir.program import Prompt


@final
@dataclass(frozen=True, slots=True)
class Shown:
    """A prompt to show: whole, or with holes (`holes`) where its arguments are not known."""

    name: str
    messages: Sequence[Message]
    holes: bool


@final
class Listener(Model):
    """A model that notes what it is asked and never answers."""

    name = "nobody"
    simulated = False
    price: Price | None = None
    batch = 128

    def __init__(self) -> None:
        self.heard: dict[str, Request] = {}

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """Raises ModelError."""
        self.heard.setdefault(request.key(), request)
        raise ModelError("no model is asked")


@click.command("prompts")
@click.argument("file")
@click.option(
    "--scheme", metavar="NAME", help="Which scheme. [default: the one named like the file, else the last]"
)
@click.option(
    "--prompt",
    metavar="NAME",
    help="Only this prompt; then --input gives its own parameters. [default: all]",
)
@input_options
@param_options
@click.option("--no-python", is_flag=True, help="Refuse programs that import Python.")
@click.option("--json", is_flag=True, help="One JSON document on stdout.")
def command(file: str, prompt: str | None, json: bool, **chosen: Any) -> int:
    """Show the prompts of the program FILE (`-` is standard input), asking no model.

    With the inputs of a scheme, what is asked before the first answer is shown whole; prompts that depend on
    answers are shown with `{{ ... }}` where these go, and so are all where no inputs are given.
    """
    from gotlang.cli.programs import program

    with errors_as_document(json):
        loaded = program(file, chosen["tuned"])
        shown = [_one(loaded, prompt, chosen)] if prompt is not None else _all(loaded, chosen)
    if json:
        document(
            {
                "format_version": FORMAT_VERSION,
                "prompts": [
                    {
                        "prompt": one.name,
                        "holes": one.holes,
                        "messages": [{"role": m.role, "content": m.content} for m in one.messages],
                    }
                    for one in shown
                ],
            }
        )
        return 0
    style = Style.of(sys.stdout)
    for one in shown:
        for message in one.messages:
            holes = "  (holes are filled from answers)" if one.holes else ""
            say(style.blue(f"--- {one.name}: {message.role} ---") + style.dim(holes))
            say(message.content)
            say("")
    return 0


def _all(program: Program, chosen: Mapping[str, Any]) -> list[Shown]:
    """What is asked first, whole, then every other prompt with its holes."""
    heard: list[Request] = []
    if any(chosen[name] for name in ("input", "inputs", "data")):
        heard = _heard(program, chosen)
    names = {request.prompt for request in heard}
    rest = [prompt for prompt in program.ir(0).prompts if prompt.name not in names]
    return [
        *(Shown(request.prompt, request.messages, holes=False) for request in heard),
        *(Shown(prompt.name, with_holes(prompt), holes=True) for prompt in rest),
    ]


def _heard(program: Program, chosen: Mapping[str, Any]) -> list[Request]:
    from gotlang.api import Options
    from gotlang.cli.values import given_inputs, given_params

    given = given_inputs(program.scheme(chosen["scheme"]), chosen)
    listener = Listener()
    params = given_params(program.ir(0).params, chosen["set"])
    options = Options(model=listener, params=params, python=not chosen["no_python"])
    try:
        program.run(given.inputs, scheme=chosen["scheme"], truth=given.truth, options=options)
    except RunError:
        if not listener.heard:
            raise
    return list(listener.heard.values())


def _one(program: Program, name: str, chosen: Mapping[str, Any]) -> Shown:
    """One prompt, whole where its parameters are given, else with its holes."""
    from gotlang.data import parse_value
    from gotlang.diagnostics import nearest
    from gotlang.runtime.render import render

    prompts = {prompt.name: prompt for prompt in program.ir(0).prompts}
    if name not in prompts:
        near = nearest(name, prompts)
        hint = f"did you mean `{near}`?" if near else f"there are {', '.join(prompts) or 'none'}"
        raise UsageError(f"there is no prompt `{name}`", help=hint)
    prompt = prompts[name]
    given, types = pairs(chosen["input"], "--input"), dict(prompt.parameters)
    if not given:
        return Shown(name, with_holes(prompt), holes=bool(types))
    takes = f"it takes {', '.join(f'{n}: {t}' for n, t in types.items()) or 'nothing'}"
    for wrong in [n for n in given if n not in types] + [n for n in types if n not in given]:
        what = "does not take" if wrong in given else "needs"
        raise UsageError(f"prompt `{name}` {what} `{wrong}`", help=takes)
    values = {n: parse_value(text, types[n], f"--input {n}") for n, text in given.items()}
    return Shown(name, render(prompt, values), holes=False)


def with_holes(prompt: Prompt) -> tuple[Message, ...]:
    """A prompt's messages with its examples filled in, and its texts as the program writes them."""
    from gotlang.models.base import Message
    from gotlang.runtime.render import examples

    parts = [prompt.instruction.text] if prompt.instruction is not None else []
    if prompt.user is not None:
        parts += [*examples(prompt), prompt.user.text]
    messages = [Message("user", "\n\n".join(parts))]
    if prompt.system is not None:
        messages.insert(0, Message("system", prompt.system.text))
    return tuple(messages)
