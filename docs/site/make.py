"""Makes the documentation site: README as its first page, the pages of docs/, and every program as a page.

    pip install -e '.[docs]'
    python docs/site/make.py            # the site is in site/html, and works from any web server

In the repository the pages link to each other and to programs as files; here a link to a file becomes a link
to its page, and one that leads nowhere is a mistake. Zensical builds the rest, and may warn of nothing.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^)#\s]+)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
PICTURES = (".svg", ".png")
SHIM = "https://unpkg.com/iframe-worker/shim"
VENDOR = ROOT / "docs" / "site" / "vendor" / "iframe-worker.js"
"""What that is: version 1.0.4, with its licence beside it."""


def pages() -> dict[str, str]:
    """The page of each file of the repository."""
    found = {"README.md": "index.md", "CHANGELOG.md": "changes.md", "benchmarks/README.md": "benchmarks.md"}
    found |= {"CONTRIBUTING.md": "contributing.md", "SECURITY.md": "reporting.md"}
    for path in sorted((ROOT / "docs" / "contributing").iterdir()):
        found[_name(path)] = f"contributing/{path.name.replace('.', '_')}.md"
    docs = sorted((ROOT / "docs").rglob("*.md"))
    found |= {name: name.removeprefix("docs/") for name in map(_name, docs)}
    for path in sorted((*(ROOT / "programs").rglob("*.got"), *(ROOT / "studies").glob("*.got"))):
        found[_name(path)] = _name(path).removesuffix(".got") + ".md"
    found["grammars/got.lark"] = "grammar.md"
    pictures = sorted(path for path in (ROOT / "docs").rglob("*") if path.suffix in PICTURES)
    found |= {name: name.removeprefix("docs/") for name in map(_name, pictures)}
    return found


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def page(name: str, table: dict[str, str]) -> str:
    """A file of the repository as a page. Raises ValueError for a link to what is not on the site."""
    text = (ROOT / name).read_text("utf-8")
    if not name.endswith(".md"):
        kind = "got" if name.endswith(".got") else "text"
        return f"---\nhide: [toc]\n---\n\n# {PurePosixPath(name).name}\n\n```{kind}\n{text}```\n"

    def moved(match: re.Match[str]) -> str:
        target = os.path.normpath(PurePosixPath(name).parent / match[1])
        if target not in table:
            raise ValueError(f"{name}: a link leads to {match[1]}, which is not on the site")
        return os.path.relpath(table[target], PurePosixPath(table[name]).parent)

    parts = FENCE.split(text)
    parts[::2] = [LINK.sub(moved, part) for part in parts[::2]]
    parts[1::2] = map(_fence, parts[1::2])
    return "".join(parts)


def _fence(block: str) -> str:
    """A block of code with the language in its first line, and the name of its file, if it has one, as title.
    What tests know it by is left out; a part of a program that is no program has no language on its page."""
    first, _, rest = block.partition("\n")
    language, *words = first.removeprefix("```").split() or [""]
    language = language or ("got" if rest.startswith(("scheme ", "prompt ", "study ")) else "")
    names = [word.removeprefix("file=") for word in words if word.startswith("file=")]
    return "".join([f"```{language}", *(f' title="{name}"' for name in names), "\n", rest])


def programs(table: dict[str, str]) -> str:
    """The page that lists every program with what its first lines say of it."""
    lines = ["# Programs", "", "| program | what it is |", "| --- | --- |"]
    for name, place in table.items():
        if name.endswith(".got"):
            text = (ROOT / name).read_text("utf-8").splitlines()
            about = itertools.takewhile(lambda line: line.startswith("# "), text)
            words = " ".join(line.removeprefix("# ").strip() for line in about)
            lines.append(f"| [{name.removesuffix('.got')}]({place}) | {words.replace('|', ' ')} |")
    return "\n".join(lines) + "\n"


def build(folder: Path) -> None:
    """Write pages into a folder and the site into its `html`. Raises CalledProcessError where that fails."""
    shutil.rmtree(folder, ignore_errors=True)
    table = pages()
    for name, place in table.items():
        target = folder / "pages" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(PICTURES):
            shutil.copy(ROOT / name, target)
        else:
            target.write_text(page(name, table), "utf-8")
    (folder / "pages" / "programs.md").write_text(programs(table), "utf-8")
    shutil.copy(ROOT / "docs" / "site" / "site.css", folder / "pages")
    shutil.copy(ROOT / "docs" / "site" / "zensical.toml", folder)
    # It runs in the folder: its own cache stays there too.
    subprocess.run([sys.executable, "-m", "zensical", "build", "--clean", "--strict"], cwd=folder, check=True)
    # The one script that the pages would load from elsewhere comes with them: the worker of their search.
    shutil.copy(VENDOR, folder / "html" / "assets")
    for made in (folder / "html").rglob("*.html"):
        own = os.path.relpath(folder / "html" / "assets" / VENDOR.name, made.parent)
        made.write_text(made.read_text("utf-8").replace(SHIM, own), "utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "site"))
