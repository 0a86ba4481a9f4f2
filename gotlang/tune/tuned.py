"""The result of a study: as a file, in a program, and in the text of a program's own files.

A tuned file is JSON: `params`, `prompts` (instructions and examples), `settings` of the run, the held-out
comparison and the provenance. It holds no code. In a program's text only the values that change are replaced;
everything else stays, to the character, so that `git diff` shows what changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, final

import msgspec

from gotlang.compiler import Compilation, compile_source
from gotlang.disk import in_the_form_of, read_bounded, real_path, replace_file
from gotlang.errors import UsageError, reporting
from gotlang.ir.program import Program
from gotlang.ir.text import value_text
from gotlang.operations.names import free_names
from gotlang.packages import in_package
from gotlang.program import CheckedProgram
from gotlang.records import InvalidRecord, escaped, from_json, from_plain, to_json
from gotlang.semantics.params import constant_value
from gotlang.semantics.variations import ASKED, SCHEME, STRUCTURE, VARIED
from gotlang.span import Source, Span
from gotlang.syntax import nodes as n
from gotlang.syntax.format import format_module
from gotlang.syntax.texts import long_lines, quote
from gotlang.tune.structure import restructured

P = TypeVar("P", bound=CheckedProgram)

FORMAT = "gotlang.tuned"
FORMAT_VERSION = 1
_HELP = "`gotc tune` writes tuned files"


@final
class Shot(msgspec.Struct, frozen=True):
    """A worked example."""

    inputs: dict[str, Any]
    output: Any


@final
class PromptTexts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Texts for one prompt; None leaves the program's own. `instruction` is the template of the instruction,
    or of the user's text if the prompt has no instruction."""

    instruction: str | None = None
    examples: tuple[Shot, ...] | None = None


@final
class Tuned(msgspec.Struct, frozen=True):
    """The result of a study. `provenance` has its program, data, model, seed, spending and versions."""

    program: str
    scheme: str
    params: dict[str, Any] = {}
    texts: dict[str, PromptTexts] = msgspec.field(name="prompts", default_factory=dict)
    settings: dict[str, Any] = {}
    held_out: dict[str, Any] = {}
    provenance: dict[str, Any] = {}

    def to_dict(self) -> dict[str, Any]:
        """The document."""
        whole: dict[str, Any] = msgspec.to_builtins(self)
        return {"format": FORMAT, "format_version": FORMAT_VERSION, **whole}

    def write(self, path: Path) -> None:
        """Write the file, completely or not at all. Raises UsageError if that fails."""
        with reporting(f"cannot write {path}"):
            text = msgspec.json.format(to_json(self.to_dict()), indent=2) + "\n"
            replace_file(path, text.encode())


def read_tuned(path: str | Path) -> Tuned:
    """Load a tuned file. Raises UsageError if it is not one."""
    path = Path(path)
    try:
        whole = from_json(read_bounded(real_path(path)), dict[str, Any])
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except InvalidRecord as error:
        raise UsageError(f"{path} is not a tuned file: {error}", help=_HELP) from None
    if whole.get("format") != FORMAT:
        raise UsageError(f"{path} is not a tuned file", help=_HELP)
    if whole.get("format_version") != FORMAT_VERSION:
        raise UsageError(f"{path} has another version of the format", help="run the study again")
    try:
        found = from_plain(whole, Tuned)
    except InvalidRecord as error:
        raise UsageError(f"{path} is damaged: {error}", help="run the study again") from None
    known = (*VARIED, SCHEME, STRUCTURE)
    names = sorted(name for name in found.settings if name.rpartition(".")[2] not in known)
    if unknown := ", ".join(map(escaped, names)):
        raise UsageError(f"{path} has unknown settings: {unknown}", help=f"there are {', '.join(known)}")
    return found


def tuned(program: P, file: str | Path | Tuned) -> P:
    """A program with the result of a study applied. Only `concurrency` and `schedule`, which do not affect
    the result, are left to the options of its runs.

    Raises UsageError for a file that is not tuned or is of another program, CompileError if they do not
    match.
    """
    found = file if isinstance(file, Tuned) else read_tuned(file)
    try:
        base = restructured(program, found.scheme, found.settings)
        return program.changed(
            rewritten(base.compilation.compiled(), found.params, found.texts, _settings_of(program, found))
        )
    except RecursionError:
        raise UsageError("the tuned file has values that are nested too deeply", help=_HELP) from None
    except UsageError as error:
        if found.program == program.name:
            raise
        raise UsageError(
            error.message, help=f"this is the result of a study of the program `{found.program}`"
        ) from None


