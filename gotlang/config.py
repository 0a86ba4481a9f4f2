"""Configuration from environment variables and from files: `gotc.toml`, or `[tool.gotc]` in `pyproject.toml`,
of the current folder, and `config.toml` in the user's own configuration folder (`~/.config/gotc`).

    model = "openai:gpt-4o-mini"      # for every command that has such an option
    [run]
    max-usd = 0.5

The environment takes precedence over files, and a project's file over the user's own: `GOTC_RUN_MAX_USD` is
`--max-usd` of `gotc run`. A project's file is untrusted: settings that reach out of its folder are refused
unless the user trusts them, limits of the user's own file are never raised, and its `base-url` gets no key.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, final

from msgspec import Struct

from gotlang import trust
from gotlang.disk import read_bounded
from gotlang.errors import NotTrusted, UsageError, reporting

USERS_ONLY: Final = ("allow-python", "python-key")
"""Options that a project's file may not set."""
SHARED: Final = (
    *("base-url", "cache", "concurrency", "max-calls", "max-usd", "model", "no-python", "prices", "seed"),
    *USERS_ONLY,
)
"""Options that a file may set for all commands at once; commands without such an option ignore them."""
_LIMITS: Final = ("max-usd", "max-calls")

ISOLATED: Final[ContextVar[bool]] = ContextVar("isolated", default=False)
"""Whether the files of projects are ignored (`--isolated`), as with GOTC_ISOLATED=1."""


@final
class ConfigFile(Struct, frozen=True):
    """A configuration file; `own` tells whether it is the user's own."""

    path: Path
    table: dict[str, Any]
    own: bool = False

    def permitted(self, name: str, value: Any) -> Any:
        """The value of an option. Raises NotTrusted if it needs the user's trust and is not trusted."""
        if self.own:
            return value
        if name in USERS_ONLY and value:
            raise NotTrusted(f"{self.path} sets `{name}`, which only the user can allow", help=_ELSEWHERE)
        # The history has pairs of names and paths.
        texts = ["=".join(map(str, one)) if isinstance(one, list) else one for one in _listed(value)]
        for text in _texts(texts if name == "corpus" else value):
            what = self._reached(name, text)
            if what is not None and not trust.granted(self.path.parent, name, what):
                raise NotTrusted(
                    f"{self.path} sets `{trust.shown(name, text)}`, which needs your trust",
                    help="look at it, then `gotc trust .` if you trust it; `--isolated` ignores the file",
                )
        return value

    def reaching(self) -> Iterator[tuple[str, str]]:
        """Its settings that need the user's trust, each with the address or real path that would be
        trusted."""
        tables = [self.table]
        for table in tables:
            for key, value in table.items():
                if isinstance(value, dict):
                    tables.append(value)
                for text in _texts(value):
                    if (what := self._reached(key.replace("_", "-"), text)) is not None:
                        yield key.replace("_", "-"), what

    def _reached(self, name: str, text: str) -> str | None:
        """The address or path outside the folder that the value of an option names, or None."""
        if name == "otel":
            return text or None
        folder = self.path.parent
        if text.startswith(("local:", "replay:")):
            return trust.reached_model(text, folder)
        if name == "corpus":
            text = text.partition("=")[2]
        given, at, file = text.partition("=@")
        parts = (text, file if at and given else "")
        return next((what for part in parts if (what := trust.reached(part, folder)) is not None), None)


_ELSEWHERE = "give it on the command line, or in config.toml in your own folder (`~/.config/gotc`)"


@final
class ConfiguredUrl(Struct, frozen=True):
    """A base URL that a configuration file gives. `keyed` tells whether the user wants it to get their key:
    the file is their own, or they trust it."""

    url: str
    file: Path
    keyed: bool


def setting(name: str, command: str = "run") -> Any:
    """The configured value of an option of a command, such as `max-usd`; None if it is not configured.

    Values from the environment are strings. Raises UsageError for a file that does not parse, NotTrusted for
    a value of a project's file that needs trust.
    """
    value = os.environ.get(f"GOTC_{command}_{name}".upper().replace("-", "_"))
    if value is not None:
        return value
    for file in config_files():
        found = _written(file, name, command)
        if found is not None:
            value = merged(name, value, file.permitted(name, found))
    return value


def merged(name: str, earlier: Any, value: Any) -> Any:
    """The value of an option from the user's own file (None: not set) and a project's: limits are never
    raised, and forbidden Python stays forbidden."""
    if name == "no-python":
        return earlier or value
    if earlier is None or name not in _LIMITS:
        return value
    try:
        numbers = [float(str(one).strip().removeprefix("$")) for one in (earlier, value)]
    except ValueError:
        return value  # reported where it is read
    return value if numbers[1] < numbers[0] else earlier


def configured_url(command: str = "run") -> ConfiguredUrl | None:
    """The base URL from files: a project's if the user trusts it, else the user's own, else a project's.

    None if no file sets one. Raises UsageError for a file that does not parse.
    """
    found: ConfiguredUrl | None = None
    for file in config_files():
        url = _written(file, "base-url", command)
        if url is not None:
            keyed = file.own or trust.granted(Path(), "base-url", str(url))
            if keyed or found is None:
                found = ConfiguredUrl(str(url), file.path, keyed)
    return found


def _written(file: ConfigFile, name: str, command: str) -> Any:
    for table in (file.table.get(command), file.table):
        for key in (name, name.replace("-", "_")):
            if isinstance(table, dict) and key in table:
                return table[key]
    return None


def config_files() -> list[ConfigFile]:
    """The user's own file and that of the current folder, which takes precedence; missing ones are left out.

    Raises UsageError for a file that cannot be read or does not parse.
    """
    found = []
    around = trust.home()
    if around is not None and (around / "config.toml").is_file():
        found.append(ConfigFile(around / "config.toml", _load(around / "config.toml"), own=True))
    isolated = ISOLATED.get() or os.environ.get("GOTC_ISOLATED", "").lower() in ("1", "true", "yes", "on")
    return found if isolated else [*found, *project_files(Path())]


def project_files(folder: Path) -> list[ConfigFile]:
    """The configuration file of a project's folder, if it has one. Raises UsageError as `config_files`."""
    own = folder / "gotc.toml"
    if own.is_file():
        return [ConfigFile(own, _load(own))]
    shared = folder / "pyproject.toml"
    if shared.is_file() and b"tool.gotc" in _bytes(shared):
        found = _load(shared).get("tool", {}).get("gotc", {})
        return [ConfigFile(shared, found if isinstance(found, dict) else {})]
    return []


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _texts(value: Any) -> Iterator[str]:
    return (one for one in _listed(value) if isinstance(one, str))


def _bytes(path: Path) -> bytes:
    with reporting(f"cannot read {path}"):
        return read_bounded(path)


def _load(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(_bytes(path).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} does not parse: {error}") from None
