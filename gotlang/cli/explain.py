"""`gotc explain`, `gotc ir` and `gotc prompts`: a program before it runs; error codes."""

from __future__ import annotations

import asyncio
import re
import sys
from contextlib import redirect_stdout
from typing import Any

import click

from gotlang.cli import options as opt
from gotlang.cli.output import Style, document, say
from gotlang.errors import UsageError

_CODE = re.compile(r"(?i)(got)?\d+|all")


@click.command("explain")
@click.argument("what", metavar="FILE|CODE")
@opt.scheme_option
@opt.input_options
@opt.param_options
@opt.model_options
@opt.optimizer_options
@opt.flag("--no-simulate", "Skip the simulated run that estimates expected costs.")
@opt.json_option
def explain_command(what: str, json: bool, **chosen: Any) -> int:
    """Estimate the cost of the program FILE (`-` is standard input) before any request is sent: calls,
    requests, critical path, volume, tokens and dollars, as numbers and as formulas of the params.

    Or explain an error CODE, such as GOT0203: what is wrong and how to fix it. `all` lists them.
    """
    if _CODE.fullmatch(what):
        return _explain(what, json=json)
    from msgspec.structs import replace

    from gotlang.cli.inputs import given_inputs, given_params, program
    from gotlang.report.estimate import estimate_lines

    loaded = program(what, chosen)
    given = None
    if any(chosen[name] for name in ("input", "inputs", "data")):
        given = given_inputs(loaded, loaded.scheme(chosen["scheme"]), chosen).inputs
    options = replace(opt.run_options(chosen), params=given_params(loaded, chosen["set"]))
    with redirect_stdout(sys.stderr):  # what the program's Python prints
        found = loaded.explain(
            given, scheme=chosen["scheme"], options=options, simulate=not chosen["no_simulate"]
        )
    if json:
        document({"program": loaded.name, "simulated": options.simulated, **found.as_json()})
        return 0
    first, *rest = estimate_lines(found)
    say(Style.of(sys.stdout).bold(first))
    for line in rest:
        say(line)
    return 0


def _explain(code: str, *, json: bool) -> int:
    from dataclasses import asdict
    from textwrap import fill

    from gotlang.codes import CODES
    from gotlang.diagnostics import nearest

    style = Style.of(sys.stdout)
    if code.lower() == "all":
        if json:
            document({"codes": [asdict(entry) for entry in CODES.values()]})
            return 0
        for entry in CODES.values():
            say(f"{style.bold(entry.code)}  {entry.title}")
        return 0
    name = code.upper()
    if name.isdigit():
        name = f"GOT{name.zfill(4)}"
    if name not in CODES:
        near = nearest(name, CODES)
        hint = f"did you mean {near}? " if near else ""
        raise UsageError(f"there is no error code `{code}`", help=f"{hint}`gotc explain all` lists them")
    entry = CODES[name]
    if json:
        document(asdict(entry))
        return 0
    say(style.bold(f"{entry.code}: {entry.title}"))
    say("")
    say(fill(entry.text, 100, break_on_hyphens=False))
    for title, text in (("Wrong", entry.wrong), ("Right", entry.right)):
        if text:
            say(f"\n{style.bold(title)}\n")
            say("\n".join(f"    {line}" for line in text.splitlines()))
    return 0


@click.command("ir")
@click.argument("file")
@opt.level_option
@click.option("--json", is_flag=True, help="Print the program as JSON, which `gotc run` runs (docs/ir.md).")
@opt.text("--print-after", "PASS", "Print the program after this pass, or after each of them with `all`.")
@opt.flag(
    "--remarks", "Print what each pass did, and why it left other steps as they are; with --json as JSON."
)
def ir_command(file: str, optimize: int, json: bool, print_after: str | None, remarks: bool) -> int:
    """Print the intermediate representation of the program FILE (`-` is standard input): names resolved,
    pools explicit, types on every step. A FILE that ends in `.ir.json` is such a representation."""
    from gotlang.cli.inputs import program

    loaded = program(file)
    if remarks:
        _remarks(loaded, optimize, json=json)
    elif json:
        click.echo(loaded.ir_json(optimize), nl=False)
    elif print_after is not None:
        for name, text in loaded.ir_after(print_after, optimize):
            click.echo(f"# after {name}\n{text}")
    else:
        click.echo(loaded.ir_text(optimize), nl=False)
    return 0


def _remarks(loaded: Any, level: int, *, json: bool) -> None:
    """The remarks of each pass on each step, with their places."""
    sources, found = loaded.compilation.sources, []
    for one in loaded.remarks(level):
        source = sources.get(one.span.source)
        line = source.text.count("\n", 0, one.span.start) + 1 if source is not None else None
        text = source.text[one.span.start : one.span.end] if source is not None else ""
        place = {"file": one.span.source, "line": line, "text": text.split("\n")[0]}
        about = {"pass": one.of_pass, "declaration": one.declared, "step": one.step, "kind": one.kind}
        found.append({**about, **place, "done": one.done, "remark": one.text})
    if json:
        document({"level": level, "remarks": found})
        return
    for each in found:
        done = "" if each["done"] else "not done: "
        say(f"{each['file']}:{each['line']}: {each['pass']}: {each['text']}: {done}{each['remark']}")


@click.command("prompts")
@click.argument("file")
@opt.scheme_option
@opt.text("--prompt", "NAME", "Only this prompt; then --input gives its own parameters. [default: all]")
@opt.input_options
@opt.param_options
@opt.python_options
@opt.json_option
def prompts_command(file: str, prompt: str | None, json: bool, **chosen: Any) -> int:
    """Show the prompts of the program FILE (`-` is standard input), without asking a model.

    With the inputs of a scheme, what is requested before the first response is complete. Prompts that depend
    on responses have `{{ ... }}` as placeholders, and so have all without inputs.
    """
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
            say(message.shown)
            say("")
    return 0


def _previews(file: str, prompt: str | None, chosen: dict[str, Any]) -> list[Any]:
    from gotlang.cli.inputs import GivenInputs, given_inputs, given_params, program
    from gotlang.data import parse_value
    from gotlang.preview import find_prompt, preview, preview_prompt

    loaded = program(file, chosen)
    if prompt is not None:
        types = dict(find_prompt(loaded, prompt).parameters)
        written = opt.pairs(chosen["input"], "--input")
        values = {
            n: parse_value(t, types[n], f"--input {n}") if n in types else t for n, t in written.items()
        }
        return [preview_prompt(loaded, prompt, values)]
    known = any(chosen[name] for name in ("input", "inputs", "data"))
    given = given_inputs(loaded, loaded.scheme(chosen["scheme"]), chosen) if known else GivenInputs()
    work = preview(
        loaded,
        given.inputs if known else None,
        scheme=chosen["scheme"],
        truth=given.truth,
        params=given_params(loaded, chosen["set"]),
        python=opt.python_allowed(chosen),
    )
    return asyncio.run(work)
