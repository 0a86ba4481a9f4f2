"""Checks prompts: their texts as templates, their settings, their examples and the form of the response."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from gotlang.answers.forms import Json
from gotlang.diagnostics import Fix, Label, Report, nearest
from gotlang.errors import TemplateError
from gotlang.operations.checks import MOST
from gotlang.operations.names import free_names
from gotlang.operations.record import PROMPT_SETTINGS, PROTOCOLS, TOOL_SETTINGS, SettingRule
from gotlang.scope import Facts, Scope, Variable
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.steps import check_setting
from gotlang.semantics.symbols import Signature, Symbols
from gotlang.span import Source, Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.texts import origins
from gotlang.syntax.walk import walk
from gotlang.turns import MESSAGE, holds_media
from gotlang.types import (
    BOOL,
    INT,
    STR,
    DynamicType,
    ListType,
    OptionalType,
    RecordType,
    Type,
    accepts,
    widen,
)

_PARTS = ("system", "instruction", "examples", "user", "assistant", "messages", "parse", "tools")
"""The parts of a prompt besides settings, for suggestions."""
FORMS = frozenset({"structured", "regex", "grammar"})
"""Settings that define the form of a response."""
COUNT = SettingRule((INT,), 1, MOST)
OF_INPUTS = {"count": COUNT, n.STOP_WHEN: SettingRule((BOOL,))}
"""Settings that may use the prompt's inputs: `count`, the number of values in a response, if the prompt says
`many`; and `stop when`, the condition on the text so far, `it`."""


def check_prompt(
    node: n.Prompt,
    signature: Signature,
    symbols: Symbols,
    expressions: ExpressionChecker,
    sources: Mapping[str, Source],
) -> None:
    """Check one prompt; `sources` are the texts of the program's files, for places in templates."""
    report = expressions.report
    prompt, names = f"prompt `{node.name.text}`", [name for name, _ in signature.parameters]
    lost = any(n.is_unreadable(setting) or _is_prefixed(setting) for setting in node.settings)
    if node.asking is None and node.instruction is None and not node.turns and not lost:
        help = 'write it in triple quotes: """..."""'
        report.error("GOT0401", f"{prompt} has no text", node.name.span, help=help)
    for text in node.texts:
        if text.span.source == node.span.source and not str(text.value).strip():
            message, help = f"{prompt} has an empty text", "write the text for the model, or delete the line"
            report.error("GOT0401", message, text.span, help=help)
    _settings(node, signature, expressions)
    _tools(node, symbols, report)
    used: set[str] = set()
    for text in node.texts:
        used |= _template(text, signature, report, sources.get(text.span.source))
    used |= _turns(node, signature, symbols, report)
    _media(node, signature, report)
    ends = {name for s in node.settings if s.name.text == n.STOP_WHEN for name in free_names(s.value)}
    for name, parameter in zip(names, node.parameters, strict=False):
        if name not in used | ends and used.issubset(names):
            help = f"write `{{{{ {name} }}}}` in its text, or remove the parameter"
            report.warning("GOT0505", f"{prompt} never shows `{name}`", parameter.name.span, help=help)
    if node.examples and node.asking is None and node.instruction is not None and not lost:
        report.error(
            "GOT0405",
            f"{prompt} has no text for its examples' inputs",
            node.examples[0].span,
            help="an example fills in the text: move the part that shows the inputs there from `instruction`",
        )
    for example in node.examples if not signature.unreadable else ():
        _example(node, example, signature, expressions)
    if node.parse is not None:
        _parse_form(node.parse, signature, symbols, report)


def _media(node: n.Prompt, signature: Signature, report: Report) -> None:
    """Check images and files, which only a user's text can show."""
    from gotlang.templates import Template

    if holds_media(signature.result):
        help = "return a description of it, such as a text"
        report.error("GOT0703", "a model cannot return images or files", node.result.span, help=help)
    shows = {name for name, type_ in signature.parameters if holds_media(type_)}
    others = [turn.text for turn in node.turns if turn.role != "user"]
    for text in (node.system, *others) if shows else ():
        with suppress(TemplateError):
            if isinstance(text, e.Constant) and shows & Template.parse(str(text.value)).names.keys():
                message = "images and files are only allowed in the user's texts"
                report.error("GOT0703", message, text.span, help="show it in a `user` text")


