"""Warnings about what a program declares and never uses."""

from __future__ import annotations

from gotlang.semantics.report import Report
from gotlang.semantics.symbols import Symbols
from gotlang.syntax import nodes as n


def warn_unused(module: n.Module, symbols: Symbols, report: Report) -> None:
    """Note params, prompts, scores and types of the program's own module that nothing refers to.

    A file that holds no scheme is there to be imported, so nothing in it is unused.
    """
    if not any(isinstance(d, n.Scheme) for d in module.declarations):
        return
    kinds = {n.Param: ("GOT0501", "param"), n.Score: ("GOT0502", "score"), n.Prompt: ("GOT0503", "prompt")}
    for d in module.declarations:
        if isinstance(d, n.Param | n.Score | n.Prompt) and d.name.text not in symbols.used:
            code, kind = kinds[type(d)]
            report.warning(
                code, f"{kind} `{d.name.text}` is never used", d.name.span, help="delete it, or use it"
            )
