"""The documentation site: every link leads somewhere, every page is found from the first, and it builds."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import tomllib
from pathlib import Path

import pytest

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
    menu = [place for entry in settings["project"]["nav"] for place in entry.values()]
    assert set(menu) <= {*TABLE.values(), "programs.md"}
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


@pytest.mark.skipif(
    importlib.util.find_spec("zensical") is None, reason="zensical is not installed (extra `docs`)"
)
def test_the_site_builds_and_asks_no_other_host_for_anything(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    MAKE["build"](tmp_path / "site")
    assert "No issues found" in "".join(capfd.readouterr())
    html = tmp_path / "site" / "html"
    assert (html / "programs" / "sort128" / "index.html").is_file()
    for page in html.rglob("index.html"):
        loaded = re.findall(r'<(?:link|script|img)[^>]* (?:href|src)="([^"]+)"', page.read_text())
        assert loaded
        assert [address for address in loaded if "://" in address] == [], page


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
