"""Configuration from environment variables and from `gotc.toml`, or `[tool.gotc]` in `pyproject.toml`.

    model = "openai:gpt-4o-mini"      # for every command that has such an option
    [run]
    max-usd = 0.5

The environment takes precedence over the files: `GOTC_RUN_MAX_USD` is `--max-usd` of `gotc run`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gotlang.errors import UsageError

SHARED = ("base-url", "cache", "concurrency", "max-calls", "max-usd", "model", "no-python", "prices", "seed")
"""Options that a file may set for all commands at once; commands without such an option ignore them."""


def setting(name: str, command: str = "run") -> Any:
    """The configured value of an option of a command, such as `max-usd`; None if it is not configured.

    Values from the environment are strings. Raises UsageError for a file that does not parse.
    """
    value = os.environ.get(f"GOTC_{command}_{name}".upper().replace("-", "_"))
    if value is not None:
        return value
    found = read_config()
    tables = () if found is None else (found[1].get(command, {}), found[1])
    for table in tables:
        for key in (name, name.replace("-", "_")):
            if isinstance(table, dict) and key in table:
                return table[key]
    return None


def read_config() -> tuple[Path, dict[str, Any]] | None:
    """The configuration file of the current folder and its content; None if there is none.

    Raises UsageError for a file that cannot be read or does not parse.
    """
    own = Path("gotc.toml")
    if own.is_file():
        return own, _load(own)
    shared = Path("pyproject.toml")
    if shared.is_file() and b"tool.gotc" in _bytes(shared):
        return shared, _load(shared).get("tool", {}).get("gotc", {})
    return None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def _load(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(_bytes(path).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} does not parse: {error}") from None
