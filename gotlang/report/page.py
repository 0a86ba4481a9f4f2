"""Pages that work offline: one HTML file holds its style, its script and its data, and asks for nothing.

The data is JSON inside a script element that no browser runs; a `<` in it is written as an escape, so that no
prompt and no answer can end the element. What is shown of it is only ever set as text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib import resources
from typing import Any

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""What a page may load: nothing. It also keeps a mistake of ours from ever asking for something."""


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


def asset(name: str) -> str:
    """The text of one of our own files."""
    return resources.files("gotlang.report").joinpath("assets", name).read_text("utf-8")