def _turns(node: n.Prompt, signature: Signature, symbols: Symbols, report: Report) -> set[str]:
    """Check the turns of a prompt; returns the names of the histories among them."""
    known, used = dict(signature.parameters), set[str]()
    for turn in node.turns:
        if isinstance(turn.text, e.Identifier):
            name = turn.text.text
            used.add(name)
            if name not in known:
                note = f"`{signature.name}` takes: {signature.takes()}"
                report.unknown("GOT0702", "input", name, turn.text.span, known, note)
            elif not accepts(ListType(MESSAGE), known[name]):
                help = f"write `{name}: list[Message]`"
                report.error(
                    "GOT0702",
                    f"`messages` shows a list[Message], not {known[name]}",
                    turn.text.span,
                    help=help,
                )
    if node.turns and node.examples and not node.as_turns and not any(map(n.is_unreadable, node.settings)):
        help = "write `examples as turns:`"
        message = "the examples of a prompt with turns are turns"
        report.error("GOT0701", message, node.examples[0].span, help=help)
    return used


def _settings(node: n.Prompt, signature: Signature, expressions: ExpressionChecker) -> None:
    report = expressions.report
    known = PROMPT_SETTINGS | OF_INPUTS
    seen: set[str] = set()
    for setting in node.settings:
        name, span = setting.name.text, setting.name.span
        if n.is_unreadable(setting):
            continue
        if _is_prefixed(setting):
            help = f"remove the `{name}`: `{{{{ name }}}}` inserts a value"
            report.error("GOT0402", "a text has no prefix", span, help=help, fix=Fix(span))
            continue
        if name not in known:
            note = f"a prompt has: {', '.join(PROMPT_SETTINGS)}; and `count` with `many`"
            report.unknown("GOT0402", "setting", name, span, (*known, *_PARTS), note)
            continue
        if name in seen:
            report.error("GOT0402", f"duplicate setting `{name}`", setting.span)
        if name in FORMS and (others := FORMS & seen - {name}):
            message = f"a response has one form: `{name}` or `{next(iter(others))}`"
            report.error("GOT0402", message, setting.span, help="remove one of them")
        seen.add(name)
        if name == "structured":
            _structured(node, span, report)
            if node.tools:
                message = "a response that must be JSON cannot call tools"
                report.error("GOT0402", message, span, help="remove `structured`, or the tools")
        if name in TOOL_SETTINGS and not node.tools and not any(map(n.is_unreadable, node.settings)):
            help = f"name them: `tools search, read`, or remove `{name}`"
            report.error("GOT0402", f"`{name}` is for prompts with tools", span, help=help)
        given = setting.value
        if name == "protocol" and isinstance(given, e.Constant) and given.value not in PROTOCOLS:
            report.error("GOT0402", '`protocol` is "text" or "native"', given.span)
        if name == "count" and not node.many and not signature.unreadable:
            help = "write `many` before the type of the result"
            report.error("GOT0402", "`count` is for prompts that return several values", span, help=help)
        inputs = [Variable(p, type_) for p, type_ in signature.parameters] if name in OF_INPUTS else []
        if name == n.STOP_WHEN:
            _cost_of_a_part(given, inputs, report)
            inputs.append(Variable("it", STR, "thought", facts=Facts(logprobs=_gives_logprobs(node))))
        check_setting(name, setting.value, known[name], Scope().inside(*inputs), expressions)


def _gives_logprobs(node: n.Prompt) -> bool:
    """Whether a prompt requests log-probabilities, by a constant."""
    said = {s.name.text: s.value.value for s in node.settings if isinstance(s.value, e.Constant)}
    return "top_logprobs" in said or said.get("logprobs") is True or any(map(n.is_unreadable, node.settings))


