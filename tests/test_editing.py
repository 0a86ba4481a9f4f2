"""Completion, hover and signatures as functions of a text and an offset; on broken lines too."""

from __future__ import annotations

from pathlib import Path

import pytest

from gotlang.editing.actions import lenses_of
from gotlang.editing.completion import completions
from gotlang.editing.documents import Document, analyzed
from gotlang.editing.hover import hover, signature_help
from gotlang.editing.prices import price_hints

PROGRAM = """\
type Act = Search {query: str} | Finish {answer: str}

# How often a part is sorted.
param tries: int = 5 in 1..10

prompt sort(numbers: list[int]) -> list[int]:
    temperature 0.5
    "Sort {{ numbers }}."

prompt reply(message: {role: str, words: list[str]}) -> str:
    "{{ message.role }} says {% for word in message.words %}{{ word }}{% endfor %}"

score wrong(found: list[int], numbers: list[int]) -> lower:
    len(numbers) - len(found)

scheme sorts(numbers: list[int]) -> list[int]:
    sorted_parts = Generate(k=tries) sort(numbers)
    Generate(k=tries) sort(numbers)
    Score() wrong(it, numbers)
    KeepBestN(1)

study tuning:
    data "rows.csv" (numbers = Unsorted)
    minimize cost
    vary tries in 1..3
    trials 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text('Unsorted,Sorted,numbers\n"[3, 1]","[1, 3]","[3, 1]"\n')
    (tmp_path / "other.got").write_text(PROGRAM.split("study")[0])
    return tmp_path


def at(folder: Path, text: str) -> tuple[Document, int]:
    """A program with the cursor where `|>` is in its text."""
    offset = text.index("|>")
    return analyzed(str(folder / "a.got"), text.replace("|>", ""), {}), offset


def labels(folder: Path, text: str) -> set[str]:
    return {found.label for found in completions(*at(folder, text))}


def said(folder: Path, text: str) -> str:
    found = hover(*at(folder, text))
    return found.text if found is not None else ""


INSIDE = "    Score() wrong(it, numbers)\n"


def test_a_type_is_suggested_with_its_definition(folder: Path) -> None:
    found = completions(*at(folder, "type Digits = list[int]\nparam all: |>\n"))
    assert [one.detail for one in found if one.label == "Digits"] == ["list[int]"]


def test_the_program_has_no_error(folder: Path) -> None:
    document = analyzed(str(folder / "a.got"), PROGRAM, {})
    assert [d for d in document.diagnostics if d.severity == "error"] == []


@pytest.mark.parametrize(
    ("before", "wanted", "unwanted"),
    [
        ("    |>", {"Generate", "foreach", "sorts", "sorted_parts", "it", "tries"}, {"query"}),
        ("    Gene|>", {"Generate", "KeepBestN"}, set()),
        ("    Generate(|>", {"k=", "temperature=", "until="}, set()),
        ("    Generate(k=2, |>) sort(numbers)", {"temperature="}, {"k="}),
        ("    Score() |>", {"wrong", "it", "numbers"}, {"Finish {"}),
        ("    Generate() sort(|>", {"numbers=", "sorted_parts"}, set()),
        ("    x = {a: 1, b: [2]}\n    Pool() x.|>", {"a", "b"}, {"Generate"}),
        ("    Map() len(i|>", {"it", "thoughts", "min"}, set()),
        ("    # Gen|>", set(), {"Generate"}),
    ],
)
def test_completion_in_a_scheme(folder: Path, before: str, wanted: set[str], unwanted: set[str]) -> None:
    found = labels(folder, PROGRAM.replace(INSIDE, f"{INSIDE}{before}\n"))
    assert wanted <= found
    assert not unwanted & found


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("prompt sort", "pro|>\n\nprompt sort", {"prompt", "scheme", "import"}),
        ("{{ numbers }}", "{{ |>", {"numbers"}),
        ("{{ numbers }}", "{{ numbers | |>", {"length", "join", "upper"}),
        ("{{ message.role }}", "{{ message.|> }}", {"role", "words"}),
        ("{{ word }}", "{{ |>", {"word", "message", "loop"}),
        ("    temperature 0.5", "    max|>\n    temperature 0.5", {"max_tokens", "system", "parse"}),
        ("(numbers = Unsorted)", "(numbers = |>", {"Unsorted", "Sorted"}),
        ('"rows.csv" (numbers = Unsorted)', '"|>', {"rows.csv"}),
        ("    vary tries", "    vary |>tries", {"tries"}),
        ("    trials 3", "    tr|>", {"trials", "budget", "subject to"}),
        ("    minimize cost", "    minimize |>", {"cost", "calls"}),
        ("type Act", "import std.|>\n\ntype Act", {"vote", "refine", "search"}),
        ("type Act", "from std.vote import |>\n\ntype Act", set()),
        ("type Act", 'import "|>"\n\ntype Act', {"other.got"}),
        ("type Act", 'from "other.got" import |>\n\ntype Act', {"sort", "wrong", "sorts", "tries"}),
        ("param tries: int", "param more: |>\nparam tries: int", {"int", "list", "Act"}),
    ],
)
def test_completion_elsewhere(folder: Path, old: str, new: str, wanted: set[str]) -> None:
    assert wanted <= labels(folder, PROGRAM.replace(old, new, 1))


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        (
            "scheme s(a: Act?) -> str:\n    match a:\n        |>",
            {"Search:", "Finish:", "none:", "else:"},
            set(),
        ),
        (
            'scheme s(a: "x" | "y") -> str:\n    match a:\n        "x":\n            Map() 1\n        |>',
            {'"y":'},
            {"none:"},
        ),
        ("scheme s(a: bool) -> str:\n    match a:\n        |>", {"true:", "false:"}, set()),
        ("scheme s(a: bool) -> str:\n    if a:\n        |>", {"Generate"}, {"true:", "else:"}),
        ("score s(a: str) -> |>", {"lower", "higher"}, {"int"}),
        ("type T = |>", {"Act", "int"}, {"len"}),
        ("type T = Act | |>", {"Act", "int"}, {"len"}),
        ("scheme s(a: str) -> str, |>", {"truth"}, {"within"}),
        ("scheme s(a: str) -> str |>", {"within", "decreases"}, {"truth"}),
        ('study s:\n    data "rows.csv" (|>', {"numbers = ", "truth = "}, {"Sorted"}),
        (
            'study s:\n    data "rows.csv" (numbers = |>',
            {"Sorted", '"the truth"'},
            {"numbers = ", "truth = "},
        ),
        ('study s:\n    data "rows.csv", |>', {"train", "test", "seed"}, {"vary"}),
        ("study s:\n    vary |>", {"tries", "temperature", "models", "scheme", "structure"}, {"cost"}),
        (
            "study s:\n    minimize |>",
            {"cost", "latency", "failures", "wrong", "numbers"},
            {"seconds", "baseline"},
        ),
        ("study s:\n    subject to cost <= |>", {"baseline", "calls"}, {"failed"}),
        ("study s:\n    vary sort.|>", {"temperature", "instruction", "examples"}, {"tries"}),
        ("study s:\n    vary scheme in [|>", {"sorts"}, {"tries"}),
        ("study s:\n    vary tries in |>", set(), {"tries", "cost"}),
        ("study s:\n    prompts sort with |>", {"copro", "gepa"}, {"sort"}),
        ("study s:\n    sampler |>", {"tpe", "grid"}, {"data"}),
        ('law "l" for row in |>', {"ints(", "rows("}, {"len"}),
        ('law "l" for row in rows("rows.csv", {|>', {"Sorted: ", "Unsorted: "}, {"the truth: ", "len"}),
        ('law "l" for row in rows("rows.csv", {x: |>', {"int", "list"}, {"Sorted: "}),
        ('law "l" for row in rows("rows.csv", {x: str}, x=|>', {'"the truth"', '"Sorted"'}, {"len"}),
        ("import std.|>", {"vote"}, {"python", "corpus"}),
        ('import corpus "|>', {"pages.jsonl", "texts"}, {"rows.csv", "texts/a.md"}),
        ('study s:\n    data "|>', {"rows.csv", "more.ndjson"}, {"rows.tsv"}),
    ],
)
def test_completion_by_what_fits(folder: Path, text: str, wanted: set[str], unwanted: set[str]) -> None:
    (folder / "rows.csv").write_text("Unsorted,Sorted,the truth\n1,2,3\n")
    for name in ("more.ndjson", "rows.tsv", "pages.jsonl"):
        (folder / name).touch()
    (folder / "texts").mkdir()
    (folder / "texts" / "a.md").touch()
    found = labels(folder, f"{PROGRAM}\n{text}\n")
    assert wanted <= found
    assert not unwanted & found


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Generate(k=tries) sort", "Gen|>erate(k=tries) sort", ["k samples of prompt", "temperature"]),
        ("k=tries", "|>k=tries", ["setting `k` of `Generate`", "at least 1"]),
        ("k=tries", "k=tri|>es", ["param tries: int = 5 in 1..10", "How often a part is sorted."]),
        ("wrong(it", "wrong(i|>t", ["it: list[int]", "one thought"]),
        ("wrong(it", "wro|>ng(it", ["score wrong(found: list[int], numbers: list[int])"]),
        ("k=tries) sort(", "k=tries) so|>rt(", ["prompt sort", "With row 0 of `rows.csv`", "Sort [3, 1]."]),
        ("len(numbers)", "le|>n(numbers)", ["len(", "-> int"]),
        ("{{ numbers }}", "{{ numb|>ers }}", ["numbers: list[int]"]),
        ("temperature 0.5", "temp|>erature 0.5", ["setting `temperature`", "at most 2"]),
        ("KeepBestN(1)", "Map() itt + tr|>ue", []),
        ("minimize cost", "minimize co|>st", ["US dollars of a run"]),
        ("prompt sort(numbers: list[int])", "prompt sort(numbers: list[in|>t])", ["whole numbers"]),
        (
            "prompt sort(numbers: list[int])",
            "prompt sort(numbers: li|>st[int])",
            ["a list of values of the type T"],
        ),
        ("KeepBestN(1)", "Ground|>Truth() it == truth", ["Never fails: the truth is then unknown."]),
        ("KeepBestN(1)", "Map() it|>t", ["GOT0103", "gotc explain"]),
    ],
)
def test_hover(folder: Path, old: str, new: str, words: list[str]) -> None:
    found = said(folder, PROGRAM.replace(old, new, 1))
    assert [word for word in words if word not in found] == [], found


NAMES = """\
from std.vote import best_of
from "other.got" import tries as times

