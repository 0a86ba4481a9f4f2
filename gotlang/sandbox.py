"""Sandbox mode: an untrusted program in a process that can send requests to its endpoint and do nothing else.

`restrict` takes from this process what a program does not need; `gotc run --sandbox` calls it before it reads
the program. `run_in_sandbox` starts such a process and returns its JSON document. docs/security.md lists the
guarantees.
"""

from __future__ import annotations

import atexit
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TextIO, final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from gotlang.config import ConfiguredUrl
from gotlang.errors import GotError, UsageError
from gotlang.models.endpoint import EndpointNames, proxies, url_of
from gotlang.models.registry import find_provider

LIMITED: Final = 7
"""The exit code of a process that exceeded one of its limits."""
MEGABYTE: Final = 1_000_000
_GRACE_S: Final = 10
"""Seconds after a limit in which the process may end by itself; then it is killed."""
_LOOK_S: Final = 0.05
"""Seconds of processor time between two checks of the memory in use."""
_SHARED: Final = 500 * MEGABYTE
"""Address space that takes no memory of its own, such as the code of libraries."""
_STARTS: Final = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty")
_SERVES: Final = ("socket.bind", "socket.sendto", "socket.sendmsg")
_CHANGES: Final = (
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"),
    *("os.chmod", "os.chown", "os.utime", "sqlite3.connect"),
)
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_PASSED_ON: Final = (
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "PYTHONPATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NO_PROXY",
)
"""The environment of a sandbox, beside the key, the endpoint and the proxies."""


@final
class SandboxLimits(Struct, frozen=True):
    """The limits of a sandboxed process: `cpu` seconds of processor time (default: 60), `time` seconds in all
    (600), `memory` and `output` in megabytes (1,000 and 1): resident memory, and printed text."""

    cpu: int = 60
    time: int = 600
    memory: int = 1000
    output: int = 1

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) < 1:
                raise UsageError(f"the sandbox limit `{name}` is below 1", help="give at least 1")


@final
class SandboxError(GotError):
    """A sandboxed program without a result. `exit_code` is that of its process, `document` what it printed
    (see docs/json.md), None if that is not JSON."""

    def __init__(self, message: str, code: int, document: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.exit_code = code
        self.document = document


def restrict(
    limits: SandboxLimits, *, hosts: Collection[str], writable: Collection[Path], tell: Callable[[str], None]
) -> None:
    """Take from this process, permanently, what a program does not need.

    It may connect to `hosts` only, write below the folders of `writable` only, and start no process. When a
    limit is exceeded, `tell` is called with a sentence, and SystemExit(LIMITED) is raised; a process that
    does not end then is killed. Raises UsageError on systems without such limits.
    """
    try:
        import resource
    except ImportError:
        raise UsageError("the sandbox needs Linux or macOS") from None

    def ended(words: str) -> None:
        signal.signal(signal.SIGXCPU, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, lambda *_: os._exit(LIMITED))
        signal.alarm(_GRACE_S)
        tell(words)
        raise SystemExit(LIMITED)

    signal.signal(signal.SIGXCPU, lambda *_: ended(f"more than {limits.cpu} s of processor time"))
    signal.signal(signal.SIGALRM, lambda *_: ended(f"more than {limits.time} s"))
    signal.alarm(limits.time)
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu, limits.cpu + _GRACE_S))

    def look(*_: object) -> None:
        if _resident(resource) > limits.memory * MEGABYTE:
            signal.setitimer(signal.ITIMER_PROF, 0)
            ended(f"more than {limits.memory} MB of memory")

    # Python may loop forever if the system refuses it memory, so that limit is far higher: a timer checks it.
    signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, _LOOK_S, _LOOK_S)
    atexit.register(signal.setitimer, signal.ITIMER_PROF, 0)
    for kind, most in (("AS", 2 * limits.memory * MEGABYTE + _SHARED), ("CORE", 0)):
        resource.setrlimit(getattr(resource, f"RLIMIT_{kind}"), (most, most))
    said = _OutputLimit(limits.output * MEGABYTE, lambda: ended(f"more than {limits.output} MB of output"))
    sys.stdout, sys.stderr = _CountedStream(sys.stdout, said), _CountedStream(sys.stderr, said)
    sys.dont_write_bytecode = True
    sys.addaudithook(_Watch(hosts, writable))


