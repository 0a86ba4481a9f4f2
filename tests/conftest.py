"""Options and fixtures of the test suite."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from support.browser import Browser, Keep, browser
from support.gotc import ROOT
from support.laws import NEW, times

import gotlang.options
from gotlang import trust
from gotlang.models.local import weights_folder
from gotlang.syntax.grammar import TABLES, from_tables, grammar_text, reader_from_tables

BUILD_TABLES = Path(__file__).parents[1] / "grammars" / "build_tables.py"
MEMORY = Path("/dev/shm")
"""Where temporary folders are, if there is room: on a disk, tests of caches and studies wait for it half of
their time. TMPDIR names another place."""

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a job in the background; commands would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Studies compute with small matrices, for which threads that share busy processors only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Laws are not timed: a busy machine is no mistake. Each run tries the same cases, so that one that fails
# tells of a change; how often laws have been tried with new ones stands in benchmarks/README.md.
settings.register_profile("gotlang", deadline=None, derandomize=not NEW, max_examples=times(100))
settings.load_profile("gotlang")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--accept",
        action="store_true",
        default=False,
        help="rewrite expected texts by what the code gives now",
    )
    parser.addoption("--screenshots", metavar="FOLDER", help="where tests in a browser keep what they saw")


def pytest_configure(config: pytest.Config) -> None:
    """Trust everything, in a configuration folder of the tests' own (tests of trust have others). Build the
    parser's tables where the grammar has changed: each process would need 0.2 s without them."""
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 * 2**30:
        os.environ.setdefault("TMPDIR", str(MEMORY))
        tempfile.tempdir = None
    folder, weights = tempfile.TemporaryDirectory(prefix="gotc-tests-"), weights_folder()
    config.add_cleanup(folder.cleanup)
    os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_CACHE_HOME"] = folder.name
    if weights.is_dir():  # what was fetched is not fetched again
        weights_folder().parent.mkdir()
        weights_folder().symlink_to(weights, target_is_directory=True)
    trust.grant(Path("/"))
    if hasattr(config, "workerinput"):
        return
    try:
        saved = grammar_text(TABLES)
        current = reader_from_tables(saved.partition("\n")[0]) is not None and from_tables(saved) is not None
    except OSError:
        current = False
    if not current:
        subprocess.run([sys.executable, BUILD_TABLES], check=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collecting makes a million objects that live to the end: garbage collection need not look at them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(autouse=True)
def _no_allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the benchmarks, which some tests import, allow themselves is not allowed here."""
    monkeypatch.delenv("GOTC_ALLOW_PYTHON", raising=False)


@pytest.fixture
def accept(request: pytest.FixtureRequest) -> bool:
    """Whether expected texts are to be rewritten instead of compared."""
    return bool(request.config.getoption("--accept"))


@pytest.fixture(autouse=True)
def no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, no endpoint and no persistent cache but what a test sets itself."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(gotlang.options, "default_cache", lambda: None)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the source archive and the wheel that is built from it, once for all processes."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if base.name.startswith("popen-") else base) / "release"
    with (folder.with_suffix(".lock")).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder]
            done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=300)
            assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    """The wheel that is released."""
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser, started once."""
    with browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def keep(request: pytest.FixtureRequest, tmp_path: Path) -> Keep:
    """Keeps a screenshot under a name."""
    folder = Path(request.config.getoption("--screenshots") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    return lambda window, name: window.screenshot(folder / f"{name}.png")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A worker that has nothing left takes tests of another, and fixtures of a module are made once."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getvalue("dist") == "load" else None
