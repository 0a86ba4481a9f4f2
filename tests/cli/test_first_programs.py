"""What somebody meets who writes first programs: studies of their own file, corpora in folders, texts in
files, wrong labels, small budgets, other vendors, baselines of prompts with params. As processes."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path

import pytest
from support.gotc import document, gotc
from support.openai_server import OpenAIServer, status
from support.terminal import on_terminal

from gotlang import run
from gotlang.cli.progress import Progress
from gotlang.options import Options
from gotlang.runtime.sampler.events import Asked, Event, Retry

LABELS = """\
simulate with "sim.py"

param style = "plain" in ["plain", "fancy"]

prompt label(text: str, style: str) -> "positive" | "negative":
    "Classify in {{ style }} style: {{ text }}"

scheme classify(text: str) -> "positive" | "negative":
    Generate(k=3) label(text, style)
    Vote()
    GroundTruth() it == truth

scheme one(text: str) -> "positive" | "negative":
    Generate() label(text, style)
    GroundTruth() it == truth
"""
STUDY = """
study better:
    {}
    data "texts.csv" (text = text, truth = label), train 6, test 6
    maximize right
    vary style in ["plain", "fancy"]
    trials 2, sampler grid
"""
SIM = """\
def label(rng, text, style):
    return "positive" if ("good" in text) == (rng.random() < 0.9) else "negative"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sim.py").write_text(SIM)
    (tmp_path / "labels.got").write_text(LABELS)
    (tmp_path / "pyproject.toml").write_text("")
    rows = [(f"{'good' if n % 2 else 'bad'} {n}", "positive" if n % 2 else "negative") for n in range(20)]
    for name, wrong in (("texts.csv", {}), ("typo.csv", {7: ("good 7", "positiv")})):
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows(
                [("text", "label"), *(wrong.get(n, row) for n, row in enumerate(rows))]
            )
    return tmp_path


# ------------------------------------------------------------------ studies of their own file


@pytest.mark.parametrize("clause", ["scheme one", 'program "self.got"', 'program "self.got" scheme one'])
def test_a_study_is_about_a_scheme_of_its_own_file(folder: Path, clause: str) -> None:
    (folder / "self.got").write_text(LABELS + STUDY.format(clause))
    data = ("--data", "texts.csv", "--limit", "4")
    assert gotc("check", "self.got", cwd=folder).returncode == 0
    assert gotc("run", "self.got", "--scheme", "one", "--input", "text=a", cwd=folder).returncode == 0
    assert gotc("eval", "self.got", *data, cwd=folder).returncode == 0
    assert gotc("compare", "self.got", "--schemes", "one,classify", *data, cwd=folder).returncode == 0
    assert document(gotc("tune", "self.got", "--json", cwd=folder))["trials"] == 2
    (folder / "wrong.got").write_text(LABELS + STUDY.format("scheme nope"))
    wrong = gotc("check", "wrong.got", cwd=folder)
    assert (wrong.returncode, wrong.stdout.count("error[GOT0602]")) == (2, 1)
    assert "`nope`" in wrong.stdout


def test_two_files_may_have_studies_of_each_other(folder: Path) -> None:
    for own, other in (("a", "b"), ("b", "a")):
        (folder / f"{own}.got").write_text(LABELS + STUDY.format(f'program "{other}.got"'))
    assert gotc("check", "a.got", "b.got", cwd=folder).returncode == 0
    assert gotc("run", "a.got", "--input", "text=a", cwd=folder).returncode == 0
    assert document(gotc("tune", "a.got", "--json", cwd=folder))["trials"] == 2


# ------------------------------------------------------------------ inputs and data


def test_a_misspelt_label_is_said_with_its_row(folder: Path) -> None:
    done = gotc("eval", "labels.got", "--data", "typo.csv", cwd=folder)
    assert done.returncode == 2
    place = "error: typo.csv, row 7, column `label`: expected"
    assert done.stderr.startswith(place) and "'positiv'" in done.stderr
    assert document(gotc("eval", "labels.got", "--data", "texts.csv", "--json", cwd=folder))["metrics"][
        "correct"
    ]