def _cost_of_a_part(condition: e.Expression, inputs: Sequence[Variable], report: Report) -> None:
    """The cost of a response is known only at its end."""
    named = {variable.name for variable in inputs}
    for one in walk(condition):
        name = (
            one.function.text if isinstance(one, e.Call) else one.name if isinstance(one, e.Reference) else ""
        )
        if name == "cost" and name not in named:
            message = "`cost` is known when a response has ended"
            report.error("GOT0105", message, one.span, help="use its text, `it`, or its `tokens`")


def _tools(node: n.Prompt, symbols: Symbols, report: Report) -> None:
    """Check the names of tools: each is a function or a scheme, once."""
    known, seen = {*symbols.functions, *symbols.schemes}, set[str]()
    for tool in node.tools:
        symbols.used.add(tool.text)
        if tool.text not in known:
            note = "a tool is a function that the program imports, or a scheme"
            report.unknown("GOT0711", "tool", tool.text, tool.span, known, note)
        elif tool.text in seen:
            report.error("GOT0711", f"duplicate tool `{tool.text}`", tool.span, help="keep one of them")
        seen.add(tool.text)


def _is_prefixed(setting: n.Setting) -> bool:
    """Whether this is a prefixed string of Python: `f"..."`."""
    text = isinstance(setting.value, e.Constant) and isinstance(setting.value.value, str)
    name = setting.name
    return text and name.text.lower() in {"f", "r", "fr", "rf"} and name.span.end == setting.value.span.start


def _structured(node: n.Prompt, span: Span, report: Report) -> None:
    """Check `structured`: endpoints can be required to return JSON, but no other form."""
    if node.parse is not None and not isinstance(node.parse.form, Json):
        message = "`structured` makes the response JSON, and `parse` reads another form"
        report.error("GOT0402", message, span, help="write `parse json`, or remove one of them")


def _template(text: e.Constant, signature: Signature, report: Report, source: Source | None) -> set[str]:
    """Check a text as a template; returns the names it shows."""
    from gotlang.templates import Template

    assert isinstance(text.value, str)
    try:
        template = Template.parse(text.value)
    except TemplateError as error:
        report.error("GOT0403", error.message, _place(text, error.line, source), help=error.help)
        return set()
    known = dict(signature.parameters)
    for name in sorted(template.names.keys() - known.keys()):
        guess = nearest(name, known)
        report.error(
            "GOT0404",
            f"the text of prompt `{signature.name}` shows `{name}`, which is not a parameter",
            _place(text, template.names[name], source),
            notes=(f"parameters: {signature.takes()}",) if not signature.unreadable else (),
            help=f"did you mean `{guess}`?" if guess else f"add `{name}` to its parameters",
            fix=Fix(_place(text, template.names[name], source), guess) if guess else None,
        )
    for problem in template.problems(known):
        place = _place(text, problem.place, source)
        near = re.fullmatch(r"did you mean `(\w+)`\?", problem.help or "")
        word = source.text[place.start : place.end] if source is not None else ""
        exact = near is not None and problem.message.endswith(f"`{word}`")
        fix = Fix(place, near[1]) if near is not None and exact else None
        report.error("GOT0407", problem.message, place, help=problem.help, fix=fix)
    return set(template.names)


def _place(text: e.Constant, place: int | None, source: Source | None) -> Span:
    """The span of a place in a template (its line counts from 1); of the whole text if it is unknown."""
    if source is None or place is None:
        return text.span
    from gotlang.templates.nodes import TemplatePlace

    value, quotes = str(text.value), 3 if text.long else 1
    first, last = text.span.start + quotes, text.span.end - quotes
    if isinstance(place, TemplatePlace):
        found = place.start, place.end
    else:
        lines = value.split("\n")[:place]
        found = len("\n".join(lines)) - len(lines[-1].lstrip()), len("\n".join(lines))
    at = origins(source.text[first:last], text.long)
    start, end = (first + at[min(offset, len(at) - 1)] for offset in found)
    return Span(text.span.source, start, max(end, start + 1))