import corpus "pages.jsonl": pages

type Order = {city: str, items: list[str]}

# Half of it.
function half(amount: int) -> int = amount // 2

operation Few(
    count: int = 3,
) ask: prompt:
    Generate(k=count) ask

partial named(word: str): "The word {{ word }}."

prompt read(text: str) -> Order:
    "{{ named(text) }}"

scheme s(text: str) -> list[int]:
    Few() read(text)
    Vote()
    Map() [half(each) for each in [len(it.city), times]]

study there:
    program "other.got"
    minimize wrong(result, numbers)
    vary tries in 1..3
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("pages\n\ntype", "pa|>ges\n\ntype", ['import corpus "pages.jsonl": pages']),
        ("{city: str", "{ci|>ty: str", ["city: str"]),
        ("[half(", "[ha|>lf(", ["function half(amount: int) -> int = amount // 2", "Half of it."]),
        ("Few() ", "Fe|>w() ", ["operation Few(\n    count: int = 3,\n) ask: prompt"]),
        ("k=count", "k=cou|>nt", ["count: int = 3"]),
        ("{{ named(", "{{ na|>med(", ["partial named(word: str)"]),
        ("scheme s(text: str", "scheme s(te|>xt: str", ["text: str"]),
        ("for each in", "for ea|>ch in", ["each: int"]),
        ("city), times", "city), ti|>mes", ["param tries: int = 5 in 1..10", "How often a part is sorted."]),
        ("vary tries", "vary tri|>es", ["param tries: int = 5 in 1..10"]),
        ("wrong(result", "wro|>ng(result", ["score wrong(found: list[int], numbers: list[int]) -> lower"]),
        ("import best_of", "import best|>_of", ["scheme best_of[T]("]),
        ("study there", "study the|>re", ["study there"]),
    ],
)
def test_hover_of_what_is_declared(folder: Path, old: str, new: str, words: list[str]) -> None:
    (folder / "pages.jsonl").write_text('{"text": "a"}\n')
    found = said(folder, NAMES.replace(old, new, 1))
    assert [word for word in words if word not in found] == [], found


