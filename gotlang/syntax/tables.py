"""The parser's tables as text: made when the package is built, so that no start has to compute them again.

Lark needs a quarter of a second to make an LALR parser of the grammar, and a fiftieth to take up its tables.
They are JSON, with the grammar they were made of and Lark's version: where either is another one, they are as
good as not there.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lark import Lark
    from lark.lark import PostLex

FORMAT: Final = 1


def to_text(parser: Lark, grammar: str) -> str:
    """The tables of a parser that was built from `grammar`."""
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    data, memo = parser.memo_serialize([TerminalDef, Rule])
    data["options"]["postlex"] = None  # code, which is given again on the way back
    content = {**_stamp(grammar), "data": data, "memo": memo}
    return json.dumps(content, separators=(",", ":"), sort_keys=True)


def from_text(text: str, grammar: str, postlex: PostLex) -> Lark | None:
    """The parser, or None where the tables were made of another grammar or by another Lark."""
    from lark import Lark

    content = json.loads(text)
    if {name: content.get(name) for name in _stamp(grammar)} != _stamp(grammar):
        return None
    found: Lark = Lark._load_from_dict(  # type: ignore[no-untyped-call]
        _numbered(content["data"]), _numbered(content["memo"]), postlex=postlex
    )
    return found


def _stamp(grammar: str) -> dict[str, Any]:
    import lark

    digest = hashlib.sha256(grammar.encode()).hexdigest()
    return {"format": FORMAT, "lark": lark.__version__, "grammar": digest}


def _numbered(value: Any) -> Any:
    """JSON's keys are texts; those of the tables are numbers of states, tokens and rules."""
    if isinstance(value, dict):
        return {int(name) if name.isdigit() else name: _numbered(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_numbered(part) for part in value]
    return value
