"""`gotc studio` accepts only requests with its token, from its own pages, for its own folder; over real
HTTP."""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.gotc import VOTE, VOTE_SIM, gotc
from support.studio import Running, studio

SECRET = "the secret of a neighbour"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, next to one with a secret."""
    folder = tmp_path_factory.mktemp("studio") / "project"
    folder.mkdir()
    (folder.parent / "secret.got").write_text(f'prompt x() -> str:\n    "{SECRET}"\n')
    (folder.parent / "secret.json").write_text(f'"{SECRET}"')
    (folder / "vote.got").write_text(VOTE)
    (folder / "vote_sim.py").write_text(VOTE_SIM)
    assert (
        gotc("run", "vote.got", "--input", "question=how many", cwd=folder, GOTC_ALLOW_PYTHON="1").returncode
        == 0
    )
    return folder


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Running]:
    nothing = folder.parent / "configuration"  # of a user who trusts nothing
    with studio(folder, XDG_CONFIG_HOME=str(nothing)) as found:
        yield found


def test_the_token_of_the_address_becomes_a_cookie_that_scripts_and_other_sites_lack(served: Running) -> None:
    entered = served.send("GET", f"/?token={served.token}")
    assert (entered.status, entered.headers["location"]) == (303, "/")
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    name, _, value = entered.headers["set-cookie"].partition(";")[0].partition("=")
    assert served.send("GET", "/", {"Cookie": f"{name}={value}"}).status == 200


@pytest.mark.parametrize(
    "path", ["/", "/assets/page.js", "/nowhere", "//example.org/", "/?token=", "/?token=wrong"]
)
def test_requests_without_the_token_are_refused(served: Running, path: str) -> None:
    for headers in ({}, {"Cookie": f"gotc_studio_{served.port}=wrong"}, {"Cookie": "a=b; ;=;"}):
        answer = served.send("GET", path, headers)
        assert answer.status == 403 and len(answer.body) < 200


def test_the_token_leads_to_no_other_host(served: Running) -> None:
    for path in ("//example.org/x", "/\\example.org/x", "///example.org", "/%5Cexample.org"):
        answer = served.send("GET", f"{path}?token={served.token}")
        assert answer.status == 303
        place = answer.headers["location"]
        assert place.startswith("/") and not place.startswith(("//", "/\\", "/%5C")), place


@pytest.mark.parametrize(
    "host", ["example.org", "example.org:{port}", "127.0.0.1", "127.0.0.1.example.org:{port}", ""]
)
def test_another_name_of_this_machine_is_refused(served: Running, host: str) -> None:
    """A page whose name was made to lead here (DNS rebinding) sends its own name."""
    sent = {**served.cookie, "Host": host.format(port=served.port)}
    assert served.send("GET", "/", sent).status in (400, 421)


@pytest.mark.parametrize(
    "origin", ["http://example.org", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}", None]
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_changes_are_accepted_only_from_pages_of_the_studio(
    served: Running, method: str, origin: str | None
) -> None:
    sent = {**served.cookie, "Content-Type": "application/json"}
    if origin is not None:
        sent["Origin"] = origin.format(port=served.port)
    assert served.send(method, "/start", sent, b"{}").status == 403


def test_another_page_reads_nothing(served: Running) -> None:
    for method in ("GET", "HEAD"):
        for path in ("/", f"/?token={served.token}"):
            assert served.send(method, path, {**served.cookie, "Origin": "http://example.org"}).status == 403
        assert served.send(method, "/", {**served.cookie, "Origin": served.origin}).status == 200


def test_a_form_of_another_page_is_no_request_of_the_studio(served: Running) -> None:
    own = {**served.cookie, "Origin": served.origin}
    assert served.send("POST", "/start", {**own, "Content-Type": "text/plain"}, b"{}").status == 415
    assert served.send(
        "POST", "/start", {**own, "Content-Type": "application/json", "Transfer-Encoding": "chunked"}, None
    ).status in (400, 411)
    long = {**own, "Content-Type": "application/json", "Content-Length": "999999999"}
    assert served.send("POST", "/start", long, b"{}").status == 413


def test_a_page_may_load_nothing_else_and_run_nothing_inline(served: Running) -> None:
    for path in ("/", "/assets/page.js", "/nowhere"):
        headers = served.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in policy


OUTSIDE = (
    "../secret.json",
    "../../secret.json",
    "..%2fsecret.json",
    "%2e%2e/secret.json",
    "%2e%2e%2fsecret.json",
    "..%5csecret.json",
    "....//secret.json",
    "..%252fsecret.json",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "//etc/passwd",
    "x%00",
    "..",
    ".",
    "%ff",
)


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize(
    "path",
    [
        "/assets/{}",
        "/runs/{}",
        "/runs/{}/details",
        "/runs/{}/graph",
        "/runs/{}/events",
        "/program?file={}",
        "/comparison?a={0}&b={0}",
    ],
)
def test_no_path_leads_out_of_the_folder(served: Running, path: str, name: str) -> None:
    answer = served.get(path.format(name))
    assert 400 <= answer.status < 500
    assert SECRET not in answer.text and "root:" not in answer.text


@pytest.mark.parametrize("name", ["../secret", "..%2fsecret", "%2e%2e/secret", "/etc/passwd", "x%00", "."])
@pytest.mark.parametrize("path", ["/runs/{}/again", "/runs/{}/stop", "/tags/{}"])
def test_no_path_leads_out_of_the_folder_where_something_changes(
    served: Running, folder: Path, path: str, name: str
) -> None:
    answer = served.post(path.format(name), {"limits": {"max_calls": 1}, "tags": ["x"]})
    assert 400 <= answer.status < 500 and SECRET not in answer.text
    assert not (folder / ".gotc" / "tags.json").exists()


def test_only_programs_of_the_folder_are_started_even_through_links(served: Running, folder: Path) -> None:
    (folder / "link.got").symlink_to(folder.parent / "secret.got")
    order = {"scheme": "vote", "inputs": {"question": "x"}, "limits": {"max_calls": 1}}
    for file in ("../secret.got", str(folder.parent / "secret.got"), "link.got", "/etc/passwd", "", "\0"):
        answer = served.post("/runs", {**order, "file": file})
        assert answer.status == 400 and "not found" in answer.text, answer.text


def test_python_of_a_folder_that_is_not_trusted_does_not_run(served: Running, folder: Path) -> None:
    (folder / "vote_sim.py").write_text(f"open({str(folder / 'ran')!r}, 'w')\n" + VOTE_SIM)
    order = {"file": "vote.got", "scheme": "vote", "inputs": {"question": "x"}}
    answer = served.post("/runs", {**order, "limits": {"max_calls": 9}})
    assert answer.status == 400 and "trust" in answer.text
    assert served.get("/program?file=vote.got").status == 200
    assert not (folder / "ran").exists()


@pytest.mark.parametrize(
    "limits", [{}, {"max_usd": None}, {"max_usd": -1}, {"max_calls": 0.5}, {"max_usd": "1"}, {"max_usd": 1e9}]
)
def test_nothing_starts_without_a_limit(served: Running, folder: Path, limits: object) -> None:
    before = len(served.get("/runs").data)
    order = {"file": "vote.got", "scheme": "vote", "inputs": {"question": "x"}, "limits": limits}
    assert served.post("/runs", order).status == 400
    name = served.get("/runs").data[0]["run"]
    assert served.post(f"/runs/{name}/again", {"limits": limits}).status == 400
    assert len(served.get("/runs").data) == before


def test_what_a_form_holds_is_no_option_of_the_command(served: Running, folder: Path) -> None:
    """A model, a scheme or a file that looks like one is only ever a value."""
    order = {"file": "vote.got", "scheme": "--allow-python", "inputs": {"question": "x"}}
    assert served.post("/runs", {**order, "limits": {"max_calls": 1}}).status == 400
    order = {
        "file": "vote.got",
        "scheme": "vote",
        "inputs": {"question": "@/etc/passwd"},
        "model": "--allow-python",
    }
    answer = served.post("/runs", {**order, "limits": {"max_calls": 1}})
    assert answer.status == 400
    assert not (folder / "ran").exists()


def test_an_untrusted_record_reaches_no_file_elsewhere(served: Running, folder: Path) -> None:
    history = folder / ".gotc" / "runs"
    record = json.loads(next(path for path in history.glob("*.json")).read_text())
    outside = folder.parent / "secret.got"
    digest = hashlib.sha256(outside.read_bytes()).hexdigest()
    record |= {
        "run": "strange",
        "path": str(outside),
        "sha256": digest,
        "cache": str(folder.parent / "c.sqlite"),
    }
    (history / "strange.json").write_text(json.dumps(record))
    shutil.copy(next(history.glob("*.graph.jsonl")), history / "strange.graph.jsonl")
    lines = (
        (history / "strange.graph.jsonl")
        .read_text()
        .replace('"file":"vote.got","line":11', '"file":"secret.got","line":2')
    )
    (history / "strange.graph.jsonl").write_text(lines)
    shutil.copy(folder / ".gotc" / "cache.sqlite", folder.parent / "c.sqlite")
    for path in ("/runs/strange", "/runs/strange/details", "/comparison?a=strange&b=strange"):
        answer = served.get(path)
        assert (
            answer.status == 200
            and SECRET not in answer.text
            and "It is " not in answer.text.replace("how many", "")
        )


def test_it_listens_only_on_this_machine(served: Running) -> None:
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in addresses - {"127.0.0.1"}:
        with pytest.raises(OSError):
            socket.create_connection((address, served.port), timeout=2).close()


def test_a_port_that_is_taken_and_a_folder_that_is_not_there_are_told(served: Running, folder: Path) -> None:
    taken = gotc("studio", "--port", served.port, "--no-browser", cwd=folder)
    assert taken.returncode == 2 and f"--port: cannot listen at {served.port}" in taken.stderr
    gone = gotc("studio", "nowhere", cwd=folder)
    assert gone.returncode == 2 and "there is no folder nowhere" in gone.stderr
