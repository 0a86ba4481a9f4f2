"""`%load_ext gotlang`: programs in cells, and results that notebooks show as tables and pictures.

    %%got vote --input question="How many legs has an ant?"

compiles the cell, binds it as `vote`, and runs it.
"""

from __future__ import annotations

import argparse
import base64
import json
import shlex
import warnings
from collections.abc import Sequence
from contextlib import suppress
from html import escape
from keyword import iskeyword
from pathlib import Path
from typing import Any, NoReturn

from gotlang.api import Program, plot
from gotlang.checks import compiled
from gotlang.data.inputs import parse_value, read_value
from gotlang.diagnostics import render
from gotlang.errors import CompileError, GotError, SimulatedWarning, UsageError
from gotlang.evaluate.comparison import Comparison
from gotlang.evaluate.evaluation import Evaluation
from gotlang.options import Options
from gotlang.report import tables
from gotlang.result import Displayed, Result
from gotlang.span import Source

_STYLE = """<style>
.gotc { color: inherit; font: 13px/1.45 system-ui, sans-serif; max-width: 70em }
.gotc table { border-collapse: collapse; color: inherit; background: none; margin: .4em 0 }
.gotc th, .gotc td { text-align: left; padding: .15em .8em .15em 0; vertical-align: top; background: none;
  border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); overflow-wrap: break-word }
.gotc pre { color: inherit; background: none; white-space: pre-wrap; margin: .4em 0 }
.gotc .simulated { opacity: .75 }
.gotc img { max-width: 100%; background: none }
</style>"""
_ROWS = 10
_LONGEST = 2000
"""Characters of a value that are shown."""


def load(shell: Any) -> None:
    """Register `%%got` in IPython's shell, and the display of programs and results."""
    shell.register_magic_function(lambda line, cell: _got(shell, line, cell), "cell", "got")
    html = shell.display_formatter.formatters["text/html"]
    html.for_type(Program, program_html)
    html.for_type(Result, result_html)
    html.for_type(Evaluation, evaluation_html)
    html.for_type(Comparison, comparison_html)
    html.for_type_by_name("gotlang.tune.outcome", "StudyResult", study_html)


# ---------------------------------------------------------------- the magic


class _CellArguments(argparse.ArgumentParser):
    """The arguments of `%%got`; an error in them is one message."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%%got: {message}", help=self.format_usage().strip())


def _words() -> _CellArguments:
    words = _CellArguments("%%got", add_help=False, exit_on_error=False)
    words.add_argument("name", nargs="?", default="program")
    words.add_argument("--scheme")
    words.add_argument("--input", action="append", default=[], metavar="NAME=VALUE")
    words.add_argument("--model")
    return words


def _got(shell: Any, line: str, cell: str) -> Program | Result:
    """Compile a cell and bind its program; with inputs, run it and bind `NAME_result` too.

    Raises UsageError, CompileError and RunError, which notebooks show without a traceback.
    """
    try:
        return _done(shell, line, cell)
    except GotError as error:
        lines = _lines(error)
        vars(error)["_render_traceback_"] = lambda: lines  # IPython's hook for tracebacks
        raise


def _done(shell: Any, line: str, cell: str) -> Program | Result:
    try:
        given = _words().parse_args(shlex.split(line))
    except (argparse.ArgumentError, ValueError) as error:
        raise UsageError(f"%%got: {error}") from None
    if not given.name.isidentifier() or iskeyword(given.name):
        raise UsageError(f"%%got: `{given.name}` is not a valid Python name")
    program = Program(compiled(Source.of(f"{given.name}.got", cell), Path.cwd()))
    scheme = program.scheme(given.scheme)
    shell.user_ns[given.name] = program
    if not given.input:
        return program
    types, inputs = dict(scheme.parameters), {}
    for one in given.input:
        name, equals, text = one.partition("=")
        if not equals or name not in types:
            raise UsageError(f"--input {one}: scheme `{scheme.name}` has inputs {', '.join(types) or 'none'}")
        inputs[name] = parse_value(read_value(text, f"--input {name}"), types[name], f"--input {name}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulatedWarning)  # the display says it
        result = program.run(inputs, scheme=scheme.name, options=Options(model=given.model))
    shell.user_ns[f"{given.name}_result"] = result
    return result


def _lines(error: GotError) -> list[str]:
    """An error as shown to users."""
    if isinstance(error, CompileError):
        return [render(one, error.sources) + "\n" for one in error.diagnostics]
    return [f"error: {error.message}", *([f"  = help: {error.help}"] if error.help else [])]


# ---------------------------------------------------------------- display


def program_html(program: Program) -> str:
    """A program: its schemes, prompts and params, and the plan of its main scheme."""
    return _framed(program._repr_html_(), _picture(program, "Plan"))


def result_html(result: Result) -> str:
    """A result: the value, what it cost, and its graph."""
    value = result.value if isinstance(result.value, str) else json.dumps(result.value, indent=1, default=str)
    facts = [fact for fact in result.facts() if fact[0] != "result"]
    return _framed(
        f"<pre>{escape(value[:_LONGEST])}{'...' if len(value) > _LONGEST else ''}</pre>",
        _table(("", ""), facts),
        _picture(result, "Graph"),
        simulated=result.simulated,
    )


def evaluation_html(found: Evaluation) -> str:
    """An evaluation: its metrics, its wrong rows, and charts."""
    return _framed(
        _table(*tables.metrics(found)),
        _details(f"Rows, wrong ones first (of {len(found.runs)})", _table(*tables.rows(found, _ROWS))),
        _picture(found, "Charts"),
        simulated=found.simulated,
    )


def comparison_html(found: Comparison) -> str:
    """A comparison: schemes side by side, and charts."""
    return _framed(
        _table(*tables.schemes(found)),
        _picture(found, "Charts"),
        simulated=found.entries[0].evaluation.simulated,
    )


def study_html(found: Any) -> str:
    """A study: the verdict, what was compared, and charts."""
    return _framed(_table(("", ""), found.facts()), _picture(found, "Charts"), simulated=found.simulated)


def _framed(*parts: str, simulated: bool = False) -> str:
    told = '<p class="simulated">simulated: no real model was called</p>' if simulated else ""
    return f'{_STYLE}<div class="gotc">{told}{"".join(parts)}</div>'


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table of texts."""
    rows = ["".join(f"<td>{escape(cell[:_LONGEST])}</td>" for cell in line) for line in lines]
    head = "".join(f"<th>{escape(one)}</th>" for one in heads) if any(heads) else ""
    return f"<table>{f'<tr>{head}</tr>' if head else ''}{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _details(title: str, inside: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{inside}</details>"


def _picture(subject: Displayed | Program, title: str) -> str:
    """The picture of something as an image, in which no script runs. Empty if it has none."""
    with suppress(GotError):
        data = base64.b64encode(plot(subject).svg.encode()).decode()
        return _details(title, f'<img alt="{escape(title)}" src="data:image/svg+xml;base64,{data}">')
    return ""
