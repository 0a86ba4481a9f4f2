"""`gotc docs`: the documentation of this version, in the terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import click

from gotlang.cli import options as opt
from gotlang.cli.output import Style, cut, say
from gotlang.diagnostics import nearest, suggestion
from gotlang.errors import UsageError
from gotlang.packages import DOCUMENTATION, STANDARD

_FIRST = ("quickstart", "tutorial", "guide", "language")
_MOST = 12
"""Maximum number of sections that a search shows."""


class Section(NamedTuple):
    """A part of a page below its heading: its name in `PAGE#NAME`, the heading, the text including it."""

    name: str
    heading: str
    text: str


@click.command("docs")
@click.argument("page", required=False, metavar="[PAGE[#SECTION]]")
@opt.text("--search", "WORDS", "List the sections that have all these words.")
def docs_command(page: str | None, search: str | None) -> int:
    """Show a page of the documentation, or one section of it, or an example program. Without PAGE, list
    them.
    """
    if search is not None:
        for line in _found(search):
            say(line)
    elif page is None:
        for line in _listed():
            say(line)
    else:
        name, _, section = page.partition("#")
        _show(_path(name), _section(name, section).text if section else _text(name))
    return 0


def pages() -> dict[str, Path]:
    """Every page by its name: those of `docs`, and the programs of `programs` and of the library."""
    docs = DOCUMENTATION / "docs"
    found = {str(path.relative_to(docs).with_suffix("")): path for path in sorted(docs.rglob("*.md"))}
    texts = {name: found.pop(name) for name in _FIRST if name in found} | found
    programs = {f"programs/{path.name}": path for path in sorted((DOCUMENTATION / "programs").glob("*.got"))}
    library = {f"std/{path.name}": path for path in sorted(STANDARD.glob("*.got"))}
    return texts | library | programs


def _path(name: str) -> Path:
    """The file of a page. Raises UsageError for an unknown page."""
    there = pages()
    found = there.get(name) or there.get(name.removeprefix("docs/").removesuffix(".md"))
    if found is None:
        look = f"`gotc docs` lists the pages, `gotc docs --search {name}` searches them"
        raise UsageError(f"there is no page `{name}`", help=suggestion(name, there) or look)
    return found


def _text(name: str) -> str:
    return _path(name).read_text("utf-8")


def _sections(text: str) -> Iterator[Section]:
    """The parts of a page, each from its heading to the next one of any level."""
    lines = text.splitlines()
    fenced, starts = False, []
    for number, line in enumerate(lines):
        fenced ^= line.lstrip().startswith("```")
        if not fenced and re.match(r"#+ ", line):
            starts.append(number)
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        heading = lines[start].lstrip("# ").replace("`", "")
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        yield Section(name, heading, "\n".join(lines[start:end]) + "\n")


def _section(page: str, name: str) -> Section:
    there = {section.name: section for section in _sections(_text(page))}
    if name not in there:
        near = nearest(name, there)
        help = f"did you mean `{page}#{near}`?" if near else f"there are {', '.join(there) or 'none'}"
        raise UsageError(f"page `{page}` has no section `{name}`", help=help)
    return there[name]


def _listed() -> Iterator[str]:
    """Every page with its title."""
    there = pages()
    titles = {
        name: next(_sections(_text(name))).heading for name, path in there.items() if path.suffix == ".md"
    }
    for name, title in titles.items():
        yield f"{name:<32}  {title}"
    for folder in ("std", "programs"):
        names = [name for name in there if name.startswith(f"{folder}/") and name not in titles]
        yield f"{', '.join(names)}"


def _found(search: str) -> Iterator[str]:
    """The sections with all words, the best first: those that have them in the heading, then those with most
    occurrences."""
    words = search.casefold().split()
    if not words:
        raise UsageError("nothing to search for", help='such as `gotc docs --search "self consistency"`')
    hits = []
    for name, path in pages().items():
        if path.suffix != ".md":
            continue
        for section in _sections(_text(name)):
            text, heading = section.text.casefold(), f"{name} {section.heading}".casefold()
            if all(word in text or word in heading for word in words):
                often = sum(text.count(word) for word in words) / (len(text) + 500)
                hits.append((-sum(word in heading for word in words), -often, name, section))
    hits.sort(key=lambda hit: hit[:3])
    if not hits:
        raise UsageError(f"no section has all of `{search}`", help="search for fewer or shorter words")
    bold = Style.of(sys.stdout).bold
    for *_, name, section in hits[:_MOST]:
        lines = [line for line in section.text.splitlines()[1:] if any(w in line.casefold() for w in words)]
        yield bold(f"{name}#{section.name}") + (f"  {cut(lines[0], 100)}" if lines else "")
    if len(hits) > _MOST:
        yield f"and {len(hits) - _MOST} more: add a word"


def _show(path: Path, text: str) -> None:
    """A page as it is, or, on a terminal, with its headings, tables and colors, in a pager."""
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.syntax import Syntax

    os.environ.setdefault("LESS", "-FRX")
    console = Console()
    lexer = "got" if find_spec("pygments") else "text"
    shown = Markdown(text) if path.suffix == ".md" else Syntax(text, lexer, background_color="default")
    with console.pager(styles=not console.no_color):
        console.print(shown)
