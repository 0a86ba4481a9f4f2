"""The documentation site: every link leads somewhere, every page is found from the first, and it builds."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import time
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from support.browser import browser, needs_browser

ROOT = Path(__file__).parents[1]
MAKE = runpy.run_path(str(ROOT / "docs" / "site" / "make.py"))
TABLE = MAKE["pages"]()


@pytest.mark.parametrize("name", [name for name in TABLE if not name.endswith(MAKE["PICTURES"])])
def test_every_link_of_a_page_leads_to_a_page(name: str) -> None:
    text = MAKE["page"](name, TABLE)
    for target in MAKE["LINK"].findall(MAKE["FENCE"].sub("", text)):
        assert os.path.normpath(Path(TABLE[name]).parent / target) in TABLE.values(), target


def test_a_link_to_what_is_not_there_is_a_mistake() -> None:
    without = {name: place for name, place in TABLE.items() if name != "docs/language.md"}
    with pytest.raises(ValueError, match=r"README\.md: a link leads to docs/language\.md"):
        MAKE["page"]("README.md", without)


def test_headings_that_links_name_are_there() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        text = MAKE["FENCE"].sub("", page.read_text())
        for target, anchor in re.findall(r"\]\(([^)#\s:]*)#([\w-]+)\)", text):
            other = (page.parent / target if target else page).read_text()
            heads = re.findall(r"^#+ (.*)$", MAKE["FENCE"].sub("", other), re.MULTILINE)
            assert anchor in {_slug(head) for head in heads}, (page.name, target, anchor)


def _slug(head: str) -> str:
    return re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-")


def test_every_page_is_reached_from_the_menu() -> None:
    settings = tomllib.loads((ROOT / "docs" / "site" / "zensical.toml").read_text())
    first, *sections = settings["project"]["nav"]
    kinds = {kind: pages for section in sections for kind, pages in section.items()}
    assert [*kinds] == ["Tutorial", "How-to", "Reference", "Explanation", "Project"]
    menu = [
        *first.values(),
        *(place for pages in kinds.values() for page in pages for place in page.values()),
    ]
    assert set(menu) <= {*TABLE.values(), "programs.md"}
    assert len(menu) == len(set(menu))
    for place in TABLE.values():
        assert "/" in place or place.endswith(MAKE["PICTURES"]) or place in menu, f"{place} is of which kind?"
    names = {place: name for name, place in TABLE.items()}
    texts = {
        place: MAKE["page"](name, TABLE)
        for place, name in names.items()
        if not place.endswith(MAKE["PICTURES"])
    }
    texts["programs.md"] = MAKE["programs"](TABLE)
    reached: set[str] = set()
    waiting = list(menu)
    while waiting:
        place = waiting.pop()
        if place in reached:
            continue
        reached.add(place)
        for target in MAKE["LINK"].findall(MAKE["FENCE"].sub("", texts.get(place, ""))):
            waiting.append(os.path.normpath(Path(place).parent / target))
    lost = set(texts) - reached
    assert lost == set(), "link these from a page, or name them in docs/site/zensical.toml"


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once; building it warns of nothing (`--strict`)."""
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("zensical is not installed (extra `docs`)")
    folder = tmp_path_factory.mktemp("site") / "site"
    MAKE["build"](folder)
    return folder / "html"


def test_the_site_asks_no_other_host_for_anything(html: Path) -> None:
    assert (html / "programs" / "sort128.html").is_file()
    for page in html.rglob("*.html"):
        loaded = re.findall(r'<(?:link|script|img)[^>]* (?:href|src)="([^"]+)"', page.read_text())
        assert loaded
        assert [address for address in loaded if "://" in address] == [], page


def test_every_link_of_the_site_leads_to_a_place_on_a_page(html: Path) -> None:
    texts = {page.resolve(): page.read_text() for page in html.rglob("*.html")}
    places = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in texts.items()}
    lost = []
    for page, text in texts.items():
        for target in set(re.findall(r'<a [^>]*href="([^"]*)"', text)):
            path, _, anchor = target.partition("#")
            if "://" in path or path.startswith("mailto:") or page.name == "404.html":
                continue
            other = (page.parent / path).resolve() if path else page
            other = other / "index.html" if other.is_dir() else other
            if not other.is_file() or (anchor and other in places and anchor not in places[other]):
                lost.append((page.name, target))
    assert lost == []


def test_programs_are_colored_by_the_lexer_of_the_language(html: Path) -> None:
    if not entry_points(group="pygments.lexers", name="got"):
        pytest.skip("this installation is older than the lexer: install it again")
    for page in ("programs/sort128", "language", "index"):
        assert '<span class="k">scheme</span>' in (html / f"{page}.html").read_text(), page


def test_every_block_of_code_is_one_on_its_page(html: Path) -> None:
    assert [page.name for page in html.rglob("*.html") if "<p>```" in page.read_text()] == []


@needs_browser
def test_the_pages_and_their_search_work_from_a_folder(html: Path, tmp_path: Path) -> None:
    active = (
        "let e = document.activeElement; while (e.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;"
    )
    links = """
    const inner = (e) => [e, ...(e.shadowRoot ? all(e.shadowRoot) : [])];
    const all = (root) => [...root.querySelectorAll("*")].flatMap(inner);
    return all(document).filter((e) => e.tagName === "A" && e.href.includes("?h=")).map((e) => e.href);
    """
    cut_words = """
    return [...document.querySelectorAll("td:first-child code")]
        .filter((code) => /^\\w+$/.test(code.textContent) && code.getClientRects().length > 1)
        .map((code) => code.textContent);
    """
    with browser(tmp_path, dark=True, width=400) as window:
        for page in ("index", "language", "api", "neighbours", "programs/sort128"):
            window.open(html / f"{page}.html")
            assert window.run("return document.documentElement.scrollWidth <= window.innerWidth"), page
            assert window.run(cut_words) == [], page
        window.open(html / "index.html")
        window.run("document.querySelector('.md-search__button').click()")
        found: list[str] = []
        for _ in range(50):
            window.run(
                f"{active} e.value = 'KeepBestN'; e.dispatchEvent(new Event('input', {{bubbles: true}}));"
            )
            if found := window.run(links):
                break
            time.sleep(0.1)
        assert any("language.html" in address for address in found)
        assert window.errors() == []


def test_every_picture_is_shown_on_a_page() -> None:
    texts = "".join(page.read_text() for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    pictures = [
        path.name for path in (ROOT / "docs" / "pictures").iterdir() if path.suffix in MAKE["PICTURES"]
    ]
    assert [name for name in pictures if f"pictures/{name})" not in texts] == []


def test_the_script_makes_every_screenshot_that_there_is() -> None:
    screens = runpy.run_path(str(ROOT / "docs" / "pictures" / "screens.py"))
    made = {f"page-{name}.png" for name in screens["SHOTS"]}
    assert {path.name for path in (ROOT / "docs" / "pictures").glob("*.png")} == made
