"""The pages of `gotc studio` in a real browser: runs that grow, a prompt edited, two runs compared."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import slow, writing
from support.browser import Browser, Keep, browser, needs_browser
from support.gotc import gotc, start
from support.openai_server import OpenAIServer
from support.studio import studio

pytestmark = needs_browser
ATTACK = '</script><img src=x onerror="window.ran=1"><script>window.ran=1</script>'
COUNTS = "return graph.chosen.view ? [...graph.chosen.view.nodes.values()].map((node) => node.state) : []"
SUBMIT = "document.querySelector('.edit [type=submit]').click()"
OUTSIDE = """
return performance.getEntriesByType("resource").map((one) => one.name)
  .filter((name) => !name.startsWith(location.origin + "/") && !name.startsWith("data:"))
"""


@pytest.fixture
def window(window: Browser) -> Iterator[Browser]:
    """The browser, on no page."""
    yield window
    window.open("about:blank")
    window.errors()


def select(window: Browser, label: str, place: int = 0) -> None:
    """Choose an operation of the graph by its label."""
    window.run(
        """
        const found = [...graph.chosen.view.nodes.values()].filter((node) => node.label === arguments[0]);
        graph.select(found[arguments[1]].key);
        """,
        label,
        place,
    )


def press_button(window: Browser, words: str) -> None:
    find = "[...document.querySelectorAll('button')].find((one) => one.textContent.startsWith(arguments[0]))"
    window.run(f"{find}.click()", words)


def clean(window: Browser) -> None:
    """Nothing was refused by the policy of the page, nothing came from elsewhere, no script of others ran."""
    assert window.errors() == []
    assert window.run(OUTSIDE) == []
    assert window.run("return window.ran === undefined")


def test_a_run_is_started_from_the_page_and_watched_as_it_grows(
    window: Browser, tmp_path: Path, keep: Keep
) -> None:
    slow.write(tmp_path)
    with studio(tmp_path, GOTC_ALLOW_PYTHON="1", PAUSE="0.3") as served:
        window.open(served.address)
        assert window.run("return location.search") == ""  # the token is not in the address any more
        window.press("Tab", "Tab", "Tab")  # the menu, the search
        press_button(window, "New run")
        window.until("document.querySelector('#inputs textarea')")
        window.type("#inputs textarea", "12")
        press_button(window, "Run")
        window.until("location.pathname.startsWith('/runs/') && window.graph !== undefined")
        seen: list[list[str]] = []
        for _ in range(400):
            states = window.run(COUNTS)
            if not seen or states != seen[-1]:
                seen.append(states)
                if len(seen) == 5:
                    keep(window, "studio_growing")
            if window.run("return doc.state") != "running":
                break
            time.sleep(0.05)
        assert len(seen) > 4 and any("running" in states or "ready" in states for states in seen), seen
        done = [sum(state == "done" for state in states) for states in seen]
        assert done == sorted(done) and len(set(done)) > 3
        assert window.run("return doc.state") == "done"
        # Time line: bars of all calls, and the critical path from the first to the last.
        window.run("graph.choose('time line')")
        bars, path = window.run("return [graph.chosen.view.nodes.size, graph.chosen.view.results.length]")
        assert bars == 23 and 4 <= path <= 23
        keep(window, "studio_time_line")
        window.until("!doc.reading")
        select(window, "Generate guess", 3)
        panel = window.run("return document.getElementById('panel').innerText")
        assert "Say 4." in panel and "slow.got:" in panel and "response" in panel
        clean(window)


def test_a_run_of_another_process_is_watched_and_stays_readable_when_it_is_killed(
    window: Browser, tmp_path: Path
) -> None:
    slow.write(tmp_path)
    process = start(
        "run", "slow.got", "--input", "count=60", "--as", "other", cwd=tmp_path, GOTC_ALLOW_PYTHON="1"
    )
    try:
        with studio(tmp_path) as served:
            for _ in range(200):
                if (tmp_path / ".gotc" / "runs" / "other.json").is_file():
                    break
                time.sleep(0.05)
            window.open(served.at("/runs/other"))
            window.until(
                "graph.chosen.view && [...graph.chosen.view.nodes.values()].some((n) => n.state === 'done')",
            )
            assert window.run("return [doc.state, document.getElementById('stop').hidden]") == [
                "running",
                True,
            ]
            process.kill()
            process.communicate()
            window.until("doc.state === 'killed'")
            assert window.run("return graph.chosen.view.nodes.size") > 3
            clean(window)
    finally:
        process.kill()
        process.communicate()


def test_responses_are_read_while_they_come(window: Browser, tmp_path: Path, keep: Keep) -> None:
    writing.write(tmp_path)
    words = " ".join(f"word{number}" for number in range(40))
    with OpenAIServer(lambda body, index: words, gap_s=0.05) as server:
        model = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-x", "OPENAI_MODEL": "small"}
        with studio(tmp_path, **model) as served:
            order = {"file": "text.got", "scheme": "text", "inputs": {}, "limits": {"max_calls": 9}}
            window.open(served.at(served.post("/runs", order).data["address"]))
            window.until("Object.keys(doc.streams || {}).length")
            select(window, "Generate write", 1)
            shown = "document.querySelector('#panel .block pre')?.textContent"
            first = window.until(shown)
            later = window.until(f"{shown} !== {json.dumps(first)} && {shown}")
            assert words.startswith(first) and later.startswith(first)
            assert "word" in window.run("return graph.chosen.view.nodes.get(graph.chosen.item).detail")
            keep(window, "studio_stream")
            window.until("doc.state === 'done'", 60)
            assert "STREAMING" not in window.run("return document.getElementById('panel').innerText").upper()
            clean(window)


def test_a_prompt_is_edited_and_only_what_depends_on_it_is_asked_again(
    window: Browser, tmp_path: Path, keep: Keep
) -> None:
    writing.write(tmp_path)
    with OpenAIServer(writing.answer) as server:
        model = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-x", "OPENAI_MODEL": "small"}
        assert gotc("run", "text.got", "--as", "first", cwd=tmp_path, **model).returncode == 0
        with studio(tmp_path, **model) as served:
            window.open(served.at("/runs/first"))
            window.until("!doc.reading")
            select(window, "Generate write", 1)
            press_button(window, "Edit the prompt")
            window.press("/")  # in a prompt, not the key of the search
            assert "/" in window.run("return [...document.querySelectorAll('.edit textarea')].at(-1).value")
            window.run(
                "const fields = document.querySelectorAll('.edit textarea');"
                "fields[1].value = 'Write all of part 2.';"
                "document.querySelector('.edit [name=dollars]').value = ''"
            )
            keep(window, "studio_edit")
            asked = len(server.requests)
            window.run(SUBMIT)
            window.until(
                "location.pathname !== '/runs/first' && window.graph && doc.state === 'done'",
            )
            new = [writing.asked(one.body) for one in server.requests[asked:]]
            assert [text.split()[0] for text in new] == ["Write", "Join", "A"], new
            name = window.run("return doc.run")
            # The two side by side: one prompt was edited, two follow from it, the first is the same.
            window.open(served.at(f"/comparison?a=first&b={name}"))
            text = window.run("return document.body.innerText")
            assert "3 operations differ" in text
            assert window.run("return document.getElementById('program').textContent") == "The same."
            changed = window.run(
                "return [...document.querySelectorAll('.diff .new')].map((e) => e.textContent)"
            )
            assert "user: Write all of part 2." in changed
            keep(window, "studio_comparison")
            clean(window)

            # A limit that does not suffice is said on the page of the run; without a limit nothing starts.
            window.open(served.at("/runs/first"))
            window.until("!doc.reading")
            select(window, "Generate write", 0)
            press_button(window, "Edit the prompt")
            window.run(
                "document.querySelectorAll('.edit textarea')[1].value = 'Write part 1 again.';"
                "document.querySelector('.edit [name=dollars]').value = '';"
                "document.querySelector('.edit [name=calls]').value = ''"
            )
            window.run(SUBMIT)
            assert "needs a limit" in window.until("document.getElementById('told').textContent")
            asked = len(server.requests)
            window.run("document.querySelector('.edit [name=calls]').value = '1'")
            window.run(SUBMIT)
            window.until("location.pathname !== '/runs/first' && window.graph && doc.state === 'partial'")
            assert len(server.requests) == asked + 1
            facts = window.run("return document.getElementById('facts').textContent")
            assert "on 1 call; free: 1 call" in facts, facts  # what was spent, as the list of runs has it
            assert "1 of 1 calls made" in window.run("return document.getElementById('facts').textContent")
            assert all("400 (Bad Request)" in error for error in window.errors())

            # A run of which nothing is known but its record has a page that works.
            runs = tmp_path / ".gotc" / "runs"
            record = json.loads((runs / "first.json").read_text()) | {"run": "empty"}
            (runs / "empty.json").write_text(json.dumps(record))
            window.open(served.at("/runs/empty"))
            window.until("!doc.reading")
            window.run("document.getElementById('canvas').focus()")
            window.press("ArrowDown", "0", "+")
            window.click(300, 600)
            window.run("dispatchEvent(new Event('resize')); document.getElementById('unfold').click()")
            press_button(window, "Run again")
            assert window.run("return document.activeElement.name") == "dollars"
            clean(window)


def test_scripts_in_prompts_responses_programs_and_tags_do_not_run(window: Browser, tmp_path: Path) -> None:
    attack = json.dumps(ATTACK)
    (tmp_path / "bad.got").write_text(
        f'prompt ask(question: str) -> str:\n    {attack[:-1]} {{{{ question }}}}"\n\n'
        f"scheme bad(question: str) -> str:\n    Generate() ask(question)  # {ATTACK}\n"
    )
    with OpenAIServer(lambda body, index: ATTACK) as server:
        model = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-x", "OPENAI_MODEL": "small"}
        for name in ("one", "two"):
            done = gotc(
                "run", "bad.got", "--input", f"question={name}{ATTACK}", "--as", name, cwd=tmp_path, **model
            )
            assert done.returncode == 0, done.stderr
        (tmp_path / ".gotc" / "tags.json").write_text(json.dumps({"one": [ATTACK], "two": ["kept"]}))
        (tmp_path / f"{ATTACK.replace('/', '_')}.got").write_text("")
        with studio(tmp_path, **model) as served:
            window.open(served.address)
            text = window.run("return document.body.innerText")
            assert "onerror" in text and "kept" in text
            clean(window)
            window.open(served.at("/runs/one"))
            window.until("!doc.reading")
            select(window, "Generate ask")
            panel = window.run("return document.getElementById('panel').innerText")
            assert panel.count("onerror") >= 3  # the prompt, the response, the thought
            window.run("graph.choose('reasoning'); graph.select('n0'); graph.choose('time line')")
            clean(window)
            window.open(served.at("/comparison?a=one&b=two"))
            assert "onerror" in window.run("return document.body.innerText")
            clean(window)


def test_the_keyboard_alone_searches_tags_opens_and_walks_through_a_run(
    window: Browser, tmp_path: Path
) -> None:
    slow.write(tmp_path)
    for count in (2, 3):
        run = gotc(
            "run",
            "slow.got",
            "--input",
            f"count={count}",
            "--as",
            f"n{count}",
            cwd=tmp_path,
            GOTC_ALLOW_PYTHON="1",
            PAUSE="0",
        )
        assert run.returncode == 0

    def focus(selector: str) -> None:
        for _ in range(40):
            if window.run("return document.activeElement.matches(arguments[0])", selector):
                return
            window.press("Tab")
        raise AssertionError(selector)

    with studio(tmp_path) as served:
        window.open(served.address)
        window.press("/", "n2")
        assert window.run("return document.querySelectorAll('#list tbody tr').length") == 1
        focus("[aria-label='tags of n2']")
        window.press("Enter")
        window.press("good", "Enter")
        assert window.until("document.querySelector('#list button.chip')?.textContent") == "good"
        assert window.run("return document.activeElement.closest('tr').dataset.run") == "n2"
        assert served.get("/runs").data[1]["tags"] == ["good"]
        window.run("document.getElementById('search').focus()")
        focus("#list a")
        window.press("Enter")
        window.until("location.pathname === '/runs/n2' && !doc.reading")
        focus("#canvas")
        window.press("ArrowDown", "ArrowDown")
        assert window.run("return document.querySelector('#panel h2').textContent")
        where = "const { x, y } = graph.chosen.view.boxes.get(graph.chosen.item); return [x, y]"
        window.press("ArrowUp", "ArrowLeft")
        left = window.run(where)
        window.press("ArrowRight")
        right = window.run(where)
        assert right[0] > left[0] and right[1] == left[1]
        window.press("ArrowLeft")
        assert window.run(where) == left
        window.press("Escape")
        assert window.run("return document.getElementById('panel').childElementCount") == 0
        window.run("document.activeElement.blur()")
        focus("#views button:nth-child(3)")
        window.press("Enter")
        focus("#canvas")
        window.press("ArrowRight", "ArrowRight", "ArrowLeft")
        assert "awaited by" in window.run("return document.getElementById('panel').innerText").lower()
        clean(window)
        window.open(served.address)
    window.until("document.getElementById('told').textContent.includes('does not respond')")


def test_of_many_runs_a_hundred_are_drawn_and_all_are_found(window: Browser, tmp_path: Path) -> None:
    writing.write(tmp_path)
    with OpenAIServer(writing.answer) as server:
        model = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-x", "OPENAI_MODEL": "small"}
        assert gotc("run", "text.got", "--as", "r0", cwd=tmp_path, **model).returncode == 0
    runs = tmp_path / ".gotc" / "runs"
    record = json.loads((runs / "r0.json").read_text())
    for number in range(1, 130):
        more = {**record, "run": f"r{number}", "started": record["started"] - number}
        (runs / f"r{number}.json").write_text(json.dumps(more))
    lines = "return document.querySelectorAll('#list tbody tr').length"
    with studio(tmp_path, **model) as served:
        window.open(served.address)
        assert window.run(lines) == 100
        sums = window.run("return document.getElementById('sums').textContent")
        assert sums == "130 of 130 · $0.0000 spent on models · the cost of 130 is unknown"
        press_button(window, "Show more (30)")
        assert window.run(lines) == 130
        window.run("document.getElementById('search').focus()")
        window.press("r129")
        assert window.run(lines) == 1
        clean(window)
        window.open(served.at("/nowhere"))
        assert "page not found" in window.run("return document.body.innerText")
        assert window.run("return document.querySelector('.menu a').textContent") == "Runs"
        assert all("404 (Not Found)" in error for error in window.errors())
        assert served.get("/nowhere").status == 404
        # What a command says is told as it says it: the error, and its help in brackets.
        order = {"file": "text.got", "scheme": "text", "inputs": {}, "model": "openai:small"}
        told = served.post("/runs", {**order, "limits": {"max_usd": 1}}).data
        assert told["error"].startswith("the price of `small` is unknown") and "--prices" in told["help"]


@pytest.mark.parametrize("dark", [False, True])
def test_pages_fit_400_pixels_and_are_dark_where_that_is_wanted(
    tmp_path: Path, dark: bool, keep: Keep
) -> None:
    slow.write(tmp_path)
    for count in (2, 3):
        run = gotc(
            "run",
            "slow.got",
            "--input",
            f"count={count}",
            "--as",
            f"n{count}",
            cwd=tmp_path,
            GOTC_ALLOW_PYTHON="1",
            PAUSE="0",
        )
        assert run.returncode == 0
    # A window is no narrower than 500 pixels; a frame is.
    with studio(tmp_path) as served, browser(tmp_path, dark=dark, width=500) as narrow:
        for page in ("/", "/runs/n3", "/comparison?a=n2&b=n3"):
            narrow.open(served.at(page))
            narrow.run("document.documentElement.style.width = '400px'; document.body.style.width = '400px'")
            narrow.run("window.dispatchEvent(new Event('resize'))")
            widest = narrow.run(
                """
                const inside = (e) => e.closest(".scroll, #panel, pre, canvas, .sr") !== null;
                return Math.max(...[...document.querySelectorAll("body *")].filter((e) => !inside(e))
                  .map((e) => e.getBoundingClientRect().right));
                """
            )
            assert widest <= 401, page
            back = narrow.run("return getComputedStyle(document.body).backgroundColor")
            assert (back == "rgb(13, 17, 25)") == dark
            keep(narrow, f"studio_narrow_{'dark' if dark else 'light'}{page.split('?')[0].replace('/', '_')}")
            assert narrow.errors() == []
