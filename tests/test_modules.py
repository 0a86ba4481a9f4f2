"""Names across files: imports from files in the program's folder and from packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gotlang.api import compile_file, run
from gotlang.compiler import Compilation, compile_source
from gotlang.errors import CompileError
from gotlang.ir.parse import from_text
from gotlang.ir.text import to_text
from gotlang.models.simulated import SimulatedModel
from gotlang.options import Options
from gotlang.packages import package_text
from gotlang.span import Source
from gotlang.syntax.format import format_module
from gotlang.syntax.parse import parse

MERGE = """
param tries = 3 in 1..5
param _offset = 0
type State = {left: list[int], right: list[int]}

prompt merge(left: list[int], right: list[int]) -> list[int]:
    "Merge {{ left }} and {{ right }}."
score mistakes(attempt: list[int], numbers: list[int]) -> lower, best 0:
    count_difference(attempt, numbers) + _offset
scheme both(state: State) -> list[int]:
    Generate(k=tries) merge(state.left, state.right)
    Score() mistakes(it, state.left + state.right)
    KeepBestN(1)
"""


def compiled(main: str, **files: str) -> Compilation:
    texts = {name if "." in name else f"{name}.got": text for name, text in files.items()}

    def read(name: str) -> str:
        return package_text(name) if name.startswith("<") else texts[name]

    return compile_source(Source.of("main.got", main), read)


def said(main: str, **files: str) -> list[tuple[str, str, str | None]]:
    return [(d.code, d.message, d.help) for d in compiled(main, **files).diagnostics]


def ir(main: str, **files: str) -> str:
    return to_text(compiled(main, **files).compiled().program(0))


def test_each_way_to_import_means_the_same_program() -> None:
    body = """
scheme run(left: list[int], right: list[int]) -> list[int]:
    s = {left: left, right: right}
    PREboth(s)
    Generate(k=PREtries) PREmerge(left, right)
    Score() PREmistakes(it, left)
    Select() PREmistakes(it, right) == 0
    Vote()
"""
    named = body.replace("PRE", "")
    whole = ir('import "merge.got"' + named, merge=MERGE)
    names = "merge, tries, mistakes, both"
    for main in (
        'import "merge.got" as m' + body.replace("PRE", "m."),
        f'from "merge.got" import {names}' + named,
    ):
        other = ir(main, merge=MERGE)
        for prefix in ("m__", "merge__"):
            other = other.replace(prefix, "")
        assert other.replace("_offset", "x") == whole.replace("merge___offset", "x").replace("_offset", "x")


def test_an_operation_of_a_module_goes_by_the_name_of_its_file() -> None:
    head = "import std.vote as v\n"
    prompt = 'prompt ask(q: str) -> int:\n    "{{ q }}"\n'
    body = """scheme main(q: str) -> int:
    x = v.BestOf(k=2) ask(q), it Repeat(2)
    v.SelfConsistency() ask(q)
    Map() it + len(x)
"""
    written = ir(head + prompt + body)
    assert 'block "SelfConsistency"' in written
    names = "from std.vote import BestOf, SelfConsistency\n"
    assert written == ir(names + prompt + body.replace("v.", ""))
    source = Source.of("main.got", f"{head}\n{prompt}\n{body}")
    assert format_module(parse(source)[0], source) == source.text
    for wrong, message in (
        ("v.BestOff", "`v` has no `BestOff`"),
        ("w.BestOf", "operation `w.BestOf` is not known"),
    ):
        said_of = said(head + prompt + body.replace("v.BestOf", wrong))
        assert [m for _, m, _ in said_of if "import" not in m] == [message]


def test_what_is_imported_as_a_name_hides_nothing() -> None:
    main = """
import "merge.got" as m
param tries = 1
prompt merge(left: list[int], right: list[int]) -> list[int]:
    "{{ left }} {{ right }}"
scheme run(s: m.State, t: list[m.State]) -> list[int]:
    Generate(k=tries + m.tries) merge(s.left, t[0].right)
    m.both({left: it, right: it})
    Generate(k=2) m.merge(it, it)
    Vote()
