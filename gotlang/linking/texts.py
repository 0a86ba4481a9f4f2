"""The texts of prompts: read from Markdown files, and with partials substituted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from msgspec.structs import replace

from gotlang.diagnostics import Diagnostic, Report, nearest
from gotlang.packages import outside
from gotlang.patterns import lazy_pattern
from gotlang.span import Fragment, Source, Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.build import TreeBuilder
from gotlang.syntax.parse import parse_expression
from gotlang.syntax.texts import origins

_FRONT = lazy_pattern(r"---[ \t]*\n(.*?)^---[ \t]*\n", re.DOTALL | re.MULTILINE)
_SETTING = lazy_pattern(r"(\w+)[ \t]*:[ \t]*(\S.*?)[ \t]*")
_RULE = lazy_pattern(r"---[ \t]*\n")
_PARTS = ("system", "instruction", "user", "assistant")
_OTHER = lazy_pattern(r"^#[ \t]+(\w+)[ \t]*$", re.MULTILINE)
_LINE = lazy_pattern(r"\S.*")
_HEADING = lazy_pattern(r"^#[ \t]+(system|instruction|user|assistant)[ \t]*\n", re.MULTILINE | re.IGNORECASE)
_TEXT = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"
_CALL = lazy_pattern(rf"\{{\{{-?\s*((?:\w+\.)?\w+)\(((?:[^{{}}\"']|{_TEXT})*)\)\s*-?\}}\}}", re.DOTALL)
_TAG = lazy_pattern(r"\{[{%].*?[%}]\}", re.DOTALL)
_QUOTED = lazy_pattern(_TEXT, re.DOTALL)
MOST = 1_000_000
"""Maximum length of a text with its partials."""
MOST_USES = 1_000
"""Maximum number of partials in the texts of a prompt."""


def with_files(
    module: n.Module, read: Callable[[str], str], sources: dict[str, Source], report: Report
) -> n.Module:
    """A module whose prompts have the contents of their Markdown files. `read` raises OSError."""
    if not any(isinstance(d, n.Prompt) and d.file is not None for d in module.declarations):
        return module

    def filled(d: n.Declaration) -> n.Declaration:
        if not isinstance(d, n.Prompt) or d.file is None:
            return d
        if d.texts:
            help = f"write it in `{d.file.value}`, or leave out `from`"
            report.error("GOT0748", "a prompt from a file has its texts there", d.texts[0].span, help=help)
            return d
        name = str(PurePosixPath(d.file.span.source).parent / str(d.file.value))
        if name not in sources:
            try:
                if (why := outside(str(d.file.value))) is not None:
                    raise OSError(why)
                sources[name] = Source.of(name, read(name))
            except OSError as error:
                reason = error.strerror or str(error)
                report.error("GOT0107", f"cannot read `{d.file.value}`: {reason}", d.file.span)
                return replace(d, user=e.Constant(d.file.span, e.HOLE))
        return _filled(d, sources[name], report)

    return replace(module, declarations=tuple(map(filled, module.declarations)))


def _filled(d: n.Prompt, source: Source, report: Report) -> n.Prompt:
    """A prompt with the texts and settings of a file."""
    text = source.text
    children: list[tuple[str, object]] = []
    front = _FRONT.match(text)

    def wrong(message: str, start: int, end: int, help: str | None = None) -> None:
        report.error("GOT0748", message, Span(source.name, start, end), help=help)

    if front is None and _RULE.match(text):
        wrong("the settings are not closed", 0, 3, "end them with a line `---`")
    for line in _LINE.finditer(front[1]) if front else ():
        at = front.start(1) + line.start() if front else 0
        found = _SETTING.fullmatch(line[0])
        if found is None:
            if not line[0].startswith("#"):
                wrong("not a setting", at, at + len(line[0]), "write `temperature: 0.5`, one on a line")
            continue
        key, start = Span(source.name, at + found.start(1), at + found.end(1)), at + found.start(2)
        value = parse_expression(Source(source.name, " " * start + found[2]))
        if isinstance(value, Diagnostic):
            report.diagnostics.append(value)
            continue
        setting = n.Setting(key.to(value.span), e.Identifier(key, found[1]), value)
        children.append(("setting", setting))
    start = front.end() if front else 0
    headings = list(_HEADING.finditer(text, start))
    for other in _OTHER.finditer(text, start):
        guess = nearest(other[1].lower(), _PARTS)
        if guess is not None and other[1].lower() not in _PARTS:
            wrong(
                f"no part is called `{other[1]}`", *other.span(1), f"did you mean `# {guess.capitalize()}`?"
            )
    if not text[start:].strip():
        wrong("the file has no text", 0, 0)
    ends = [*(heading.start() for heading in headings), len(text)]
    if not headings or text[start : ends[0]].strip():
        children.append(
            ("turn", n.Turn(d.file.span if d.file else d.span, "", _text(source, start, ends[0])))
        )
    for heading, end in zip(headings, ends[1:], strict=True):
        role, part = heading[1].lower(), _text(source, heading.end(), end)
        turn = n.Turn(part.span, "" if role == "user" and len(headings) <= 2 else role, part)
        children.append(("instruction", part) if role == "instruction" else ("turn", turn))
    if sum(role == "" for role in (getattr(part, "role", None) for _, part in children)) > 1:
        children = [
            (k, replace(p, role="user") if isinstance(p, n.Turn) and not p.role else p) for k, p in children
        ]
    builder = TreeBuilder(Fragment(source.name, text))
    head = (d.name, d.parameters, d.many, d.result, d.file)
    made: n.Prompt = builder.rule("prompt", d.span.start, d.span.end, [head, *children])
    report.diagnostics += builder.problems
    settings = (*made.settings, *d.settings)
    own = {"examples": d.examples, "parse": d.parse, "tools": d.tools, "as_turns": d.as_turns}
    return replace(made, span=d.span, settings=settings, **own)


def _text(source: Source, start: int, end: int) -> e.Constant:
    """A part of a file as a text in triple quotes, which has no quotes and begins and ends at its words."""
    whole = source.text[start:end]
    start += len(whole) - len(whole.lstrip("\n"))
    text = whole.strip("\n").rstrip()
    return e.Constant(Span(source.name, start - 3, start + len(text) + 3), text, long=True)


# ---------------------------------------------------------------- partials


def with_partials(
    d: n.Prompt,
    known: Mapping[str, n.Partial],
    name_of: Callable[[str], str | None],
    sources: Mapping[str, Source],
    report: Report,
) -> n.Prompt:
    """A prompt with the partials in its texts substituted. `known` has them by their unique names, `name_of`
    returns that of a name in this file."""
    types = {p.name.text: p.type for p in d.parameters}
    names_known = [p.name.text for p in known.values() if name_of(p.name.text) in known]
    uses = 0

    def changed(text: e.Constant | None) -> e.Constant | None:
        if text is None or "(" not in (value := str(text.value)):
            return text
        quotes = 3 if text.long else 1
        span = Span(text.span.source, text.span.start + quotes, text.span.end - quotes)
        at = origins(sources[span.source].text[span.start : span.end], text.long)
        new = _put(value, (), span, at)
        return text if new == value else replace(text, value=new)

    def _put(value: str, inside: tuple[str, ...], span: Span, at: Sequence[int] = ()) -> str:
        def place(found: re.Match[str]) -> Span:
            start, end = (at[min(offset, len(at) - 1)] for offset in found.span(1)) if at else (0, 0)
            return Span(span.source, span.start + start, span.start + end) if at else span

        def one(found: re.Match[str]) -> str:
            partial = known.get(name_of(found[1]) or "")
            if partial is None and found[1] != "range" and (near := nearest(found[1], names_known)):
                help = f"did you mean `{near}`?"
                report.error("GOT0749", f"no partial is called `{found[1]}`", place(found), help=help)
                return ""
            if partial is None:
                return found[0]
            nonlocal uses
            uses += 1
            if uses > MOST_USES:
                return ""
            if partial.name.text in inside:
                help = "move the common part into a separate partial"
                report.error("GOT0749", f"partial `{found[1]}` shows itself", place(found), help=help)
                return ""
            given = dict(_arguments(found[2], partial))
            names = [p.name.text for p in partial.parameters]
            if sorted(given) != sorted(names):
                takes = ", ".join(names) or "nothing"
                report.error("GOT0749", f"partial `{found[1]}` takes {takes}", place(found))
                return ""
            for p in partial.parameters:
                argument = given[p.name.text]
                given_type = p.type if inside else types.get(argument, p.type)
                if given_type != p.type and not n.is_unreadable(given_type):
                    message = f"`{argument}` is not of the type of `{p.name.text}` in partial `{found[1]}`"
                    report.error("GOT0749", message, place(found))
            text = _TAG.sub(lambda tag: _replaced(tag[0], given), str(partial.text.value))
            return _put(text, (*inside, partial.name.text), span)

        nonlocal uses
        text = _CALL.sub(one, value)
        if len(text) > MOST:
            uses = MOST_USES + 1
        return text[:MOST]

    turns = tuple(replace(t, text=changed(t.text)) if isinstance(t.text, e.Constant) else t for t in d.turns)
    texts = {"system": changed(d.system), "instruction": changed(d.instruction), "user": changed(d.user)}
    if uses > MOST_USES:
        message = f"prompt `{d.name.text}` shows more than {MOST_USES:,} partials, or {MOST:,} characters"
        report.error("GOT0749", message, d.name.span, help="reduce the nesting of partials")
    return replace(d, turns=turns, **texts)


def _arguments(text: str, partial: n.Partial) -> Iterator[tuple[str, str]]:
    """The arguments of `style(tone, words="few")` by name."""
    parts, depth = [""], 0
    for piece in re.findall(rf"{_TEXT}|.", text, re.DOTALL):
        depth += (piece in "([") - (piece in ")]")
        if piece == "," and not depth:
            parts.append("")
        else:
            parts[-1] += piece
    for position, part in enumerate(part.strip() for part in parts if part.strip()):
        named = re.match(r"(\w+)\s*=(?!=)\s*", part)
        at = partial.parameters[position].name.text if position < len(partial.parameters) else f"{position}"
        yield (named[1], part[named.end() :]) if named else (at, part)


def _replaced(tag: str, given: Mapping[str, str]) -> str:
    """A tag with arguments substituted for names, outside of its quotes."""
    if not given:
        return tag
    names = re.compile(rf"({_QUOTED.pattern})|(?<![\w.])({'|'.join(map(re.escape, given))})\b(?!\s*=[^=])")

    def one(found: re.Match[str]) -> str:
        if found[1] is not None:
            return found[1]
        value = given[found[2]]
        return value if re.fullmatch(rf"\w+|{_QUOTED.pattern}", value) else f"({value})"

    return names.sub(one, tag)
