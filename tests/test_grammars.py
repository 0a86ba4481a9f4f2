"""Highlighters agree with the parser on every program of the tree, and the editors' files are made anew."""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import json
import os
import random
import re
import runpy
import shutil
import subprocess
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Keyword, Name, Number, String, Text
from support.extension import EXTENSION, node_modules
from support.highlighting import ROOT, cases, programs, tokens
from tree_sitter import Language, Node, Parser, Query, QueryCursor

from gotlang.highlighting.words import KEYWORDS
from gotlang.span import Source
from gotlang.syntax.parse import parse
from gotlang.version import __version__

BUILD = runpy.run_path(str(ROOT / "editors" / "build.py"))
PROGRAMS = programs()


def test_the_files_made_from_the_grammar_are_fresh() -> None:
    for path, text in BUILD["files"]():
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
    text, kinds, wrong = PROGRAMS.get(name) or cases()[name], list(found), []
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


def test_pygments_agrees_with_the_parser_on_every_case() -> None:
    assert [d for name, text in cases().items() for d in differences(name, _of_pygments(text))] == []


def test_pygments_finds_the_lexer() -> None:
    assert get_lexer_for_filename("sorting.got").name == get_lexer_by_name("got").name == "got"


def test_pygments_knows_the_jinja_of_prompts_and_of_no_other_text() -> None:
    text = '''prompt a(x: str) -> str:
    system "Be {{ tone }}: \\"{{ \\"x}}\\" }}\\" {# no #} done"
    """
    {%- for y in x if y != '}}' %}
    {{ y | upper }}
    {{ not closed
    """
    temperature 1

scheme b(x: str) -> str:
    Map() "{{ plain }}" + x
'''
    found = [(kind, value) for kind, value in get_lexer_by_name("got").get_tokens(text) if value.strip()]
    template = [value for kind, value in found if kind in String.Interpol]
    assert template == ["{{", "}}", "{{", "}}", "{%-", "%}", "{{", "}}", "{{"]
    assert (String, "'}}'") in found
    assert (Comment, " no ") in found
    assert (Name, "temperature") in found
    assert (Keyword, "for") in found


def _cut(rng: random.Random) -> tuple[str, int, str]:
    """A program's name, one of its lines, and its text with that line cut at some place."""
    name = rng.choice([name for name in PROGRAMS if name.startswith("programs/")])
    lines = PROGRAMS[name].split("\n")
    number = rng.choice([n for n, line in enumerate(lines) if line.strip() and line.strip()[0] != "#"])
    lines[number] = lines[number][: rng.randrange(len(lines[number]))]
    return name, number, "\n".join(lines)


def test_pygments_reads_any_text_to_its_end() -> None:
    rng = random.Random(19)
    for _ in range(200):
        text = _cut(rng)[2]
        tokens_found = get_lexer_by_name("got", stripnl=False, ensurenl=False).get_tokens(text)
        assert "".join(value for _, value in tokens_found) == text


# ---------------------------------------------------------------- tree-sitter

GRAMMAR = ROOT / "editors" / "tree-sitter-got"


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The committed parser, compiled as docs/editors.md says."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("clone")
    for name in ("nvim", "tree-sitter-got"):
        shutil.copytree(
            ROOT / "editors" / name, folder / "editors" / name, ignore=shutil.ignore_patterns("parser")
        )
    (block,) = re.findall(
        r"^```sh\n(.*?)^```", (ROOT / "docs" / "editors.md").read_text(), re.DOTALL | re.MULTILINE
    )
    subprocess.run(["sh", "-ec", block], cwd=folder, check=True)
    return folder / "editors" / "nvim" / "parser" / "got.so"


@pytest.fixture(scope="session")
def language(library: Path) -> Language:
    """The parser for tree-sitter's binding."""
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


def test_tree_sitter_agrees_with_the_parser_on_every_case(language: Language) -> None:
    trees = {name: Parser(language).parse(text.encode()).root_node for name, text in cases().items()}
    assert [name for name, root in trees.items() if root.has_error] == []
    found = [differences(name, _of_tree_sitter(text, language)) for name, text in cases().items()]
    assert list(itertools.chain(*found)) == []


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


def test_every_name_is_highlighted_as_one_thing(language: Language) -> None:
    query = Query(language, (GRAMMAR / "queries" / "highlights.scm").read_text())
    for text in [*PROGRAMS.values(), *(case[1] for case in CORPUS)]:
        root = Parser(language).parse(text.encode()).root_node
        found = QueryCursor(query).captures(root)
        places = [(n.start_byte, n.end_byte) for nodes in found.values() for n in nodes if n.child_count == 0]
        assert len(places) == len({*places})
        words = [n for n in _leaves(root) if n.type != "string" and (n.is_named or n.type.isalpha())]
        assert [n for n in words if (n.start_byte, n.end_byte) not in {*places}] == []


def test_a_broken_line_leaves_the_other_declarations(language: Language) -> None:
    def declarations(text: str) -> set[bytes]:
        source, waiting, found = text.encode(), [Parser(language).parse(text.encode()).root_node], set()
        while waiting:
            for child in waiting.pop().children:
                if child.type == "ERROR":
                    waiting.append(child)
                elif child.type != "comment":
                    found.add(source[child.start_byte : child.end_byte].strip())
        return found

    rng = random.Random(19)
    kept = wanted = 0
    for _ in range(200):
        name, number, text = _cut(rng)
        line = PROGRAMS[name].split("\n")[number].encode()
        before = {d for d in declarations(PROGRAMS[name]) if line.strip() not in d}
        kept += len(before & declarations(text))
        wanted += len(before)
    assert kept > 0.9 * wanted, (kept, wanted)


