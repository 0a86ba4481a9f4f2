"""What a stranger writes in the first hour from docs/language.md alone: ten programs, and what helps where
one goes wrong. As processes; test_first_programs.py has studies, inputs, data, baselines and models."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.gotc import gotc
from support.openai_server import OpenAIServer, status
from support.terminal import on_terminal

from gotlang import compile

TRANSLATE = """\
prompt translate(text: str, language: str) -> str:
    temperature 0.9
    "Translate into {{ language }}. Respond with the translation only: {{ text }}"

scheme vote(text: str, language: str) -> str:
    Generate(k=5) translate(text, language)
    Vote(key=lower(strip(it)))
"""
TRANSLATE_SIM = """\
def translate(rng, text, language):
    return rng.choice([text.upper(), text + " ", text]) if rng.random() < 0.9 else "something else"
"""

DRAFT = """\
param rounds = 4 in 1..8

prompt draft(topic: str) -> str:
    "Write a paragraph about {{ topic }}."
prompt critique(topic: str, text: str) -> {grade: int, advice: str}:
    "Grade this paragraph about {{ topic }} from 1 to 10, and advise, as JSON: {{ text }}"
prompt improve(text: str, advice: str) -> str:
    "Improve this: {{ text }} Advice: {{ advice }}"

scheme write(topic: str) -> str:
    Generate() draft(topic)
    repeat rounds:
        opinion = Generate() critique(topic, it)
        if opinion.grade < 8:
            Improve() improve(it, opinion.advice)
"""
DRAFT_SIM = """\
def draft(rng, topic):
    return "A draft."
def critique(rng, topic, text):
    return '{"grade": %d, "advice": "longer"}' % (5 + text.count("More"))
def improve(rng, text, advice):
    return text + " More."
"""

RETRIEVE = """\
import corpus "notes": notes

prompt search(question: str, found: list[str]) -> str:
    "{{ question }} This is known: {{ found }} What should be looked up next?"
prompt answer(question: str, found: list[str]) -> str:
    "{{ question }} This is known: {{ found }}"

scheme hops(question: str) -> str:
    first = Retrieve(k=1) notes(question)
    query = Generate() search(question, first)
    second = Retrieve(k=1) notes(query)
    Generate() answer(question, first + second)
"""
RETRIEVE_SIM = """\
def search(rng, question, found):
    return found[0].split()[-1].strip(".")
def answer(rng, question, found):
    return " ".join(found)
"""

INVOICE = """\
type Line = {description: str, amount: float}
type Invoice = {number: str, date: str?, total: float, lines: list[Line]}

prompt read(text: str) -> Invoice:
    structured true
    retries 2
    "Read this invoice as JSON: {{ text }}"
prompt mend(text: str, invoice: Invoice) -> Invoice:
    "The total {{ invoice.total }} is not the sum of the lines. Read again: {{ text }}"

scheme invoice(text: str) -> Invoice:
    Generate() read(text)
    ValidateAndImprove(tries=3) abs(sum([line.amount for line in it.lines]) - it.total) < 0.01, mend(text, it)
    KeepValid()
"""
INVOICE_SIM = """\
import json

def made(total):
    return json.dumps({"number": "1", "total": total, "lines": [{"description": "tea", "amount": 60}]})
def read(rng, text):
    return "I see no invoice." if "empty" in text else made(99)
def mend(rng, text, invoice):
    return made(60 if "good" in text else 98)
"""

SUMMARIZE = """\
prompt summarize(part: str) -> str:
    "Summarize: {{ part }}"
prompt combine(left: str, right: str) -> str:
    "Combine: {{ left }} --- {{ right }}"

scheme summary(text: str) -> str:
    foreach part in split(text, "---"):
        Generate() summarize(part)
    reduce left, right:
        Aggregate() combine(left, right)
"""
SUMMARIZE_SIM = """\
def summarize(rng, part):
    return part.strip()[0]
def combine(rng, left, right):
    return left + right
"""

DEBATE = """\
prompt speak(motion: str, side: str, said: list[str]) -> str:
    "Motion: {{ motion }}. Said so far: {{ said }} Speak {{ side }} it."
prompt judge(motion: str, said: list[str]) -> "for" | "against":
    "Who wins? Motion: {{ motion }}. {{ said }}"