@pytest.mark.parametrize("number", ["0.|>5", "|>0.5", "0.5|>"])
def test_nothing_is_said_of_a_number(folder: Path, number: str) -> None:
    assert said(folder, PROGRAM.replace("0.5", number)) == ""


def test_only_the_first_rows_of_data_are_read(folder: Path) -> None:
    rows = '"[3, 1]","[1, 3]"\n' * 60
    (folder / "rows.csv").write_text(f"Unsorted,Sorted\n{rows}one cell\n")
    assert "Sort [3, 1]." in said(folder, PROGRAM.replace("k=tries) sort(", "k=tries) so|>rt(", 1))
    assert "Sorted" in labels(folder, PROGRAM.replace("= Unsorted)", "= |>", 1))


def test_a_prompt_is_shown_with_defaults_and_with_rows_of_laws(folder: Path) -> None:
    text = """\
param style = "brief" in ["brief", "long"]

prompt tell(query: str, style: str) -> str:
    "In {{ style }} words: {{ query }}"

scheme s(query: str) -> str:
    Generate() te|>ll(query, style)

law "it answers" for row in rows("words.csv", {query: str}, query="a query"): s(row.query) != ""
"""
    assert "The text of the prompt:" in said(folder, text)
    (folder / "words.csv").write_text("a query\nwhy\n")
    assert "With row 0 of `words.csv`:" in said(folder, text)
    assert "In brief words: why" in said(folder, text)


