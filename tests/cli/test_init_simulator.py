"""`gotc init --simulator FILE` lets a program run offline: every one of the documentation does."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from support.answers import some_value
from support.gotc import ROOT, gotc

from gotlang.api import Options, compile, formatted, load
from gotlang.errors import RunError
from gotlang.models.simulated import SimulatedModel
from gotlang.simulator import made_up, simulator_text
from gotlang.span import Source
from gotlang.types import INT, OptionalType

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FILES = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROGRAMS = [
    pytest.param(
        page, text, id=f"{page.relative_to(ROOT)}:{page.read_text()[: match.start()].count(chr(10))}"
    )
    for page in PAGES
    for match in re.finditer(r"^```got[^\n]*\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    if "prompt " in (text := match[1]) and "simulate with" not in text
]


@pytest.mark.parametrize(("page", "text"), PROGRAMS)
def test_every_program_of_the_pages_runs_with_it(page: Path, text: str, tmp_path: Path) -> None:
    for name, content in FILES.findall(page.read_text()):
        (tmp_path / name).write_text(content)
    program = compile(text, "page.got")
    if not any(prompt.name.isidentifier() for prompt in program.prompts.values()):
        pytest.skip("its prompts are in other files")
    path = tmp_path / "page.got"
    path.write_text(text)
    done = gotc("init", "--simulator", "page.got", cwd=tmp_path, XDG_CONFIG_HOME=str(tmp_path / "config"))
    assert done.returncode == 0, done.stderr
    written = load(path)
    if formatted(Source.of("page.got", text)) == text:
        assert formatted(Source.of("page.got", path.read_text())) == path.read_text()
    for scheme in written.ir(0).schemes:
        inputs = {name: some_value(type_, random.Random(name)) for name, type_ in scheme.parameters}
        options = Options(model="simulated", cache=None, python=True, ask=lambda question: "1")
        try:
            written.run(inputs, scheme=scheme.name, options=options)
        except RunError as error:
            # Made-up responses may leave nothing valid; that they cannot be read is another matter.
            assert error.failures and "cannot be read" not in str(error.failures)


def test_what_may_be_none_is_sometimes_there() -> None:
    made = [made_up(OptionalType(INT), random.Random(seed)) for seed in range(20)]
    assert None in made and any(isinstance(one, int) for one in made)


@pytest.mark.parametrize(
    ("type_", "regex"),
    [("str", "[A-Z]{1,2}-\\\\d{3}( (a|\\\\.))*"), ("int", "[^a-z]{3}"), ("float", "0\\\\.\\\\d+|1")],
)
def test_responses_match_the_regular_expression_of_their_prompt(type_: str, regex: str) -> None:
    text = f'prompt say(x: int) -> {type_}:\n    regex "{regex}"\n    "{{{{ x }}}}"\n\n'
    text += f"scheme s(x: int) -> list[{type_}]:\n    Generate(k=9) say(x)\n"
    functions: dict[str, Any] = {}
    exec(simulator_text(compile(text).ir(0), "a.got"), functions)
    found = compile(text).run(
        x=1, options=Options(model=SimulatedModel({"say": functions["say"]}), cache=None)
    )
    assert found.status == "complete" and not found.outcome.failures


def test_vectors_of_embeddings_have_one_length() -> None:
    text = "from std.embed import alike\nscheme near(a: str, b: str) -> float:\n    return alike(a, b)\n"
    functions: dict[str, Any] = {}
    exec(simulator_text(compile(text).ir(0), "a.got"), functions)
    model = SimulatedModel({"embed__embed": functions["embed__embed"]})
    for seed in range(10):
        found = compile(text).run(a="x", b="y", options=Options(model=model, cache=None, seed=seed))
        assert 0 < found.value <= 1


def test_it_tells_log_probabilities_where_the_program_asks_for_them(tmp_path: Path) -> None:
    (tmp_path / "sure.got").write_text(
        'prompt say(q: str) -> str:\n    top_logprobs 2\n    "{{ q }}"\n\n'
        "scheme sure(q: str) -> float:\n    Generate(logprobs=true) say(q)\n"
        "    Map() mean([exp(t.logprob) + t.top[1].logprob for t in tokens(it)])\n"
    )
    own = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert gotc("init", "--simulator", "sure.got", cwd=tmp_path, **own).returncode == 0
    done = gotc("run", "sure.got", "--input", "q=x", "--quiet", cwd=tmp_path, **own)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1


def test_it_writes_a_simulator_that_is_trusted(tmp_path: Path) -> None:
    (tmp_path / "short.got").write_text(
        '# A text made short.\n\nprompt shorten(text: str) -> str:\n    "Shorten {{ text }}"\n\n'
        "scheme short(text: str) -> str:\n    Generate() shorten(text)\n"
    )
    own = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    done = gotc("init", "--simulator", "short.got", cwd=tmp_path, **own)
    assert done.returncode == 0, done.stderr
    assert (
        (tmp_path / "short.got")
        .read_text()
        .startswith('# A text made short.\n\nsimulate with "short_sim.py"\n')
    )
    assert "def shorten(rng, text):" in (tmp_path / "short_sim.py").read_text()
    ran = gotc("run", "short.got", "--input", "text=a b", cwd=tmp_path, **own)
    assert ran.returncode == 0 and "simulated" in ran.stderr, ran.stderr
    again = gotc("init", "--simulator", "short.got", cwd=tmp_path, **own)
    assert again.returncode == 2 and "short.got has a simulator" in again.stderr


def test_it_overwrites_nothing_and_takes_only_programs_with_prompts(tmp_path: Path) -> None:
    (tmp_path / "short.got").write_text(
        'prompt p() -> str:\n    "Say."\n\nscheme s() -> str:\n    Generate() p()\n'
    )
    (tmp_path / "short_sim.py").write_text("mine")
    (tmp_path / "none.got").write_text("scheme one() -> int:\n    return 1\n")
    for file, words in (
        ("short.got", "already exists"),
        ("none.got", "has no prompts"),
        ("no.got", "no.got"),
    ):
        done = gotc("init", "--simulator", file, cwd=tmp_path)
        assert done.returncode == 2 and words in done.stderr, done.stderr
    assert (tmp_path / "short_sim.py").read_text() == "mine"
    assert "simulate" not in (tmp_path / "short.got").read_text()


def test_programs_from_windows_and_stored_ones(tmp_path: Path) -> None:
    text = '# Short.\nprompt say(x: int) -> int:\n    "{{ x }}"\n\n'
    text += "scheme s(x: int) -> int:\n    Generate() say(x)\n"
    (tmp_path / "a.got").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    own = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert gotc("init", "--simulator", "a.got", cwd=tmp_path, **own).returncode == 0
    assert load(tmp_path / "a.got").ir(0).simulators
    written = (tmp_path / "a.got").read_bytes()
    assert written.startswith(b"\xef\xbb\xbf# Short.\r\n") and written.count(b"\n") == written.count(b"\r\n")
    (tmp_path / "b.got").write_text(text)
    stored = tmp_path / "b.ir.json"
    stored.write_text(gotc("ir", "b.got", "--json", cwd=tmp_path).stdout)
    before = stored.read_text()
    done = gotc("init", "--simulator", "b.ir.json", cwd=tmp_path, **own)
    assert (done.returncode, stored.read_text()) == (2, before), done.stderr