"""
    text = ir(main, merge=MERGE)
    assert "k tries + m__tries" in text
    assert to_text(from_text(text)) == text


@pytest.mark.parametrize(
    ("main", "code", "message"),
    [
        ('from "merge.got" import merg\n', "GOT0741", "`merge.got` has no `merg`"),
        ('from "merge.got" import _offset\n', "GOT0742", "`_offset` is private to `merge.got`"),
        ('import "merge.got" as m\nparam x = 1 when m.tris > 1\n', "GOT0741", "`m` has no `tris`"),
        ('import "merge.got"\nparam x = 1 when _offset > 1\n', "GOT0103", "name `_offset` is not known"),
        ('from "merge.got" import tries\nparam tries = 3\n', "GOT0101", "duplicate name `tries`"),
        ('from "merge.got" import tries, tries\n', "GOT0101", "duplicate name `tries`"),
        ('import "merge.got" as m\nparam m = 3\n', "GOT0101", "duplicate name `m`"),
        (
            'from "circle.got" import a\nparam b = 1 when a > 1\n',
            "GOT0743",
            "circular import: `circle.got` -> ",
        ),
        ("from std.vtoe import x\n", "GOT0107", "cannot import `std.vtoe`: the package has "),
        ("import nosuch.module as m\n", "GOT0107", "cannot import `nosuch.module`: no package `nosuch`"),
    ],
)
def test_mistakes_of_imports(main: str, code: str, message: str) -> None:
    circle = 'from "main.got" import b\nparam a = 1\nscheme f() -> int:\n    Pool() b\n'
    found = said(main, merge=MERGE, circle=circle)
    # The circle's first file by name has it, whichever is compiled.
    assert [(c, m[: len(message)]) for c, m, _ in found] == [(code, message)]


def test_a_circle_of_imports_is_shown_by_paths_in_the_folder_of_the_program() -> None:
    def read(name: str) -> str:
        return 'from "a.got" import s\nparam b = 1\n' if name.endswith("b.got") else ""

    main = 'from "b.got" import b\nscheme s() -> int:\n    Pool() b\n'
    for path in ("/home/me/a.got", "x/a.got", "a.got"):
        found = compile_source(Source.of(path, main), read).diagnostics
        assert found[0].message == "circular import: `a.got` -> `b.got` -> `a.got`"


def test_what_is_imported_and_never_used() -> None:
    imports = 'from "merge.got" import tries, merge\nimport "merge.got" as m\n'
    main = f"{imports}scheme s() -> int:\n    Pool() tries\n"
    assert [(c, m) for c, m, _ in said(main, merge=MERGE)] == [
        ("GOT0744", "import `merge` is never used"),
        ("GOT0744", "import `m` is never used"),
    ]


def test_messages_have_names_as_the_program_writes_them() -> None:
    main = 'import "merge.got" as m\nscheme s() -> list[int]:\n    Generate() m.merge([1])\n'
    (found,) = compiled(main, merge=MERGE).diagnostics
    assert "m.merge" in found.message and "m__" not in repr(found)


def test_files_with_one_name_have_names_apart() -> None:
    one, two = ("param n = 1\nscheme f() -> int:\n    Pool() n\n" for _ in range(2))
    main = 'from "a/x.got" import f\nfrom "b/x.got" import f as g\nscheme s() -> int:\n    f()\n    g()\n'
    text = ir(main, **{"a/x": one, "b/x": two})
    assert "param x__n" in text and "param x2__n" in text and "scheme g" in text


def test_a_simulator_may_name_a_prompt_as_its_own_file_does(tmp_path: Path) -> None:
    (tmp_path / "merge.got").write_text(MERGE)
    (tmp_path / "sim.py").write_text("def merge(rng, left, right):\n    return str(sorted(left + right))\n")
    main = tmp_path / "main.got"
    main.write_text(
        'import "merge.got" as m\nsimulate with "sim.py"\n'
        "scheme s(xs: list[int]) -> list[int]:\n    Generate() m.merge(xs, [2])\n"
    )
    assert not compile_file(main).diagnostics
    assert run(main, xs=[3, 1], options=Options(python=True)).value == [1, 2, 3]


def test_a_package_that_pip_installed(tmp_path: Path) -> None:
    folder = tmp_path / "site" / "sortkit"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise SystemExit('a check runs no Python of a package')\n")
    (folder / "merging.got").write_text('import "parts.got"\n' + MERGE)
    (folder / "parts.got").write_text("param more = 1\n")
    info = tmp_path / "site" / "sortkit-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sortkit\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gotlang.packages]\nsorting = sortkit\n")
    main = tmp_path / "main.got"
    for name in ("sorting", "sortkit"):
        main.write_text(
            f"from {name}.merging import tries, more\nscheme s() -> int:\n    Pool() tries + more\n"
        )
        command = [sys.executable, "-m", "gotlang", "run", str(main)]
        done = subprocess.run(
            command,
            env={"PYTHONPATH": str(tmp_path / "site"), "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout.split()[-1:]) == (0, ["4"]), done.stderr


def test_a_package_has_no_python_and_says_what_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "site" / "sortkit"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "tool.py").write_text("def double(x: int) -> int:\n    return 2 * x\n")
    (folder / "work.got").write_text(
        'import python "tool.py": double -> int\nscheme twice(x: int) -> int:\n    Pool() double(x)\n'
    )
    (tmp_path / "main.got").write_text("from sortkit.work import twice\nscheme s() -> int:\n    twice(2)\n")
    done = subprocess.run(
        [sys.executable, "-m", "gotlang", "check", "main.got"],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{tmp_path / 'site'}:{Path(__file__).parents[1]}", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "a module of a package is written in got alone: it cannot open `tool.py`" in done.stdout
    assert "the program imports the file" in done.stdout


def test_std_needs_no_folder() -> None:
    main = "from std.vote import self_consistency\nscheme s(q: str) -> str:\n    self_consistency(q)\n"
    assert compile_source(Source.of("main.got", main)).ok


MARKDOWN = """---
temperature: 0.3
---
# System
Be kind. {{ c.style(tone) }}

