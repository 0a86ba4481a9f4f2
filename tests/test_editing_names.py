"""Names in an editor: definitions, references, and renaming that preserves the meaning of a program."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.gotc import ROOT

from gotlang.editing.documents import Document, analyzed
from gotlang.editing.modules import real
from gotlang.editing.names import at, occurrences
from gotlang.editing.rename import TextEdit, applied, renamable, renamed
from gotlang.errors import UsageError

FILES = {
    "lib.got": """\
type State = {path: list[str], left: int}
type Act = Look {where: str} | Stop

param depth = 2 in 1..5

prompt merge(left: str, right: str) -> str from "merge.md"

score mistakes(attempt: str, goal: str) -> lower:
    abs(len(attempt) - len(goal))

operation Best(k: int = 3) p: prompt, s: score:
    Generate(k=k) p
    Score() s
    KeepBestN(1)

scheme both(left: str, right: str) -> str:
    Best(k=depth) merge(left, right=right), mistakes(it, left)
""",
    "merge.md": "# User\nMerge {{ left }} and {{ right | upper }}.\n",
    "main.got": """\
from "lib.got" import merge, mistakes as errors, Best, State
import "lib.got" as lib
simulate with "sim.py"

partial tone(style: str): "Write in a {{ style }} tone."

prompt start(question: str, style: str) -> str:
    "{{ question }} {{ tone(style=style) }}"
    examples:
        question = "a", style = "b" -> "c"

prompt go(state: State) -> State:
    "From {{ state.path }} with {{ state.left }}."

scheme main(question: str, goal: str) -> many str:
    first = Best(k=2) start(question, "dry"), errors(it, goal)
    foreach part in [first, question]:
        Generate(k=lib.depth) merge(part, right=goal)
        Score() errors(it, part)
        KeepBestN(1)
    last = lib.both(part[0], goal)
    Pool() last

scheme walk(goal: str) -> State:
    Pool() {path: [goal], left: 3}
    Generate() go(it)
    Map() {...it, left: it.left - 1}

study s:
    scheme main
    data "rows.csv" (question = Question), train 5
    minimize errors(result[0], goal)
    vary lib__depth in 1..3
    prompts start with copro()
""",
    "sim.py": """\
def start(rng, question, style):
    return question


def go(rng, state):
    return "{}"


def merge(rng, left, right):
    return merge_two(left, right)


def merge_two(left, right):
    return left + right
""",
    "rows.csv": "Question\na\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def document(folder: Path, name: str) -> Document:
    return analyzed(str(folder / name), (folder / name).read_text(), {})


def place(made: Document, marked: str) -> int:
    """The offset of `|` in a piece of a program's text."""
    before, after = marked.split("|")
    assert made.source.text.count(before + after) >= 1, marked
    return made.source.text.index(before + after) + len(before)


def rename(folder: Path, name: str, marked: str, new: str, *others: str) -> dict[str, str]:
    """The texts that change, with a line for each that does."""
    made = document(folder, name)
    found = renamable(made, place(made, marked))
    edits = renamed([made, *(document(folder, other) for other in others)], found.symbol, new)
    return {Path(source).name: lines(source, edits) for source in sorted({e.source for e in edits})}


def lines(source: str, edits: tuple[TextEdit, ...]) -> str:
    old = Path(source).read_text()
    new = applied(old, [e for e in edits if e.source == source])
    changed = [b.strip() for a, b in zip(old.split("\n"), new.split("\n"), strict=True) if a != b]
    return " / ".join(changed)


def test_the_programs_have_no_errors(folder: Path) -> None:
    for name in ("main.got", "lib.got"):
        assert not [d for d in document(folder, name).diagnostics if d.severity == "error"], name


def test_a_definition_is_found_in_other_files(folder: Path) -> None:
    made = document(folder, "main.got")
    for marked, kind, name in (
        ("merge(pa|rt, right=goal)", "local", "part"),
        ("mer|ge(part, right=goal)", "prompt", "merge"),
        ("merge(part, rig|ht=goal)", "input", "right"),
        ("lib.dep|th) merge", "param", "depth"),
        ("errors(it, go|al)", "input", "goal"),
        ("Be|st(k=2)", "operation", "Best"),
        ("Best(|k=2)", "setting", "k"),
        ("tone(sty|le=style)", "input", "style"),
        ("{{ state.pa|th }}", "field", "path"),
        ("(que|stion = Question)", "input", "question"),
        ("prompts st|art", "prompt", "start"),
        ("vary lib__de|pth", "param", "depth"),
        ("go(state: Sta|te)", "type", "State"),
        ('import "li|b.got"', "file", str(folder / "lib.got")),
    ):
        found = at(made, place(made, marked))
        assert found is not None, marked
        assert (found.symbol.kind, found.symbol.name) == (kind, name), marked
    alias = at(made, place(made, "Score() err|ors(it, part)"))
    assert alias is not None and alias.symbol.kind == "alias" and alias.means is not None
    assert alias.means.kind == "score" and alias.means.source == str(folder / "lib.got")


