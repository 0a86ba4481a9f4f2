"""Pages that work offline: one HTML file holds its style, its script and its data, and asks for nothing.

The data is JSON inside a script element that no browser runs; `<` is escaped in it, so that no prompt and no
response can end the element. Scripts only ever insert it as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from typing import Any

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""What a page may load: nothing, not even by a mistake of ours."""

Cell = str | tuple[str, str]
"""The HTML of a cell, or that and its class."""


def page(title: str, body: str, data: Any, *, styles: Sequence[str], scripts: Sequence[str]) -> str:
    """A whole page from its parts; styles and scripts are names of our own files."""
    style = "\n".join(asset(name) for name in styles)
    script = "\n".join(asset(name) for name in scripts)
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=str).replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n{body}"
        f'<script type="application/json" id="data">{written}</script>\n'
        f'<script>\n"use strict";\n{script}</script>\n</body>\n</html>\n'
    )


def table(heads: Iterable[Cell], rows: Iterable[Iterable[Cell]], kind: str = "") -> str:
    """A table that scrolls where it does not fit; the first cell of each row is its head."""

    def line(cells: Iterable[Cell], head: str) -> str:
        out = []
        for number, cell in enumerate(cells):
            html, own = (cell, "") if isinstance(cell, str) else cell
            tag = head if number else "th"
            out.append(f'<{tag} class="{own}">{html}</{tag}>' if own else f"<{tag}>{html}</{tag}>")
        return f"<tr>{''.join(out)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    kind = f' class="{kind}"' if kind else ""
    return (
        f'<div class="scroll"><table{kind}><thead>{line(heads, "th")}</thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def figure(drawn: str, caption: str, title: str = "", kind: str = "") -> str:
    """A chart with its caption; nothing without a chart. `drawn` is HTML, `kind` its class."""
    head = f"<h3>{escape(title)}</h3>" if title else ""
    kind = f' class="{kind}"' if kind else ""
    return f"<figure{kind}>{head}{drawn}<figcaption>{escape(caption)}</figcaption></figure>" if drawn else ""


def asset(name: str) -> str:
    """The text of one of our own files."""
    return resources.files("gotlang.report").joinpath("assets", name).read_text("utf-8")
