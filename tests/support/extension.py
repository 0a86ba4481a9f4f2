"""The packages of npm that the VS Code extension is built and its grammar is tested with, installed once."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"


def node_modules() -> Path:
    """The folder of the packages that package-lock.json names. Skips the test where npm cannot have them."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("no npm")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.removeprefix("v").split(".")[0]) < 20:
        pytest.skip(f"the extension is built with Node 20, and this is {version.strip()}")
    lock = (EXTENSION / "package-lock.json").read_bytes()
    folder = Path.home() / ".cache" / "gotlang" / f"vscode-{hashlib.sha256(lock).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            for name in ("package.json", "package-lock.json"):
                shutil.copy(EXTENSION / name, folder)
            command = ["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            if done.returncode != 0:
                pytest.skip(f"npm could not install: {done.stderr[-300:]}")
            (folder / "done").touch()
    return folder / "node_modules"
