"""Completion, hover and signature help as a client gets them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from lsprotocol import types
from support.editor import editor

PROGRAM = 'prompt answer(question: str) -> str:\n    "{{ question }}"\n\nscheme io(question: str) -> str:\n'


def test_a_client_completes_a_line_that_is_being_typed(tmp_path: Path) -> None:
    async def life() -> None:
        async with editor(tmp_path) as made:
            made.open("a.got", f"{PROGRAM}    Generate() answer(question)\n")
            await made.codes("a.got")
            made.edit("a.got", f"{PROGRAM}    Generate(k=2) ans\n    Vote()\n")
            document = made.identifier("a.got")
            found = await made.text_document_completion_async(
                types.CompletionParams(document, types.Position(4, 21))
            )
            assert isinstance(found, list)
            item = next(item for item in found if item.label == "answer")
            assert (item.kind, item.detail) == (types.CompletionItemKind.Function, "(question: str) -> str")
            hover = await made.text_document_hover_async(types.HoverParams(document, types.Position(3, 12)))
            assert hover is not None
            assert isinstance(hover.contents, types.MarkupContent)
            assert "question: str" in hover.contents.value
            help = await made.text_document_signature_help_async(
                types.SignatureHelpParams(document, types.Position(4, 13))
            )
            assert help is not None
            assert help.signatures[0].label.startswith("Generate(k, ")

    asyncio.run(life())


def test_a_client_fixes_what_a_diagnostic_reports(tmp_path: Path) -> None:
    async def life() -> None:
        async with editor(tmp_path) as made:
            made.open("a.got", f"{PROGRAM}    Generate() anser(question)\n")
            (found,) = await made.codes("a.got", "GOT0103")
            context = types.CodeActionContext([found])
            actions = await made.text_document_code_action_async(
                types.CodeActionParams(made.identifier("a.got"), found.range, context)
            )
            (action,) = actions or ()
            assert isinstance(action, types.CodeAction)
            assert (action.title, action.is_preferred) == ("Write `answer`", True)
            assert action.edit is not None and action.edit.changes is not None
            (edit,) = action.edit.changes[made.uri("a.got")]
            made.edit("a.got", types.TextDocumentContentChangePartial(edit.range, edit.new_text))
            await made.codes("a.got")

    asyncio.run(life())


def test_a_client_that_saves_asks_for_all_fixes_at_once(tmp_path: Path) -> None:
    whole = types.Range(types.Position(0, 0), types.Position(9, 0))

    async def life() -> None:
        async with editor(tmp_path) as made:
            made.open("a.got", f"{PROGRAM}    Generate() anser(question)\n")
            (found,) = await made.codes("a.got", "GOT0103")
            for only, kinds in (
                (["source.fixAll"], ["source.fixAll"]),
                (["source"], ["source.fixAll"]),
                (["source.organizeImports"], []),
                (["quickfix"], ["quickfix"]),
                (["refactor"], []),
            ):
                context = types.CodeActionContext([found], only)
                document = made.identifier("a.got")
                actions = await made.text_document_code_action_async(
                    types.CodeActionParams(document, whole, context)
                )
                given = [each for each in actions or () if isinstance(each, types.CodeAction)]
                assert [types.CodeActionKind(each.kind).value for each in given] == kinds, only
                assert all(each.title == "Write `answer`" for each in given)

    asyncio.run(life())


def test_a_client_sees_prices_and_commands(tmp_path: Path) -> None:
    async def life() -> None:
        async with editor(tmp_path) as made:
            made.open("a.got", f"{PROGRAM}    Generate(k=3) answer(question)\n    Vote()\n")
            await made.codes("a.got")
            document = made.identifier("a.got")
            whole = types.Range(types.Position(0, 0), types.Position(9, 0))
            hints = await made.text_document_inlay_hint_async(types.InlayHintParams(document, whole))
            found = [(hint.position.line, str(hint.label).split(" · ")[:2]) for hint in hints or ()]
            assert found == [(3, ["3 calls", "1 hop"]), (4, ["3 calls", "1 hop"])]
            lenses = await made.text_document_code_lens_async(types.CodeLensParams(document))
            commands = [lens.command for lens in lenses or () if lens.command is not None]
            assert [command.command for command in commands] == ["got.run", "got.explain"]
            assert [*(commands[0].arguments or ())] == [made.uri("a.got"), "io"]
            (tmp_path / "sim.py").write_text("def answer(rng, question): return question")
            made.edit(
                "a.got",
                f'simulate with "sim.py"\n\n{PROGRAM}    Generate(k=3) answer(question)\n    Vote()\n',
            )
            lenses = await made.text_document_code_lens_async(types.CodeLensParams(document))
            (run, *_) = (lens.command for lens in lenses or () if lens.command is not None)
            assert (run.title, [*(run.arguments or ())][1:]) == ("run simulated", ["io", "simulated"])

    asyncio.run(life())


def test_prices_follow_the_model_that_is_configured(tmp_path: Path) -> None:
    async def life() -> None:
        async with editor(tmp_path) as made:
            made.open("a.got", f"{PROGRAM}    Generate(k=3) answer(question)\n    Vote()\n")
            await made.codes("a.got")
            whole = types.Range(types.Position(0, 0), types.Position(9, 0))
            asked = types.InlayHintParams(made.identifier("a.got"), whole)
            first, *_ = await made.text_document_inlay_hint_async(asked) or ()
            assert str(first.label).endswith(" simulated")
            (tmp_path / "gotc.toml").write_text('model = "openai:unheard-of"\n')
            changed = types.FileEvent(made.uri("gotc.toml"), types.FileChangeType.Created)
            made.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([changed]))
            first, *_ = await made.text_document_inlay_hint_async(asked) or ()
            assert str(first.label).endswith("price unknown")

    asyncio.run(life())


def test_a_path_replaces_all_that_is_typed_of_it(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows-1.csv").write_text("question\nwhy\n")

    async def life() -> None:
        async with editor(tmp_path) as made:
            made.open("a.got", 'study s:\n    data "data/ro\n')
            found = await made.text_document_completion_async(
                types.CompletionParams(made.identifier("a.got"), types.Position(1, 17))
            )
            assert isinstance(found, list)
            (item,) = found
            typed = types.Range(types.Position(1, 10), types.Position(1, 17))
            assert item.text_edit == types.TextEdit(typed, "data/rows-1.csv")

    asyncio.run(life())
