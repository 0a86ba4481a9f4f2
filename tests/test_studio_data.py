"""Rows, studies and the Playground of `gotc studio`, in a real browser."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra `studio` is not installed")
pytest.importorskip("optuna", reason="the extra `tune` is not installed")

from support.browser import Browser, Keep, browser, needs_browser
from support.gotc import gotc, start
from support.openai_server import OpenAIServer, stalled
from support.sight import cut_off, too_faint
from support.studio import Running, studio

SAY = """
simulate with "say_sim.py"

prompt say(n: str) -> str:
    "Say {{ n }}"

scheme plain(n: str) -> str:
    Generate() say(n)
    GroundTruth() it == truth

scheme voted(n: str) -> str:
    Generate(k=3) say(n)
    Vote()
    GroundTruth() it == truth
"""
SAY_SIM = """
def say(rng, n):
    evil = "document.title='ran'"
    return n if rng.random() < 0.6 else f"<script>{evil}</script><img src=x onerror={evil}>"
"""
WIDE = """
simulate with "wide_sim.py"

param tries = 2 in 1..10
param spread = 5 in 1..5

prompt wide(target: int, spread: int) -> int:
    max_tokens 20
    "Guess {{ target }}, not {{ spread }} off."

score error(attempt: int, target: int) -> lower, best 0:
    abs(attempt - target)

scheme near(target: int) -> int:
    Generate(k=tries) wide(target, spread)
    Score() error(it, target)
    KeepBestN(1)
"""
WIDE_SIM = """
def wide(rng, target, spread):
    return str(target + rng.randint(-4 * spread, 4 * spread))
