"""Whatever a text is, the server answers: an editor has every text there is, one edit at a time."""

from __future__ import annotations

import asyncio
import os
import random
import re
from pathlib import Path

import pytest
from lsprotocol import types
from support.editor import Editor, at, change, editor, place
from support.gotc import ROOT

from gotlang.editing.documents import analyzed
from gotlang.editing.names import at as name_at
from gotlang.editing.names import occurrences
from gotlang.editing.outline import folds, outline
from gotlang.editing.tokens import tokens

SORTING = (ROOT / "programs" / "sorting.got").read_text("utf-8")
TEXTS = {
    "empty": "",
    "a line": "\n",
    "no end": "param a = 3",
    "carriage returns": SORTING.replace("\n", "\r\n"),
    "old carriage returns": SORTING.replace("\n", "\r"),
    "mixed ends": "param a = 3\r\n\rparam b = 4\n\r\n",
    "a byte order mark": "\ufeff" + SORTING,
    "tabs": SORTING.replace("    ", "\t"),
    "emoji": 'param 😀 = 3\n# 😀😀\nprompt p(q: str) -> str:\n    "😀 {{ q }} 👨‍👩‍👧 {{ x }}"\n',
    "nul": "param a\x00 = 3\n\x00\nscheme s() -> int:\n    Pool() \x01\n",
    "other ends of lines": "param a = 3\x0bparam b = 4\x0c\x85\u2028\u2029# x\n",
    "half a character": 'param a = "\ud83d"\n\udc00',
    "no language": "\u202e\u0000 <html>&amp;</html> \\ ''' \"\"\" ((([[[{{{ }}} %} {{ {% \n" * 20,
    "deep": "scheme s() -> int:\n    Pool() " + "(" * 5000 + "1" + ")" * 5000 + "\n",
    "deep blocks": "scheme s() -> int:\n" + "".join("    " * n + "repeat 2:\n" for n in range(1, 300)),
    "a long line": "# " + "x" * 1_000_000 + "\n" + SORTING,
    "a long string": 'prompt p() -> str:\n    "' + "{{ x }} " * 40_000 + '"\n',
    "a long list": "param a = [" + "1, " * 10_000 + "1]\n",
}

PART = '''\
param tries_N = 3 in 1..5

prompt sort_N(numbers: list[int], style: str) -> list[int]:
    temperature 0.7
    """
    Sort these numbers in a {{ style }} way, and answer with a list:
    {{ numbers }}
    """

score mistakes_N(attempt: list[int], numbers: list[int]) -> lower, best 0:
    descents(attempt) + sum([abs(count(attempt, n) - count(numbers, n)) for n in range(10)])

scheme both_N(numbers: list[int]) -> list[int]:
    half = len(numbers) // 2
    foreach part in [numbers[:half], numbers[half:]]:
        Generate(k=tries_N) sort_N(part, "careful")
        Score() mistakes_N(it, part)
        KeepBestN(1)
    Generate(k=2) sort_N(flatten(part), style="quick")
    Score() mistakes_N(it, numbers)
    KeepBestN(1)
'''


def positions(text: str) -> list[types.Position]:
    lines = re.split("\r\n|\r|\n", text)
    chance = random.Random(7)
    ends = [at(0, 0), at(len(lines) - 1, len(lines[-1])), at(len(lines) + 5, 3), at(0, 10_000_000)]
    return [
        *ends,
        *(at(line := chance.randrange(len(lines)), chance.randrange(len(lines[line]) + 2)) for _ in "123"),
    ]


async def ask(made: Editor, name: str, position: types.Position) -> None:
    """Ask all that has an answer for any text; an error of the server is raised here."""
    document = made.identifier(name)
    context = types.ReferenceContext(include_declaration=True)
    await made.text_document_definition_async(types.DefinitionParams(document, position))
    await made.text_document_references_async(types.ReferenceParams(context, document, position))
    await made.text_document_document_highlight_async(types.DocumentHighlightParams(document, position))


async def look(made: Editor, name: str) -> None:
    document, options = made.identifier(name), types.FormattingOptions(tab_size=4, insert_spaces=True)
    await made.text_document_document_symbol_async(types.DocumentSymbolParams(document))
    await made.text_document_folding_range_async(types.FoldingRangeParams(document))
    await made.text_document_semantic_tokens_full_async(types.SemanticTokensParams(document))
    await made.text_document_formatting_async(types.DocumentFormattingParams(document, options))