scheme debate(motion: str) -> "for" | "against":
    Pool() []
    repeat 3:
        one = Generate() speak(motion, "for", it)
        other = Generate() speak(motion, "against", it + [one])
        Map() it + [one, other]
    Generate() judge(motion, it)
"""
DEBATE_SIM = """\
def speak(rng, motion, side, said):
    return side
def judge(rng, motion, said):
    return "for" if len(said) == 6 else "against"
"""

SEARCH = """\
type State = {path: list[str], left: list[int]}

prompt steps(left: list[int]) -> many {step: str, left: list[int]}:
    "List the next steps with {{ left }} as JSON."
prompt value(left: list[int]) -> float:
    "From 0 to 10, how likely do {{ left }} give 24?"

scheme search(numbers: list[int]) -> State:
    Pool() {path: [], left: numbers}
    repeat 3 until any([state.left == [24] for state in thoughts]):
        foreach state:
            found = Generate() steps(state.left)
            foreach each in found:
                Pool() {path: state.path + [each.step], left: each.left}
        Score() value(it.left)
        KeepBestN(5)
    KeepBestN(1)
"""
SEARCH_SIM = """\
import json

def steps(rng, left):
    a, b, *rest = left
    return "\\n".join(json.dumps({"step": f"{a} {sign} {b}", "left": [value, *rest]})
                     for sign, value in (("+", a + b), ("*", a * b), ("-", a - b)))
def value(rng, left):
    return "10" if 24 in left else "1"
"""

OWN_SCORE = """\
import python "tools.py": brevity -> float

prompt explain(topic: str) -> str:
    "Explain {{ topic }} to a child."
score readable(text: str) -> higher:
    brevity(text)

scheme best(topic: str) -> str:
    Generate(k=9) explain(topic)
    Score() readable(it)
    KeepBestN(1)
"""
OWN_SCORE_SIM = """\
def explain(rng, topic):
    return topic + " is" + " very" * rng.randrange(3) + " nice"
"""

CHAT = """\
type Turn = {role: "user" | "assistant", text: str}

prompt reply(history: list[Turn], message: str) -> str:
    system "You are helpful."
    \"\"\"
    {% for turn in history %}
    {{ turn.role }}: {{ turn.text }}
    {% endfor %}
    user: {{ message }}
    \"\"\"

scheme chat(history: list[Turn], message: str) -> str:
    Generate() reply(history, message)
"""
CHAT_SIM = """\
def reply(rng, history, message):
    return f"{message} after {history[0]['role']} {history[0]['text']}"
"""

CLASSIFY = """\
param style = "plain" in ["plain", "fancy"]
param tries = 1 in 1..5

prompt guess(text: str, style: str) -> "positive" | "negative":
    "In {{ style }} style, positive or negative? {{ text }}"

scheme classify(text: str) -> "positive" | "negative":
    Generate(k=tries) guess(text, style)
    Vote()
    GroundTruth() it == truth

study better:
    scheme classify
    data "texts.csv" (text = text, truth = label), train 10, test 10, seed 1
    maximize right
    trials 3
    budget 1.0
"""
CLASSIFY_SIM = """\
def guess(rng, text, style):
    right = rng.random() < (0.9 if style == "plain" else 0.6)
    return "positive" if ("good" in text) == right else "negative"