def test_names_of_the_language_mean_nothing_of_the_program(folder: Path) -> None:
    made = document(folder, "main.got")
    for marked in (
        "errors(i|t, part)",
        "Gener|ate(k=lib",
        "KeepBest|N(1)",
        "fore|ach part",
        "prompt start(question: s|tr",
    ):
        assert at(made, place(made, marked)) is None, marked


def test_a_prompt_is_renamed_in_all_files_and_in_its_simulator(folder: Path) -> None:
    found = rename(folder, "lib.got", "mer|ge(left: str", "join", "main.got")
    assert found == {
        "lib.got": 'prompt join(left: str, right: str) -> str from "merge.md"'
        " / Best(k=depth) join(left, right=right), mistakes(it, left)",
        "main.got": 'from "lib.got" import join, mistakes as errors, Best, State'
        " / Generate(k=lib.depth) join(part, right=goal)",
        "sim.py": "def join(rng, left, right):",
    }


def test_an_input_is_renamed_in_texts_examples_calls_and_its_simulator(folder: Path) -> None:
    found = rename(folder, "lib.got", "merge(left: str, ri|ght: str)", "second", "main.got")
    assert found == {
        "lib.got": 'prompt merge(left: str, second: str) -> str from "merge.md"'
        " / Best(k=depth) merge(left, second=right), mistakes(it, left)",
        "main.got": "Generate(k=lib.depth) merge(part, second=goal)",
        "merge.md": "Merge {{ left }} and {{ second | upper }}.",
        "sim.py": "def merge(rng, left, second): / return merge_two(left, second)",
    }
    found = rename(folder, "main.got", "start(que|stion: str", "task")
    assert found == {
        "main.got": "prompt start(task: str, style: str) -> str:"
        ' / "{{ task }} {{ tone(style=style) }}" / task = "a", style = "b" -> "c"',
        "sim.py": "def start(rng, task, style): / return task",
    }


def test_other_kinds_of_names(folder: Path) -> None:
    assert rename(folder, "main.got", "import merge, mistakes as err|ors", "wrong") == {
        "main.got": 'from "lib.got" import merge, mistakes as wrong, Best, State'
        ' / first = Best(k=2) start(question, "dry"), wrong(it, goal) / Score() wrong(it, part)'
        " / minimize wrong(result[0], goal)"
    }
    assert rename(folder, "lib.got", "param dep|th", "levels", "main.got") == {
        "lib.got": "param levels = 2 in 1..5 / Best(k=levels) merge(left, right=right), mistakes(it, left)",
        "main.got": "Generate(k=lib.levels) merge(part, right=goal) / vary lib__levels in 1..3",
    }
    assert rename(folder, "lib.got", "operation Be|st", "Finest", "main.got") == {
        "lib.got": "operation Finest(k: int = 3) p: prompt, s: score:"
        " / Finest(k=depth) merge(left, right=right), mistakes(it, left)",
        "main.got": 'from "lib.got" import merge, mistakes as errors, Finest, State'
        ' / first = Finest(k=2) start(question, "dry"), errors(it, goal)',
    }
    assert rename(folder, "main.got", "foreach pa|rt in", "piece") == {
        "main.got": "foreach piece in [first, question]: / Generate(k=lib.depth) merge(piece, right=goal)"
        " / Score() errors(it, piece) / last = lib.both(piece[0], goal)"
    }
    assert rename(folder, "main.got", 'import "lib.got" as li|b', "parts") == {
        "main.got": 'import "lib.got" as parts / Generate(k=parts.depth) merge(part, right=goal)'
        " / last = parts.both(part[0], goal) / vary parts__depth in 1..3"
    }


def test_a_field_is_renamed_wherever_its_records_are(folder: Path) -> None:
    assert rename(folder, "main.got", "it.le|ft - 1", "remaining") == {
        "lib.got": "type State = {path: list[str], remaining: int}",
        "main.got": '"From {{ state.path }} with {{ state.remaining }}."'
        " / Pool() {path: [goal], remaining: 3} / Map() {...it, remaining: it.remaining - 1}",
    }


@pytest.mark.parametrize(
    ("name", "marked", "new", "reason"),
    [
        ("main.got", "errors(i|t, part)", "x", "there is no name to rename here"),
        ("main.got", 'import "li|b.got"', "x", "this is a file path"),
        ("main.got", "scheme ma|in", "2x", "`2x` is not a valid name for it (it starts with a small letter"),
        ("main.got", "scheme ma|in", "foreach", "`foreach` is a reserved word"),
        ("main.got", "scheme ma|in", "walk", "`walk` causes an error: duplicate name `walk`"),
        ("main.got", "fir|st = Best", "question", "`question` causes an error"),
        ("lib.got", "operation Be|st", "Generate", "`Generate`"),
        ("lib.got", "merge(le|ft: str", "right", "has a variable `right`"),
        ("main.got", "start(que|stion: str", "rng", "has a variable `rng`"),
    ],
)
def test_what_cannot_be_renamed_is_refused_with_the_reason(
    folder: Path, name: str, marked: str, new: str, reason: str
) -> None:
    with pytest.raises(UsageError) as refused:
        rename(folder, name, marked, new, *{"main.got", "lib.got"} - {name})
    assert reason in refused.value.in_words()


