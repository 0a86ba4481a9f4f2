"""Where an OpenAI-compatible endpoint is and which key opens it; nothing here lets the key into a text."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass, field
from typing import final
from urllib.parse import urlsplit

from gotlang.errors import UsageError
from gotlang.models.proxies import check_proxies, proxy_secrets

OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"
NO_KEY = "no-key"
"""Sent where no key is set: the SDK wants one, and local servers take any."""

_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|gsk|xai|pplx)-[\w*.-]{4,}|(?<=Bearer )\S+")
_SHORTEST_SECRET = 6
_SHORTEST_IN_ANSWERS = 16
"""Characters of a secret that is looked for in answers: the key of a local server may be a word of theirs."""


@final
@dataclass(frozen=True, slots=True)
class Endpoint:
    """A base URL with its key. `key` stays out of `repr`, and so do `others`: further secrets that go over
    the wire, such as a proxy's password."""

    url: str
    key: str = field(repr=False)
    others: tuple[str, ...] = field(default=(), repr=False)

    @property
    def host(self) -> str:
        """The name or address in the URL, in lower case."""
        return (urlsplit(self.url).hostname or "").lower()

    @property
    def identity(self) -> str:
        """What tells this endpoint from others in requests' keys: its URL in one spelling, without user,
        query and fragment; empty for OpenAI's own."""
        if self.host == "api.openai.com":
            return ""
        parts = urlsplit(self.url)
        usual = {"http": 80, "https": 443}.get(parts.scheme)
        port = "" if parts.port in (None, usual) else f":{parts.port}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"

    @property
    def loopback(self) -> bool:
        """Whether the endpoint is on this machine, so that no proxy lies between."""
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

    def scrub(self, text: str) -> str:
        """A text of the endpoint's without the key, nor anything that looks like one."""
        return _LOOKS_LIKE_A_KEY.sub("***", self._without(text, _SHORTEST_SECRET))

    def hide(self, answer: str) -> str:
        """An answer without the key, which an endpoint may repeat in it; what only looks like one stays."""
        return self._without(answer, _SHORTEST_IN_ANSWERS)

    def _without(self, text: str, shortest: int) -> str:
        for secret in (*((self.key,) if self.has_key else ()), *self.others):
            if len(secret) >= shortest:
                text = text.replace(secret, "***")
        return text


def find_endpoint(base_url: str | None = None) -> Endpoint:
    """The endpoint at `base_url`, else at OPENAI_BASE_URL, else OpenAI's own.

    The key is read from OPENAI_API_KEY and nowhere else. Endpoints other than OpenAI's may do without.
    Raises UsageError for a URL that is none, that holds a password, for a missing or broken key, and for a
    proxy in the environment that is none.
    """
    url = (base_url or os.environ.get(URL_VARIABLE) or OPENAI_URL).strip().rstrip("/")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(
            "the base URL of the model is not an http:// or https:// address",
            help=f"give one like http://127.0.0.1:8080/v1 (argument or {URL_VARIABLE})",
        )
    if parts.username or parts.password:
        raise UsageError(
            "the base URL of the model holds a user name or a password",
            help=f"leave it out of the URL and put the key into {KEY_VARIABLE}",
        )
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(f"{KEY_VARIABLE} holds characters that no key has", help="copy the key again")
    endpoint = Endpoint(url, key or NO_KEY, proxy_secrets())
    if not endpoint.loopback:
        check_proxies()
    if not key and endpoint.host == "api.openai.com":
        raise UsageError(
            f"no key for {endpoint.shown}: {KEY_VARIABLE} is not set",
            help=f"set {KEY_VARIABLE}, or {URL_VARIABLE} for another endpoint, or use the model `simulated`",
        )
    return endpoint
