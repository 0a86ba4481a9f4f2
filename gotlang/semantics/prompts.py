"""Checks prompts: their texts as templates, their settings, their examples and how the answer is read."""

from __future__ import annotations

from gotlang.answers.forms import Json
from gotlang.diagnostics import Label, nearest
from gotlang.errors import TemplateError
from gotlang.scope import Scope, Variable
from gotlang.semantics.calls import widen
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.operations import PROMPT_SETTINGS
from gotlang.semantics.report import Report
from gotlang.semantics.symbols import Signature, Symbols
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import walk
from gotlang.types import INT, STR, AnyType, DictType, ListType, RecordType, Type, accepts


def check_prompt(
    node: n.Prompt, signature: Signature, symbols: Symbols, expressions: ExpressionChecker
) -> None:
    """Check one prompt."""
    report = expressions.report
    if node.user is None and node.instruction is None:
        report.error(
            "GOT0401",
            f"prompt `{node.name.text}` has no text",
            node.name.span,
            help='write it in triple quotes: """..."""',
        )
    _settings(node, signature, expressions)
    used: set[str] = set()
    for text in (node.system, node.instruction, node.user):
        if text is not None:
            used |= _template(text, signature, report)
    for name, parameter in zip(dict(signature.parameters), node.parameters, strict=False):
        if name not in used and used <= signature_names(signature):
            report.warning(
                "GOT0505",
                f"prompt `{node.name.text}` never shows `{name}`",
                parameter.name.span,
                help=f"write `{{{{ {name} }}}}` in its text, or take the parameter away",
            )
    if node.examples and node.user is None and node.instruction is not None:
        report.error(
            "GOT0405",
            f"prompt `{node.name.text}` has no text for its examples' inputs",
            node.examples[0].span,
            help="an example is the text filled in: move what shows the inputs there from `instruction`",
        )
    for example in node.examples:
        _example(node, example, signature, expressions)
    if node.parse is not None:
        _parse_form(node.parse, signature, symbols, report)


def signature_names(signature: Signature) -> set[str]:
    """The names of a signature's parameters."""
    return {name for name, _ in signature.parameters}


def _settings(node: n.Prompt, signature: Signature, expressions: ExpressionChecker) -> None:
    report = expressions.report
    seen: set[str] = set()
    for setting in node.settings:
        name = setting.name.text
        wanted = INT if name == "count" else PROMPT_SETTINGS.get(name)
        if wanted is None:
            guess = nearest(name, [*PROMPT_SETTINGS, "count"])
            report.error(
                "GOT0402",
                f"a prompt has no setting `{name}`",
                setting.name.span,
                notes=(f"it takes: {', '.join(PROMPT_SETTINGS)}; and `count` beside `many`",),
                help=f"did you mean `{guess}`?" if guess else None,
            )
            continue
        if name in seen:
            report.error("GOT0402", f"setting `{name}` stands twice", setting.span)
        seen.add(name)
        scope = Scope()
        if name == "count":
            scope = scope.inside(*(Variable(p, type_) for p, type_ in signature.parameters))
            if not node.many:
                report.error(
                    "GOT0402",
                    "`count` is for prompts that give several values",
                    setting.name.span,
                    help="write `many` before the type of the result",
                )
        if name == "structured":
            _structured(node, signature, setting.name.span, report)
        found = expressions.expect(setting.value, scope, wanted, f"`{name}`")
        if name == "stop" and not (accepts(STR, found) or accepts(ListType(STR), found)):
            report.error(
                "GOT0201",
                "`stop` must be a text or a list of texts",
                setting.value.span,
                f"this is {widen(found)}",
            )
        value = setting.value.value if isinstance(setting.value, e.Constant) else None
        least = {"max_tokens": 1, "count": 1}.get(name, 0)
        if isinstance(value, int | float) and value < least:
            report.error("GOT0312", f"`{name}` must be at least {least}", setting.value.span)


def _structured(node: n.Prompt, signature: Signature, span: Span, report: Report) -> None:
    """Endpoints can be held to a JSON object, and to nothing that is read in another way."""
    if node.many or not isinstance(signature.result, RecordType | DictType):
        report.error(
            "GOT0402",
            f"`structured` is for prompts that give one record or dict, not {signature.result}",
            span,
            help="give it a record with one field, such as `{sorted: list[int]}`, or take the setting away",
        )
    elif node.parse is not None and not isinstance(node.parse.form, Json):
        report.error(
            "GOT0402",
            "`structured` makes the answer JSON, and `parse` reads another form",
            span,
            help="write `parse json`, or take one of them away",
        )