"""

PROGRAMS = {
    "translate": (TRANSLATE, TRANSLATE_SIM, {"text": "Hallo", "language": "German"}, "HALLO"),
    "draft": (DRAFT, DRAFT_SIM, {"topic": "rain"}, "A draft. More. More. More."),
    "retrieve": (
        RETRIEVE,
        RETRIEVE_SIM,
        {"question": "Where does the Tarn flow?"},
        "tarn: The Tarn flows through Millau. south/millau: Millau has a bridge.",
    ),
    "invoice": (
        INVOICE,
        INVOICE_SIM,
        {"text": "good"},
        {"number": "1", "date": None, "total": 60, "lines": [{"description": "tea", "amount": 60}]},
    ),
    "summarize": (SUMMARIZE, SUMMARIZE_SIM, {"text": "one --- two --- three"}, "ott"),
    "debate": (DEBATE, DEBATE_SIM, {"motion": "tea"}, "for"),
    "search": (
        SEARCH,
        SEARCH_SIM,
        {"numbers": "[1, 2, 8, 1]"},
        {"path": ["1 + 2", "3 * 8", "24 * 1"], "left": [24]},
    ),
    "own_score": (OWN_SCORE, OWN_SCORE_SIM, {"topic": "Rain"}, "Rain is nice"),
    "chat": (
        CHAT,
        CHAT_SIM,
        {"history": '[{"role": "user", "text": "hi"}]', "message": "bye"},
        "bye after user hi",
    ),
    "classify": (CLASSIFY, CLASSIFY_SIM, {"text": "good"}, "positive"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The ten programs, with what they read."""
    for name, (text, simulator, _, _) in PROGRAMS.items():
        (tmp_path / f"{name}.got").write_text(f'simulate with "{name}_sim.py"\n\n{text}')
        (tmp_path / f"{name}_sim.py").write_text(simulator)
    (tmp_path / "notes" / "south").mkdir(parents=True)
    (tmp_path / "notes" / "tarn.txt").write_text("The Tarn flows through Millau.")
    (tmp_path / "notes" / "south" / "millau.md").write_text("Millau has a bridge.")
    (tmp_path / "tools.py").write_text("def brevity(text):\n    return 1 / len(text)\n")
    rows = [f"{'good' if n % 2 else 'bad'} {n},{'positive' if n % 2 else 'negative'}\n" for n in range(20)]
    (tmp_path / "texts.csv").write_text("text,label\n" + "".join(rows))
    return tmp_path


def inputs(given: dict[str, str]) -> list[str]:
    return [part for name, value in given.items() for part in ("--input", f"{name}={value}")]


