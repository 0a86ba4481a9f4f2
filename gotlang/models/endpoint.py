"""The address and the key of an endpoint; nothing here lets a key or a password into a text."""

from __future__ import annotations

import base64
import importlib.util
import ipaddress
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import final
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct

from gotlang import keys
from gotlang.config import ConfiguredUrl
from gotlang.errors import NotTrusted, UsageError
from gotlang.models.base import Address
from gotlang.patterns import lazy_pattern

NO_KEY = "no-key"
"""Sent if no key is set: clients require one, and local servers accept any."""

_LOOKS_LIKE_A_KEY = lazy_pattern(r"\b(?:sk|gsk|xai|pplx)-[\w*.-]{4,}|(?<=Bearer )\S+")
_MIN_SECRET = 6
_MIN_SECRET_IN_COMPLETIONS = 16
"""Minimum length of a secret that is searched for in completions: a local server's key may be an ordinary
word."""
_PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy")
_FOR_SOCKS = ("aiohttp_socks", "socksio")
"""Modules for SOCKS proxies, for our own connections and for the SDK's."""
ACCOUNT = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS")
"""Environment variables that the SDK reads and sends."""


@final
class EndpointNames(Struct, frozen=True):
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
class Endpoint(Struct, frozen=True):
    """A base URL with its key. `key` stays out of `repr`, and so do `others`: further secrets that are
    transmitted, such as a proxy's password."""

    url: str
    key: str
    others: tuple[str, ...] = ()
    names: EndpointNames = OPENAI
    project: Path | None = None
    """The file of a project that named the address; None if the user named or trusts it. Such an address gets
    no key."""

    def __repr__(self) -> str:
        return f"Endpoint(url={self.url!r}, names={self.names!r}, project={self.project!r})"

    @property
    def host(self) -> str:
        """The name or address in the URL, in lower case."""
        return (urlsplit(self.url).hostname or "").lower()

    @property
    def address(self) -> Address | None:
        """Its description in results and summaries; None for the provider's own."""
        named_by = None if self.project is None else str(self.project)
        return Address(self.identity, named_by, self.has_key) if self.identity else None

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
        """Whether it gets a key from the environment."""
        return self.key != NO_KEY

    @property
    def shown(self) -> str:
        """The URL as messages print it: without a query, which may hold secrets."""
        return self.url.partition("?")[0]

    @property
    def hint(self) -> str:
        """A frequent error in base URLs of this provider."""
        return " (most end in /v1)" if self.names.url.endswith("/v1") else ""

    @property
    def key_variable(self) -> str:
        """The environment variable of its key: its own if that is set, or if it may have no other."""
        own = key_variable_of(self.host, urlsplit(self.url).port)
        return own if own and (keys.read(own) or self.project is not None) else self.names.key_variable

    @property
    def key_help(self) -> str:
        """Advice if the endpoint refuses the key, or its absence."""
        if self.project is not None and not self.has_key:
            why = f"no key was sent, since {self.project} named the address"
            return f"{why}: `gotc trust .` if you trust it, or set {self.key_variable}"
        state = "is set, but was refused" if self.has_key else "is not set"
        return f"check the environment variable {self.key_variable}, which {state}"

    def scrub(self, text: str) -> str:
        """An endpoint's message without the key and anything that looks like one."""
        return _LOOKS_LIKE_A_KEY.sub("***", self._without(text, _MIN_SECRET))

    def hide(self, text: str) -> str:
        """A completion without the key, which an endpoint may repeat; what only looks like a key stays."""
        return self._without(text, _MIN_SECRET_IN_COMPLETIONS)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What `hide` hides."""
        return self._longer_than(_MIN_SECRET_IN_COMPLETIONS)

    def _longer_than(self, shortest: int) -> tuple[str, ...]:
        known = (*((self.key,) if self.has_key else ()), *self.others)
        return tuple(secret for secret in known if len(secret) >= shortest)

    def _without(self, text: str, shortest: int) -> str:
        for secret in self._longer_than(shortest):
            text = text.replace(secret, "***")
        return text


def url_of(base_url: str | ConfiguredUrl | None, names: EndpointNames = OPENAI) -> str:
    """`base_url`, else the environment variable's, else the provider's own; a URL from a file comes after the
    environment."""
    in_file = base_url.url if isinstance(base_url, ConfiguredUrl) else None
    given = base_url if isinstance(base_url, str) else None
    return (given or os.environ.get(names.url_variable) or in_file or names.url).strip().rstrip("/")


def key_variable_of(host: str, port: int | None) -> str:
    """The environment variable for the key of one host: `GOTC_KEY_LLM_EXAMPLE_ORG_8080` for
    `llm.example.org:8080`; a hyphen is two underscores. Empty for a host that has no such name.

    No two hosts have the same one, so that no file can choose which key its host gets.
    """
    if not re.fullmatch(r"[a-z0-9]+(?:(?:\.|-+)[a-z0-9]+)*", host):
        return ""
    return f"GOTC_KEY_{host.replace('-', '__').replace('.', '_').upper()}{f'_{port}' if port else ''}"


def split_url(url: str, names: EndpointNames = OPENAI) -> SplitResult:
    """The parts of a base URL. Raises UsageError for an invalid one, and one with a password in it."""
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
    return parts


def find_endpoint(base_url: str | ConfiguredUrl | None = None, names: EndpointNames = OPENAI) -> Endpoint:
    """The endpoint at `url_of(base_url)`, with its key from the environment.

    The provider's key goes to the provider's own address, and to one that the user gave or trusts. Any host
    may have a key of its own (`key_variable_of`). Endpoints other than the provider's own may do without a
    key. Raises UsageError for an invalid URL or one with a password in it, for a missing or malformed key,
    and for an invalid proxy in the environment.
    """
    url = url_of(base_url, names)
    parts = split_url(url, names)
    own = urlsplit(names.url)
    is_own = (parts.scheme, parts.hostname, parts.port or own.port) == (own.scheme, own.hostname, own.port)
    project = None
    if isinstance(base_url, ConfiguredUrl) and not base_url.keyed and not os.environ.get(names.url_variable):
        project = None if is_own else base_url.file
    variable = key_variable_of(parts.hostname or "", parts.port)
    key = keys.read(variable).strip() if variable else ""
    if not key:
        variable = names.key_variable
        key = keys.read(variable).strip() if project is None else ""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(f"{variable} contains characters that no key has", help="copy the key again")
    endpoint = Endpoint(url, key or NO_KEY, _proxy_secrets(), names, project)
    if not endpoint.loopback:
        _check_proxies()
    if not key and endpoint.host == names.host:
        if project is not None:
            raise NotTrusted(
                f"no key goes to {endpoint.shown}, which {project} names", help=endpoint.key_help
            )
        raise UsageError(
            f"no key for {endpoint.shown}: {variable} is not set",
            help=f"set {variable}, or {names.url_variable} for another endpoint, or use `--model simulated`; "
            "`gotc models` lists other providers",
        )
    return endpoint


def account_headers(at: Endpoint) -> dict[str, str]:
    """The headers for OpenAI's account variables. They are not sent to an address that the user did not give.
    Raises UsageError for an invalid header."""
    organization, project, custom = ("" if at.project else keys.read(name) for name in ACCOUNT)
    found = {"OpenAI-Organization": organization, "OpenAI-Project": project}
    for line in custom.split("\n"):
        name, colon, value = line.partition(":")
        found |= {name.strip(): value.strip()} if colon else {}
    found = {name: value for name, value in found.items() if value}
    if not all(
        name.isascii() and (name + value).isprintable() and " " not in name for name, value in found.items()
    ):
        raise UsageError(f"{', '.join(ACCOUNT)}: one contains characters that no header has")
    return found


def _check_proxies() -> None:
    """Raise UsageError for an invalid proxy, about which HTTP clients would report a less helpful error."""
    for name, url in proxies():
        parts = _split(url)
        if parts is None or parts.scheme not in ("http", "https", "socks5", "socks5h"):
            raise UsageError(f"{name} is not the address of a proxy", help="write it like http://host:8080")
        if parts.scheme.startswith("socks") and not all(map(importlib.util.find_spec, _FOR_SOCKS)):
            raise UsageError(f"{name} names a SOCKS proxy", help="pip install aiohttp-socks socksio")


def _proxy_secrets() -> tuple[str, ...]:
    """The passwords of the proxies, in every form in which they are transmitted or written."""
    found = []
    for _, url in proxies():
        parts = _split(url)
        secret = parts.password if parts is not None else url.rpartition("@")[0].rpartition(":")[2]
        if secret:
            user = unquote(parts.username or "") if parts is not None else ""
            basic = base64.b64encode(f"{user}:{unquote(secret)}".encode()).decode()
            found += [basic.rstrip("="), secret, unquote(secret)]
    return tuple(found)


def proxies() -> Iterator[tuple[str, str]]:
    """The proxies in the environment, which HTTP clients use."""
    for name, value in os.environ.items():
        if name.lower() in _PROXY_VARIABLES and value.strip():
            yield name, value.strip() if "://" in value else f"http://{value.strip()}"


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        return parts if parts.hostname and (parts.port or 1) > 0 else None
    except ValueError:
        return None
