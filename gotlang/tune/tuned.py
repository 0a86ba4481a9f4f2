"""The result of a study as a file, and a program with that result in it.

A tuned file is JSON: `params`, `prompts` (instructions and examples), `settings` of the run, what the test
rows said, and where it all comes from. It holds no code.
"""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, final

from gotlang.compiler import Compilation
from gotlang.errors import UsageError
from gotlang.program import CheckedProgram
from gotlang.semantics.study_settings import ASKED
from gotlang.span import Source
from gotlang.syntax.format import format_module
from gotlang.tune.space import used_names
from gotlang.tune.texts import Texts, edited, rewritten

P = TypeVar("P", bound=CheckedProgram)

FORMAT = "gotlang.tuned"
FORMAT_VERSION = 1


@final
@dataclass(frozen=True, slots=True)
class Tuned:
    """What a study found. `provenance` says from which program, data, model, seed, money and versions."""

    program: str
    scheme: str
    params: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, Texts] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    held_out: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The document."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "program": self.program,
            "scheme": self.scheme,
            "params": dict(self.params),
            "prompts": {name: texts.as_json() for name, texts in self.texts.items()},
            "settings": dict(self.settings),
            "held_out": dict(self.held_out),
            "provenance": dict(self.provenance),
        }

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all. Raises UsageError where that cannot be done."""
        whole = json.dumps(self.as_json(), indent=2, ensure_ascii=False) + "\n"
        beside = path.with_name(path.name + ".new")
        try:
            beside.write_text(whole, encoding="utf-8")
            beside.replace(path)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None


def read_tuned(path: str | Path) -> Tuned:
    """A tuned file. Raises UsageError for what is none."""
    path = Path(path)
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{path} is no JSON", help="`gotc tune` writes tuned files") from None
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise UsageError(f"{path} is no tuned file", help="`gotc tune` writes tuned files")
    if whole.get("format_version") != FORMAT_VERSION:
        raise UsageError(f"{path} is of another version of the format", help="run the study again")
    try:
        return Tuned(
            str(whole["program"]),
            str(whole["scheme"]),
            dict(whole["params"]),
            {str(name): Texts.of_json(texts) for name, texts in whole["prompts"].items()},
            dict(whole["settings"]),
            dict(whole["held_out"]),
            dict(whole["provenance"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is damaged: {error}", help="run the study again") from None


def tuned(program: P, file: str | Path | Tuned) -> P:
    """A program with what a study found in it. Only `concurrency` and `schedule`, which change no result, are
    left to the options of its runs.

    Raises UsageError where the file is none or is of another program, CompileError where they do not fit.
    """
    found = file if isinstance(file, Tuned) else read_tuned(file)
    asking = _asking(program, found)
    try:
        return program.changed(rewritten(program.compilation, found.params, found.texts, asking))
    except UsageError as error:
        if found.program == program.name:
            raise
        raise UsageError(
            error.message, help=f"this is the result of a study of the program `{found.program}`"
        ) from None


def apply(program: CheckedProgram, found: Tuned) -> list[Path]:
    """Write what a study found into the program's own files; those that changed. A file that was canonical
    stays so: columns of params are set anew.

    Raises UsageError where a file is not as it was when the program was read, CompileError where the
    program would not compile any more.
    """
    compilation, asking = program.compilation, _asking(program, found)
    done = rewritten(compilation, found.params, found.texts, asking)
    changed = []
    was, now_is = _formatted(compilation), _formatted(done)
    for name, source in edited(compilation, found.params, found.texts, asking).items():
        before = compilation.sources[name]
        if source.text == before.text:
            continue
        if was.get(name) == before.text:
            source = Source(name, now_is[name])
        path = Path(name)
        try:
            _overwrite(path, before.text, source.text)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None
        changed.append(path)
    return changed


def _overwrite(path: Path, before: str, after: str) -> None:
    """Give a file another text, whole or not at all; its line ends, its byte order mark and its permissions
    stay."""
    now = path.read_bytes()
    text = now.decode("utf-8-sig", "replace")
    if text.replace("\r\n", "\n").rstrip("\n") != before.rstrip("\n"):
        raise UsageError(f"{path} has changed since it was read", help="run the command again")
    new = after if text.endswith("\n") else after.rstrip("\n")
    new = new.replace("\n", "\r\n") if b"\r\n" in now else new
    target = path.resolve()
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        draft.write_bytes((codecs.BOM_UTF8 if now.startswith(codecs.BOM_UTF8) else b"") + new.encode())
        draft.chmod(target.stat().st_mode & 0o7777)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _asking(program: CheckedProgram, found: Tuned) -> dict[str, dict[str, Any]]:
    """What every prompt of the tuned scheme asks with, where the study varied that."""
    settings = {name: value for name, value in found.settings.items() if name in ASKED}
    checked = program.compilation.checked
    if not settings:
        return {}
    used = used_names(checked.symbols, found.scheme)
    return {prompt: settings for prompt in checked.symbols.prompts if prompt in used}


def _formatted(compilation: Compilation) -> dict[str, str]:
    """The canonical texts of a program's files, by name."""
    sources = [compilation.sources[module.span.source] for module in compilation.modules]
    return {
        source.name: format_module(module, source)
        for module, source in zip(compilation.modules, sources, strict=True)
    }