def own_text(program: CheckedProgram) -> str:
    """The text of a program's own file, in canonical form."""
    return _formatted(program.compilation.compiled())[program.compilation.source.name]


def apply(program: CheckedProgram, found: Tuned) -> list[Path]:
    """Write the result of a study into the program's own files; returns those that changed. A file that was
    canonical stays so: columns of params are realigned.

    Raises UsageError if a file has changed since the program was read, CompileError if the program would no
    longer compile.
    """
    compilation, settings = program.compilation.compiled(), _settings_of(program, found)
    base = restructured(program, found.scheme, found.settings).compilation.compiled()
    done = rewritten(base, found.params, found.texts, settings)
    changed = []
    was, now_is = _formatted(compilation), _formatted(done)
    sources = edited(base, found.params, found.texts, settings)
    for name, source in sources.items():
        if in_package(name) and source.text != compilation.sources[name].text:
            help = "use the tuned file with `--tuned`, or give the package a prompt or a param of your own"
            raise UsageError(f"`{name}` belongs to a package, which is not changed", help=help)
    for name, source in sources.items():
        before = compilation.sources[name].text
        if source.text == before:
            continue
        path = Path(name)
        with reporting(f"cannot write {path}"):
            _overwrite(path, before, now_is[name] if was.get(name) == before else source.text)
        changed.append(path)
    return changed


def _overwrite(path: Path, before: str, after: str) -> None:
    """Replace the text of a file, completely or not at all; its line endings, byte order mark and permissions
    stay."""
    now = path.read_bytes()
    text = now.decode("utf-8-sig", "replace")
    if text.replace("\r\n", "\n").rstrip("\n") != before.rstrip("\n"):
        raise UsageError(f"{path} has changed since it was read", help="run the command again")
    new = after if text.endswith("\n") else after.rstrip("\n")
    replace_file(path, in_the_form_of(now, new))


def _settings_of(program: CheckedProgram, found: Tuned) -> dict[str, dict[str, Any]]:
    """The tuned settings of every prompt that the tuned scheme uses."""
    ir = program.ir(0)
    used = used_names(ir, program.scheme(found.scheme).name) if found.settings else set()
    return asked_with((prompt.name for prompt in ir.prompts if prompt.name in used), found.settings)


def _formatted(compilation: Compilation) -> dict[str, str]:
    """The canonical texts of a program's files, by name."""
    sources = ((module, compilation.sources[module.span.source]) for module in compilation.modules)
    return {source.name: format_module(module, source) for module, source in sources}


def used_names(program: Program, scheme: str) -> set[str]:
    """Every name that a scheme uses, itself, through what it calls, or in a condition of a param."""
    found = program.reached(program.scheme(scheme))
    guards = [param.guard for param in program.params if param.name in found and param.guard is not None]
    return found.union(*map(free_names, guards))