def _resident(resource: ModuleType) -> int:
    """Bytes of memory in use."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * int(resource.getpagesize())
    except OSError:  # no /proc: the peak use so far
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


@final
class _OutputLimit:
    """The number of bytes that may still be printed."""

    def __init__(self, left: int, ended: Callable[[], None]) -> None:
        self._left = left
        self._ended = ended

    def count(self, text: str) -> None:
        """Count a text before it is printed."""
        left, self._left = self._left, self._left - len(text.encode("utf-8", "replace"))
        if left >= 0 > self._left:
            self._ended()


@final
class _CountedStream:
    """A stream whose output is counted."""

    def __init__(self, stream: TextIO, said: _OutputLimit) -> None:
        self._stream = stream
        self._said = said

    def write(self, text: str) -> int:
        self._said.count(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@final
class _Watch:
    """An audit hook that refuses what a sandboxed process may not do. Raises PermissionError."""

    def __init__(self, hosts: Collection[str], writable: Collection[Path]) -> None:
        self._hosts = {host.lower() for host in hosts}
        self._addresses: set[str] = set()
        self._writable = [str(path.resolve().parent) for path in writable]
        self._looking = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if flags & _WRITING and path != os.devnull and not isinstance(path, int):
                self._check_path(path)
        elif event == "socket.getaddrinfo":
            if _text(arguments[0]).lower() not in self._hosts:
                self._refuse(f"a lookup of the host {_text(arguments[0])}")
        elif event == "socket.connect":
            self._check_address(arguments[1])
        elif event in _CHANGES:
            for path in arguments[: 2 if event in ("os.rename", "os.link", "os.symlink") else 1]:
                if isinstance(path, str | bytes | os.PathLike):
                    self._check_path(path)
        elif event in _STARTS or event in _SERVES:
            self._refuse(event)

    def _check_path(self, path: str | bytes | os.PathLike[Any]) -> None:
        name = os.fsdecode(path)
        real = os.path.realpath(name)
        if name.startswith("file:"):  # SQLite's form
            real = os.path.realpath(unquote(urlsplit(name).path))
        if name != ":memory:" and not any(os.path.commonpath((real, one)) == one for one in self._writable):
            self._refuse(f"writing {name}")

    def _check_address(self, address: object) -> None:
        host = _text(address[0]) if isinstance(address, tuple) else ""
        if host not in self._addresses:
            for name in self._hosts:  # here the hook itself looks up hosts, which it must allow
                try:
                    found = socket.getaddrinfo(name, None)
                except OSError:
                    continue
                self._addresses |= {str(one[4][0]) for one in found}
        if host.lower() not in self._addresses | self._hosts:
            self._refuse(f"a connection to {host or 'a socket of this machine'}")

    def _refuse(self, what: str) -> None:
        raise PermissionError(errno.EPERM, f"the sandbox does not allow {what}")


def _text(name: object) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)


def hosts_of(model: str, base_url: str | ConfiguredUrl | None) -> frozenset[str]:
    """The hosts that a model of this spec needs: that of its endpoint, and proxies on the way to it."""
    names = getattr(find_provider(model.partition(":")[0]), "names", None)
    if not isinstance(names, EndpointNames):
        return frozenset()
    urls = [url_of(base_url, names), *(url for _, url in proxies())]
    return frozenset(host for url in urls if (host := urlsplit(url).hostname) is not None)


def run_in_sandbox(
    program: str,
    inputs: Mapping[str, Any],
    *,
    model: str,
    scheme: str | None = None,
    base_url: str | None = None,
    params: Mapping[str, Any] | None = None,
    max_usd: float | None = None,
    max_calls: int | None = None,
    limits: SandboxLimits | None = None,
) -> dict[str, Any]:
    """Run the text of an untrusted program as `gotc run --sandbox --json` does, and return its document
    (docs/json.md).

    The process works in an empty folder of its own, and its environment has nothing but the key and the
    address of the model's provider. `model` is a spec such as `openai:gpt-4o-mini`; `scheme`, `base_url`,
    `params`, `max_usd` and `max_calls` are as in `Program.run` and its `Options`, and `limits` those of the
    process (default: `SandboxLimits()`). Blocks the calling thread until it ends. Raises SandboxError if
    there is no result, UsageError for wrong options.
    """
    limits = limits or SandboxLimits()
    options = {"scheme": scheme, "base-url": base_url, "max-usd": max_usd, "max-calls": max_calls}
    command = [sys.executable, "-P", "-m", "gotlang", "run", "program.got", "--sandbox", "--json", "--quiet"]
    command += ["--partial", "--inputs", "-", f"--model={model}"]
    command += [f"--{name}={value}" for name, value in options.items() if value is not None]
    command += [f"--set={name}={_written(value)}" for name, value in (params or {}).items()]
    command += [f"--sandbox-limit={name}={getattr(limits, name)}" for name in limits.__struct_fields__]
    with tempfile.TemporaryDirectory(prefix="gotc-sandbox-") as folder:
        Path(folder, "program.got").write_text(program, "utf-8", errors="surrogatepass")
        code, printed, said = _ran(command, folder, json.dumps(dict(inputs)), limits, _environment(model))
    try:
        document = json.loads(printed)
    except ValueError:
        document = None
    if not isinstance(document, dict) or "error" in document:
        error = document.get("error") if isinstance(document, dict) else None
        words = error.get("message") if isinstance(error, dict) else said.strip().removeprefix("error: ")
        if code < 0:
            words = f"the sandboxed process was killed by signal {-code}"
            code = LIMITED
        raise SandboxError(str(words) or "no result", code, document)
    return document


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _ran(
    command: Sequence[str], folder: str, given: str, limits: SandboxLimits, environment: Mapping[str, str]
) -> tuple[int, str, str]:
    """The exit code of a process and what it printed on both streams. It is killed if it takes too long."""
    where = {"XDG_CONFIG_HOME": folder, "HOME": folder}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as told:
        process = subprocess.Popen(
            command, cwd=folder, env={**environment, **where}, stdin=subprocess.PIPE, stdout=out, stderr=told
        )
        try:
            process.communicate(given.encode("utf-8", "replace"), timeout=limits.time + 2 * _GRACE_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            process.kill()
            process.wait()
        printed = []
        for stream in (out, told):
            stream.seek(0)
            printed.append(stream.read(2 * limits.output * MEGABYTE).decode("utf-8", "replace"))
        return process.returncode, printed[0], printed[1]


def _environment(model: str) -> dict[str, str]:
    names = getattr(find_provider(model.partition(":")[0]), "names", None)
    own = (names.key_variable, names.url_variable) if isinstance(names, EndpointNames) else ()
    wanted = {*_PASSED_ON, *own, *(name for name, _ in proxies())}
    return {name: value for name, value in os.environ.items() if name in wanted}