def test_the_server_answers_for_any_text(tmp_path: Path) -> None:
    async def session() -> None:
        async with editor(tmp_path) as made:
            for number, text in enumerate(TEXTS.values()):
                name = f"text{number}.got"
                made.open(name, text)
                await look(made, name)
                for position in positions(text)[:4]:
                    await ask(made, name, position)
                made.edit(name, *(change(place, place, "x😀") for place in positions(text)))
                await look(made, name)
                made.edit(name, "param a = 3\n")
                made.close(name)
            made.open("last.got", "param a = 3\nparam b = c\n")
            await made.codes("last.got", "GOT0001")
            assert not made.messages

    asyncio.run(session())


def test_edits_anywhere_keep_the_text_that_the_client_has(tmp_path: Path) -> None:
    """The server's text after many edits is the client's: formatting it gives the same."""
    chance = random.Random(3)
    pieces = ["", "x", "\n", "\r\n", "😀", "    ", '"', "é", "\u2028"]

    async def session() -> None:
        async with editor(tmp_path) as made:
            text = "# 😀\nparam a = 3\n# é\u2028 x\n"
            made.open("a.got", text)
            for _ in range(150):
                start, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
                start, end = max(start, end - 4), end
                if text[start - 1 : start + 1] == "\r\n" or text[end - 1 : end + 1] == "\r\n":
                    continue  # no editor has a place there
                piece = chance.choice(pieces)
                made.edit("a.got", change(place(text, start), place(text, end), piece))
                text = text[:start] + piece + text[end:]
            final = "param b=4\n"
            made.edit("a.got", change(at(0, 0), place(text, len(text)), final))
            options = types.FormattingOptions(tab_size=4, insert_spaces=True)
            given = await made.text_document_formatting_async(
                types.DocumentFormattingParams(made.identifier("a.got"), options)
            )
            assert given is not None and [edit.new_text for edit in given] == ["param b = 4\n"]

    asyncio.run(session())


@pytest.mark.parametrize("seed", range(4))
def test_broken_programs_have_names_outlines_and_words(seed: int) -> None:
    chance = random.Random(seed)
    paths = sorted((ROOT / "programs").glob("*.got"))
    for _ in range(25):
        path = chance.choice(paths)
        text = path.read_text("utf-8")
        for _ in range(chance.randrange(1, 4)):
            start = chance.randrange(len(text))
            text = (
                text[:start]
                + chance.choice(["", "(", '"', "\n", "}", "x", " = "])
                + text[start + chance.randrange(9) :]
            )
        made = analyzed(str(path), text, {})
        for found in occurrences(made):
            source = made.sources[found.span.source]
            word = source.text[found.span.start : found.span.end]
            assert found.symbol.kind == "file" or word == found.symbol.name, (path, found)
        outline(made), folds(made), tokens(made), name_at(made, chance.randrange(len(text)))


def test_a_diagnostic_takes_less_than_a_tenth_of_a_second_in_500_lines(tmp_path: Path) -> None:
    """Processor time of the server from an edit to its diagnostics, on average over ten edits."""
    text = "\n".join(PART.replace("_N", f"_{number}") for number in range(25))
    assert text.count("\n") >= 500
    middle = 12 * (PART.count("\n") + 1)  # in the middle

    def seconds(pid: int) -> float:
        user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    async def session() -> float:
        async with editor(tmp_path) as made:
            made.open("big.got", text)
            await made.codes("big.got")
            made.edit("big.got", change(at(middle, 0), at(middle, 0), "param zz = tries_of\n"))
            await made.codes("big.got", "GOT0001")
            made.edit("big.got", change(at(middle, 0), at(middle + 1, 0), ""))
            await made.codes("big.got")
            pid = made.process_id()
            start = seconds(pid)
            for _ in range(5):
                made.edit("big.got", change(at(middle, 0), at(middle, 0), "param zz = tries_of\n"))
                await made.codes("big.got", "GOT0001")
                made.edit("big.got", change(at(middle, 0), at(middle + 1, 0), ""))
                await made.codes("big.got")
            return (seconds(pid) - start) / 10

    assert asyncio.run(session()) < 0.1