"""
STUDY = """
study near:
    program "wide.got"
    data "numbers.csv" (target = Target), train 6, test 8
    minimize error(result, target), minimize cost
    subject to calls <= 10
    trials 50
    sampler grid
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a comparison of 40 rows and a study that has not begun."""
    made = tmp_path_factory.mktemp("data")
    (made / "say.got").write_text(SAY)
    (made / "say_sim.py").write_text(SAY_SIM)
    (made / "n.csv").write_text("n,expected\n" + "".join(f"w{n},w{n}\n" for n in range(40)))
    done = gotc("compare", "say.got", "--schemes", "plain,voted,vote-of-3", "--data", "n.csv", cwd=made)
    assert done.returncode == 0, done.stderr
    (made / "wide.got").write_text(WIDE)
    (made / "wide_sim.py").write_text(WIDE_SIM)
    (made / "study.got").write_text(STUDY)
    (made / "numbers.csv").write_text("Target\n" + "".join(f"{37 * n % 1000}\n" for n in range(1, 31)))
    return made


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[Running]:
    with studio(folder, GOTC_ALLOW_PYTHON="1") as found:
        yield found


def named(folder: Path, kind: str) -> str:
    """The latest record of a kind."""
    runs = json.loads(gotc("runs", "--json", cwd=folder).stdout)["runs"]
    return str(next(run["run"] for run in runs if run["kind"] == kind))


@needs_browser
def test_rows_are_filtered_to_where_schemes_differ_and_one_opens_as_a_graph(
    folder: Path, running: Running, window: Browser, keep: Keep
) -> None:
    run = named(folder, "compare")
    window.open(running.at(f"/rows/{run}"))
    window.run("const one = document.getElementById('filter'); one.value = 'differ'; one.onchange()")
    differ = window.run("return report.rows()")
    rows = {row["row"]: row for row in map(json.loads, stored_rows(folder, run))}
    assert differ == [n for n, row in rows.items() if len({one["result"] for one in row["runs"]}) > 1]
    assert 0 < len(differ) < 40
    window.run("report.select(arguments[0])", differ[0])
    keep(window, "studio-rows")
    assert window.run("return document.querySelectorAll('#panel img, #panel script').length") == 0
    window.run("[...document.querySelectorAll('#panel button')].at(-1).click()")
    window.until("location.pathname.startsWith('/runs/')")
    window.until("document.readyState === 'complete'")
    again = json.loads(gotc("show", "last", "--json", cwd=folder).stdout)
    assert again["scheme"] == "vote-of-3" and again["inputs"] == rows[differ[0]]["inputs"]
    assert again["spent"]["calls"] == 0  # from the cache
    assert again["document"]["result"] == rows[differ[0]]["runs"][2]["result"]
    assert window.run("return document.title") != "ran"
    assert window.errors() == []


def stored_rows(folder: Path, run: str) -> list[str]:
    return (folder / ".gotc" / "runs" / f"{run}.rows.jsonl").read_text().splitlines()


def study_of(folder: Path) -> subprocess.Popen[str]:
    return start("tune", "study.got", "--model", "simulated", cwd=folder)


@needs_browser
def test_an_evaluation_is_watched_growing_keeps_its_rows_when_it_is_killed_and_goes_on(
    window: Browser, tmp_path: Path, keep: Keep
) -> None:
    (tmp_path / "say.got").write_text(SAY.replace('simulate with "say_sim.py"\n', ""))
    (tmp_path / "n.csv").write_text("n,expected\n" + "".join(f"w{n},w{n}\n" for n in range(30)))
    command = ("eval", "say.got", "--scheme", "plain", "--data", "n.csv", "--parallel", "4", "--model")

    def words(body: dict[str, Any], index: int) -> str:
        return str(body["messages"][-1]["content"]).removeprefix("Say ")

    hung = [*[None] * 4, *[stalled(0.3)] * 8, *[stalled(60)] * 4]
    with OpenAIServer(words, faults=hung) as server, studio(tmp_path) as served:
        model = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-x"}
        process = start(*command, "openai:small", cwd=tmp_path, **model)
        files = tmp_path / ".gotc" / "runs"
        try:
            end = time.monotonic() + 60
            while not (found := [*files.glob("*.rows.jsonl")]):
                assert time.monotonic() < end and process.poll() is None, process.communicate()
                time.sleep(0.02)
            run = found[0].name.partition(".")[0]
            window.open(served.at(f"/rows/{run}"))
            window.run("report.select(report.rows()[0])")
            window.until(
                "doc.rows.length === 12 && document.getElementById('rows').innerText.includes('w11')"
            )
            about = window.run("return document.querySelector('main header').innerText")
            assert "running: 12 of 30 rows finished" in about
            assert window.run("return document.querySelector('#panel h2').innerText") == "Row 0"
            keep(window, "studio-rows-growing")
        finally:
            process.kill()
            process.communicate()
        window.until("document.querySelector('main header').innerText.includes('killed: 12 of 30 rows')")
        assert window.run("return report.rows().length") == 12
        assert window.errors() == []
        shown = json.loads(gotc("show", run, "--json", cwd=tmp_path).stdout)
        assert shown["state"] == "killed"
        assert len(shown["rows"]) == 12
        for row in shown["rows"]:
            assert row["inputs"]["n"] == row["truth"] == row["runs"][0]["result"]
        # The same command continues: rows that ended are in the cache.
        asked = len(server.requests)
        done = gotc(*command, "openai:small", cwd=tmp_path, **model)
        assert done.returncode == 0, done.stderr
        assert len(server.requests) - asked == 30 - 12
        latest = named(tmp_path, "eval")
        assert latest != run and len(stored_rows(tmp_path, latest)) == 30


@needs_browser
def test_a_study_of_fifty_trials_is_watched_and_ends_with_its_front(
    folder: Path, running: Running, window: Browser, tmp_path: Path, keep: Keep
) -> None:
    process = study_of(folder)
    runs, record = folder / ".gotc" / "runs", None
    end = time.monotonic() + 60
    while record is None and time.monotonic() < end:
        record = next((path for path in runs.glob("*.trials.jsonl")), None)
        time.sleep(0.05)
    assert record is not None, process.communicate()
    run = record.name.partition(".")[0]
    window.open(running.at(f"/studies/{run}"))
    seen = window.run("return document.querySelector('.verdict b').innerText")
    count = "return document.querySelectorAll('details tbody tr').length"
    first = window.run(count)
    assert process.wait(120) == 0, process.communicate()
    window.until("document.querySelector('.verdict b').innerText !== 'running'")
    document = json.loads((runs / f"{run}.json").read_text())["document"]
    assert window.run(count) == document["trials"]
    if seen == "running":
        assert first <= document["trials"]
    assert document["planned"] == document["trials"] + document["rejected"] == 50
    body = window.run("return document.body.innerText")
    for words in ("Pareto front", "calls <= 10", "kept", "--pick knee", "the end of its range", "Importance"):
        assert words.lower() in body.lower(), words
    assert "Not drawn" not in body
    assert window.run("return document.querySelectorAll('figure.front circle').length") >= 3
    keep(window, "studio-study")
    assert window.errors() == []
    listed = {entry["kind"]: entry["address"] for entry in running.get("/runs").data}
    assert set(listed) >= {"compare", "tune"}
    for address in listed.values():
        assert running.get(address).status == 200, address
    with browser(tmp_path, dark=True) as dark:
        for width in (400, 1400):
            dark.resize(width, 900)
            dark.open(running.at(f"/studies/{run}"))
            assert cut_off(dark) == []
            assert too_faint(dark) == []
            keep(dark, f"studio-study-{width}-dark")
        assert dark.errors() == []


@needs_browser
def test_the_playground_diagnoses_while_one_types_shows_prompts_and_runs(
    folder: Path, running: Running, window: Browser, keep: Keep
) -> None:
    window.open(running.at("/playground?program=say.got"))
    window.until("document.getElementById('state').innerText.startsWith('no errors')")
    end = "{ anchor: playground.editor.state.doc.length - 1 }"
    window.run(f"playground.editor.focus(); playground.editor.dispatch({{ selection: {end} }})")
    window.press("Enter", "Generate(k=1) shout(n")
    window.until("document.getElementById('state').innerText.startsWith('2 errors')")
    assert "shout" in window.run("return document.getElementById('problems').innerText")
    assert window.run("return document.getElementById('run').disabled")
    keep(window, "playground-error")
    lines = "playground.editor.state.doc.lines - 1"
    window.run(
        f"const line = playground.editor.state.doc.line({lines});"
        "playground.editor.dispatch({ changes: { from: line.from - 1, to: line.to } })"
    )
    window.until("document.getElementById('state').innerText.startsWith('no errors')")
    # Tab indents; Escape and then Tab leaves the editor, as the page says.
    window.run("playground.editor.focus()")
    window.press("Escape", "Tab")
    assert window.run("return document.activeElement.id") == "scheme"
    assert "Escape, then Tab leaves the editor" in window.run("return document.body.innerText")
    assert "not saved" not in window.run("return document.getElementById('state').innerText")
    # An edit that is not saved, and from here on the keyboard alone.
    window.run(
        "const at = playground.editor.state.doc.toString().indexOf('Say {{');"
        "playground.editor.dispatch({ changes: { from: at, to: at + 3, insert: 'Please say' } })"
    )
    window.until("document.getElementById('state').innerText.includes('not saved')")
    window.run(
        "document.getElementById('scheme').value = 'voted'; document.getElementById('scheme').onchange()"
    )
    window.run("document.getElementById('table').value = 'n.csv'; document.getElementById('row').value = '5'")
    window.run("document.getElementById('fill').focus()")
    window.press("Enter")
    window.until("document.getElementById('prompts').innerText.includes('Please say w5')")
    window.run("document.getElementById('run').focus()")
    window.press("Enter")
    window.until("document.getElementById('result').innerText.includes('done')")
    shown = window.run("return document.getElementById('result').innerText")
    assert "simulated" in shown and "3 calls" in shown
    keep(window, "playground")
    last = json.loads(gotc("show", "last", "--json", cwd=folder).stdout)
    assert (last["scheme"], last["inputs"]) == ("voted", {"n": "w5"})
    assert last["settings"]["max_calls"] == 200 and last["settings"]["max_usd"] == 0.1
    assert (folder / "say.got").read_text() == SAY  # what is typed is not saved until one says so
    window.run("document.getElementById('save').focus()")
    window.press("Enter")
    window.until("document.getElementById('save').disabled")
    saved = (folder / "say.got").read_text()
    assert saved == window.run("return playground.editor.state.doc.toString()") != SAY
    assert "not saved" not in window.run("return document.getElementById('state').innerText")
    (folder / "say.got").write_text(SAY)
    assert window.run("return document.title") != "ran"
    assert window.errors() == []


def test_the_playground_shows_the_prompts_of_the_scheme_that_is_chosen(tmp_path: Path) -> None:
    prompts = "".join(
        f'prompt {name}(q: str) -> str:\n    "{name} {{{{ q }}}}"\n\n' for name in ("first", "then", "other")
    )
    (tmp_path / "two.got").write_text(
        prompts + "scheme one(q: str) -> str:\n    Generate() other(q)\n\n"
        "scheme two(q: str) -> str:\n    Generate() first(q)\n    Improve() then(it)\n"
    )
    with studio(tmp_path) as served:
        text = {"program": "two.got", "text": (tmp_path / "two.got").read_text()}
        assert served.post("/playground/check", text).data["scheme"] == "two"  # that of the file's name
        found = served.post("/playground/prompts", {**text, "scheme": "two", "inputs": {"q": "x"}}).data
        assert [(one["prompt"], one["placeholders"]) for one in found] == [("first", False), ("then", True)]


def test_a_program_is_saved_only_over_what_the_page_read_and_drafts_are_removed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside.got"
    (folder / "inner").mkdir(parents=True)
    for path in (outside, folder / "plain.got", folder / "inner" / "windows.got"):
        path.write_bytes(SAY.encode() if path.stem != "windows" else SAY.replace("\n", "\r\n").encode())
    (folder / "link.got").symlink_to(outside)
    (folder / "say_sim.py").write_text(SAY_SIM)
    left = folder / "inner" / ".windows.playground.got"
    left.write_text("")  # a studio that was killed
    with studio(folder, GOTC_ALLOW_PYTHON="1") as served:
        served.get("/")
        assert not left.exists()
        order = {"text": SAY + "# more\n", "before": SAY}
        for name in ("plain.got", "inner/windows.got"):
            assert served.post("/playground/save", {**order, "program": name}).status == 200, name
            again = served.post("/playground/save", {**order, "program": name})
            assert again.status == 400 and "has changed since" in again.data["error"]
        assert (folder / "plain.got").read_text() == order["text"]
        assert (folder / "inner" / "windows.got").read_bytes() == order["text"].replace("\n", "\r\n").encode()
        for name in ("../outside.got", str(outside), "link.got", "say_sim.py", "", "new.got", "x\0.got"):
            assert served.post("/playground/save", {**order, "program": name}).status == 400, name
        wanted = {**order, "program": "plain.got", "before": order["text"]}
        for headers in ({"Origin": "http://evil.example"}, {"Cookie": ""}, {"Content-Type": "text/plain"}):
            assert served.post("/playground/save", wanted, **headers).status in (403, 415)
        assert outside.read_text() == SAY and not (folder / "new.got").exists()
        run = {"program": "plain.got", "text": SAY, "scheme": "plain", "inputs": {"n": "1"}}
        limits = {"model": "simulated", "limits": {"max_calls": 9}}
        assert served.post("/playground/run", {**run, **limits}).status == 200
        assert (folder / ".plain.playground.got").is_file()
    assert not (folder / ".plain.playground.got").exists()


@needs_browser
def test_pages_of_data_fit_a_phone_in_the_dark_and_load_nothing_from_elsewhere(
    folder: Path, running: Running, tmp_path: Path, keep: Keep
) -> None:
    run = named(folder, "compare")
    with browser(tmp_path, dark=True) as dark:
        for width in (400, 1400):
            dark.resize(width, 900)
            for name, page in (
                ("runs", "/"),
                ("rows", f"/rows/{run}"),
                ("playground", "/playground?program=say.got"),
            ):
                dark.open(running.at(page))
                if name == "playground":
                    dark.until("document.getElementById('state').innerText.startsWith('no errors')")
                assert cut_off(dark) == [], (name, width)
                assert too_faint(dark) == [], (name, width)
                loaded = dark.run("return performance.getEntriesByType('resource').map((one) => one.name)")
                assert loaded and all(one.startswith(f"{running.origin}/") for one in loaded)
                keep(dark, f"studio-{name}-{width}-dark")
        assert dark.errors() == []


def test_the_program_of_an_empty_folder_has_no_mistake() -> None:
    from gotlang.editing.documents import analyzed
    from gotlang.studio.pages.playground import START

    assert analyzed("<playground>", START, {}).diagnostics == ()


def test_paths_outside_of_the_folder_and_wrong_requests_are_refused(folder: Path, running: Running) -> None:
    run = named(folder, "compare")
    for path in (
        "/rows/..%2f..%2fetc",
        "/rows/last",
        f"/studies/{run}",
        "/rows/../../etc/passwd",
        "/studies/%00",
    ):
        assert running.get(path).status in (400, 404), path
    given = {
        "program": "../../../etc/hostname",
        "text": "",
        "scheme": "s",
        "inputs": {},
        "data": "",
        "row": 0,
    }
    for name in ("check", "prompts", "row"):
        refused = running.post(f"/playground/{name}", given)
        assert refused.status == 400 and "error" in refused.data
        assert running.post(f"/playground/{name}", given, Origin="http://evil.example").status == 403
    text = {"program": "say.got", "text": SAY}
    outside = running.post("/playground/row", {**text, "scheme": "plain", "data": "../x.csv", "row": 0})
    assert outside.status == 400 and "not found" in outside.data["error"]
    order = {**text, "scheme": "plain", "inputs": {"n": "a"}, "model": "simulated", "limits": {}}
    assert "needs a limit" in running.post("/playground/run", order).data["error"]
    assert running.post("/playground/check", {"program": "say.got", "text": 7}).status == 400
    assert running.post(f"/rows/{run}/graph", {"row": 0, "scheme": 9}).status == 400
    broken = {"program": "say.got", "text": "prompt (", "scheme": "s", "inputs": {}}
    assert running.post("/playground/prompts", broken).status == 400
    assert running.get("/playground?program=../secret.got").status in (400, 404)


def test_a_record_of_a_stranger_starts_nothing_outside_of_the_folder(folder: Path, running: Running) -> None:
    run = named(folder, "compare")
    path = folder / ".gotc" / "runs" / f"{run}.json"
    before = path.read_text()
    try:
        for change in (
            {"path": "/etc/hostname"},
            {"cache": "postgresql://127.0.0.1:9/x"},
            {"cache": "../elsewhere.sqlite"},
            {"settings": {"data": "/etc/passwd"}},
            {"settings": {"data": "n.csv", "base_url": "http://127.0.0.1:9/v1"}},
        ):
            path.write_text(json.dumps({**json.loads(before), **change}))
            refused = running.post(f"/rows/{run}/graph", {"row": 0, "scheme": 0})
            assert refused.status == 400, change
    finally:
        path.write_text(before)
