"""Where an endpoint is and which key opens it; nothing here lets a key or a password into a text."""

from __future__ import annotations

import base64
import importlib.util
import ipaddress
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import final
from urllib.parse import SplitResult, unquote, urlsplit

from gotlang.errors import UsageError

NO_KEY = "no-key"
"""Sent if no key is set: clients want one, and local servers accept any."""

_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|gsk|xai|pplx)-[\w*.-]{4,}|(?<=Bearer )\S+")
_MIN_SECRET = 6
_MIN_SECRET_IN_COMPLETIONS = 16
"""Characters of a secret that is searched in completions: a local server's key may be an ordinary word."""
_PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy")


@final
@dataclass(frozen=True, slots=True)
class EndpointNames:
    """A provider's own base URL, and the environment variables for another one and for the key."""

    url: str
    url_variable: str
    key_variable: str

    @property
    def host(self) -> str:
        """The host of the provider's own base URL."""
        return urlsplit(self.url).hostname or ""


OPENAI = EndpointNames("https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY")


@final
@dataclass(frozen=True, slots=True)
class Endpoint:
    """A base URL with its key. `key` stays out of `repr`, and so do `others`: further secrets that go over
    the wire, such as a proxy's password."""

    url: str
    key: str = field(repr=False)
    others: tuple[str, ...] = field(default=(), repr=False)
    names: EndpointNames = OPENAI

    @property
    def host(self) -> str:
        """The name or address in the URL, in lower case."""
        return (urlsplit(self.url).hostname or "").lower()

    @property
    def identity(self) -> str:
        """What distinguishes this endpoint in requests' keys: its normalized URL without user, query and
        fragment; empty for the provider's own."""
        if self.host == self.names.host:
            return ""
        parts = urlsplit(self.url)
        default = {"http": 80, "https": 443}.get(parts.scheme)
        port = "" if parts.port in (None, default) else f":{parts.port}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"

    @property
    def loopback(self) -> bool:
        """Whether the endpoint is on this machine, so that no proxy is in between."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def has_key(self) -> bool:
        """Whether a key was found in the environment."""
        return self.key != NO_KEY

    @property
    def shown(self) -> str:
        """The URL as messages print it: without a query, which may hold secrets."""
        return self.url.partition("?")[0]

    @property
    def hint(self) -> str:
        """What is often wrong with a base URL of this provider."""
        return " (most end in /v1)" if self.names.url.endswith("/v1") else ""

    def scrub(self, text: str) -> str:
        """An endpoint's message without the key and anything that looks like one."""
        return _LOOKS_LIKE_A_KEY.sub("***", self._without(text, _MIN_SECRET))

    def hide(self, text: str) -> str:
        """A completion without the key, which an endpoint may repeat; what only looks like a key stays."""
        return self._without(text, _MIN_SECRET_IN_COMPLETIONS)

    def _without(self, text: str, shortest: int) -> str:
        for secret in (*((self.key,) if self.has_key else ()), *self.others):
            if len(secret) >= shortest:
                text = text.replace(secret, "***")
        return text


def url_of(base_url: str | None, names: EndpointNames = OPENAI) -> str:
    """`base_url`, else what the environment says, else the provider's own."""
    return (base_url or os.environ.get(names.url_variable) or names.url).strip().rstrip("/")


def find_endpoint(base_url: str | None = None, names: EndpointNames = OPENAI) -> Endpoint:
    """The endpoint at `url_of(base_url)`, with the key from the provider's environment variable.

    Endpoints other than the provider's own may do without a key. Raises UsageError for an invalid URL or one
    with a password in it, for a missing or malformed key, and for an invalid proxy in the environment.
    """
    url = url_of(base_url, names)
    parts = _split(url)
    if parts is None or parts.scheme not in ("http", "https"):
        raise UsageError(
            "the base URL of the model is not an http:// or https:// address",
            help=f"give one like http://127.0.0.1:8080/v1 (--base-url or {names.url_variable})",
        )
    if parts.username or parts.password:
        raise UsageError(
            "the base URL of the model contains a user name or a password",
            help=f"remove it from the URL and put the key into {names.key_variable}",
        )
    key = os.environ.get(names.key_variable, "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(
            f"{names.key_variable} contains characters that no key has", help="copy the key again"
        )
    endpoint = Endpoint(url, key or NO_KEY, _proxy_secrets(), names)
    if not endpoint.loopback:
        _check_proxies()
    if not key and endpoint.host == names.host:
        variable = names.key_variable
        raise UsageError(
            f"no key for {endpoint.shown}: {variable} is not set",
            help=f"set {variable}, or {names.url_variable} for another endpoint, or use `--model simulated`; "
            "`gotc models` lists other providers",
        )
    return endpoint


def _check_proxies() -> None:
    """Raise UsageError for an invalid proxy: HTTP clients would fail on it in words of their own."""
    for name, url in _proxies():
        parts = _split(url)
        if parts is None or parts.scheme not in ("http", "https", "socks5", "socks5h"):
            raise UsageError(f"{name} is not the address of a proxy", help="write it like http://host:8080")
        if parts.scheme.startswith("socks") and importlib.util.find_spec("socksio") is None:
            raise UsageError(f"{name} names a SOCKS proxy", help="pip install socksio")


def _proxy_secrets() -> tuple[str, ...]:
    """The passwords of the proxies, in every form that they have on the wire or in the environment."""
    found = []
    for _, url in _proxies():
        parts = _split(url)
        secret = parts.password if parts is not None else url.rpartition("@")[0].rpartition(":")[2]
        if secret:
            user = unquote(parts.username or "") if parts is not None else ""
            basic = base64.b64encode(f"{user}:{unquote(secret)}".encode()).decode()
            found += [basic.rstrip("="), secret, unquote(secret)]
    return tuple(found)


def _proxies() -> Iterator[tuple[str, str]]:
    """The proxies that the environment names, which HTTP clients use."""
    for name, value in os.environ.items():
        if name.lower() in _PROXY_VARIABLES and value.strip():
            yield name, value.strip() if "://" in value else f"http://{value.strip()}"


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        return parts if parts.hostname and (parts.port or 1) > 0 else None
    except ValueError:
        return None
