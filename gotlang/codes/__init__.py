"""Every diagnostic code with what it means and how to mend it: what `gotc explain GOT0203` prints.

`docs/diagnostics.md` is made from these tables. Codes are for ever: one that is no longer given stays free.
"""

from __future__ import annotations

from gotlang.codes.code import Code
from gotlang.codes.language import NAMES, SYNTAX, TYPES
from gotlang.codes.programs import PIPELINES, PROMPTS, STUDIES, WARNINGS

_ALL = (*SYNTAX, *NAMES, *TYPES, *PIPELINES, *PROMPTS, *WARNINGS, *STUDIES)

CODES: dict[str, Code] = {entry.code: entry for entry in _ALL}


def as_markdown() -> str:
    """The page of all codes."""
    out = [
        "# Error codes",
        "",
        "Made from `gotlang/codes/`. `gotc explain CODE` prints the same.",
    ]
    for entry in _ALL:
        out += ["", f"## {entry.code}: {entry.title}", "", entry.text]
        for word, example in (("Wrong", entry.wrong), ("Mended", entry.right)):
            if example:
                out += ["", f"{word}:", "", "```text", example, "```"]
    return "\n".join(out) + "\n"