# ------------------------------------------------------------------ ten programs


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_first_program_runs(folder: Path, name: str) -> None:
    *_, given, result = PROGRAMS[name]
    check = gotc("check", f"{name}.got", cwd=folder)
    assert (check.returncode, check.stderr) == (0, "1 file: 0 errors\n"), check.stdout
    done = gotc("run", f"{name}.got", *inputs(given), "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["status"], found["result"]) == ("complete", result)


def test_an_invoice_that_stays_wrong_has_no_result(folder: Path) -> None:
    done = gotc("run", "invoice.got", "--input", "text=bad", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert "KeepValid: none of 1 thoughts is valid" in done.stderr


def test_a_type_is_told_by_its_name(folder: Path) -> None:
    done = gotc("run", "invoice.got", "--input", "text=empty", cwd=folder)
    assert done.returncode == 1
    assert "no Invoice found: 'I see no invoice.'" in done.stderr
    assert "{number: str" not in done.stderr


def test_a_classifier_is_evaluated_compared_and_tuned(folder: Path) -> None:
    data = ("--data", "texts.csv", "--quiet")
    assert "correct" in gotc("eval", "classify.got", *data, cwd=folder).stdout
    schemes = ("--schemes", "classify,single,vote-of-3")
    assert "vote-of-3" in gotc("compare", "classify.got", *schemes, *data, cwd=folder).stdout
    tuned = gotc("tune", "classify.got", "--quiet", cwd=folder)
    assert tuned.returncode == 0, tuned.stderr
    best = gotc("run", "classify.got", "--input", "text=good", "--tuned", "better.tuned.json", cwd=folder)
    assert best.returncode == 0, best.stderr


def test_best_of_n_of_a_prompt_that_takes_a_param(folder: Path) -> None:
    best = OWN_SCORE.replace("explain(topic: str)", "explain(topic: str, style: str)")
    best = best.replace("explain(topic)", "explain(topic, style)").replace(
        "{{ topic }}", "{{ topic }}{{ style }}"
    )
    (folder / "best.got").write_text(
        f'simulate with "best_sim.py"\nparam style = "plain" in ["plain", "fancy"]\n{best}'
    )
    (folder / "best_sim.py").write_text(OWN_SCORE_SIM.replace("topic)", "topic, style)"))
    (folder / "topics.csv").write_text("topic\nRain\nSnow\n")
    names = ("--schemes", "best,single,best-of-3,best-of-n")
    done = gotc("compare", "best.got", *names, "--data", "topics.csv", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert [each["scheme"] for each in json.loads(done.stdout)["schemes"]][1:3] == ["single", "best-of-3"]


# ------------------------------------------------------------------ what the check finds

WRONG = """\
prompt a(x: foo) -> string:
    "{{ x }} {% for %}"
scheme s(x: str) -> str
    Generate() a(x)
scheme t(x: str) -> str:
    Genrate() a(x)
    Vote(
"""


def test_five_mistakes_are_told_at_once(folder: Path) -> None:
    (folder / "wrong.got").write_text(WRONG)
    done = gotc("check", "wrong.got", cwd=folder)
    assert done.returncode == 2
    lines = [int(line.split(":")[1]) for line in done.stdout.splitlines() if "--> wrong.got:" in line]
    assert lines == [1, 1, 2, 3, 6, 7]
    assert "did you mean `str`?" in done.stdout and "did you mean `Generate`?" in done.stdout


def test_files_that_are_not_there_are_told_by_the_check(folder: Path) -> None:
    (folder / "files.got").write_text(
        'simulate with "simulator.py"\nimport python "tool.py": f -> int\nimport corpus "note": c\n'
        "scheme s(n: int) -> int:\n    Call f(n)\n"
    )
    done = gotc("check", "files.got", cwd=folder)
    assert (done.returncode, done.stdout.count("error[GOT0107]")) == (2, 3)
    told = [line.partition(": ")[2] for line in done.stdout.splitlines() if line.startswith("error")]
    assert told == [
        "there is no file simulator.py; its folder has chat_sim.py, classify_sim.py, debate_sim.py, "
        "draft_sim.py, invoice_sim.py, ...",
        "there is no file tool.py; did you mean tools.py?",
        "there is no file note; did you mean notes?",
    ]


HELPS = {
    "a merge": (
        "reduce left, right in xs:\n        Generate() both(left, right)",
        "write `Aggregate()`",
        "reduce left, right in xs:\n        Aggregate() both(left, right)",
    ),
    "valid ones": (
        "Generate(k=3) ask(x)\n    Validate() len(it) > 2\n    KeepValid()",
        "end with `Vote()`, or with `Score() ...` and `KeepBestN(1)`",
        "Generate(k=3) ask(x)\n    Validate() len(it) > 2\n    KeepValid()\n    Vote()",
    ),
    "the best": (
        "Generate(k=3) ask(x)\n    KeepBestN(1)",
        "put a `Score() ...` before it",
        "Generate(k=3) ask(x)\n    Score() len(it)\n    KeepBestN(1)",
    ),
    "a text with values in it": (
        'Map() f"hello {x}"',
        'write `"..." + name`',
        'Map() "hello " + x',
    ),
    "a method": ("Map() x.lower()", "write `lower(...)`", "Map() lower(x)"),
    "rounds": (
        "Pool() x\n    repeat until len(it) > 9:\n        Map() it + x",
        "write `repeat n until condition:`",
        "Pool() x\n    repeat 9 until len(it) > 9:\n        Map() it + x",
    ),
    "a vote": ("Vote() x, x", "`Pool() a, b`", "Pool() x, x\n    Vote()"),
    "all of them": (
        "foreach y in xs:\n        Pool() y\n    Generate() all_of(thoughts)",
        "in an `Aggregate()`",
        "foreach y in xs:\n        Pool() y\n    Aggregate() all_of(thoughts)",
    ),
}
HELPED = """\
prompt ask(x: str) -> str:
    "{{{{ x }}}}"
prompt both(left: str, right: str) -> str:
    "{{{{ left }}}} {{{{ right }}}}"
prompt all_of(xs: list[str]) -> str:
    "{{{{ xs }}}}"
scheme s(x: str, xs: list[str]) -> str:
    {}
"""


@pytest.mark.parametrize("case", HELPS)
def test_a_help_that_is_followed_is_right(folder: Path, case: str) -> None:
    wrong, help, right = HELPS[case]
    (folder / "helped.got").write_text(HELPED.format(wrong))
    done = gotc("check", "helped.got", cwd=folder)
    assert done.returncode == 2
    assert help in done.stdout
    compile(HELPED.format(right))


# ------------------------------------------------------------------ what a run says

NOTE = "no model is configured: responses are simulated (choose a model with --model)"


@pytest.mark.parametrize(
    "command",
    [
        ("run", "classify.got", "--input", "text=good", "--set", "tries=99"),
        ("run", "classify.got", "--input", "text=good", "--otel", "x"),
        ("run", "classify.got", "--scheme", "none", "--input", "text=good"),
        ("eval", "classify.got", "--data", "none.csv"),
        ("compare", "classify.got", "--schemes", "classify,best-of-3", "--data", "texts.csv"),
        ("tune", "classify.got", "--max-usd", "0.0000001"),
    ],
    ids=lambda command: " ".join(command),
)
def test_nothing_is_called_simulated_before_an_error(folder: Path, command: tuple[str, ...]) -> None:
    done = gotc(*command, cwd=folder)
    assert done.returncode in {2, 3}
    assert NOTE not in done.stderr and "error: " in done.stderr


@pytest.mark.parametrize("command", ["run", "eval", "tune"])
def test_a_simulated_response_is_called_so_once(folder: Path, command: str) -> None:
    given = {"run": ("--input", "text=good"), "eval": ("--data", "texts.csv"), "tune": ()}[command]
    done = gotc(command, "classify.got", *given, cwd=folder)
    assert (done.returncode, done.stderr.count(NOTE)) == (0, 1)


def test_a_scheme_that_only_calls_python_is_not_simulated(folder: Path) -> None:
    (folder / "call.got").write_text(
        'import python "tools.py": brevity -> float\nprompt other(x: str) -> str:\n    "{{ x }}"\n'
        "scheme asking(x: str) -> str:\n    Generate() other(x)\n"
        "scheme call(x: str) -> float:\n    Call brevity(x)\n"
    )
    done = gotc("run", "call.got", "--input", "x=four", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "0.25\n"), done.stderr
    assert "no model was called" in done.stderr and "simulated" not in done.stderr


@pytest.mark.parametrize("command", ["run", "eval", "tune"])
def test_a_program_that_nothing_responds_to_is_told_a_model(folder: Path, command: str) -> None:
    (folder / "bare.got").write_text(CLASSIFY)
    given = {"run": ("--input", "text=good"), "eval": ("--data", "texts.csv"), "tune": ()}[command]
    done = gotc(command, "bare.got", *given, cwd=folder)
    assert done.returncode == 2
    assert "error: no model is configured, and this program has no simulator" in done.stderr


def test_a_small_budget_of_a_study_is_told_as_it_is(folder: Path) -> None:
    """Part of it is reserved for the comparison at the end."""
    (folder / "small.got").write_text(
        'simulate with "classify_sim.py"\n' + CLASSIFY.replace('    "In ', '    max_tokens 5\n    "In ')
    )
    done = gotc("tune", "small.got", "--max-usd", "0.0003", cwd=folder)
    assert done.returncode == 3
    said = r"the study's budget of \$0\.0003 does not allow the next request: \$0\.0\d*[1-9] charged, "
    assert re.search(said, done.stderr)
    assert not re.search(r"\$0\.0000\b", done.stderr)


@pytest.mark.parametrize(
    ("option", "value", "help"),
    [
        ("--seed", "x", "`gotc run --help` shows the options"),
        ("--max-usd", "x", "`gotc run --help` shows the options"),
        ("--input", "text", "`gotc run --help` shows the options"),
        ("--data", "text.csv", "did you mean texts.csv?"),
    ],
)
def test_a_help_is_about_the_mistake(folder: Path, option: str, value: str, help: str) -> None:
    done = gotc("run", "classify.got", option, value, cwd=folder)
    assert done.returncode == 2
    told = [line for line in done.stderr.splitlines() if line.startswith("  = help: ")]
    assert told == [f"  = help: {help}"]


def test_a_name_without_a_provider_is_told_its_meaning(folder: Path) -> None:
    text = TRANSLATE.replace("temperature 0.9", 'model "claude-3"')
    (folder / "named.got").write_text(text)
    given = (*inputs({"text": "a", "language": "b"}), "--model", "openai:gpt-4o")
    done = gotc("run", "named.got", *given, cwd=folder, OPENAI_API_KEY="sk-a")
    assert done.returncode == 1
    assert "a model named without its provider is OpenAI's, which has no `claude-3`" in done.stderr
    assert "named.got:6:5" in done.stderr
    assert "NAME alone" in " ".join(gotc("run", "--help", cwd=folder).stdout.split())


def test_a_retry_is_shown_while_it_waits(folder: Path) -> None:
    with OpenAIServer(lambda body, index: "positive", faults=[status(500), status(500), None]) as server:
        model = ("--model", "openai:small", "--base-url", server.url)
        command = ("run", "classify.got", "--input", "text=good", *model)
        text = on_terminal(*command, cwd=folder, stream="stderr", COLUMNS="100")
    assert "retry 1 of 6 in " in text and "retry 2 of 6 in " in text
    assert "HTTP 500" in text
