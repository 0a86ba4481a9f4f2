"""Programs as commands are given them: a file, or `-` for standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gotlang.cli.output import Style, complain
from gotlang.errors import CompileError
from gotlang.files import MAX_BYTES, compile_in, decoded, read_source
from gotlang.span import Source

if TYPE_CHECKING:
    from gotlang.api import Program
    from gotlang.compiler import Compilation

STDIN = "<stdin>"


def read(path: str) -> Source:
    """A program's text. Raises UsageError where it cannot be read."""
    if path != "-":
        return read_source(path)
    return Source.of(STDIN, decoded(sys.stdin.buffer.read(MAX_BYTES + 1)))


def compilation(path: str) -> Compilation:
    """Check a program. One from standard input may import from the current folder."""
    source = read(path)
    return compile_in(source, (Path() if path == "-" else Path(path).parent).resolve())


def program(path: str, tuned: str | None = None) -> Program:
    """A program to run, with what a study found in it where `tuned` names its file; warnings go to stderr.

    Raises CompileError where it does not compile.
    """
    from gotlang.api import Program

    compiled = compilation(path)
    if not compiled.ok:
        raise CompileError(compiled.diagnostics, compiled.sources)
    warn(compiled)
    if tuned is None:
        return Program(compiled)
    from gotlang.tune.tuned import read_tuned
    from gotlang.tune.tuned import tuned as with_tuned

    found, loaded = read_tuned(tuned), Program(compiled)
    made = with_tuned(loaded, found)
    if found.program != loaded.name:
        complain(f"{tuned} is the result of a study of `{found.program}`, not of `{loaded.name}`")
    context = click.get_current_context(silent=True)
    chosen = context.params if context is not None else {}
    others = {scheme.name for scheme in made.ir(0).schemes} - {made.scheme().name}
    if found.scheme in others and not chosen.get("scheme") and not chosen.get("schemes"):
        complain(f"{tuned} was tuned for another scheme than this: `--scheme {found.scheme}` takes it")
    return made


def warn(compiled: Compilation) -> None:
    """The warnings of a program that compiles, on stderr."""
    if compiled.diagnostics:
        from gotlang.diagnostics import render

        for diagnostic in compiled.diagnostics:
            complain(render(diagnostic, compiled.sources, color=Style.of(sys.stderr).color))
            complain("")
