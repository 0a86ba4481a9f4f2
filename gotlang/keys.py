"""Keys in the environment: `gotc` reads them; the Python of programs does not find them there.

`without` removes them from `os.environ`, which belongs to the whole process. That hides them from code that
reads the environment by habit: libraries, child processes, tracebacks. It is not a security boundary: code in
this process can read its memory.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from threading import Lock

from gotlang.patterns import lazy_pattern

_NAMES = lazy_pattern(
    r"(?i)(^|_)(keys?|tokens?|secrets?|pass|passwd|passphrase|credentials?|auth)(_|$)|api_?key|password|headers$"
)
_IN_ADDRESS = lazy_pattern(r"://[^/@\s]*:[^/@\s]*@")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
"""HTTP clients read these when they connect, which may be later."""

_lock = Lock()
_hidden: dict[str, str] = {}
_users = 0


def read(name: str) -> str:
    """An environment variable, also while it is hidden; empty if it is not set."""
    return os.environ.get(name) or _hidden.get(name, "")


def is_key(name: str, value: str) -> bool:
    """Whether a variable holds a key, by its name (`OPENAI_API_KEY`, `GITHUB_TOKEN`, `PGPASSWORD`), or is an
    address with a password; proxies are excluded."""
    if name.lower() in _PROXIES:
        return False
    return _NAMES.search(name) is not None or _IN_ADDRESS.search(value) is not None


@contextmanager
def without(kept: Collection[str] = (), also: Collection[str] = ()) -> Iterator[None]:
    """Hide keys, except those in `kept`, and these other variables from the environment, until every user of
    this context manager has left."""
    global _users
    with _lock:
        _users += 1
        for name, value in list(os.environ.items()):
            if name in also or (name not in kept and is_key(name, value)):
                _hidden[name] = os.environ.pop(name)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                for name in list(_hidden):
                    os.environ.setdefault(name, _hidden.pop(name))