def test_a_missing_label_is_counted(folder: Path) -> None:
    rows = [{"text": "good", "label": "positive"}, {"text": "bad"}, {"text": "good", "label": "positive"}]
    (folder / "some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = gotc("eval", "labels.got", "--data", "some.jsonl", "--map", "truth=label", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "correct unknown: 1 of 3 rows (row 1): the row has no known answer" in done.stdout
    found = document(
        gotc("eval", "labels.got", "--data", "some.jsonl", "--map", "truth=label", "--json", cwd=folder)
    )
    assert [(each["metric"], each["rows"]) for each in found["unknown"]] == [("correct", [1])]


def test_a_score_without_a_value_is_counted(folder: Path) -> None:
    (folder / "ratio.got").write_text(
        "score ratio(made: list[int], numbers: list[int]) -> higher:\n    len(made) / numbers[0]\n"
        "scheme ratio_of(numbers: list[int]) -> list[int]:\n    Map() numbers\n"
    )
    (folder / "numbers.csv").write_text('numbers\n"[1, 2]"\n"[0, 2]"\n"[2, 2]"\n')
    done = gotc("eval", "ratio.got", "--data", "numbers.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "ratio unknown: 1 of 3 rows (row 1): `ratio` has no value: division by zero" in done.stdout


def test_a_number_where_a_text_is_wanted_is_refused(folder: Path) -> None:
    (folder / "number.jsonl").write_text(
        '{"text": "good", "label": "positive"}\n{"text": 5, "label": "positive"}\n'
    )
    done = gotc("eval", "labels.got", "--data", "number.jsonl", cwd=folder)
    assert done.returncode == 2
    assert "number.jsonl, row 1, column `text`: expected str, found 5" in done.stderr
    (folder / "inputs.json").write_text('{"text": 5}')
    done = gotc("run", "labels.got", "--inputs", "inputs.json", cwd=folder)
    assert done.returncode == 2 and "input `text`: expected str, found 5" in done.stderr


ECHO = """\
scheme echo(text: str, numbers: list[int]) -> {text: str, numbers: list[int]}:
    Map() {text: text, numbers: numbers}
"""


def test_an_input_comes_from_a_file(folder: Path) -> None:
    (folder / "echo.got").write_text(ECHO)
    (folder / "text.txt").write_text("\ufefftwo\nlines ü\n", encoding="utf-8")
    (folder / "numbers.json").write_text("[3, 1]\n")

    def run(text: str, numbers: str = "@numbers.json") -> subprocess.CompletedProcess[str]:
        given = ("--input", f"text={text}", "--input", f"numbers={numbers}")
        return gotc("run", "echo.got", *given, "--quiet", cwd=folder)

    assert json.loads(run("@text.txt").stdout) == {"text": "two\nlines ü\n", "numbers": [3, 1]}
    assert json.loads(run("@@text.txt").stdout)["text"] == "@text.txt"
    assert json.loads(run("a@b").stdout)["text"] == "a@b"
    missing = run("@texts.txt")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert (
        "--input text: there is no file texts.txt" in missing.stderr
        and "did you mean text.txt?" in missing.stderr
    )
    wrong = run("a", "@text.txt")
    assert wrong.returncode == 2 and "--input numbers: " in wrong.stderr
    (folder / "latin.txt").write_bytes(b"\xfc")
    assert "latin.txt is not UTF-8 (byte 0)" in run("@latin.txt").stderr


NOTES = """\
import corpus "{}": notes

scheme find(query: str) -> many str:
    Retrieve(k=2) notes(query)
"""


def test_a_folder_of_texts_is_a_corpus(folder: Path) -> None:
    (folder / "notes" / "old").mkdir(parents=True)
    (folder / "notes" / "ardel.txt").write_text("Ardel lies on the Sorn.")
    (folder / "notes" / "old" / "brimm.md").write_text("Brimm lies on the Tarn.")
    (folder / "find.got").write_text(NOTES.format("notes"))
    assert gotc("check", "find.got", cwd=folder).returncode == 0
    done = gotc("run", "find.got", "--input", "query=Tarn", "--quiet", cwd=folder)
    assert (done.returncode, json.loads(done.stdout)) == (0, ["old/brimm: Brimm lies on the Tarn."])
    (folder / "find.got").write_text(NOTES.format("notes/ardel.txt"))
    done = gotc("run", "find.got", "--input", "query=Tarn", "--quiet", cwd=folder)
    assert done.returncode == 2
    assert "is one text; a corpus is a .jsonl file or a folder" in done.stderr


def test_a_scheme_of_the_file_goes_before_an_imported_one(folder: Path) -> None:
    (folder / "library.got").write_text('scheme chat(n: int) -> str:\n    Map() "imported"\n')
    (folder / "chat.got").write_text('import "library.got"\nscheme talk(n: int) -> str:\n    Map() "own"\n')
    assert gotc("run", "chat.got", "--input", "n=1", "--quiet", cwd=folder).stdout == "own\n"
    chosen = gotc("run", "chat.got", "--scheme", "chat", "--input", "n=1", "--quiet", cwd=folder)
    assert chosen.stdout == "imported\n"
    (folder / "only.got").write_text('import "library.got"\n')
    assert gotc("run", "only.got", "--input", "n=1", "--quiet", cwd=folder).stdout == "imported\n"


# ------------------------------------------------------------------ baselines and tables


def test_baselines_of_a_prompt_that_takes_a_param(folder: Path) -> None:
    names = "classify,single,vote-of-3,vote-of-n"
    done = gotc("compare", "labels.got", "--schemes", names, "--data", "texts.csv", "--json", cwd=folder)
    assert [each["scheme"] for each in document(done)["schemes"]][:3] == ["classify", "single", "vote-of-3"]


def test_one_contender_is_told_another(folder: Path) -> None:
    done = gotc("compare", "labels.got", "--schemes", "single", "--data", "texts.csv", cwd=folder)
    assert "`--schemes single,vote-of-5`" in done.stderr


def test_a_table_fits_a_narrow_terminal(folder: Path) -> None:
    command = ("compare", "labels.got", "--schemes", "classify,single", "--data", "texts.csv", "--limit", "8")
    lines = [line.rstrip() for line in on_terminal(*command, cwd=folder, columns=40).splitlines()]
    at = lines.index("classify")
    assert lines[at + 1].split()[0] == "correct"
    assert max(map(len, lines[at : lines.index("single") + 6])) <= 40


# ------------------------------------------------------------------ models


def test_a_small_budget_is_not_rounded_to_nothing(folder: Path) -> None:
    done = gotc("eval", "labels.got", "--data", "texts.csv", "--max-usd", "0.000001", cwd=folder)
    assert done.returncode == 3
    assert "of $0.0000010 spent" in done.stderr
    assert "no run ended" in done.stdout


@pytest.mark.parametrize("name", ["claude-3", "gemini-2.0-flash", "mistral-large"])
def test_a_model_of_another_vendor_asks_for_its_provider(folder: Path, name: str) -> None:
    done = gotc("run", "labels.got", "--input", "text=a", "--model", name, cwd=folder, OPENAI_API_KEY="sk-a")
    assert done.returncode == 2
    assert f"OpenAI's, which has no `{name}`" in done.stderr and f"`PROVIDER:{name}`" in done.stderr
    with OpenAIServer(lambda body, index: "positive") as server:
        done = gotc(
            *("run", "labels.got", "--input", "text=a", "--model", name, "--base-url", server.url, "--quiet"),
            cwd=folder,
        )
    assert (done.returncode, done.stdout) == (0, "positive\n")


@pytest.mark.parametrize("name", ["openai:", "nobody:x"])
def test_the_providers_are_told_a_line_each(folder: Path, name: str) -> None:
    done = gotc("run", "labels.got", "--input", "text=a", "--model", name, cwd=folder)
    assert done.returncode == 2
    assert max(map(len, done.stderr.splitlines())) <= 110
    assert "\n    openai " in done.stderr


def test_a_simulated_model_needs_a_simulator(folder: Path) -> None:
    (folder / "bare.got").write_text(LABELS.replace('simulate with "sim.py"\n', ""))
    for model, words in (
        ((), "no model is configured, and"),
        (("--model", "simulated"), "error: this program"),
    ):
        done = gotc("run", "bare.got", "--input", "text=a", *model, cwd=folder)
        assert done.returncode == 2
        assert words in done.stderr and "has no simulator" in done.stderr


def test_a_program_that_only_calls_python_needs_no_model(folder: Path) -> None:
    (folder / "tools.py").write_text("def double(n):\n    return 2 * n\n")
    (folder / "tool.got").write_text(
        'import python "tools.py": double -> int\n'
        'prompt other(n: int) -> int:\n    "{{ n }}"\n'
        "scheme asking(n: int) -> int:\n    Generate() other(n)\n"
        "scheme tool(n: int) -> int:\n    Map() n + n\n"
        "scheme called(n: int) -> int:\n    Call double(n)\n"
    )
    done = gotc("run", "tool.got", "--input", "n=4", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "8\n")
    assert "no model is configured" not in done.stderr


def test_nothing_is_said_of_models_before_an_error(folder: Path) -> None:
    for wrong in (
        ("--input", "text=@none"),
        ("--input", "words=a"),
        ("--scheme", "nope", "--input", "text=a"),
    ):
        done = gotc("run", "labels.got", *wrong, cwd=folder)
        assert done.returncode == 2
        assert done.stderr.startswith("error: ")
    assert gotc("eval", "labels.got", "--data", "none.csv", cwd=folder).stderr.startswith("error: ")
    seed = gotc("run", "labels.got", "--seed", "x", "--input", "text=a", cwd=folder)
    assert "NAME=VALUE" not in seed.stderr


def test_warnings_are_counted_in_one_line(folder: Path) -> None:
    (folder / "unused.got").write_text(
        LABELS + 'prompt a(x: str) -> str:\n    "{{ x }}"\nprompt b(x: str) -> str:\n    "{{ x }}"\n'
    )
    done = gotc("run", "unused.got", "--input", "text=a", cwd=folder)
    assert done.stderr.startswith("2 warnings (`gotc check unused.got`)\n")
    assert "GOT0503" not in done.stderr
    assert gotc("check", "unused.got", cwd=folder).stdout.count("GOT0503") == 2


def test_a_prompt_that_python_uses_is_not_unused(folder: Path) -> None:
    (folder / "angles.py").write_text(
        "from gotlang import changes_graph\n\n@changes_graph\ndef angles(view, text):\n"
        '    return view.add("Generate() label(text, style)", text=text)\n'
    )
    text = LABELS.replace(
        'simulate with "sim.py"', 'simulate with "sim.py"\nimport python "angles.py": angles -> str'
    )
    text = text[: text.index("scheme")] + "scheme angle(text: str) -> str:\n    Call angles(text)\n"
    (folder / "angle.got").write_text(text)
    done = gotc("check", "angle.got", cwd=folder)
    assert (done.returncode, done.stdout.count("warning")) == (0, 0), done.stdout
    assert gotc("run", "angle.got", "--input", "text=good", "--quiet", cwd=folder).stdout == "positive\n"


def test_progress_shows_retries(folder: Path) -> None:
    seen: list[Event] = []
    with OpenAIServer(lambda body, index: "positive", faults=[status(500), None]) as server:
        options = Options(model="openai:small", base_url=server.url, cache=None, observe=seen.append)
        run(folder / "labels.got", scheme="one", text="a", options=options)
    (retry,) = [event for event in seen if isinstance(event, Retry)]
    progress = Progress(now=lambda: 1.0)
    progress(retry)
    assert f"retry 1 of 6 in {retry.seconds:.1f} s: HTTP 500" in progress.line()
    progress(next(event for event in seen if isinstance(event, Asked)))
    assert "retry" not in progress.line()


def test_the_base_url_is_that_of_the_own_provider(folder: Path) -> None:
    """A plug-in's endpoint never gets requests meant for it, nor its key those of another."""
    from gotlang.models.base import ModelOptions
    from gotlang.models.registry import ModelPool

    opened: dict[str, str | None] = {}

    def open(spec: str, options: ModelOptions) -> object:
        opened[spec] = options.base_url
        return object()

    pool = ModelPool("openai:small", ModelOptions({}, base_url="http://127.0.0.1:1/v1"), open)  # type: ignore[arg-type]
    for name in (None, "large", "openai:other", "anthropic:claude-3", "local:tiny"):
        pool(name)
    ModelPool("anthropic:claude-3", ModelOptions({}), open)("claude-4")  # type: ignore[arg-type]
    assert "anthropic:claude-4" in opened
    del opened["anthropic:claude-4"]
    own = "http://127.0.0.1:1/v1"
    assert opened == {
        "openai:small": own,
        "openai:large": own,
        "openai:other": own,
        "anthropic:claude-3": None,
        "local:tiny": None,
    }


# ------------------------------------------------------------------ responses that were cut off

CUT = """\
prompt ask(q: str) -> {type}:
    max_tokens {limit}
    "{{{{ q }}}}"
{parse}

scheme main(q: str) -> {type}:
    Generate() ask(q)
"""


@pytest.mark.parametrize(
    ("type_", "parse", "text", "whole"),
    [
        ("str", "", "one two three four", False),
        ("int", "", "the number is 12345", False),
        ("list[int]", "", "[1] then [2, 3", False),
        ("list[int]", "", "[1] then [2]", True),
        ("list[int]", "    parse json", "[1,2]", True),
        ("list[str]", "    parse lines", "one\ntwo", False),
        ('"yes" | "no"', "", "yes", True),
        ('"yes" | "no"', "", "if yes, then", False),
        ("str", '    parse tag("A")', "<A>one</A>", True),
        ("str", '    parse tag("A")', "<A>one two three", False),
    ],
)
def test_a_response_that_was_cut_off_fails_unless_its_end_is_certain(
    folder: Path, type_: str, parse: str, text: str, whole: bool
) -> None:
    text = " " * (-len(text) % 4) + text  # the server's tokens have four characters
    (folder / "main.got").write_text(CUT.format(type=type_, parse=parse, limit=len(text) // 4))
    with OpenAIServer(lambda body, index: text + "\nand so on") as server:
        command = ("run", "main.got", "--input", "q=a", "--model", "openai:small", "--base-url", server.url)
        done = gotc(*command, cwd=folder)
    if whole:
        assert done.returncode == 0, done.stderr
    else:
        assert (done.returncode, done.stdout) == (1, "")
        assert "cut off at max_tokens" in done.stderr
