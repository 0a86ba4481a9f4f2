"""A run again from one operation with another prompt: what it depends on comes from the cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support import writing
from support.gotc import document, gotc
from support.openai_server import OpenAIServer

from gotlang.report.edits import EditedRequest, write_edits
from gotlang.report.history import History

MODEL = ("--model", "openai:small")


def run(server: OpenAIServer, folder: Path, *more: object) -> dict[str, Any]:
    command = ("run", *more, "--base-url", server.url, "--json")
    return document(gotc(*command, cwd=folder, OPENAI_API_KEY="sk-x"))


def line(folder: Path, run: str, prompt: str, place: int = 0) -> dict[str, Any]:
    lines = History(folder / ".gotc" / "runs").graph(run)
    return [found for found in lines if found.get("prompt") == prompt and "asked" in found][place]


def test_only_what_depends_on_the_edited_prompt_is_asked_again(tmp_path: Path) -> None:
    writing.write(tmp_path)
    with OpenAIServer(writing.answer) as server:
        first = run(server, tmp_path, "text.got", *MODEL)
        seen = len(server.requests)
        assert seen == 4
        changed = line(tmp_path, first["run"], "write", 1)
        edit = EditedRequest(
            changed["path"], changed["asked"][0]["key"], ["You write well.", "Write all of part 2."]
        )
        write_edits(tmp_path / "edits.json", [edit])
        again = run(server, tmp_path, "--resume", first["run"], "--edited", "edits.json", "--as", "again")
        new = [writing.asked(one.body) for one in server.requests[seen:]]
        # The other part comes from the cache; the joined text and its title depend on the edited one.
        assert [text.split()[0] for text in new] == ["Write", "Join", "A"] and new[
            0
        ] == "Write all of part 2."
        assert server.requests[seen].body["messages"][0]["content"] == "You write well."
        assert again["run"] == "again" and "<all of part 2|" in again["result"]
        assert again["spent"]["calls"] == 3

        # The run remembers its edits: repeated, it asks for nothing; and an edit may be edited.
        seen = len(server.requests)
        assert run(server, tmp_path, "--resume", "again")["result"] == again["result"]
        assert len(server.requests) == seen
        changed = line(tmp_path, "again", "write", 1)
        more = EditedRequest(
            changed["path"], changed["asked"][0]["key"], ["You write well.", "Write nothing."]
        )
        write_edits(tmp_path / "edits.json", [edit, more])
        assert "<nothing|" in run(server, tmp_path, "--resume", "again")["result"]


def test_an_edit_that_does_not_fit_and_files_that_are_none_are_told(tmp_path: Path) -> None:
    writing.write(tmp_path)
    with OpenAIServer(writing.answer) as server:
        first = run(server, tmp_path, "text.got", *MODEL)
        changed = line(tmp_path, first["run"], "title")
        write_edits(
            tmp_path / "edits.json", [EditedRequest(changed["path"], changed["asked"][0]["key"], ["a", "b"])]
        )
        again = ("run", "--resume", first["run"], "--base-url", server.url)
        failed = gotc(*again, "--edited", "edits.json", cwd=tmp_path, OPENAI_API_KEY="sk-x")
        assert failed.returncode == 1 and "has 2 messages instead of 1" in failed.stderr
        for content, why in (("[1]", "no edited prompts"), ("", "no edited prompts"), (None, "cannot read")):
            path = tmp_path / "bad.json"
            path.unlink(missing_ok=True)
            if content is not None:
                path.write_text(content)
            failed = gotc(*again, "--edited", path, cwd=tmp_path, OPENAI_API_KEY="sk-x")
            assert failed.returncode == 2 and why in failed.stderr
        stale = json.loads((tmp_path / "edits.json").read_text())
        stale[0]["key"] = "0" * 64
        (tmp_path / "edits.json").write_text(json.dumps(stale))
        told = gotc(*again, "--edited", "edits.json", cwd=tmp_path, OPENAI_API_KEY="sk-x")
        assert "an edited prompt was not used: text/" in told.stderr


def test_a_run_gets_the_name_that_it_is_given_once(tmp_path: Path) -> None:
    writing.write(tmp_path)
    with OpenAIServer(writing.answer) as server:
        assert run(server, tmp_path, "text.got", *MODEL, "--as", "mine")["run"] == "mine"
        for name, why in (("mine", "there is a run `mine`"), ("../x", "no run can"), ("last", "no run can")):
            failed = gotc("run", "text.got", *MODEL, "--base-url", server.url, "--as", name, cwd=tmp_path)
            assert failed.returncode == 2 and why in failed.stderr