def asked_with(prompts: Iterable[str], settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The settings of each of these prompts: its own, `sort.temperature`, before those of all."""
    return {
        prompt: {
            name: settings.get(f"{prompt}.{name}", settings.get(name))
            for name in ASKED
            if name in settings or f"{prompt}.{name}" in settings
        }
        for prompt in prompts
    }


# ---------------------------------------------------------------- in a program's text

PromptSettings = Mapping[str, Mapping[str, Any]]
"""The settings of each prompt by name, such as `temperature`."""
_NONE: PromptSettings = {}
_Edit = tuple[Span, str]


def rewritten(
    compilation: Compilation,
    params: Mapping[str, Any],
    texts: Mapping[str, PromptTexts],
    settings: PromptSettings = _NONE,
) -> Compilation:
    """A program compiled with other defaults, texts and settings of prompts.

    Raises UsageError if it has no such param or prompt, CompileError if it no longer compiles.
    """
    sources = edited(compilation, params, texts, settings)

    def read(name: str) -> str:
        return sources[name].text if name in sources else Path(name).read_text("utf-8")

    return compile_source(sources[compilation.source.name], read).compiled()


def edited(
    compilation: Compilation,
    params: Mapping[str, Any],
    texts: Mapping[str, PromptTexts],
    settings: PromptSettings = _NONE,
) -> dict[str, Source]:
    """The sources of a program, by name, with other defaults of params, texts and settings of prompts."""
    out = dict(compilation.sources)
    left_params, left_texts = dict(params), dict(texts)
    checked = [d for module in compilation.compiled().checked.modules for d in module.declarations]
    names = {d.name.span: d.name.text for d in checked if isinstance(d, n.Param | n.Prompt)}
    for module in compilation.modules:
        source = compilation.sources[module.span.source]
        edits: list[_Edit] = []
        for d in module.declarations:
            # Its name in the whole program, as it was tuned; declarations that only other schemes of a file
            # use have none.
            name = names.get(d.name.span, "") if isinstance(d, n.Param | n.Prompt) else ""
            if isinstance(d, n.Param) and name in left_params:
                value, old = left_params.pop(name), constant_value(d.default)
                if type(old) is not type(value) or old != value:
                    edits.append((d.default.span, value_text(value)))
            elif isinstance(d, n.Prompt):
                edits += _texts(d, left_texts.pop(name, PromptTexts()), source)
                edits += _settings(d, settings.get(name, {}), source)
        text = source.text
        for span, new in sorted(edits, key=lambda edit: edit[0].start, reverse=True):
            text = text[: span.start] + new + text[span.end :]
        out[source.name] = Source(source.name, text)
    for kind, left in (("param", left_params), ("prompt", left_texts)):
        if left:
            name = next(iter(left)).replace("__", ".")
            raise UsageError(f"`{compilation.source.name}` has no {kind} `{name}`")
    return out


def _texts(node: n.Prompt, texts: PromptTexts, source: Source) -> list[_Edit]:
    edits: list[_Edit] = []
    text, new = node.own_text, texts.instruction
    if new is not None and node.file is not None:
        help = "put the text into the program to tune it"
        raise UsageError(f"the text of prompt `{node.name.text}` is in `{node.file.value}`", help=help)
    if new is not None and text is not None and new != text.value:
        written = quote(new)
        if text.long or "\n" in new or len(new) > 60:
            margin = _margin(source, text.span.start)
            body = "".join(f"{margin}{line}\n" if line else "\n" for line in long_lines(new))
            written = f'"""\n{body}{margin}"""'
        edits.append((text.span, written))
    if texts.examples is not None:
        edits += _examples(node, texts.examples, source)
    return edits


def _settings(node: n.Prompt, settings: Mapping[str, Any], source: Source) -> list[_Edit]:
    """Other values of settings that the prompt has, and new settings above its first text."""
    known = {setting.name.text: setting.value.span for setting in node.settings}
    edits = [(known[name], value_text(value)) for name, value in settings.items() if name in known]
    if settings.keys() <= known.keys():
        return edits
    if node.file is not None:
        help = "put the text into the program to tune it"
        raise UsageError(f"the settings of prompt `{node.name.text}` are in `{node.file.value}`", help=help)
    first = min(place.span.start for place in (*node.texts, *node.turns))
    margin = _margin(source, first)
    new = "".join(f"{margin}{name} {value_text(v)}\n" for name, v in settings.items() if name not in known)
    return [*edits, _insertion(source, _line_start(source, first), new)]


def _examples(node: n.Prompt, shots: tuple[Shot, ...], source: Source) -> list[_Edit]:
    lines = []
    for shot in shots:
        inputs = ", ".join(f"{name} = {value_text(value)}" for name, value in shot.inputs.items())
        lines.append(f"{inputs} -> {value_text(shot.output)}")
    if node.examples:
        first, last = node.examples[0].span, node.examples[-1].span
        if lines:
            return [(first.to(last), f"\n{_margin(source, first.start)}".join(lines))]
        start = _line_start(source, source.text.rindex("examples", 0, first.start))
        return [(Span(source.name, start, source.text.find("\n", last.end) + 1), "")]
    place = node.asking or node.instruction
    if not lines or place is None:
        return []
    below = source.text.find("\n", place.span.end) + 1
    margin = _margin(source, place.span.start)
    block = f"{margin}examples{' as turns' if node.turns else ''}:\n" + "".join(
        f"{margin}    {line}\n" for line in lines
    )
    return [_insertion(source, _line_start(source, place.span.start) if node.asking else below, block)]


def _insertion(source: Source, at: int, text: str) -> _Edit:
    return Span(source.name, at, at), text


def _line_start(source: Source, at: int) -> int:
    return source.text.rfind("\n", 0, at) + 1


def _margin(source: Source, at: int) -> str:
    """The indentation of the line of a place."""
    line = source.text[_line_start(source, at) : at]
    return " " * (len(line) - len(line.lstrip(" ")))
