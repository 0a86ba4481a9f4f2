"""Notebooks: `%load_ext gotlang`, `%%got`, what is shown, and the example of the page, in a real kernel."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from support.gotc import ROOT, environment

EXAMPLE = ROOT / "docs" / "notebooks" / "classify.ipynb"
SIM = """\
def answer(rng, question):
    return "<script>alert(1)</script>" if "<" in question else "six legs"
"""
PROGRAM = """\
simulate with "sim.py"
prompt answer(question: str) -> str:
    "{{ question }}"
scheme plain(question: str) -> str:
    Generate() answer(question)
    GroundTruth() it == truth
scheme vote(question: str) -> str:
    Generate(k=3) answer(question)
    Vote()
    GroundTruth() it == truth
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sim.py").write_text(SIM)
    return tmp_path


def execute(notebook: Any, folder: Path, **settings: Any) -> list[list[Any]]:
    """The outputs of each cell, in a kernel of its own."""
    env = environment(
        HOME=str(folder),
        JUPYTER_PLATFORM_DIRS="1",
        IPYTHONDIR=str(folder / "ipython"),
        XDG_CONFIG_HOME=str(folder / "config"),
        GOTC_ALLOW_PYTHON="1",
        PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    )
    place = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=120, resources=place, **settings).execute(env=env)
    return [list(cell.get("outputs", ())) for cell in notebook.cells]


def cells(*texts: str) -> Any:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in texts])


def html(outputs: list[Any]) -> str:
    return "".join(o.data.get("text/html", "") for o in outputs if o.output_type == "execute_result")


def test_programs_and_results_are_shown(folder: Path) -> None:
    rows = '[{"question": "How many?", "truth": "six legs"}, {"question": "1 < 2?", "truth": "yes"}]'
    out = execute(
        cells(
            "%load_ext gotlang",
            f"%%got ants\n{PROGRAM}",
            f'%%got ants --scheme plain --input question="1 < 2?"\n{PROGRAM}',
            "assert ants_result.calls == 1\nants.run(question='How many?')",
            f"ants.evaluate({rows}, scheme='vote')",
            f"ants.compare({rows})",
            "ants.tune([{'question': str(n)} for n in range(8)], minimize='len(result)', scheme='vote',\n"
            "          vary=['answer.temperature in 0.0..1.0'], trials=2, folder=None)",
        ),
        folder,
    )
    shown = [html(found) for found in out]
    assert "scheme vote</th><td>(question: str) -&gt; str" in shown[1] and "data:image/svg+xml" in shown[1]
    assert not [o for o in out[2] if o.output_type == "stream"]  # no warning: the output says it
    for one in shown[2:]:
        assert 'class="gotc"' in one and "simulated: no real model was called" in one
        assert "<script" not in one and "prefers-color-scheme" not in one
        assert not re.search(r"background: (?!none)|color: (?!inherit)#", one)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown[2] and "critical path" in shown[2]
    assert "six legs" in shown[3]
    assert "Rows, wrong ones first (of 2)" in shown[4]
    assert shown[4].index("&lt;script&gt;") < shown[4].index("<td>correct</td><td>How many?</td>")
    assert "<td>plain</td>" in shown[5] and "<td>baseline</td>" in shown[5]
    assert "verdict" in shown[6]


ONE = "scheme s(n: int) -> int:\n    Pool() n\n"
WRONG = {
    "%%got\nscheme s(n: int) -> int:\n    Pool() m\n": "error[GOT0103]: name `m` is not known",
    f"%%got a b\n{ONE}": "error: %%got: ",
    f"%%got 3x\n{ONE}": "error: %%got: `3x` is not a valid Python name",
    f"%%got class\n{ONE}": "error: %%got: `class` is not a valid Python name",
    f"%%got p --scheme t\n{ONE}": "error: no scheme `t` in `p`",
    f"%%got p --input m=1\n{ONE}": "scheme `s` has inputs n",
    f"%%got p --input n=x\n{ONE}": "error: --input n: ",
    f"%%got p --input n=@gone\n{ONE}": "error: --input n: ",
    f'%%got p --input "n\n{ONE}': "error: %%got: ",
}


def test_errors_are_messages_without_a_traceback(folder: Path) -> None:
    notebook = cells("%load_ext gotlang", *WRONG)
    _, *out = execute(notebook, folder, allow_errors=True)
    for (cell, message), outputs in zip(WRONG.items(), out, strict=True):
        (error,) = outputs
        assert error.output_type == "error", cell
        text = "\n".join(error.traceback)
        assert message in text and "Traceback" not in text and "File " not in text, text


def test_the_example_of_the_page_runs(folder: Path) -> None:
    notebook = nbformat.read(EXAMPLE, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)
    out = execute(notebook, folder)
    assert sum(bool(html(found)) for found in out) >= 4
    page = (ROOT / "docs" / "notebooks.md").read_text("utf-8")
    for block in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        assert block.strip() in {cell.source.strip() for cell in notebook.cells}
