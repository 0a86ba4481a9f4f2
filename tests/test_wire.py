"""Our connections and the SDK's: proxies, certificates, cookies, many at once, the end of an event loop."""

from __future__ import annotations

import asyncio
import gc
import re
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.asking import a_request, openai_model
from support.openai_server import Fault, OpenAIServer

from gotlang.errors import ModelError, UsageError
from gotlang.models.base import ModelOptions, Reply
from gotlang.models.failures import HttpResponse
from gotlang.models.openai import OpenAIModel, OpenAISdkModel

URL = "http://models.invalid/v1"
"""A host that no name server knows: only a proxy can reach it."""
Kind = type[OpenAIModel]


@pytest.fixture(params=[OpenAIModel, OpenAISdkModel], ids=["ours", "sdk"], autouse=True)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kind:
    """The provider under test, for `openai_model`."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("support.asking.OpenAIModel", request.param)
    found: Kind = request.param
    return found


def ask(url: str, requests: int = 1) -> list[Reply | ModelError]:
    """One reply from there after another, or why there is none."""

    async def main() -> list[Reply | ModelError]:
        model, found = openai_model(base_url=url, retries=0, timeout_s=20.0), list[Reply | ModelError]()
        for _ in range(requests):
            try:
                found.append(await model.ask(a_request(), 1))
            except ModelError as error:
                found.append(error)
        await model.close()
        return found

    return asyncio.run(main())


@contextmanager
def relay(server: OpenAIServer, greet: Callable[[socket.socket], socket.socket]) -> Iterator[int]:
    """A proxy to a server: its port. `greet` does what its kind says before a request, and gives the
    connection on which that comes."""

    def serve(client: socket.socket) -> None:
        with suppress(OSError), greet(client) as inner, socket.create_connection(address) as onward:
            sent, length = b"", re.compile(rb"(?i)content-length: (\d+)(?s:.*)\r\n\r\n")
            while (found := length.search(sent)) is None or len(sent) < found.end() + int(found[1]):
                sent += inner.recv(65536)
            onward.sendall(sent)
            while data := onward.recv(65536):
                inner.sendall(data)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    address = urlsplit(server.url).hostname, urlsplit(server.url).port
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_gets_what_is_not_for_this_machine(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIServer() as server:
        monkeypatch.setenv(variable, f"user:pass@{server.url.removesuffix('/v1').removeprefix('http://')}")
        (found,) = ask(URL)
        assert isinstance(found, Reply)
        (seen,) = server.requests
        assert seen.path == f"{URL}/chat/completions"
        assert seen.headers["proxy-authorization"] == "Basic dXNlcjpwYXNz"
        assert seen.headers["host"] == "models.invalid"
        monkeypatch.setenv("NO_PROXY", "other.invalid,models.invalid")
        (error,) = ask(URL)
        assert isinstance(error, ModelError) and "no connection" in str(error)
        assert len(server.requests) == 1


def test_a_socks_proxy_gets_the_name_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("aiohttp_socks")
    asked: list[bytes] = []

    def greet(client: socket.socket) -> socket.socket:
        client.recv(2 + client.recv(2, socket.MSG_PEEK)[1])
        client.sendall(b"\x05\x00")
        asked.append(client.recv(512))
        client.sendall(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50")
        return client

    with OpenAIServer() as server, relay(server, greet) as port:
        monkeypatch.setenv("ALL_PROXY", f"socks5h://127.0.0.1:{port}")
        (found,) = ask(URL)
        assert isinstance(found, Reply)
        assert server.requests[0].path == "/v1/chat/completions"
    assert b"models.invalid" in asked[0]


def test_a_proxy_that_needs_a_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="SOCKS") as caught:
        openai_model(base_url=URL)
    assert "aiohttp-socks" in str(caught.value.help)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate of `models.invalid`, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    path = tmp_path_factory.mktemp("tls")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=models",
    ]
    command += ["-addext", "subjectAltName=DNS:models.invalid", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(command, cwd=path, check=True, capture_output=True)
    return path / "cert.pem", path / "key.pem"


@pytest.mark.parametrize("trusted", [True, False])
def test_a_certificate_nobody_signed_gets_no_key(
    trusted: bool, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-key-0123456789")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    heads: list[bytes] = []

    def greet(client: socket.socket) -> socket.socket:
        heads.append(client.recv(65536))
        client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        return context.wrap_socket(client, server_side=True)

    with OpenAIServer() as server, relay(server, greet) as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        if trusted:
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        (found,) = ask("https://models.invalid/v1")
        assert heads[0].startswith(b"CONNECT models.invalid:443")
        assert not any(b"planted" in one for one in heads), "a proxy sees no key of an encrypted request"
        if trusted:
            assert isinstance(found, Reply), found
            assert server.requests[0].headers["authorization"] == "Bearer planted-key-0123456789"
        else:
            assert isinstance(found, ModelError) and "no connection" in str(found)
            assert server.requests == []


def test_an_endpoint_s_cookies_do_not_come_back(kind: Kind) -> None:
    fault = Fault(429, headers={"Set-Cookie": "who=you; Path=/", "Retry-After": "0"}, body="{}")
    with OpenAIServer(faults=[fault]) as server:
        ask(server.url.replace("127.0.0.1", "localhost"), requests=2)
    assert len(server.requests) == 2
    assert kind is OpenAISdkModel or "cookie" not in server.requests[1].headers


def test_two_hundred_requests_may_be_under_way() -> None:
    async def main() -> None:
        wire = openai_model(base_url=server.url)._wire_of(20.0)
        body = {"model": "m", "messages": []}
        found = await asyncio.gather(*(wire.send(body, str(number)) for number in range(200)))
        assert {type(response) for response in found} == {HttpResponse}
        await wire.close()

    with OpenAIServer(latency_s=2.0) as server:
        asyncio.run(main())
        assert server.connections == 200


def test_connections_are_used_again() -> None:
    with OpenAIServer() as server:
        assert all(isinstance(found, Reply) for found in ask(server.url, requests=5))
        assert server.connections == 1


def test_a_model_outlives_its_event_loop(caplog: pytest.LogCaptureFixture) -> None:
    with OpenAIServer() as server:
        model = openai_model(base_url=server.url)
        for _ in range(3):
            assert asyncio.run(model.ask(a_request(), 1)).completions
        del model
        gc.collect()
    assert caplog.text == ""


def test_connections_that_nobody_closed_end_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever the collector ends first: here the connections, which are older to it than the model."""
    with OpenAIServer() as server:
        model = openai_model(base_url=server.url)
        vars(model)["itself"] = model
        gc.freeze()
        assert asyncio.run(model.ask(a_request(), 1)).completions
        gc.collect()
        gc.unfreeze()
        del model
        gc.collect()
    assert caplog.text == ""


@pytest.mark.parametrize("header", ["X-Who: a\x01b", "X Who: me", "X-Who: a\rX-Other: b"])
def test_a_header_that_is_none_is_told(header: str, monkeypatch: pytest.MonkeyPatch, kind: Kind) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", header)
    with OpenAIServer() as server, pytest.raises(UsageError, match="OPENAI_CUSTOM_HEADERS"):
        asyncio.run(kind("m", ModelOptions(base_url=server.url)).ask(a_request(), 1))
