"""`gotc prompts`: every prompt as a model would get it, without asking one."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import click

from gotlang.cli import options as opt
from gotlang.cli.output import Style, document, errors_as_document, say


@click.command("prompts")
@click.argument("file")
@opt.scheme_option
@opt.text("--prompt", "NAME", "Only this prompt; then --input gives its own parameters. [default: all]")
@opt.input_options
@opt.param_options
@opt.flag("--no-python", "Refuse programs that import Python.")
@opt.json_option
def command(file: str, prompt: str | None, json: bool, **chosen: Any) -> int:
    """Show the prompts of the program FILE (`-` is standard input), without asking a model.

    With the inputs of a scheme, what is requested before the first response is complete. Prompts that depend
    on responses have `{{ ... }}` as placeholders, and so have all without inputs.
    """
    with errors_as_document(json):
        shown = _previews(file, prompt, chosen)
    if json:
        prompts = [
            {
                "prompt": one.name,
                "placeholders": one.placeholders,
                "messages": [{"role": m.role, "content": m.content} for m in one.messages],
            }
            for one in shown
        ]
        document({"prompts": prompts})
        return 0
    style = Style.of(sys.stdout)
    for one in shown:
        for message in one.messages:
            holes = "  (with placeholders for unknown values)" if one.placeholders else ""
            say(style.blue(f"--- {one.name}: {message.role} ---") + style.dim(holes))
            say(message.content)
            say("")
    return 0


def _previews(file: str, prompt: str | None, chosen: dict[str, Any]) -> list[Any]:
    from gotlang.cli.inputs import Given, given_inputs, given_params, program
    from gotlang.data import parse_value
    from gotlang.preview import find_prompt, preview, preview_prompt

    loaded = program(file, chosen["tuned"])
    if prompt is not None:
        types = dict(find_prompt(loaded, prompt).parameters)
        written = opt.pairs(chosen["input"], "--input")
        values = {
            n: parse_value(t, types[n], f"--input {n}") if n in types else t for n, t in written.items()
        }
        return [preview_prompt(loaded, prompt, values)]
    known = any(chosen[name] for name in ("input", "inputs", "data"))
    given = given_inputs(loaded.scheme(chosen["scheme"]), chosen) if known else Given()
    work = preview(
        loaded,
        given.inputs if known else None,
        scheme=chosen["scheme"],
        truth=given.truth,
        params=given_params(loaded, chosen["set"]),
        python=not chosen["no_python"],
    )
    return asyncio.run(work)