NEOVIM = """
vim.opt.runtimepath:append(vim.env.FOLDER)
vim.cmd("filetype plugin on")
vim.cmd("edit " .. vim.env.PROGRAM)
local parser = vim.treesitter.get_parser(0, "got")
local root = parser:parse()[1]:root()
local query = (vim.treesitter.query.parse or vim.treesitter.query.parse_query)("got", vim.env.QUERY)
local found = {}
for id in query:iter_captures(root, 0, 0, -1) do
  found[query.captures[id]] = (found[query.captures[id]] or 0) + 1
end
local active = vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] ~= nil
local looks = { filetype = vim.bo.filetype, width = vim.bo.shiftwidth, highlighted = active }
io.stdout:write(vim.json.encode({ broken = root:has_error(), found = found, looks = looks }))
"""


def test_neovim_reads_the_parser(library: Path, language: Language, tmp_path: Path) -> None:
    if shutil.which("nvim") is None:
        pytest.skip("no Neovim")
    (tmp_path / "look.lua").write_text(NEOVIM)
    query = (GRAMMAR / "queries" / "highlights.scm").read_text()
    program = ROOT / "programs" / "sort128.got"
    folder = str(library.parents[1])
    known = {"FOLDER": folder, "PROGRAM": str(program), "QUERY": query, "HOME": str(tmp_path)}
    command = ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-c", f"luafile {tmp_path}/look.lua", "+qa!"]
    done = subprocess.run(command, env=os.environ | known, capture_output=True, text=True, timeout=60)
    seen = json.loads(done.stdout)
    root = Parser(language).parse(program.read_bytes()).root_node
    found = QueryCursor(Query(language, query)).captures(root)
    assert seen == {
        "broken": False,
        "found": {name: len(nodes) for name, nodes in found.items()},
        "looks": {"filetype": "got", "width": 4, "highlighted": True},
    }


# ---------------------------------------------------------------- VS Code

SCOPES = (("constant.language", "constant"), ("keyword.control", "keyword"), ("entity.name.type", "capital"))
SCOPES += (("support.class", "capital"), ("variable", "name"), ("entity.name.function", "name"))
SCOPES += (("support.function", "name"), ("constant.numeric", "number"), ("string", "string"))
SCOPES += (("comment", "comment"),)


@pytest.fixture(scope="session")
def textmate() -> dict[str, list[str]]:
    """The kind of each character of every program, as VS Code's own engine tokenizes it."""
    texts = PROGRAMS | cases()
    script = [ROOT / "tests" / "support" / "textmate.mjs", node_modules(), EXTENSION / "got.tmLanguage.json"]
    done = subprocess.run(["node", *script], input=json.dumps(texts), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = {}
    for name, tokens_found in json.loads(done.stdout).items():
        lines = [["blank"] * (len(line) + 1) for line in texts[name].split("\n")]
        for number, start, end, scopes in tokens_found:
            scope = scopes[-1] if scopes else ""
            kind = next((kind for prefix, kind in SCOPES if scope.startswith(prefix)), "sign")
            lines[number][start:end] = [kind] * len(lines[number][start:end])
        found[name] = list(itertools.chain(*lines))[:-1]
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_textmate_agrees_with_the_parser(name: str, textmate: dict[str, list[str]]) -> None:
    assert differences(name, textmate[name]) == []


def test_textmate_agrees_with_the_parser_on_every_case(textmate: dict[str, list[str]]) -> None:
    assert [d for name in cases() for d in differences(name, textmate[name])] == []


def test_the_extension_is_packaged(tmp_path: Path) -> None:
    folder = tmp_path / "editors" / "vscode"
    shutil.copytree(EXTENSION, folder, ignore=shutil.ignore_patterns("node_modules", "dist", "*.vsix"))
    (folder / "node_modules").symlink_to(node_modules())
    shutil.copy(ROOT / "LICENSE", tmp_path)
    done = subprocess.run(["npm", "run", "package"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (package,) = folder.glob("*.vsix")
    with zipfile.ZipFile(package) as archive:
        assert {name.removeprefix("extension/") for name in archive.namelist()} == {
            *("[Content_Types].xml", "extension.vsixmanifest", "package.json", "readme.md", "LICENSE.txt"),
            *("dist/extension.js", "dist/licenses.txt", "got.tmLanguage.json", "language-configuration.json"),
        }
        code, licences = (archive.read(f"extension/dist/{name}") for name in ("extension.js", "licenses.txt"))
        manifest = json.loads(archive.read("extension/package.json"))
    assert b"vscode-languageclient 11.0.0" in licences
    for command in manifest["contributes"]["commands"]:
        assert f'"{command["command"]}"'.encode() in code


def test_the_versions_are_those_of_the_package() -> None:
    version = re.sub(r"\.dev\d+$", "", __version__)
    for path in ("vscode/package.json", "tree-sitter-got/package.json"):
        assert json.loads((ROOT / "editors" / path).read_text())["version"] == version
    for path in ("zed/Cargo.toml", "zed/extension.toml"):
        assert f'\nversion = "{version}"\n' in (ROOT / "editors" / path).read_text()
    described = json.loads((GRAMMAR / "tree-sitter.json").read_text())
    assert described["metadata"]["version"] == version
