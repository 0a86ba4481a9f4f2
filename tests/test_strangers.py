"""Untrusted programs: anything harmful is refused, in bounded time and memory."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

import pytest
from support.timing import cost, pace, within

from gotlang.api import Options, check, compile, load
from gotlang.errors import CompileError, GotError, RunError, UsageError
from gotlang.ir.evaluate import evaluate
from gotlang.models.simulated import SimulatedModel
from gotlang.runtime import graph
from gotlang.runtime.sampler import sampler
from gotlang.span import Source
from gotlang.syntax.parse import parse_expression

ECHO = SimulatedModel({"ask": lambda rng, x: "ok"})

TEMPLATES = [
    "{{ x.__class__ }}",
    "{{ x.__class__.__mro__[1].__subclasses__() }}",
    "{{ ''.__class__ }}",
    "{{ self._TemplateReference__context }}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ lipsum.__globals__['os'].environ }}",
    "{{ x | attr('__class__') }}",
    "{{ request.application }}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}",
    "{% extends 'x' %}",
    "{% set y = x %}",
    "{% macro m() %}{% endmacro %}",
    "{% for a in range(1000000000) %}{% endfor %}",
    "{% for a in range(9999) %}" * 3 + "{% endfor %}" * 3,
    "{{ 'a' * 1000000000 }}",
    "{{ 9 ** 9 ** 9 ** 9 }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ x.format(x) }}",
    "{{ [x] * 100000000 }}",
    "{{ x() }}",
]


def limited(seconds: float):  # type: ignore[no-untyped-def]
    class Limit:
        def __enter__(self) -> None:
            self.start = time.process_time()
            self.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        def __exit__(self, *_: object) -> None:
            assert (time.process_time() - self.start) / pace() < seconds
            assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self.memory < 400_000  # kB

    return Limit()


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_can_access_only_its_inputs(template: str) -> None:
    text = f'prompt ask(x: str) -> str:\n    """{template} {{{{ x }}}}"""\n'
    text += "scheme s(x: str) -> str:\n    Generate() ask(x)\n"
    with limited(20), pytest.raises(GotError) as caught:
        compile(text, "stranger.got").run(x="hello", options=Options(model=ECHO))
    assert isinstance(caught.value, CompileError | RunError)


EXPRESSIONS = [
    "range(1000000000)",
    "[x for x in range(900000) if len(range(900000)) > 0]",
    "9 ** 9 ** 9",
    "2 ** 100000",
    'join(["aaaaaaaaaa" for x in range(900000)], "bbbbbbbbbb")',
    "concat(range(900000), range(900000))",
    'replace("aaaaaaaaaaaaaaaaaaaa", "a", join(["x" for i in range(600000)]))',
    "[[y for y in range(1000)] for x in range(100000)]",
    "sum([len([b for b in range(3000)]) for a in range(3000)])",
    "chunks([1], 1000000000)",
    "flatten([range(100000) for x in range(100)])",
    "1 / 0",
    "exp(100000)",
    "[1, 2][5]",
    'int("x")',
    'sorted([1, "a"])',
    "{a: 1}.b",
    "(0 - 8) ** 0.5",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_is_bounded_and_its_mistakes_are_errors(text: str) -> None:
    node = parse_expression(Source.of("x", text))
    with limited(20), pytest.raises(GotError):
        evaluate(node, {})  # type: ignore[arg-type]


def test_doubling_stays_bounded() -> None:
    text = 'scheme s() -> str:\n    Map() "aaaaaaaaaa"\n    repeat 60:\n        Map() it + it\n'
    with limited(30), pytest.raises(GotError, match="more than 1,000,000 elements"):
        compile(text, "s.got").run(options=Options(model=ECHO))


@pytest.mark.parametrize(
    "body",
    [
        "    if x > 0:\n        s(x)\n    else:\n        Map() 1\n",
        "    if x > 0:\n        foreach y in [1, 2, 3]:\n            s(x)\n        Vote()\n    else:\n"
        "        Map() 1\n",
        "    if x > 0:\n        s(x + 1)\n    else:\n        Map() 1\n",
    ],
)
def test_endless_recursion_ends(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "MAX_OPERATIONS", 20_000)  # the real limit takes 12 s
    with limited(10), pytest.raises(GotError, match=r"deep|operations"):
        compile("scheme s(x: int) -> int:\n" + body, "s.got").run(x=1, options=Options(model=ECHO))


@pytest.mark.parametrize(
    "path",
    ["../secret.got", "/etc/passwd", "sub/../../secret.got", "C:/x.got", "..\\\\secret.got", "link.got"],
)
def test_imports_stay_in_the_folder(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    (tmp_path / "secret.got").write_text('prompt p(x: str) -> str:\n    "{{ x }}"\n')
    (folder / "link.got").symlink_to(tmp_path / "secret.got")
    (folder / "s.got").write_text(f'import "{path}"\nscheme s(x: str) -> str:\n    Map() x\n')
    with pytest.raises(CompileError) as caught:
        load(folder / "s.got")
    assert caught.value.diagnostics[0].code == "GOT0107"


@pytest.mark.parametrize("line", ['import python "../tools.py": f', 'import python "link.py": f'])
def test_python_stays_in_the_folder(tmp_path: Path, line: str) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    (tmp_path / "tools.py").write_text("raise SystemExit('ran')\ndef f(x): return x\n")
    (folder / "link.py").symlink_to(tmp_path / "tools.py")
    (folder / "s.got").write_text(f"{line}\nscheme s(x: str) -> any:\n    Call f(x)\n")
    with pytest.raises(CompileError) as caught:  # checking runs no Python
        load(folder / "s.got")
    assert "folder" in caught.value.diagnostics[0].message


def test_no_python_refuses_programs_that_need_it(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    (tmp_path / "tools.py").write_text(f"open({str(marker)!r}, 'w').close()\ndef f(x): return x\n")
    (tmp_path / "s.got").write_text('import python "tools.py": f\nscheme s(x: str) -> any:\n    Call f(x)\n')
    program = load(tmp_path / "s.got")
    with pytest.raises(UsageError, match="--no-python"):
        program.run(x="a", options=Options(model=ECHO, python=False))
    assert not marker.exists()
    assert program.run(x="a", options=Options(model=ECHO)).value == "a"
    assert marker.exists()


def test_the_environment_cannot_be_read() -> None:
    os.environ["GOT_TEST_SECRET"] = "hunter2"
    found = check('prompt p(x: str) -> str:\n    "{{ environ }} {{ x }}"\n', "p.got")
    assert [d.code for d in found.diagnostics] == ["GOT0404"]


GROW = """
scheme grow(x: any, n: int) -> any:
    if n > 0:
        grow([x, x], n - 1)
    else:
        Map() x
