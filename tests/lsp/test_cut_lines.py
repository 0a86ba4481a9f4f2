"""A line that is cut at a random place, through the server: the rest of the program has its answers."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from random import Random

from lsprotocol import types
from support.editor import editor, place

from gotlang.editing.documents import Document, analyzed
from gotlang.syntax import nodes as n
from tests.cuts import cut
from tests.fuzz import ROOT
from tests.support.laws import NEW, times


def test_completion_hover_and_outline_answer_after_each_of_200_edits() -> None:
    paths = sorted((ROOT / "programs").glob("*.got"))
    whole: dict[Path, Document] = {}

    async def session() -> None:
        async with editor(ROOT / "programs") as made:
            for number in range(times(200)):
                rng = Random(f"{time.time() if NEW else 'edits'}/{number}")
                path = rng.choice(paths)
                if path not in whole:
                    whole[path] = analyzed(str(path), path.read_text("utf-8"), {})
                    made.open(path.name)
                cutting = cut(rng, path.read_text("utf-8"))
                rest, closed = untouched(whole[path], cutting.start)
                told = f"{path.name}: cut at {cutting.start}"
                made.edit(path.name, cutting.text)
                document, here = made.identifier(path.name), place(cutting.text, cutting.start)
                outline = await made.text_document_document_symbol_async(types.DocumentSymbolParams(document))
                symbols = {
                    each.name: each for each in outline or () if isinstance(each, types.DocumentSymbol)
                }
                assert rest <= symbols.keys(), told
                found = await made.text_document_completion_async(types.CompletionParams(document, here))
                assert isinstance(found, list), told
                for name in sorted(closed)[:3]:
                    start = symbols[name].selection_range.start
                    hover = await made.text_document_hover_async(types.HoverParams(document, start))
                    assert hover is not None, f"{told}, {name}"

    asyncio.run(session())


def untouched(document: Document, start: int) -> tuple[set[str], set[str]]:
    """The names of the declarations that the line at an offset is no part of, and of those among them that
    are known without their callers."""
    line = document.source.position(start)[0]
    rest, closed = set[str](), set[str]()
    for d in document.module.declarations:
        if not isinstance(d, n.Scheme | n.Score | n.Prompt | n.Param) or d.name.text.startswith("_"):
            continue
        first, last = (document.source.position(end)[0] for end in (d.span.start, d.span.end))
        if not first <= line <= last:
            rest.add(d.name.text)
            if not isinstance(d, n.Scheme) or not (d.variables or any(p.part for p in d.parameters)):
                closed.add(d.name.text)
    return rest, closed
