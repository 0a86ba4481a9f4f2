"""The IR as JSON, and packed: programs survive the round trip and run as before; invalid documents are
refused with a message."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Gotc, folder, gotc  # noqa: F401

import gotlang
from benchmarks.schemes import ROWS, Row, measure, program_of
from gotlang.api import Options, Program, compile
from gotlang.errors import CompileError, RunError, UsageError
from gotlang.ir.json import from_document, to_document
from gotlang.ir.packed import pack, unpack
from gotlang.ir.text import to_text
from tests.support.answers import any_model, some_value
from tests.support.laws import NEW, times
from tests.support.typed_programs import typed_program

PROGRAMS = Path(__file__).parents[1] / "programs"
NAMES = [path.relative_to(PROGRAMS).with_suffix("").as_posix() for path in sorted(PROGRAMS.rglob("*.got"))]
ONE_EACH = list({row.program: row for row in reversed(ROWS)}.values())


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the programs and their files, to which others may be added."""
    return shutil.copytree(PROGRAMS, tmp_path_factory.mktemp("ir") / "programs")


def survives(program: Program, level: int, path: str) -> None:
    sources = program.compilation.sources
    text = to_document(program.ir(level), sources, level)
    found, read, stored = from_document(text, path)
    assert (found, stored, read) == (program.ir(level), level, dict(sources))
    assert found.main == program.ir(level).main
    assert to_text(found) == to_text(program.ir(level))
    assert to_document(found, read, level) == text  # with every place in the source
    packed = pack({level: program.ir(level)}, b"key")
    assert packed is not None and unpack(packed, b"another") is None
    kept = unpack(packed, b"key")
    assert kept is not None and to_document(kept[level], sources, level) == text


@pytest.mark.parametrize("name", NAMES)
def test_a_program_survives_json(name: str) -> None:
    for level in (0, 2):
        survives(program_of(name), level, str(PROGRAMS / f"{name}.got"))


def test_generated_programs_survive_json() -> None:
    first = 1_000_000 if NEW else 0
    for seed in range(first, first + times(40)):
        try:
            program = compile(typed_program(str(seed)).text, "law.got")
        except CompileError:
            continue
        for level in (0, 2):
            survives(program, level, "law.got")


