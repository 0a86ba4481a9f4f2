"""`gotc runs`, `show` and `run --resume`: what is known of runs that were."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli.conftest import Gotc
from msgspec.structs import replace

from gotlang.errors import UsageError
from gotlang.models.prices import Spent
from gotlang.report.history import History, RunRecord, state_now

RUN = ("run", "vote.got", "--input", "question=why", "--json")


def record(name: str, **more: object) -> RunRecord:
    return replace(RunRecord(name, "p", "p.got", "0" * 64, "s", "simulated", {}), **more)  # type: ignore[arg-type]


def test_runs_are_listed_the_latest_first(gotc: Gotc) -> None:
    assert "no runs" in gotc("runs").err
    first, second = (gotc(*RUN, "--seed", seed).json()["run"] for seed in "12")
    assert [run["run"] for run in gotc("runs", "--json").json()["runs"]] == [second, first]
    assert [line.split()[0] for line in gotc("runs", "--limit", "1").out.splitlines()[1:]] == [second]
    (failed,) = [gotc("run", "vote.got", "--input", "question=why", "--model", "openai:m")]
    assert failed.code == 2
    assert len(gotc("runs", "--json").json()["runs"]) == 2  # a run that never began is none


def test_a_run_is_shown_with_every_prompt_and_answer(gotc: Gotc) -> None:
    found = gotc(*RUN).json()
    short = gotc("show", found["run"][:5])
    assert short.code == 0
    assert "Generate answer" in short.out and "vote.got:11" in short.out
    assert "\n  program  vote.got\n" in short.out
    number = next(line.split()[0] for line in short.out.splitlines() if "Generate answer" in line)
    assert f"{number}.0  " in short.out
    voted = short.out.partition("  Vote  ")[2].splitlines()[1]
    assert voted.endswith(f"  {found['result']}")  # what passes through is shown again
    assert "/%" not in short.out  # nothing but the program's own words
    assert gotc("show").out == short.out
    full = gotc("show", "last", number)
    assert "--- user ---\nwhy" in full.out
    assert full.out.count("--- response ") == 3
    whole = gotc("show", found["run"], "--json").json()
    assert (whole["run"], whole["document"]["result"]) == (found["run"], found["result"])
    (asked,) = [ask for operation in whole["operations"] for ask in operation["asked"]]
    assert (len(asked["responses"]), asked["sources"]) == (3, ["model"] * 3)
    assert asked["request"]["messages"] == [["user", "why"]]
    values = [t["value"] for operation in whole["operations"] for t in operation["thoughts"] if "value" in t]
    assert found["result"] in values


def test_a_run_that_version_0_1_0_recorded_is_shown(gotc: Gotc, folder: Path) -> None:
    """It wrote `draws` for the numbers of samples."""
    run = gotc(*RUN).json()["run"]
    whole = gotc("show", run, "--json").json()["operations"]
    path = folder / ".gotc" / "runs" / f"{run}.graph.jsonl"
    old = path.read_text("utf-8").replace('"samples":[', '"draws":[')
    assert '"draws":[' in old
    path.write_text(old, "utf-8")
    assert gotc("show", run, "--json").json()["operations"] == whole
    assert gotc("graph", run, "--out", "run.html").code == 0


def test_answers_that_gave_nothing_are_counted(gotc: Gotc, folder: Path) -> None:
    (folder / "vote_sim.py").write_text(
        "def answer(rng, question):\n    return str(7) if rng.random() < 0.5 else 'no idea'\n"
    )
    found = gotc("run", "vote.got", "--input", "question=why", "--set", "tries=9", "--json").json()
    lost = len(found["failed"])
    assert 0 < lost < 9
    assert f"{lost} response{'s' if lost > 1 else ''} unreadable" in gotc("show").out
    (node,) = [n for n in gotc("graph", "--format", "json").json()["nodes"] if n["kind"] == "Generate"]
    assert node["detail"] == f"{9 - lost} thoughts of 9 responses"


def test_answers_that_were_not_asked_for_are_no_failures(gotc: Gotc, folder: Path) -> None:
    """Also quietly it is told that a result is not the whole one."""
    ran = gotc("run", "vote.got", "--input", "question=why", "--max-calls", "1", "--quiet")
    assert (ran.code, ran.out) == (3, "")
    budget = "the budget does not allow the next request: 1 of 1 calls made"
    assert ran.err.startswith(f"partial: {budget}; 2 calls skipped\n")
    assert "`--partial` prints it" in ran.err
    assert "  2 calls skipped" in gotc("show").out and "unreadable" not in gotc("show").out
    ran = gotc("run", "vote.got", "--input", "question=why", "--max-calls", "0", "--quiet", "--no-cache")
    assert (ran.code, ran.out) == (3, "")
    assert "no result was created before that" in ran.err


def test_a_run_that_failed_can_be_looked_at(gotc: Gotc, folder: Path) -> None:
    (folder / "vote_sim.py").write_text("def answer(rng, question):\n    return 'no idea'\n")
    assert gotc("run", "vote.got", "--input", "question=why", "--quiet").code == 1
    shown = gotc("show").out
    assert " · failed" in shown
    whole = "every thought failed: no number found: 'no idea'"
    assert whole in shown.partition("Generate answer")[2]
    assert "failed, response 2: no number found: 'no idea'" in gotc("show", "last", "1").out
    found = gotc("graph", "--format", "json").json()["nodes"]
    assert [node["kind"] for node in found] == ["Generate", "Vote", "GroundTruth"]
    assert {node["state"] for node in found} == {"failed"}
    page = Path(folder, gotc("graph").out.strip()).read_text()
    assert "no number found" in page
    (folder / ".gotc" / "runs" / f"{gotc('runs', '--json').json()['runs'][0]['run']}.graph.jsonl").unlink()
    gone = gotc("graph")
    assert gone.code == 2
    assert "failed at the start" in gone.err


def test_the_page_of_a_run_shows_the_line_of_the_program_also_in_a_folder(gotc: Gotc, folder: Path) -> None:
    (folder / "deep").mkdir()
    for name in ("vote.got", "vote_sim.py"):
        (folder / name).rename(folder / "deep" / name)
    assert gotc("run", "deep/vote.got", "--input", "question=why", "--quiet").code == 0
    page = Path(folder, gotc("graph").out.strip()).read_text()
    assert '"vote.got:11":"Generate(k=tries) answer(question)"' in page


def test_operations_in_blocks_say_which_turn_they_are(gotc: Gotc) -> None:
    gotc("init", "sort", "--template", "sort")
    assert gotc("run", "sort/sort.got", "--input", "numbers=[3,1,2,5]", "--quiet").code == 0
    titles = [line.split("  ") for line in gotc("show").out.splitlines() if "sort.got:" in line]
    turns = {title[-3]: title[-1] for title in titles}
    assert turns["Generate sort"] == "part 1"
    assert turns["Aggregate merge"] == "level 1, pair 1"
    assert titles[-1][-2] == "GroundTruth"


def test_what_some_call_the_end_of_a_line_stands_in_answers(gotc: Gotc, folder: Path) -> None:
    (folder / "lines_sim.py").write_text("def say(rng):\n    return 'one\\u2028two\\u0085three\\x0bfour'\n")
    (folder / "lines.got").write_text(
        'simulate with "lines_sim.py"\nprompt say() -> str:\n    "Say it."\n'
        "scheme said() -> str:\n    Generate() say()\n"
    )
    assert gotc("run", "lines.got").code == 0
    shown = gotc("show", "last", "--json")
    assert shown.code == 0, shown.err
    assert "one\u2028two\u0085three\x0bfour" in [
        thought.get("value") for line in shown.json()["operations"] for thought in line["thoughts"]
    ]
    assert gotc("graph", "last", "--format", "json").code == 0


def test_what_was_not_kept_is_said(gotc: Gotc) -> None:
    gotc(*RUN, "--no-cache")
    done = gotc("show", "last", "--all")
    assert done.code == 0
    assert "had no cache" in done.err
    gotc(*RUN)
    gotc("cache", "prune", "--keep-size", "0")
    assert "is not in the cache" in gotc("show", "last", "--all").out


def test_a_run_that_is_not_there(gotc: Gotc) -> None:
    gotc(*RUN)
    assert "run `zz` not found" in gotc("show", "zz").err
    assert gotc("show", "last", "999").code == 2


def test_resume_repeats_inputs_and_settings_and_options_replace_them(gotc: Gotc) -> None:
    first = gotc(*RUN, "--seed", "5", "--set", "tries=7", "--max-calls", "2")
    assert first.code == 3
    stopped = gotc("run", "--resume", first.json()["run"], "--json")
    assert (stopped.code, stopped.json()["spent"]["calls"]) == (3, 2)  # the limit is one of the settings
    found = gotc("run", "--resume", "last", "--json", "--max-calls", "10").json()
    assert (found["seed"], found["ledger"]["none"]["calls"], found["partial"]) == (5, 7, None)
    assert found["spent"]["calls"] == 3  # two and two were there
    assert gotc("run", "--resume", "last", "--input", "question=how").code == 2
    assert gotc("run", "vote.got", "--resume", "last").code == 2


def test_resume_says_when_the_program_changed_or_is_gone(gotc: Gotc, folder: Path) -> None:
    gotc(*RUN)
    path = folder / "vote.got"
    path.write_text(path.read_text() + "\n# changed\n")
    done = gotc("run", "--resume", "last")
    assert (done.code, "the program has changed" in done.err) == (0, True)
    path.unlink()
    assert "no longer exists" in gotc("run", "--resume", "last").err


def test_a_folder_that_takes_no_history_stops_no_run(gotc: Gotc, folder: Path) -> None:
    (folder / ".gotc").write_text("a file where a folder should be")
    done = gotc(*RUN, "--no-cache")
    assert done.code == 0
    assert "not in the history" in done.err


def test_files_that_are_no_records_are_left_out(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.start(record("aa"))
    good = (tmp_path / "aa.json").read_text()
    for name, text in {
        "broken": good[: len(good) // 2],
        "list": "[]",
        "newer": good.replace('"format_version":2', '"format_version":3'),
        "renamed": good,
        "untyped": json.dumps({**json.loads(good), "run": "untyped", "started": "now"}),
        "less": json.dumps({"format_version": 2, "run": "less"}),
    }.items():
        (tmp_path / f"{name}.json").write_text(text)
    assert [found.run for found in history.runs()] == ["aa"]


def test_a_name_is_found_by_its_start_where_only_one_has_it(tmp_path: Path) -> None:
    history = History(tmp_path)
    with pytest.raises(UsageError, match="no runs"):
        history.find("last")
    for name in ("abc", "abd", "ab"):
        history.start(record(name))
    assert history.find("abc").run == "abc"
    assert history.find("ab").run == "ab"
    assert history.find("last").run == "ab"
    with pytest.raises(UsageError, match="several"):
        history.find("a")
    with pytest.raises(UsageError, match="not found"):
        history.find("../abc")


def test_a_run_whose_process_is_gone_was_killed(tmp_path: Path) -> None:
    history = History(tmp_path)
    alive = history.start(record("a"))
    assert state_now(alive) == "running"
    host, _, ids = alive.process.partition("/")
    gone = alive.process.replace(f":{os.getpid()}:", f":{2**22 + 1}:")
    began_later = f"{alive.process}0"  # another process that has the number now
    before_this_start = f"{host}/another-boot/1:{os.getpid()}:5"
    for ended in (gone, began_later, before_this_start, ""):
        assert state_now(replace(alive, process=ended)) == "killed", ended
    assert state_now(replace(alive, process=f"elsewhere/{ids}")) == "running"  # nothing is known of it
    zombie = subprocess.Popen(
        [sys.executable, "-c", "from gotlang.processes import process_name as p; print(p())"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert zombie.stdout is not None
    named = zombie.stdout.read().strip()  # it has ended, and nobody has waited for it
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    assert state_now(replace(alive, process=named)) == "killed"
    zombie.wait()
    nothing = {"path": "a", "kind": "join", "state": "done", "inputs": [], "origin": None, "hops": 0}
    lines = [{"operation": number, **nothing, "thoughts": []} for number in range(2)]
    history.end(alive, "done", spent=Spent(3, None), graph=lines)
    (ended,) = history.runs()
    assert (ended.state, ended.spent) == ("done", Spent(3, None))
    assert ended.ended is not None and ended.ended >= ended.started
    assert list(history.graph("a")) == lines
    assert list(history.graph("b")) == []


def test_python_that_was_allowed_for_a_run_is_not_allowed_by_its_history(gotc: Gotc, folder: Path) -> None:
    assert gotc(*RUN, "--allow-python", "--python-key", "HF_TOKEN").code == 0
    (record,) = (folder / ".gotc" / "runs").glob("*.json")
    assert "allow_python" not in record.read_text()
    assert gotc("run", "--resume", "last").code == 0


def test_an_evaluation_and_a_comparison_are_recorded_with_their_rows_and_no_secret(
    gotc: Gotc, folder: Path
) -> None:
    (folder / "q.csv").write_text("question,expected\nwhy,1\nhow,2\nwho,3\n")
    secret = ("--base-url", "http://127.0.0.1:9/v1?key=hidden")
    assert gotc("eval", "vote.got", "--data", "q.csv", "--model", "simulated", *secret).code == 0
    found = gotc("compare", "vote.got", "--data", "q.csv", "--schemes", "vote,single", "--json")
    assert found.code == 0, found.err
    compared, evaluated = gotc("runs", "--json").json()["runs"]
    assert (evaluated["kind"], evaluated["state"], evaluated["scheme"]) == ("eval", "done", "vote")
    assert (compared["kind"], compared["scheme"]) == ("compare", "vote, single")
    whole = gotc("show", compared["run"], "--json").json()
    assert [row["inputs"]["question"] for row in whole["rows"]] == ["why", "how", "who"]
    assert [run["scheme"] for run in whole["rows"][1]["runs"]] == [0, 1]
    given = {scheme["scheme"]: scheme["runs"] for scheme in found.json()["schemes"]}
    for row in whole["rows"]:
        for run in row["runs"]:
            name = ("vote", "single")[run.pop("scheme")]
            assert run == given[name][row["row"]]
    assert whole["rows"][0]["runs"][0]["seconds"] is not None
    shown = gotc("show", compared["run"]).out
    assert 'row 1  question = "how"' in shown and "Pareto-optimal" in shown
    assert gotc("show", compared["run"], "1").out in shown
    assert gotc("show", compared["run"], "7").code == 2
    assert "`gotc runs` lists the others" in gotc("show").err
    # Only runs have a graph, and are repeated.
    assert gotc("run", *RUN[1:]).code == 0
    assert gotc("eval", "vote.got", "--data", "q.csv").code == 0
    assert gotc("graph", "last", "--format", "json").code == 0
    refused = gotc("run", "--resume", evaluated["run"])
    assert refused.code == 2 and "was made by `gotc eval`" in refused.err
    for file in (folder / ".gotc" / "runs").iterdir():
        assert b"hidden" not in file.read_bytes(), file


def test_damaged_rows_are_said_with_their_line(gotc: Gotc, folder: Path) -> None:
    (folder / "q.csv").write_text("question,expected\nwhy,1\nhow,2\n")
    assert gotc("eval", "vote.got", "--data", "q.csv").code == 0
    (rows,) = (folder / ".gotc" / "runs").glob("*.rows.jsonl")
    lines = rows.read_text().splitlines()
    rows.write_text(lines[0] + '\n{"row": -1}\n')
    run = gotc("runs", "--json").json()["runs"][0]["run"]
    damaged = gotc("show", run)
    assert damaged.code == 2
    assert "damaged at line 2" in damaged.err
    record = rows.with_name(rows.name.replace(".rows.jsonl", ".json"))
    rows.write_text(lines[0] + "\n")
    content = json.loads(record.read_text())
    content["document"]["evaluations"][0]["kind"] = 7
    record.write_text(json.dumps(content))
    assert "is damaged" in gotc("show", run).err
    content["document"] = {"evaluations": []}
    record.write_text(json.dumps(content))
    assert "is damaged" in gotc("show", run).err


def test_an_evaluation_that_fails_or_stops_is_recorded_so(gotc: Gotc, folder: Path) -> None:
    (folder / "q.csv").write_text("question,expected\nwhy,1\nhow,2\n")
    assert gotc("eval", "vote.got", "--data", "q.csv", "--max-calls", "1", "--no-cache").code == 3
    (run,) = gotc("runs", "--json").json()["runs"]
    assert run["state"] == "partial" and "calls" in run["error"]


def test_resuming_a_run_of_another_program_names_both(gotc: Gotc) -> None:
    Path("other.got").write_text("scheme other(n: int) -> int:\n    Pool() n\n")
    assert gotc("run", "other.got", "--input", "n=3", "--as", "first").code == 0
    refused = gotc("run", "vote.got", "--resume", "first", "--input", "question=why")
    assert refused.code == 2
    assert "first is a run of other.got" in refused.err
    assert "help: remove `vote.got`, `--input`" in refused.err
    assert gotc("run", "--resume", "first").code == 0