def _template(text: e.Constant, signature: Signature, report: Report) -> set[str]:
    """Check a text as a template; the names it shows."""
    from gotlang.templates import Template

    assert isinstance(text.value, str)
    try:
        template = Template.parse(text.value)
    except TemplateError as error:
        line = getattr(error, "line", None)
        where = f" (line {line} of the text)" if line and text.long else ""
        report.error("GOT0403", f"{error.message}{where}", text.span, help=error.help)
        return set()
    known = dict(signature.parameters)
    for name in sorted(template.names - known.keys()):
        guess = nearest(name, known)
        report.error(
            "GOT0404",
            f"the text of prompt `{signature.name}` shows `{name}`, which it does not take",
            text.span,
            notes=(f"it takes: {signature.takes()}",),
            help=f"did you mean `{guess}`?" if guess else f"add `{name}` to its parameters",
        )
    return set(template.names)


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
            report.error("GOT0405", f"`{name}` stands twice in this example", argument.span)
        given.add(name)
        if name not in wanted:
            guess = nearest(name, wanted)
            report.error(
                "GOT0405",
                f"prompt `{signature.name}` has no parameter `{name}`",
                argument.span,
                notes=(f"it takes: {signature.takes()}",),
                help=f"did you mean `{guess}`?" if guess else None,
            )
            continue
        _constant(argument.value, expressions)
        expressions.expect(argument.value, Scope(), wanted[name], f"`{name}`")
    if missing := [name for name in wanted if name not in given]:
        report.error("GOT0405", f"this example lacks {', '.join(f'`{m}`' for m in missing)}", example.span)
    _constant(example.output, expressions)
    result: Type = ListType(signature.result) if signature.many else signature.result
    found = expressions.infer(example.output, Scope())
    if not accepts(result, found) and not accepts(STR, found):
        report.error(
            "GOT0405",
            f"an example of `{signature.name}` must answer {result}",
            example.output.span,
            f"this is {widen(found)}",
            labels=(Label(node.result.span, "declared here"),),
            help="a text is taken as the raw answer",
        )


def _constant(node: e.Expression, expressions: ExpressionChecker) -> None:
    """Note an error where a part of an example is not known before a run."""
    symbols = expressions.symbols
    for part in walk(node):
        name = part.name if isinstance(part, e.Reference) else None
        if isinstance(part, e.Call):
            name = part.function.text
        if name is not None and (name in symbols.nodes or name in symbols.functions):
            expressions.report.error(
                "GOT0405", "an example is made of constants", part.span, f"`{name}` is known only in a run"
            )


def _parse_form(node: n.ParseForm, signature: Signature, symbols: Symbols, report: Report) -> None:
    from gotlang.answers.forms import After, Lines, Tag

    if node.function is not None:
        name = node.function.text
        symbols.used.add(name)
        if name not in symbols.functions:
            report.unknown(
                "GOT0406",
                "function",
                name,
                node.function.span,
                symbols.functions,
                'import it: `import python "tools.py": ' + name + "`",
            )
    match node.form:
        case Tag(name) if not name.replace("_", "").replace("-", "").isalnum():
            _bad_form(report, node.span, f"`{name}` is no name of a tag")
        case After("") | Lines(""):
            _bad_form(report, node.span, "this text is empty")
        case Lines(str() as pattern):
            from gotlang.answers.forms import Pattern, PatternError

            try:
                holes = Pattern.parse(pattern).holes
            except PatternError as error:
                _bad_form(report, node.span, str(error))
            else:
                _holes(node, holes, signature, report)


def _holes(node: n.ParseForm, holes: tuple[str, ...], signature: Signature, report: Report) -> None:
    """A line gives a whole record, field by field, or with one hole a value of any other type."""
    result = signature.result
    element = result.element if isinstance(result, ListType) and not signature.many else result
    if isinstance(element, RecordType):
        fields = [name for name, _ in element.fields]
        for hole in holes:
            if hole not in fields:
                known = f"the record has: {', '.join(fields)}"
                report.unknown("GOT0406", "field", hole, node.span, fields, known)
        for name in fields:
            if name not in holes:
                _bad_form(report, node.span, f"no hole gives the field `{name}`")
    elif len(holes) != 1 and not isinstance(element, AnyType):
        _bad_form(report, node.span, f"{len(holes)} holes for one value of type {element}")


def _bad_form(report: Report, span: Span, message: str) -> None:
    report.error("GOT0406", message, span)