def test_a_param_is_renamed_in_studies_of_other_folders(folder: Path) -> None:
    (folder / "gotc.toml").write_text("")
    (folder / "studies").mkdir()
    (folder / "studies" / "s.got").write_text(
        'study s:\n    program "../lib.got"\n    data "../rows.csv" (left = Question, right = Question)\n'
        "    minimize calls\n    vary depth in 1..3\n"
    )
    assert (
        rename(folder, "lib.got", "param dep|th", "levels", "studies/s.got")["s.got"] == "vary levels in 1..3"
    )


def test_what_a_program_imports_is_renamed_in_its_studies(tmp_path: Path) -> None:
    texts = {
        "parts.got": 'param tries = 3 in 1..5\n\nprompt ask(q: str) -> str:\n    "{{ q }}"\n',
        "main.got": 'from "parts.got" import ask as first, tries\n\n'
        "scheme s(q: str) -> str:\n    Generate(k=tries) first(q)\n    Vote()\n",
        "study.got": 'study s:\n    program "main.got"\n    data "rows.csv" (q = asked)\n    minimize cost\n'
        "    vary tries in 1..3, first.temperature in 0.0..1.0\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    found = rename(tmp_path, "parts.got", "param tri|es", "samples", "main.got", "study.got")
    assert found["main.got"].endswith("import ask as first, samples / Generate(k=samples) first(q)")
    assert found["study.got"] == "vary samples in 1..3, first.temperature in 0.0..1.0"
    found = rename(tmp_path, "main.got", "as fi|rst", "reply", "study.got")
    assert found["study.got"] == "vary tries in 1..3, reply.temperature in 0.0..1.0"


def test_simulators_of_another_program_stay(folder: Path) -> None:
    head = "prompt start(question: str, style: str) -> str:"
    other = f'simulate with "sim.py"\n\n{head}\n    "{{{{ question }}}} {{{{ style }}}}"\n'
    (folder / "other.got").write_text(other)
    with pytest.raises(UsageError, match=r"sim\.py simulates the prompt `start` of other\.got too"):
        rename(folder, "main.got", "prompt sta|rt", "begin", "other.got")


def test_names_of_packages_are_not_renamed(tmp_path: Path) -> None:
    text = 'from std.vote import self_consistency\n\nprompt a(q: str) -> str:\n    "{{ q }}"\n'
    made = analyzed(str(tmp_path / "a.got"), text, {})
    with pytest.raises(UsageError, match="is declared in the package `std`"):
        renamable(made, text.index("self_con"))


@pytest.mark.parametrize("path", sorted((ROOT / "programs").glob("*.got")), ids=lambda path: path.stem)
def test_each_declared_name_can_be_renamed_in_each_program(path: Path) -> None:
    made = analyzed(str(path), path.read_text("utf-8"), {})
    symbols = {
        o.symbol: None
        for o in occurrences(made)
        if o.declares and real(o.span.source) == str(path) and o.symbol.kind != "python"
    }
    assert symbols or path.stem == "reasoning_modules"
    for symbol in [*symbols][:: max(1, len(symbols) // 3)][:2]:
        new = "Renamed1" if symbol.kind in ("operation", "case") else "renamed_1"
        edits = renamed([made], symbol, new)
        assert len(edits) >= 1, symbol


def test_a_field_in_a_pattern_of_lines_is_renamed() -> None:
    path = ROOT / "programs" / "lats.got"
    made = analyzed(str(path), path.read_text("utf-8"), {})
    symbols = {o.symbol for o in occurrences(made) if o.declares and o.symbol.name == "step"}
    (symbol,) = {symbol for symbol in symbols if symbol.kind == "field"}
    after = applied(made.source.text, (x for x in renamed([made], symbol, "move") if x.source == str(path)))
    assert 'matching "{move} (left: {left})"' in after and "node.steps + [one.move]" in after


def test_a_field_that_a_loop_of_a_template_shows_is_renamed() -> None:
    """The elements of a list of records, inside each other, and after a loop its variable means nothing."""
    path = ROOT / "programs" / "react.got"
    made = analyzed(str(path), path.read_text("utf-8"), {})
    (symbol,) = {
        o.symbol
        for o in occurrences(made)
        if o.declares and o.symbol.kind == "field" and o.symbol.name == "found"
    }
    edits = renamed([made], symbol, "pages_found")
    after = applied(made.source.text, edits)
    assert '{{ turn.pages_found | join(" ") }}' in after and "pages_found: texts" in after
