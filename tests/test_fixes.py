"""Fixes of diagnostics: each leads to a program without that diagnostic."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gotlang.compiler import compile_source
from gotlang.diagnostics import Diagnostic, with_fixes
from gotlang.editing.actions import corrections
from gotlang.editing.documents import analyzed
from gotlang.span import Source
from tests.fuzz import ROOT, read
from tests.test_cases import ALL

PROMPT = 'prompt sort(numbers: list[int]) -> list[int]:\n    "Sort {{ numbers }}."\n\n'
SCHEME = "scheme s(numbers: list[int]) -> list[int]:\n"
FIELD = (
    SCHEME + "    Generate() p({left: 1})\nprompt p(t: {left: int}) -> list[int]:\n" + '    "{{ t.left }}"\n'
)
ELSE_IF = """\
scheme s(x: int) -> int:
    if x > 1:
        Pool() 1
    elif x > 0:
        Pool() 2
    else:
        Pool() 3
"""
STEP = "    Generate(k=2) sort(numbers)\n    Vote()\n"


@pytest.mark.parametrize(
    ("text", "code", "right"),
    [
        (
            f"{PROMPT}{SCHEME}    Genrate(k=2) sort(numbers)\n    Vote()\n",
            "GOT0106",
            f"{PROMPT}{SCHEME}{STEP}",
        ),
        (
            f"{PROMPT}{SCHEME}    Generate(k=2) sort(nmbers)\n    Vote()\n",
            "GOT0103",
            f"{PROMPT}{SCHEME}{STEP}",
        ),
        (
            f"{PROMPT}{SCHEME}    Generate(k=2) srt(numbers)\n    Vote()\n",
            "GOT0103",
            f"{PROMPT}{SCHEME}{STEP}",
        ),
        (
            f"{PROMPT}{SCHEME}    Generate(k=2) sort(number=numbers)\n    Vote()\n",
            "GOT0203",
            f"{PROMPT}{SCHEME}    Generate(k=2) sort(numbers=numbers)\n    Vote()\n",
        ),
        (
            f"{PROMPT}{SCHEME}    Generate(k=2, temprature=0.5) sort(numbers)\n    Vote()\n",
            "GOT0311",
            f"{PROMPT}{SCHEME}    Generate(k=2, temperature=0.5) sort(numbers)\n    Vote()\n",
        ),
        (
            f"{PROMPT}{SCHEME}    Generate(k=2) sort(numbers)\n    Vote\n",
            "GOT0010",
            f"{PROMPT}{SCHEME}{STEP}",
        ),
        (f"{PROMPT}{SCHEME[:-2]}  # all\n{STEP}", "GOT0001", f"{PROMPT}{SCHEME[:-1]}  # all\n{STEP}"),
        (f"{PROMPT.replace('{{ numbers', '{{ nubers')}{SCHEME}{STEP}", "GOT0404", f"{PROMPT}{SCHEME}{STEP}"),
        (f"{PROMPT.replace('int]) ', 'itn]) ')}{SCHEME}{STEP}", "GOT0104", f"{PROMPT}{SCHEME}{STEP}"),
        (f"param k: int = 1 in 1..2\n\n{PROMPT}{SCHEME}{STEP}", "GOT0501", f"{PROMPT}{SCHEME}{STEP}"),
        (
            f"{PROMPT.replace(' sort(', ' other(')}{PROMPT}{SCHEME}{STEP}",
            "GOT0503",
            f"{PROMPT}{SCHEME}{STEP}",
        ),
        (f"{PROMPT}{SCHEME}    n = len(numbers)\n{STEP}", "GOT0506", f"{PROMPT}{SCHEME}{STEP}"),
        (f"from std.vote import best_off\n\n{PROMPT}{SCHEME}{STEP}", "GOT0741", ""),
        (f"import std.vote as vote\n\n{PROMPT}{SCHEME}{STEP}", "GOT0744", f"{PROMPT}{SCHEME}{STEP}"),
        (
            "type T = {left: int}\n\nscheme s(t: T) -> int:\n    Pool() t.lfet\n",
            "GOT0208",
            "type T = {left: int}\n\nscheme s(t: T) -> int:\n    Pool() t.left\n",
        ),
        (
            FIELD.replace("t.left", "t.lfet"),
            "GOT0407",
            FIELD,
        ),
        (f"{PROMPT.replace('    ', '    f')}{SCHEME}{STEP}", "GOT0402", f"{PROMPT}{SCHEME}{STEP}"),
        (f"  {PROMPT}{SCHEME}{STEP}", "GOT0003", f"{PROMPT}{SCHEME}{STEP}"),
        (f"{PROMPT}{SCHEME}{STEP[:-1]}:\n", "GOT0003", f"{PROMPT}{SCHEME}{STEP}"),
        (f"// all\n{PROMPT}{SCHEME}{STEP}", "GOT0001", f"# all\n{PROMPT}{SCHEME}{STEP}"),
        (
            f"{PROMPT}scheme s(a: bool, b: bool) -> bool:\n    Pool() a&&b\n",
            "GOT0001",
            f"{PROMPT}scheme s(a: bool, b: bool) -> bool:\n    Pool() a and b\n",
        ),
        ("scheme s() -> str:\n    Pool() 'it'\n", "GOT0001", 'scheme s() -> str:\n    Pool() "it"\n'),
        ("scheme s() -> str:\n    Pool() “it”\n", "GOT0001", 'scheme s() -> str:\n    Pool() "it"\n'),
        (
            "scheme s(x: str[]) -> str:\n    Pool() x[0]\n",
            "GOT0001",
            "scheme s(x: list[str]) -> str:\n    Pool() x[0]\n",
        ),
        (
            ELSE_IF.replace("elif", "else if"),
            "GOT0001",
            ELSE_IF,
        ),
        (
            f"{PROMPT.replace('    ', '    temperature = 0.5' + chr(10) + '    ')}{SCHEME}{STEP}",
            "GOT0001",
            f"{PROMPT.replace('    ', '    temperature 0.5' + chr(10) + '    ')}{SCHEME}{STEP}",
        ),
        (
            "scheme s(n: int) -> int:\n    retrun -n\n",
            "GOT0305",
            "scheme s(n: int) -> int:\n    return -n\n",
        ),
        (
            "operation Half(amount: int):\n    Pool() amount\n\nscheme s() -> int:\n    Half(amout=2)\n",
            "GOT0203",
            "operation Half(amount: int):\n    Pool() amount\n\nscheme s() -> int:\n    Half(amount=2)\n",
        ),
        (
            f"{PROMPT}{SCHEME}    forech x in numbers:\n        Pool() x\n    Pool() numbers\n",
            "",
            "",
        ),
    ],
)
def test_a_fix_leads_to_the_right_program(text: str, code: str, right: str) -> None:
    found = compile_source(Source.of("a.got", text), read).diagnostics
    fixes = [d.fix for d in found if d.fix is not None and d.code == (code or d.code)]
    assert fixes, [(d.code, d.message, d.help) for d in found]
    mended = with_fixes(text, fixes)
    if right:
        assert mended == right
    assert not [d for d in compile_source(Source.of("a.got", mended), read).diagnostics if d.code == code]


def _problems(text: str) -> tuple[Diagnostic, ...]:
    return compile_source(Source.of("case.got", text), read).diagnostics


def test_each_fix_of_the_golden_cases_ends_its_diagnostic() -> None:
    """Every diagnostic of the golden cases that has a fix: with it made, the place has that no more."""
    made = 0
    for case in ALL:
        text = Source.of("case.got", case.source).text
        problems = _problems(text) if case.path.parent.name in ("check", "parse", "fmt") else ()
        for found in problems:
            if found.fix is None or found.fix.span.source != "case.got":
                continue
            after = _problems(with_fixes(text, [found.fix]))
            here, there = (
                sum((d.code, d.message) == (found.code, found.message) for d in each)
                for each in (problems, after)
            )
            told = f"{case}: {found.code} {found.message}"
            assert there < here, told
            new = {d.message for d in after if d.code < "GOT0100"} - {d.message for d in problems}
            assert not new, f"{told}: {new}"
            made += 1
    assert made > 100


def test_all_fixes_at_once(tmp_path: Path) -> None:
    text = f"{PROMPT}{SCHEME}    Generate(k=2) srt(nmbers)\n    Vot()\n"
    document = analyzed(str(tmp_path / "a.got"), text, {})
    found = corrections(document, 0, len(text))
    assert [each.title for each in found] == [
        "Write `sort`", "Write `numbers`", "Write `Vote`", "Fix all 3 fixable diagnostics",
    ]  # fmt: skip
    assert found[-1].text == f"{PROMPT}{SCHEME}{STEP}"


def test_gotc_check_fixes_files(tmp_path: Path) -> None:
    path = tmp_path / "a.got"
    path.write_text(f"{PROMPT}{SCHEME}    Generate(k=2) srt(nmbers)\n    Vot()\n")
    found = _gotc("check", "--fix", "a.got", folder=tmp_path)
    assert (found.returncode, path.read_text()) == (0, f"{PROMPT}{SCHEME}{STEP}"), found.stderr
    assert "a.got: fixed 3 problems" in found.stderr
    refused = _gotc("check", "--fix", "-", folder=tmp_path)
    assert refused.returncode == 2
    assert "cannot be changed" in refused.stderr


def _gotc(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gotlang", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, input="")
