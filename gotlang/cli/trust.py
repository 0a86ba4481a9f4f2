"""`gotc trust`: folders whose Python may run, and whose settings may point outside them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click

from gotlang import trust
from gotlang.cli import options as opt
from gotlang.cli.output import count, document, harmless, say
from gotlang.config import project_files
from gotlang.disk import real_path
from gotlang.errors import UsageError, reporting
from gotlang.files import project, read_source

_SHOWN = 8
"""Maximum number of Python files that are named."""
_MODEL = re.compile(r'"((?:local|replay):[^"\n]+)"')
"""A model in a file, as a program names it."""
_SERVER = re.compile(r'^import[ \t]+mcp[ \t]+"([^"\\\n]+)"', re.MULTILINE)
"""The command or address of an MCP server that a program imports."""
_PASSED_BY = ("node_modules", "__pycache__", "site-packages")
"""Folders without programs of a project, in addition to those that begin with a dot."""


@click.command("trust")
@click.argument("folder", default=".")
@opt.choice("--only", ("python", "settings"), "Trust only Python or only settings.")
@opt.flag("--dry-run", "Show what would be trusted, and trust nothing.")
@opt.flag("--list", "List what is trusted.")
@opt.flag("--revoke", "Revoke the trust in FOLDER.")
@opt.json_option
def trust_command(folder: str, only: str | None, dry_run: bool, list: bool, revoke: bool, json: bool) -> int:
    """Trust FOLDER, such as a project that you cloned and inspected, and print what is trusted.

    From now on, its programs can run its Python files, also after edits: all in the folder and below
    it, or one file. The settings of its gotc.toml (or pyproject.toml) that point outside it are used as
    they are now: an address gets your key, files elsewhere are read and written. A changed setting
    needs your trust again.
    """
    if list:
        return _list(json=json)
    path = Path(folder)
    with reporting(f"cannot trust {folder}"):
        real = real_path(path)
    if revoke:
        return _revoke(real, json=json)
    if not os.path.exists(path):
        raise UsageError(f"there is no folder {folder}")
    python = only != "settings"
    names = (
        [os.path.relpath(file, real if real.is_dir() else real.parent) for file in _files(real, ".py")]
        if python
        else []
    )
    settings = [] if only == "python" or not path.is_dir() else _settings(path)
    if dry_run:
        shown = sorted({trust.shown(*one) for one in settings})
    else:
        granted = trust.grant(real, python=python, settings=settings)
        shown = sorted(granted.settings.values())
    if json:
        document({"folder": str(real), "trusted": not dry_run, "python": names, "settings": shown})
        return 0
    say(f"{'would be trusted' if dry_run else 'trusted'}: {harmless(str(real))}")
    if python:
        named = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        say(f"  its Python runs: {count(len(names), 'file')} now{': ' + harmless(named) if names else ''}")
    for line in shown:
        say(f"  {harmless(line)}")
    return 0


def _files(path: Path, ending: str) -> list[Path]:
    """The files of a folder and below it with this ending, or the file itself."""
    if path.is_file():
        return [path]
    found = []
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _PASSED_BY)
        found += [Path(folder) / name for name in sorted(files) if name.endswith(ending)]
    return found


def _settings(folder: Path) -> list[tuple[str, str]]:
    """The settings of a folder's configuration, and of the programs in it, that need trust."""
    from gotlang.tune.plan import reaching

    found = [setting for file in project_files(folder) for setting in file.reaching()]
    for path in _files(folder, ".got"):
        text = read_source(path).text
        if "storage" in text:
            found += reaching(path, here=folder)
        found += [("mcp", command) for command in _SERVER.findall(text)]
        for spec in _MODEL.findall(text):
            what = trust.reached_model(spec, folder, inside=project(path.parent))
            found += [] if what is None else [("model", what)]
    return found


def _list(*, json: bool) -> int:
    found = trust.trusted()
    if json:
        entries = [
            {"folder": one.folder, "python": one.python, "settings": sorted(one.settings.values())}
            for one in found
        ]
        document({"trusted": entries})
        return 0
    for one in found:
        say(harmless(one.folder) + ("" if one.python else "  (settings only)"))
        for line in sorted(one.settings.values()):
            say(f"  {harmless(line)}")
    if not found:
        say("nothing is trusted")
    return 0


def _revoke(real: Path, *, json: bool) -> int:
    if not trust.revoke(real):
        raise UsageError(f"{real} is not trusted", help="`gotc trust --list` shows what is")
    left = next((one.folder for one in trust.trusted() if real.is_relative_to(one.folder)), None)
    if json:
        document({"folder": str(real), "revoked": True, "still_trusted_with": left})
        return 0
    say(f"no longer trusted: {harmless(str(real))}")
    if left is not None:
        say(f"  still trusted as a part of {harmless(left)}")
    return 0