@pytest.mark.parametrize("row", ONE_EACH, ids=lambda row: row.program)
def test_a_program_runs_from_json_with_the_same_result(
    row: Row, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = measure(row).result
    path = copied / f"{row.program}.stored.ir.json"
    path.write_text(program_of(row.program).ir_json(1))
    loaded = gotlang.load(path)
    monkeypatch.setattr("benchmarks.schemes.program_of", lambda name: loaded)
    found = measure(row).result
    assert json.dumps(found.value) == json.dumps(wanted.value)
    assert found.score == wanted.score
    for name in ("hops", "volume", "truth", "valid", "operations"):
        assert getattr(found.outcome, name) == getattr(wanted.outcome, name)
    assert found.outcome.ledger.accounts[0] == wanted.outcome.ledger.accounts[0]


@pytest.mark.parametrize("name", NAMES)
def test_every_scheme_runs_from_json_as_before_whatever_a_model_answers(name: str, copied: Path) -> None:
    program = program_of(name)
    stored = copied / f"{name}.every.ir.json"
    stored.write_text(program.ir_json(2))
    loaded = gotlang.load(stored)

    def told(which: Program, scheme: str, inputs: dict[str, Any]) -> object:
        options = Options(model=any_model(program.ir(0)), max_calls=300, python=True)
        try:
            result = which.run(inputs, scheme=scheme, options=options)
        except RunError as error:
            return error.message.replace(str(copied), str(PROGRAMS))
        outcome = result.outcome
        return json.dumps(result.value), result.status, outcome.hops, outcome.volume, outcome.ledger.spent

    for scheme in program.ir(0).schemes:
        made_up = random.Random(f"{name}/{scheme.name}")
        inputs = {parameter: some_value(type_, made_up) for parameter, type_ in scheme.parameters}
        if "depth" in inputs:
            inputs["depth"] %= 3  # for the sake of time
        assert told(loaded, scheme.name, inputs) == told(program, scheme.name, inputs)


# ---------------------------------------------------------------- what is no IR


def document(name: str = "sort128") -> Any:
    return json.loads(program_of(name).ir_json())


def refused(data: Any, path: str = "x.ir.json") -> str:
    with pytest.raises(UsageError) as error:
        from_document(data if isinstance(data, str) else json.dumps(data), path)
    return str(error.value.message)


def places(data: Any) -> list[tuple[Any, Any]]:
    """Every container in a document with every key of it."""
    keys = list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    return [(data, key) for key in keys] + [place for key in keys for place in places(data[key])]


@pytest.mark.parametrize("name", ["sort128", "react", "game24", "egot"])
def test_no_mutilated_document_does_anything_but_say_so(name: str) -> None:
    whole, chance = document(name), random.Random(name)
    text, others = json.dumps(whole), [container[key] for container, key in places(whole["program"])]
    refusals = 0
    for _ in range(times(60)):
        data = json.loads(text)
        container, key = chance.choice(places(data["program"]))
        other = chance.choice(others)
        container[key] = chance.choice([None, -1, 1e300, "x", "%1", [], {}, True, {"is": "Pool"}, other])
        try:
            program, sources, level = from_document(json.dumps(data), "x.ir.json")
        except UsageError as error:
            assert "is not the IR of a program" in error.message
            refusals += 1
        else:
            to_document(program, sources, level)  # what passes is a program
    assert refusals > 20


def test_what_is_wrong_is_told_with_its_place() -> None:
    data = document()
    assert "its version is 2" in refused({**data, "ir_version": 2})
    assert "`sources` is missing" in refused({key: data[key] for key in ("ir_version", "level", "program")})
    assert "not JSON" in refused('{"ir_version": 1, ')
    step = data["program"]["schemes"][0]["body"]["steps"][0]
    step["prompt"] = "no_such"
    assert "unknown prompt `no_such`" in refused(data)
    step["is"] = "Explode"
    assert "schemes/0/body/steps/0: unknown kind 'Explode'" in refused(data)
    deep = '{"ir_version": 1, "level": 0, "sources": [], "program": {"schemes": '
    assert "not JSON" in refused(deep + "[" * 90_000)


def test_a_document_reaches_no_file_outside_of_its_folder(tmp_path: Path) -> None:
    data = document()
    data["program"]["simulators"][0]["folder"] = "../elsewhere"
    assert "not a folder next to the document" in refused(data)
    data["program"]["simulators"][0] |= {"folder": ".", "path": "../secret.py"}
    (tmp_path / "x.ir.json").write_text(json.dumps(data))
    with pytest.raises(UsageError, match="leaves the program's folder"):
        gotlang.run(
            tmp_path / "x.ir.json",
            numbers=[1],
            options=gotlang.Options(model="simulated", python=True, cache=None),
        )


def test_the_commands(gotc: Gotc, folder: Path) -> None:  # noqa: F811
    (folder / "vote.ir.json").write_text(gotc("ir", "vote.got", "--json").out)
    text = gotc("ir", "vote.got").out
    assert gotc("ir", "vote.ir.json").out == text
    assert gotc("check", "vote.ir.json").code == 0
    (folder / "bad.ir.json").write_text("{}")
    assert gotc("check", "bad.ir.json", "vote.ir.json").code == 2
    given = ("--input", "question=why?", "--no-cache", "--allow-python", "--quiet")
    assert gotc("run", "vote.ir.json", *given).out == gotc("run", "vote.got", *given).out != ""
    # Its Python runs, or does not, as that of any program.
    assert gotc("run", "vote.ir.json", "--input", "question=why?", "--no-cache", "--no-python").code == 2
    (folder / "vote.ir.json").write_text("{}")
    done = gotc("run", "vote.ir.json", *given)
    assert done.code == 2 and "vote.ir.json is not the IR of a program" in done.err
    after = gotc("ir", "vote.got", "--print-after", "all").out
    names = [line for line in after.splitlines() if line.startswith("# after")]
    assert names[0] == "# after constant folding" and names[-1] == "# after early stopping"
    assert after.endswith(text + "\n")
    assert gotc("ir", "vote.got", "--print-after", "sharing").out.startswith("# after sharing\nprogram")
    assert gotc("ir", "vote.got", "--print-after", "nothing").code == 2