"""


@pytest.mark.parametrize(
    "body",
    [
        "Map() a",
        "Map() a == b",
        "Map() str(a)",
        "Map() unique([a, b])",
        "Map() a in [b]",
        "Generate() ask(a)",
        "Pool() a, b, a\n    Vote()",
        "if a == b:\n        Map() 1\n    else:\n        Map() 2",
    ],
)
def test_a_value_that_holds_itself_over_and_over_takes_no_more_than_any_other(body: str) -> None:
    """Sixty doublings take sixty lists, and 2 to the 60 elements to write down or to compare."""
    text = f'prompt ask(x: any) -> any:\n    "{{{{ x }}}}"\n{GROW}scheme s() -> any:\n'
    text += f"    a = grow([1], 60)\n    b = grow([1], 60)\n    {body}\n"
    with limited(20), pytest.raises(RunError, match="more than 1,000,000 elements"):
        compile(text, "s.got").run(options=Options(model=ECHO))


def test_doubling_inside_one_expression_is_bounded() -> None:
    text = "[1]"
    for _ in range(30):
        text = f"[[y, y] for y in {text}]"
    node = parse_expression(Source.of("x", f"{text} == {text}"))
    with limited(20), pytest.raises(GotError, match="more than"):
        evaluate(node, {})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "body",
    [
        "    repeat 60:\n        Improve(keep=true) ask(it)\n",
        "    repeat 10000:\n        Generate(k=10000) ask(it)\n        Vote()\n",
        "    Generate(k=4000) ask(it)\n    Generate(k=2) ask(it)\n",
    ],
)
def test_a_run_asks_for_so_many_answers_at_most(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "MAX_SAMPLES", 5_000)  # the real limit takes a minute
    text = f'prompt ask(x: any) -> any:\n    "{{{{ x }}}}"\nscheme s() -> many any:\n    Map() 1\n{body}'
    with limited(30), pytest.raises(RunError, match="more than 5,000 model calls"):
        compile(text, "s.got").run(options=Options(model=ECHO))


def test_pools_that_double_are_bounded() -> None:
    lines = ["    a0 = Pool() 1, 2"]
    lines += [f"    a{n + 1} = Pool() a{n}, a{n}" for n in range(30)]
    text = "scheme s() -> many int:\n" + "\n".join(lines) + "\n    Pool() a30\n"
    with limited(20), pytest.raises(RunError, match="more than 1,000,000 thoughts"):
        compile(text, "s.got").run(options=Options(model=ECHO))


def test_a_forecast_of_loops_in_loops_ends_soon() -> None:
    text = (
        'prompt ask(x: int) -> int:\n    "{{ x }}"\nscheme s() -> many int:\n'
        "    foreach i, a in enumerate(range(60)):\n        foreach j, b in enumerate(range(60)):\n"
        "            foreach k, c in enumerate(range(60)):\n"
        "                Generate(k=i + j + k + 1) ask(1)\n"
    )
    with limited(30):
        costs = compile(text, "s.got").explain(simulate=False).costs
    assert costs.calls.low >= 0


def test_what_is_no_file_is_not_imported(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.got")
    (tmp_path / "s.got").write_text('import "pipe.got"\nscheme s() -> int:\n    Map() 1\n')
    with pytest.raises(CompileError) as caught:
        load(tmp_path / "s.got")
    assert "device or a pipe" in caught.value.diagnostics[0].message


@pytest.mark.parametrize("imported", [False, True])
def test_a_file_without_end_is_not_read(tmp_path: Path, imported: bool) -> None:
    with (tmp_path / "endless.got").open("w") as file:
        file.truncate(1 << 40)
    (tmp_path / "s.got").write_text('import "endless.got"\nscheme s() -> int:\n    Map() 1\n')
    with limited(20), pytest.raises((CompileError, UsageError)) as caught:
        load(tmp_path / ("s.got" if imported else "endless.got"))
    told = caught.value
    words = told.diagnostics[0].message if isinstance(told, CompileError) else told.message
    assert "it is larger than 64,000,000 bytes" in words


def test_thousands_of_lines_check_in_linear_time() -> None:
    def program(lines: int) -> str:
        block = (
            "    part = Generate(k=3) sort(numbers)\n    best = foreach x in part:\n"
            "        Score() len(it)\n        KeepBestN(1)\n    Pool() part, best\n"
        )
        schemes = [
            f"scheme s{i}(numbers: list[int]) -> many list[int]:\n{block * 20}"
            for i in range(lines // 101 + 1)
        ]
        text = (
            "\n".join(schemes)
            .replace("    part = ", "    @ = ")
            .replace("in part", "in @")
            .replace("Pool() part", "Pool() @")
        )
        out, n = [], 0
        for line in text.split("\n"):
            n += line.startswith("    @ = ")
            out.append(line.replace("@", f"part{n}").replace("best", f"best{n}"))
        return 'prompt sort(numbers: list[int]) -> list[int]:\n    "{{ numbers }}"\n' + "\n".join(out) + "\n"

    small, large = program(400), program(4_000)
    assert large.count("\n") >= 4_000
    assert [d for d in check(small).diagnostics if d.severity == "error"] == []
    # Ten times the lines; a hundred times the time if it were quadratic.
    found = within(40 * cost(lambda: check(small)), lambda: check(large))
    assert [d for d in found.diagnostics if d.severity == "error"] == []