# User
Line \\one
{{ c.style("dry", more=q | length) }}
"""
STYLE = """
partial style(tone: str, more: int): "Write {{ tone | upper }}, {{ more }} times."
"""


def test_a_prompt_from_a_markdown_file_with_partials() -> None:
    main = """
import "style.got" as c
prompt ask(q: str, tone: str, n: int) -> str from "ask.md":
    parse json
scheme s(q: str) -> str:
    Generate() ask(q, "dry", 2)
"""
    text = MARKDOWN.replace("style(tone)", "style(tone, n)")
    found = compiled(main, style=STYLE, **{"ask.md": text}).compiled().program(0).prompt("ask")
    assert [name for name, _ in found.settings] == ["temperature"]
    assert found.system is not None and found.user is not None
    assert found.system.render({"tone": "dry", "n": 2}) == "Be kind. Write DRY, 2 times."
    assert found.user.render({"q": "four"}) == "Line \\one\nWrite DRY, 4 times."


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("{{ q }} {{ qq }}", "GOT0404", "the text of prompt `ask` shows `qq`"),
        ("{{ style(q) }}", "GOT0749", "partial `style` takes tone, more"),
        ("{{ style(n, n) }}", "GOT0749", "`n` is not of the type of `tone`"),
        ("---\ncolour: 3\n---\n{{ q }}", "GOT0402", "setting `colour` is not known"),
        ("# System\nBe kind.\n", "GOT0401", "prompt `ask` has no text"),
    ],
)
def test_mistakes_in_a_markdown_file(text: str, code: str, message: str) -> None:
    main = STYLE + 'prompt ask(q: str, n: int) -> str from "ask.md"\n'
    found = [d for d in compiled(main, **{"ask.md": text}).diagnostics if d.severity == "error"]
    assert [(d.code, d.message[: len(message)]) for d in found] == [(code, message)]


def test_a_partial_does_not_show_itself() -> None:
    main = 'partial a(x: int): "{{ b(x) }}"\npartial b(x: int): "{{ a(x) }}"\n'
    main += 'prompt ask(n: int) -> str:\n    "{{ a(n) }}"\n'
    assert ("GOT0749", "partial `a` shows itself") in [(c, m) for c, m, _ in said(main)]


LIBRARY = """
import corpus "gone.jsonl": notes
import python "tools.py": twice, thrice -> int
import mcp "no-such-command": look
param depth = 2 in 1..4
prompt short(notes: str) -> str:
    "{{ notes }}"
prompt looked(text: str) -> str:
    tools look
    "{{ text }}"
scheme cut(text: str) -> str:
    Generate() short(text)
scheme searched(text: str) -> list[str]:
    Retrieve(k=depth) notes(text)
    Generate() looked(it)
scheme doubled(n: int) -> int:
    Pool() thrice(n)
"""


@pytest.mark.parametrize("imported", ['from "b.got" import cut', 'import "b.got" as cut'])
def test_what_only_other_schemes_of_a_file_use_is_neither_loaded_nor_trusted(
    imported: str, tmp_path: Path
) -> None:
    call = "cut(text)" if "from" in imported else "cut.cut(text)"
    (tmp_path / "b.got").write_text(LIBRARY)
    (tmp_path / "tools.py").write_text("raise SystemExit\ndef twice(n): ...\ndef thrice(n): ...\n")
    (tmp_path / "gone.jsonl").write_text("this is no JSON")
    (tmp_path / "a.got").write_text(f"{imported}\nscheme main(text: str) -> str:\n    {call}\n")
    program = compile_file(tmp_path / "a.got")
    built = program.compiled().program()
    assert (built.corpora, built.python, built.servers, built.params) == ((), (), (), ())
    names = ("b__short", "cut__short")
    model = SimulatedModel({name: lambda rng, notes: notes[:2] for name in names})
    options = Options(model=model, python=False)
    assert run(str(tmp_path / "a.got"), text="abc", options=options).value == "ab"
    # All of it is read by the check, and what an import without a name brings is the program's own.
    (tmp_path / "b.got").write_text(LIBRARY.replace("thrice(n)", "other(n)"))
    with pytest.raises(CompileError, match="other"):
        compile_file(tmp_path / "a.got").compiled()
    (tmp_path / "b.got").write_text(LIBRARY)
    (tmp_path / "a.got").write_text('import "b.got"\nscheme main(text: str) -> str:\n    cut(text)\n')
    assert len(compile_file(tmp_path / "a.got").compiled().program().corpora) == 1
