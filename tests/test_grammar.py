"""The grammar: its README's claims, and that users see no names of Lark's."""

from __future__ import annotations

import io
import logging
import re
from pathlib import Path

from lark import Lark, logger

from gotlang.syntax.build import TreeBuilder
from gotlang.syntax.grammar import grammar_text, indentation, parser
from gotlang.syntax.hints import expected
from gotlang.syntax.typos import RESERVED

ROOT = Path(__file__).parents[1]
README = (ROOT / "grammars" / "README.md").read_text()
LANGUAGE = (ROOT / "docs" / "language.md").read_text()


def test_two_conflicts_are_resolved_and_no_other() -> None:
    found = io.StringIO()
    handler = logging.StreamHandler(found)
    logger.addHandler(handler)
    level = logger.level
    logger.setLevel(logging.DEBUG)
    try:
        Lark(
            grammar_text(),
            parser="lalr",
            start=["module", "expression", "vary_item"],
            postlex=indentation(),
            maybe_placeholders=True,
            debug=True,
        )
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    conflicts = re.findall(r"(\S+) conflict for terminal (\w+)", found.getvalue())
    assert set(conflicts) == {("Shift/Reduce", "LBRACE"), ("Shift/Reduce", "LPAR")}
    assert set(re.findall(r"\* <(.*)>", found.getvalue())) == {"operation : OPERATION"}


def test_every_terminal_has_words() -> None:
    literals = {t.name: t.pattern.value for t in parser().terminals if t.pattern.type == "str"}
    names = {t.name for t in parser().terminals if not t.name.startswith("__IGNORE")} | {"$END", "_INDENT"}
    for name in names - {"_DEDENT"}:
        assert not name.startswith("__")
        assert name not in expected([name], literals).replace(literals.get(name, ""), "")


def test_every_rule_has_a_builder() -> None:
    rules = {str(rule.origin.name) for rule in parser().rules if not rule.origin.name.startswith("_")}
    aliases = {rule.alias for rule in parser().rules if rule.alias}
    inlined = {str(rule.origin.name) for rule in parser().rules if rule.options.expand1}
    missing = {name for name in (rules - inlined) | aliases if not hasattr(TreeBuilder, name)}
    assert missing == set()


def test_the_pages_list_the_words_that_no_name_may_be() -> None:
    in_readme = re.search(r"Reserved: (.*?)\.", README, re.DOTALL)
    in_language = re.search(r"These words cannot be names:\s+`(.*?)`", LANGUAGE, re.DOTALL)
    assert in_readme
    assert in_language
    assert set(re.findall(r"`(\w+)`", in_readme[1])) == set(in_language[1].split()) == set(RESERVED)
