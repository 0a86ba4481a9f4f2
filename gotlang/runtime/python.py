"""The Python that a program uses: imported functions, simulators, corpora. Untrusted code runs only here."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import inspect
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack, suppress
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from traceback import extract_tb
from types import CodeType, ModuleType
from typing import Any, TypeVar

from gotlang import trust
from gotlang.diagnostics import suggestion
from gotlang.errors import GotError, NotTrusted, UsageError
from gotlang.ir.foreign import copied, given_back, raised
from gotlang.ir.program import Program
from gotlang.models.loops import VirtualTimeLoop
from gotlang.packages import outside
from gotlang.runtime.watch import took_longer
from gotlang.scope import plain
from gotlang.types import DYNAMIC, Type

T = TypeVar("T")


def resolve(folder: str, written: str) -> Path:
    """The file of a path in a program. Raises UsageError for one outside the program's folder."""
    if (why := outside(written)) is not None:
        raise UsageError(why)
    base = Path(folder).resolve()
    path = (base / written).resolve()
    if not path.is_relative_to(base):
        raise UsageError(f"`{written}` is outside of the program's folder: {path}")
    return path


def load_module(path: Path, what: str) -> ModuleType:
    """Import a Python file. Raises UsageError, with the line, if that fails."""
    if not path.is_file():
        raise UsageError(f"{what}: file not found: {path}")
    name = f"gotlang_program_{path.stem}_{abs(hash(path)):x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or not isinstance(spec.loader, SourceFileLoader):
        raise UsageError(f"{what}: {path} is not a Python file", help="import a file whose name ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    # It may import modules of its folder, and must leave no compiled files there.
    sys.path.insert(0, str(path.parent))
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        exec(_compiled(path.read_bytes(), str(path)), vars(module))  # noqa: S102 (as an import does)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # including `sys.exit()` at the end of a script
        del sys.modules[name]
        raise UsageError(f"{what}: {_where(error, path)}") from error
    finally:
        sys.dont_write_bytecode = before
        sys.path.remove(str(path.parent))
    return module


@lru_cache(maxsize=64)
def _compiled(source: bytes, path: str) -> CodeType:
    """The code of a Python file: each session loads it anew, and most of the time it is what it was."""
    return compile(source, path, "exec", dont_inherit=True)


def _where(error: BaseException, path: Path) -> str:
    if isinstance(error, SyntaxError):
        return f"{path}:{error.lineno}: {error.msg}"
    lines = [at.lineno for at in extract_tb(error.__traceback__) if at.filename == str(path)]
    return f"{path}{f':{lines[-1]}' if lines else ''}: {type(error).__name__}: {error}"


def refused(program: Program, allowed: bool | None, *, simulators: bool = True) -> NotTrusted | None:
    """Why the Python that a program imports, or is simulated by, does not run; None if it does.

    `allowed` is the user's choice for this run; None leaves it to their trust.
    """
    imports = [("imports", one) for one in program.python]
    if simulators:
        imports += [("is simulated by", one) for one in program.simulators]
    for what, one in imports:
        if allowed is False:
            return NotTrusted(
                f"this program {what} `{one.path}`, which `--no-python` forbids",
                help="leave `--no-python` out if you trust the program",
            )
        file = resolve(one.folder, one.path)
        if allowed is None and not trust.runs_python(file):
            import shlex

            return NotTrusted(
                f"this program {what} `{one.path}`, Python in a folder that is not trusted: {file}",
                help=f"look at it, then `gotc trust {shlex.quote(trust.as_written(file.parent))}`, or allow "
                "it for once with `--allow-python`",
            )
    return None


def load_functions(program: Program, *, allowed: bool | None = True) -> dict[str, Callable[..., Any]]:
    """The functions that a program imports from Python, by name. Raises UsageError."""
    if (error := refused(program, allowed, simulators=False)) is not None:
        raise error
    found: dict[str, Callable[..., Any]] = {}
    for entry in program.python:
        what = f'import python "{entry.path}"'
        module = load_module(resolve(entry.folder, entry.path), what)
        for name in (function.name for function in entry.functions):
            function = getattr(module, name, None)
            if not callable(function):
                raise UsageError(f"{what}: function `{name}` not found")
            found[name] = function
    return found


def load_simulators(program: Program, *, allowed: bool | None = True) -> dict[str, Callable[..., Any]]:
    """The simulators of a program's prompts, by the prompt's name. Raises UsageError."""
    if (error := refused(program, allowed)) is not None:
        raise error
    found: dict[str, Callable[..., Any]] = {}
    if program.simulators:
        # Simulators import it, too, and what is imported while they are loaded leaves no bytecode.
        import gotlang.models.simulated  # noqa: F401
    for entry in program.simulators:
        module = load_module(resolve(entry.folder, entry.path), f'simulate with "{entry.path}"')
        for prompt in program.prompts:
            for name in dict.fromkeys((prompt.name, plain(prompt.name))):
                if callable(function := getattr(module, name, None)):
                    found.setdefault(prompt.name, function)
    return found


def simulators_version(program: Program) -> str:
    """Eight hexadecimal digits of the hash of a program's simulators; empty if it has none."""
    digest = hashlib.sha256()
    for entry in program.simulators:
        digest.update(resolve(entry.folder, entry.path).read_bytes() + b"\0")
    return digest.hexdigest()[:8] if program.simulators else ""


def simulated_models(program: Program) -> dict[str, dict[str, float]]:
    """The models that a program's simulators declare, by name, without running them. Raises UsageError."""
    from gotlang.models.simulated import declared_models

    found: dict[str, dict[str, float]] = {}
    for entry in program.simulators:
        place = resolve(entry.folder, entry.path)
        try:
            found = {**declared_models(place.read_text("utf-8"), entry.path), **found}
        except (OSError, UnicodeError):
            continue  # loading it reports the error
    return found


def load_corpora(
    program: Program, others: Mapping[str, str | Path]
) -> Mapping[str, Callable[..., list[str]]]:
    """A search function per corpus of a program: `search(query, k)` returns the best documents.

    `others` are paths that the user gives for corpora of the program. Raises UsageError for one that the
    program does not import, and for one that cannot be read.
    """
    from gotlang.data.corpus import open_corpus

    known = {entry.name: resolve(entry.folder, entry.path) for entry in program.corpora}
    if (unknown := next((name for name in others if name not in known), None)) is not None:
        hint = suggestion(unknown, known) or f"its corpora are: {', '.join(known) or 'none'}"
        raise UsageError(f"`{program.name}` imports no corpus `{unknown}`", help=hint)
    return {name: open_corpus(others.get(name, path)) for name, path in known.items()}


async def call_function(
    function: Callable[..., Any],
    name: str,
    positional: list[Any],
    named: dict[str, Any],
    timeout_s: float | None = None,
    result: Type = DYNAMIC,
    *,
    raw: bool = False,
) -> Any:
    """Call a Python function with copies of plain values, in a thread of its own unless it is async.

    Raises EvaluationError for whatever it raises, after `timeout_s` seconds (None: never), and (unless `raw`)
    for a result that is not of the declared type.
    """
    arguments, more = list(map(copied, positional)), {key: copied(value) for key, value in named.items()}
    if inspect.iscoroutinefunction(function):
        value = await _wait(function(*arguments, **more), name, timeout_s)
    else:
        value = await _run_in_thread(lambda: function(*arguments, **more), name, timeout_s)
    return value if raw else given_back(value, name, result)


async def _wait(work: Awaitable[T], name: str, timeout_s: float | None) -> T:
    """The result of an async function; without a timeout in simulated time, since it may wait for something
    real."""
    loop = asyncio.get_running_loop()
    limit = None if isinstance(loop, VirtualTimeLoop) else timeout_s
    caller = asyncio.current_task()
    assert caller is not None

    async def alone() -> T:
        try:
            return await work
        except (GotError, KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and caller.cancelling():
                raise
            raise raised(name, error) from error

    try:
        async with asyncio.timeout(limit):
            # In a task of its own, so that it cannot cancel or rename ours.
            return await loop.create_task(alone())
    except TimeoutError:
        raise took_longer(name, limit) from None


async def _run_in_thread(work: Callable[[], T], name: str, timeout_s: float | None) -> T:
    """The result of `work`, run in a daemon thread: an interrupted run ends at once, while the threads of the
    loop's executor would delay it until their work is done. After a timeout the thread continues."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(take: Callable[[], None]) -> None:
        if not future.done():
            take()

    def tell(take: Callable[[], None]) -> None:
        # The loop may be closed by now, if the run was interrupted.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, take)

    def run() -> None:
        try:
            value = work()
        except BaseException as error:
            # Any exception was raised by the function: no Ctrl-C and no cancellation reaches this thread.
            caught = error if isinstance(error, GotError) else raised(name, error)
            caught.__cause__ = error.__cause__ if caught is error else error
            tell(lambda: future.set_exception(caught))
        else:
            tell(lambda: future.set_result(value))

    threading.Thread(target=run, daemon=True, name="gotlang call").start()
    with ExitStack() as stack:
        if isinstance(loop, VirtualTimeLoop):
            stack.enter_context(loop.paused())
        if timeout_s is not None:

            def late() -> None:
                tell(lambda: future.set_exception(took_longer(name, timeout_s)))

            # The loop's own clock may be simulated.
            timer = threading.Timer(timeout_s, late) if isinstance(loop, VirtualTimeLoop) else None
            if timer is not None:
                timer.daemon = True
                timer.start()
                stack.callback(timer.cancel)
            else:
                stack.callback(loop.call_later(timeout_s, late).cancel)
        return await future