def _example(
    node: n.Prompt, example: n.Example, signature: Signature, expressions: ExpressionChecker
) -> None:
    report = expressions.report
    wanted = dict(signature.parameters)
    given: set[str] = set()
    for argument in example.inputs:
        assert argument.name is not None
        name = argument.name.text
        if name in given:
            report.error("GOT0405", f"duplicate input `{name}`", argument.span)
        given.add(name)
        if name in wanted:
            _constant(argument.value, expressions)
            expressions.expect(argument.value, Scope(), wanted[name], f"`{name}`")
        else:
            note = f"`{signature.name}` takes: {signature.takes()}"
            report.unknown("GOT0405", "input", name, argument.span, wanted, note)
    if missing := [f"`{name}`" for name in wanted if name not in given]:
        report.error("GOT0405", f"missing {', '.join(missing)} in this example", example.span)
    _constant(example.output, expressions)
    result: Type = ListType(signature.result) if signature.many else signature.result
    found = expressions.infer(example.output, Scope())
    if not accepts(result, found) and not accepts(STR, found):
        report.error(
            "GOT0405",
            f"the output of an example of `{signature.name}` must be {result}",
            example.output.span,
            f"this is {widen(found)}",
            labels=(Label(node.result.span, "declared here"),),
            help="a text is read as the whole response",
        )


def _constant(node: e.Expression, expressions: ExpressionChecker) -> None:
    """Report a part of an example that is not constant."""
    symbols = expressions.symbols
    for part in walk(node):
        name = part.name if isinstance(part, e.Reference) else None
        if isinstance(part, e.Call):
            name = part.function.text
        if name is not None and (name in symbols.nodes or name in symbols.functions):
            message, at = "examples must be constants", f"`{name}` is known only in a run"
            expressions.report.error("GOT0405", message, part.span, at)


def _parse_form(node: n.ParseForm, signature: Signature, symbols: Symbols, report: Report) -> None:
    from gotlang.answers.forms import After, Lines, Pattern, PatternError, Tag

    if node.function is not None:
        name = node.function.text
        symbols.used.add(name)
        if name not in symbols.functions:
            note = f'import it: `import python "tools.py": {name}`'
            report.unknown("GOT0406", "function", name, node.function.span, symbols.functions, note)
        wanted = ListType(signature.result) if signature.many else signature.result
        given = symbols.results.get(name)
        if given is not None and not accepts(wanted, given) and not accepts(signature.result, given):
            at = f"`{name}` returns {given}"
            report.error("GOT0201", f"the reader must return {wanted}", node.function.span, at)
    match node.form:
        case Tag(name) if not name.replace("_", "").replace("-", "").isalnum():
            report.error("GOT0406", f"invalid tag name `{name}`", node.span)
        case After("") | Lines(""):
            report.error("GOT0406", "this text is empty", node.span)
        case Lines(str() as pattern) if not signature.unreadable:
            try:
                _holes(node, Pattern.parse(pattern).holes, signature, report)
            except PatternError as error:
                report.error("GOT0406", str(error), node.span)


def _holes(node: n.ParseForm, holes: tuple[str, ...], signature: Signature, report: Report) -> None:
    """Check placeholders: a line is a whole record, field by field, or with one placeholder a value of any
    other type."""
    result = signature.result
    element = result.element if isinstance(result, ListType) and not signature.many else result
    if isinstance(element, RecordType):
        fields = dict(element.fields)
        for hole in holes:
            if hole not in fields:
                note = f"the record has: {', '.join(fields)}"
                report.unknown("GOT0406", "field", hole, node.span, fields, note)
        for name in fields:
            if name not in holes and not isinstance(fields[name], OptionalType):
                report.error("GOT0406", f"no placeholder for the field `{name}`", node.span)
    elif len(holes) != 1 and not isinstance(element, DynamicType):
        report.error("GOT0406", f"{len(holes)} placeholders for one value of type {element}", node.span)
