"""The proxies that the environment names: whether they are addresses, and what is secret about them.

The SDK takes them from HTTP_PROXY, HTTPS_PROXY and ALL_PROXY. Their passwords go over the wire, so whoever
answers may repeat them.
"""

from __future__ import annotations

import base64
import importlib.util
import os
from collections.abc import Iterator
from urllib.parse import SplitResult, unquote, urlsplit

from gotlang.errors import UsageError

VARIABLES = ("http_proxy", "https_proxy", "all_proxy")


def check_proxies() -> None:
    """Raise UsageError for a proxy that is none: the SDK would fail on it in words of its own."""
    for name, url in _given():
        parts = _parts(url)
        if parts is None or parts.scheme not in ("http", "https", "socks5", "socks5h"):
            raise UsageError(f"{name} is not the address of a proxy", help="write it like http://host:8080")
        if parts.scheme.startswith("socks") and importlib.util.find_spec("socksio") is None:
            raise UsageError(f"{name} names a SOCKS proxy", help="pip install socksio")


def proxy_secrets() -> tuple[str, ...]:
    """The passwords of the proxies, in every form that they go over the wire or stand in the environment."""
    found = []
    for _, url in _given():
        parts = _parts(url)
        secret = parts.password if parts is not None else url.rpartition("@")[0].rpartition(":")[2]
        if secret:
            user = unquote(parts.username or "") if parts is not None else ""
            sent = f"{user}:{unquote(secret)}".encode()
            found += [base64.b64encode(sent).decode().rstrip("="), secret, unquote(secret)]
    return tuple(found)


def _given() -> Iterator[tuple[str, str]]:
    for name, value in os.environ.items():
        if name.lower() in VARIABLES and value.strip():
            yield name, value.strip() if "://" in value else f"http://{value.strip()}"


def _parts(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        return parts if parts.hostname and (parts.port or 1) > 0 else None
    except ValueError:
        return None
