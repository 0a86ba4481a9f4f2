"""Python that a program asks for: imported functions, simulators, corpora. Only here is foreign code run."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from gotlang.compiler import outside
from gotlang.errors import UsageError
from gotlang.ir.program import Program, PythonImport


def resolve(folder: str, written: str) -> Path:
    """The file that a program means by a path. Raises UsageError where it lies outside its folder."""
    if (why := outside(written)) is not None:
        raise UsageError(why)
    base = Path(folder).resolve()
    path = (base / written).resolve()
    if not path.is_relative_to(base):
        raise UsageError(f"`{written}` leads out of the program's folder, to {path}")
    return path


def load_module(path: Path, what: str) -> ModuleType:
    """Run a Python file and give its module. Raises UsageError that names the line where it fails."""
    if not path.is_file():
        raise UsageError(f"{what}: there is no file {path}")
    name = f"gotlang_program_{path.stem}_{abs(hash(path)):x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{what}: {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    # A program's Python may import its neighbours, and leaves no compiled files beside them.
    sys.path.insert(0, str(path.parent))
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # `sys.exit()` at the end of a script among them
        del sys.modules[name]
        raise UsageError(f"{what}: {_where(error, path)}") from error
    finally:
        sys.dont_write_bytecode = before
        sys.path.remove(str(path.parent))
    return module


def _where(error: BaseException, path: Path) -> str:
    if isinstance(error, SyntaxError):
        return f"{path}:{error.lineno}: {error.msg}"
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{path}{f':{line}' if line else ''}: {type(error).__name__}: {error}"


def refuse(imports: tuple[PythonImport, ...], what: str) -> None:
    """Refuse a program that needs Python where the user did not allow it. Raises UsageError."""
    if imports:
        raise UsageError(
            f"this program {what} `{imports[0].path}`, and `--no-python` does not allow that",
            help="leave `--no-python` out if you trust the program",
        )


def load_functions(program: Program, *, allowed: bool = True) -> dict[str, Callable[..., Any]]:
    """The functions a program imports from Python, by name."""
    if not allowed:
        refuse(program.python, "imports")
    found: dict[str, Callable[..., Any]] = {}
    for entry in program.python:
        what = f'import python "{entry.path}"'
        module = load_module(resolve(entry.folder, entry.path), what)
        for name in entry.names:
            function = getattr(module, name, None)
            if not callable(function):
                raise UsageError(f"{what}: there is no function `{name}` in it")
            found[name] = function
    return found


def load_simulators(program: Program, *, allowed: bool = True) -> dict[str, Callable[..., Any]]:
    """The stand-ins for a program's prompts, by the prompt's name."""
    if not allowed:
        refuse(program.simulators, "is simulated by")
    found: dict[str, Callable[..., Any]] = {}
    for entry in program.simulators:
        module = load_module(resolve(entry.folder, entry.path), f'simulate with "{entry.path}"')
        for prompt in program.prompts:
            function = getattr(module, prompt.name, None)
            if callable(function):
                found.setdefault(prompt.name, function)
    return found


def simulators_version(program: Program) -> str:
    """Eight hexadecimal digits that stand for the text of a program's stand-ins; empty where it has none."""
    digest = hashlib.sha256()
    for entry in program.simulators:
        digest.update(resolve(entry.folder, entry.path).read_bytes() + b"\0")
    return digest.hexdigest()[:8] if program.simulators else ""


def load_corpora(program: Program) -> Mapping[str, Callable[..., list[str]]]:
    """A search function for each corpus of a program: `search(query, k)` gives the best documents."""
    from gotlang.data.corpus import open_corpus

    return {entry.name: open_corpus(resolve(entry.folder, entry.path)) for entry in program.corpora}
