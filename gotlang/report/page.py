"""Pages that work offline: one HTML file holds its style, its scripts and its data, and loads nothing.

The data is JSON inside a script element that no browser runs; `<` is escaped in it, so that no prompt and no
response can end the element. Scripts insert it only as text, and templates escape all values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from jinja2 import Environment

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""What a page may load: nothing, so that even an error of ours cannot load anything."""


@final
@dataclass(frozen=True, slots=True)
class Served:
    """The options of a page that `gotc studio` serves: it loads styles and scripts by their names, and has a
    menu of `links`, each a word and an address; `here` is the address of the page if it is one of them."""

    links: tuple[tuple[str, str], ...]
    here: str | None = None


def page(
    template: str,
    data: Any,
    *,
    styles: Sequence[str],
    scripts: Sequence[str] = (),
    served: Served | None = None,
    **values: Any,
) -> str:
    """A whole page from a template; `data` is for scripts. Styles and scripts name our own files, which are
    part of the page unless it is `served`."""
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=str).replace("<", "\\u003c")
    if served is not None:
        return render(template, served=served, styles=styles, scripts=scripts, data=written, **values)
    return render(
        template,
        served=None,
        policy=POLICY,
        style="\n".join(asset(name) for name in styles),
        script="\n".join(asset(name) for name in scripts),
        data=written,
        **values,
    )


def render(template: str, **values: Any) -> str:
    """A template with its values; HTML and SVG escape those that are not marked as safe. Control characters,
    which XML does not allow, are replaced."""
    text = _environment().get_template(template).render(**values).rstrip() + "\n"
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\ufffd", text)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined, select_autoescape

    return Environment(
        loader=FunctionLoader(asset),
        autoescape=select_autoescape(("html", "svg"), default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def asset(name: str) -> str:
    """The text of one of our own files."""
    return resources.files("gotlang.report").joinpath("assets", name).read_text("utf-8")