@pytest.mark.parametrize(
    ("line", "label", "active"),
    [
        ("    Generate() sort(|>", "sort(numbers: list[int]) -> list[int]", 0),
        ("    Score() wrong(it, |>", "wrong(found: list[int], numbers: list[int]) -> float", 1),
        (
            "    Score() wrong(numbers=[1], found=|>",
            "wrong(found: list[int], numbers: list[int]) -> float",
            0,
        ),
        ("    Map() min(it, |>", "min(", 1),
    ],
)
def test_signatures(folder: Path, line: str, label: str, active: int) -> None:
    found = signature_help(*at(folder, PROGRAM.replace(INSIDE, f"{INSIDE}{line}\n")))
    assert found is not None
    assert found.label.startswith(label)
    assert found.active == active


def test_prices_are_those_of_explain(folder: Path) -> None:
    text = PROGRAM.replace(
        "    Score()", "    if len(numbers) > 2:\n        Improve(k=2) sort(it)\n    Score()"
    )
    document = analyzed(str(folder / "a.got"), text, {})
    found = {
        document.source.line(document.source.position(h.offset)[0]).strip(): h for h in price_hints(document)
    }
    assert found["Generate(k=tries) sort(numbers)"].text.startswith("5 calls · 1 hop · ")
    assert found["Generate(k=tries) sort(numbers)"].detail.startswith("calls = tries;")
    assert found["Improve(k=2) sort(it)"].text.startswith("10 calls · 2 hops")
    whole = found["scheme sorts(numbers: list[int]) -> list[int]:"]
    assert whole.text.startswith("10 to 20 calls · 1 to 2 hops · ")
    assert "Score() wrong(it, numbers)" not in found
    assert price_hints(analyzed(str(folder / "a.got"), text.replace("> 2", "> two"), {})) == ()
    assert [hint.text for hint in price_hints(document) if "$0.0000 " in hint.text] == []


def test_what_is_not_known_is_said_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PROGRAM.replace("    Score()", "    repeat len(numbers):\n        Improve() sort(it)\n    Score()")
    found = {hint.text for hint in price_hints(analyzed(str(folder / "a.got"), text, {}))}
    assert any("calls unknown" in each or "at least" in each for each in found), found
    (folder / "gotc.toml").write_text('model = "openai:unheard-of"\n')
    monkeypatch.chdir(folder)
    found = {hint.text for hint in price_hints(analyzed(str(folder / "a.got"), PROGRAM, {}))}
    assert all(each.endswith("price unknown") for each in found) and found, found


def test_lenses_run_and_explain_schemes(folder: Path) -> None:
    document = analyzed(str(folder / "a.got"), PROGRAM, {})
    found = [(lens.title.split(":")[0], lens.command, lens.scheme) for lens in lenses_of(document)]
    assert found == [("run", "got.run", "sorts"), ("explain", "got.explain", "sorts")]
    (folder / "sim.py").write_text("")
    document = analyzed(str(folder / "a.got"), f'simulate with "sim.py"\n\n{PROGRAM}', {})
    run = next(lenses_of(document))
    assert (run.title, run.model) == ("run simulated", "simulated")
