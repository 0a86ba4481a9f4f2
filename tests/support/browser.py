"""A headless Chromium without a network, driven over the WebDriver protocol with nothing but Python."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

import pytest

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The key under which the protocol names elements."""

KEYS = {
    "Tab": "\ue004",
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "Space": " ",
    "End": "\ue010",
    "Home": "\ue011",
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
}
"""Keys without a character, as the protocol writes them."""


def installed() -> bool:
    """Whether there is a Chromium to drive."""
    return _chromium() is not None and shutil.which("chromedriver") is not None


def _chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


needs_browser = pytest.mark.skipif(
    not installed(), reason="chromium and chromedriver are not installed (Debian: chromium chromium-driver)"
)


@final
class Browser:
    """One window. Every method raises RuntimeError with what the browser says went wrong."""

    def __init__(self, address: str, session: str) -> None:
        self._base = f"{address}/session/{session}"

    def open(self, page: Path | str) -> None:
        """Open a file or an address and wait until it is loaded."""
        _post(f"{self._base}/url", {"url": page if isinstance(page, str) else page.resolve().as_uri()})
        self.until("document.readyState === 'complete'", 60)  # it may return before the page's scripts ran

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a function's body in the page; what it returns."""
        return _post(f"{self._base}/execute/sync", {"script": script, "args": list(arguments)})

    def until(self, script: str, seconds: float = 20) -> Any:
        """What an expression in the page gives once that is something. Raises AssertionError."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := self.run(f"return {script}"):
                return found
            time.sleep(0.05)
        about = "return `${document.readyState}: ${document.body.innerText.slice(0, 600)}`"
        raise AssertionError(f"{script}; the page is {self.run(about)}; errors: {self.errors()}")

    def click(self, x: float, y: float) -> None:
        """Click with a mouse at a place in the window."""
        move = {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}
        press = [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        mouse = {"type": "pointer", "id": "mouse", "actions": [move, *press]}
        _post(f"{self._base}/actions", {"actions": [mouse]})

    def type(self, selector: str, text: str) -> None:
        """Type into an element."""
        found = _post(f"{self._base}/element", {"using": "css selector", "value": selector})
        _post(f"{self._base}/element/{found[ELEMENT]}/value", {"text": text})

    def keys(self, text: str) -> None:
        """Press keys, one after the other, wherever the focus is."""
        presses = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        _post(f"{self._base}/actions", {"actions": [{"type": "key", "id": "keys", "actions": presses}]})

    def resize(self, width: int, height: int) -> None:
        """Make the page so many pixels wide and high; a window cannot be as narrow as a phone."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        command = {"cmd": "Emulation.setDeviceMetricsOverride", "params": metrics}
        _post(f"{self._base}/goog/cdp/execute", command)

    def press(self, *keys: str) -> None:
        """Press keys where the focus is: names of KEYS, or the characters of texts."""
        self.keys("".join(KEYS.get(key, key) for key in keys))

    def processor_s(self) -> float:
        """The processor time in seconds that the page's main thread has used since the first call, and on
        later pages since their beginning."""
        for command, given in (
            ("Performance.enable", {"timeDomain": "threadTicks"}),
            ("Performance.getMetrics", {}),
        ):
            found = _post(f"{self._base}/goog/cdp/execute", {"cmd": command, "params": given})
        return float(next(one["value"] for one in found["metrics"] if one["name"] == "TaskDuration"))

    def errors(self) -> list[str]:
        """The errors and warnings in the console since the previous call."""
        entries = _post(f"{self._base}/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def screenshot(self, path: Path) -> None:
        """Write what is to be seen as a PNG."""
        path.write_bytes(base64.b64decode(_get(f"{self._base}/screenshot")))

    def close(self) -> None:
        """End the browser."""
        _send("DELETE", self._base, None)


Keep = Callable[[Browser, str], None]
"""Takes a screenshot of a window, under a name."""


@contextmanager
def browser(folder: Path, *, dark: bool = False, width: int = 1400, height: int = 900) -> Iterator[Browser]:
    """A browser with a profile in a folder, which can reach no host."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    driver = subprocess.Popen(
        ["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address)
        found = _post(
            f"{address}/session", {"capabilities": {"alwaysMatch": _wishes(folder, dark, width, height)}}
        )
        window = Browser(address, found["sessionId"])
        try:
            yield window
        finally:
            window.close()
    finally:
        driver.terminate()
        driver.wait(10)


def _wishes(folder: Path, dark: bool, width: int, height: int) -> dict[str, Any]:
    flags = ["headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync"]
    flags += ["disable-background-networking", "disable-component-update", "disable-dev-shm-usage"]
    flags += ["proxy-server=http://127.0.0.1:9"]
    arguments = [f"--{flag}" for flag in flags]
    arguments += [f"--window-size={width},{height}", f"--user-data-dir={folder / 'profile'}"]
    arguments += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    if dark:
        arguments += ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]
    return {
        "browserName": "chrome",
        "goog:loggingPrefs": {"browser": "ALL"},
        "goog:chromeOptions": {"binary": _chromium(), "args": arguments},
    }


def _wait(address: str) -> None:
    for _ in range(200):
        try:
            _get(f"{address}/status")
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.05)
    raise RuntimeError("chromedriver does not answer")


def _get(url: str) -> Any:
    return _send("GET", url, None)


def _post(url: str, content: dict[str, Any]) -> Any:
    return _send("POST", url, content)


def _send(method: str, url: str, content: dict[str, Any] | None) -> Any:
    data = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=60) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise RuntimeError(json.load(error)["value"]["message"]) from None
