"""Highlighters agree with the parser on every program of the tree, and the editors' files are made anew."""

from __future__ import annotations

import ctypes
import hashlib
import re
import runpy
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Keyword, Name, Number, String, Text
from support.highlighting import ROOT, programs, tokens
from tree_sitter import Language, Node, Parser, Query, QueryCursor

from gotlang.highlighting.words import KEYWORDS
from gotlang.span import Source
from gotlang.syntax.parse import parse

BUILD = runpy.run_path(str(ROOT / "editors" / "build.py"))
PROGRAMS = programs()


def test_the_files_made_from_the_grammar_are_fresh() -> None:
    for path, text in BUILD["files"]().items():
        assert path.read_text("utf-8") == text, f"run `python editors/build.py`: {path} is out of date"


def _of_pygments(text: str) -> Iterator[str]:
    """The kind of each character."""
    kinds = ((Keyword.Constant, "constant"), (Keyword, "keyword"), (Name.Class, "capital"), (Name, "name"))
    kinds += ((Number, "number"), (String, "string"), (Comment, "comment"), (Text, "blank"))
    for token, value in get_lexer_by_name("got", stripnl=False, ensurenl=False).get_tokens(text):
        kind = next((name for kind, name in kinds if token in kind), "sign")
        yield from [kind] * len(value)


def differences(name: str, found: Iterable[str]) -> list[str]:
    """Each token that a highlighter takes for something else than the parser."""
    text, kinds, wrong = PROGRAMS[name], list(found), []
    assert len(kinds) == len(text)
    for start, end, kind in tokens(text):
        seen = {*kinds[start:end]} if kind != "string" else {kinds[start], kinds[end - 1]}
        if kind == "capital" and seen == {"name"}:
            seen = {"capital"}  # an operation
        if seen != {kind}:
            line = text.count("\n", 0, start) + 1
            wrong.append(f"{name}:{line}: `{text[start:end]}` is a {kind}, not {sorted(seen)}")
    return wrong


@pytest.mark.parametrize("name", PROGRAMS)
def test_pygments_agrees_with_the_parser(name: str) -> None:
    assert differences(name, _of_pygments(PROGRAMS[name])) == []


def test_pygments_finds_the_lexer() -> None:
    assert get_lexer_for_filename("sorting.got").name == get_lexer_by_name("got").name == "got"


# ---------------------------------------------------------------- tree-sitter

GRAMMAR = ROOT / "editors" / "tree-sitter-got"


@pytest.fixture(scope="session")
def language(tmp_path_factory: pytest.TempPathFactory) -> Language:
    """The committed parser, compiled."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("tree-sitter") / "got.so"
    source = GRAMMAR / "src"
    command = ["cc", "-shared", "-fPIC", "-O1", f"-I{source}", "-o", library]
    subprocess.run([*command, source / "parser.c", source / "scanner.c"], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.tree_sitter_got.restype = ctypes.c_void_p
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return Language(capsule(loaded.tree_sitter_got(), b"tree_sitter.Language", None))


def test_the_committed_parser_is_of_the_grammar() -> None:
    noted = (GRAMMAR / "src" / "grammar.sha256").read_text().split()[0]
    found = hashlib.sha256((GRAMMAR / "grammar.js").read_bytes()).hexdigest()
    assert noted == found, "run editors/tree-sitter-got/generate.sh"


def test_the_grammar_has_every_keyword_and_no_other() -> None:
    strings = re.findall(
        r'"type": "STRING",\s*"value": "([a-z]+)"', (GRAMMAR / "src" / "grammar.json").read_text()
    )
    assert {*strings} == {*KEYWORDS}


def _leaves(node: Node) -> Iterator[Node]:
    if node.child_count == 0 or node.type == "string":
        yield node
    else:
        for child in node.children:
            yield from _leaves(child)


def _of_tree_sitter(text: str, language: Language) -> list[str]:
    """The kind of each character."""
    named = {"name": "name", "capitalized": "capital", "integer": "number", "float": "number"}
    named |= {
        "string": "string",
        "comment": "comment",
        **dict.fromkeys(("true", "false", "none"), "constant"),
    }
    source, kinds = text.encode(), ["blank"] * len(text)
    for leaf in _leaves(Parser(language).parse(source).root_node):
        start, end = (len(source[:at].decode()) for at in (leaf.start_byte, leaf.end_byte))
        kind = named.get(leaf.type) if leaf.is_named else None
        kinds[start:end] = [kind or ("keyword" if text[start:end].isalpha() else "sign")] * (end - start)
    return kinds


@pytest.mark.parametrize("name", PROGRAMS)
def test_tree_sitter_agrees_with_the_parser(name: str, language: Language) -> None:
    tree = Parser(language).parse(PROGRAMS[name].encode())
    assert not tree.root_node.has_error, str(tree.root_node)
    assert differences(name, _of_tree_sitter(PROGRAMS[name], language)) == []


CASE = re.compile(r"^=+\n([^=\n]+)\n=+\n(.*?)\n---\n(.*?)(?=^===|\Z)", re.DOTALL | re.MULTILINE)
CORPUS = [
    case
    for path in sorted((GRAMMAR / "test" / "corpus").glob("*.txt"))
    for case in CASE.findall(path.read_text())
]
QUERIES = sorted((ROOT / "editors").rglob("*.scm"))


@pytest.mark.parametrize(("title", "text", "wanted"), CORPUS, ids=[case[0] for case in CORPUS])
def test_the_corpus(title: str, text: str, wanted: str, language: Language) -> None:
    assert parse(Source(title, text))[1] == ()
    found = str(Parser(language).parse(text.encode()).root_node)
    assert re.sub(r" \w+: ", " ", found) == re.sub(r"\s*\n\s*", " ", wanted.strip()).replace(" )", ")")


@pytest.mark.parametrize(
    "query", sorted((ROOT / "editors").rglob("*.scm")), ids=lambda path: path.parent.name + path.stem
)
def test_every_query_fits_the_grammar(query: Path, language: Language) -> None:
    tree = Parser(language).parse(PROGRAMS["programs/sort128.got"].encode())
    assert QueryCursor(Query(language, query.read_text())).captures(tree.root_node)
