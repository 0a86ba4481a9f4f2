"""`gotc explain`: what an error code means and how to mend it."""

from __future__ import annotations

import sys

import click

from gotlang.cli.output import FORMAT_VERSION, Style, document, errors_as_document, say
from gotlang.errors import UsageError


@click.command("explain")
@click.argument("code")
@click.option("--json", is_flag=True, help="One JSON document on stdout.")
def command(code: str, json: bool) -> int:
    """Explain an error CODE, such as GOT0203: what is wrong, and how it looks mended. `all` lists them."""
    with errors_as_document(json):
        return _explain(code, json=json)


def _explain(code: str, *, json: bool) -> int:
    from dataclasses import asdict
    from textwrap import fill

    from gotlang.codes import CODES
    from gotlang.diagnostics import nearest

    style = Style.of(sys.stdout)
    if code.lower() == "all":
        if json:
            document({"format_version": FORMAT_VERSION, "codes": [asdict(entry) for entry in CODES.values()]})
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
        document({"format_version": FORMAT_VERSION, **asdict(entry)})
        return 0
    say(style.bold(f"{entry.code}: {entry.title}"))
    say("")
    say(fill(entry.text, 100, break_on_hyphens=False))
    for title, text in (("Wrong", entry.wrong), ("Right", entry.right)):
        if text:
            say(f"\n{style.bold(title)}\n")
            say("\n".join(f"    {line}" for line in text.splitlines()))
    return 0
