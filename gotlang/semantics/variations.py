"""Checks the dimensions of a study: params, settings of prompts and runs, texts, models and schemes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from msgspec import Struct

from gotlang.diagnostics import Report
from gotlang.errors import TemplateError
from gotlang.operations.record import MODEL_SETTINGS, SettingRule
from gotlang.semantics.params import constant_value
from gotlang.semantics.symbols import Symbols
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import walk
from gotlang.types import FLOAT, INT, STR, ListType, accepts, of_value

SCHEME = "scheme"
"""Varies which scheme runs."""
STRUCTURE = "structure"
"""Varies the graph of the study's scheme, by rewrites."""
MODELS = "models"
"""Varies the model of each prompt."""
TEXT_PARTS = ("instruction", "examples")
"""The texts of a prompt that vary."""
ASKED = ("temperature", "top_p", "max_tokens", "stop", "model", "effort", "thinking_budget", "retries")
"""The settings of requests that vary, of one prompt or of all."""
RUN_OPTIONS: dict[str, SettingRule] = {"schedule": SettingRule((STR,)), "concurrency": SettingRule((INT,), 1)}
"""The options of a run that vary; they do not change results."""
VARIED: dict[str, SettingRule] = {
    **RUN_OPTIONS,
    **{name: MODEL_SETTINGS[name] for name in ASKED},
    MODELS: MODEL_SETTINGS["model"],
}
"""What a study may vary in addition to the params and schemes of its program."""

SCHEDULES = ("breadth-first", "depth-first", "best-first", "critical-path-first")
"""The names of the runtime's schedulers, which cannot be imported here (a test compares them)."""


def values_of(domain: n.Range | n.Choices) -> tuple[e.Node, ...]:
    """The ends of a range, or the choices."""
    return (domain.low, domain.high) if isinstance(domain, n.Range) else tuple(domain.values)


def text_problem(text: str, prompt: n.Prompt, symbols: Symbols) -> tuple[str, str | None] | None:
    """Why a text cannot replace a prompt's own, with advice: it is not a template, or does not show the same
    inputs. None if it can."""
    from gotlang.templates import Template

    own = prompt.own_text
    known = dict(symbols.prompts[prompt.name.text].parameters)
    try:
        template = Template.parse(text)
        shown = Template.parse(str(own.value)).names if own is not None else {}
    except TemplateError as error:
        return error.message, error.help
    if not text.strip():
        return "this text is empty", "write the new text"
    for name in shown:
        if name not in template.names:
            return f"this text does not show `{name}`, which the prompt's own does", f"add `{{{{ {name} }}}}`"
    for name in template.names:
        if name not in known:
            return f"this text shows `{name}`, which is not a parameter", f"there are: {', '.join(known)}"
    for problem in template.problems(known):
        return problem.message, problem.help
    return None


def reached(symbols: Symbols, scheme: str) -> set[str]:
    """Every name that a scheme may refer to, itself or through what it calls."""
    seen, left = {scheme}, [scheme]
    while left:
        node = symbols.nodes.get(left.pop())
        names = {part.name for part in walk(node) if isinstance(part, e.Reference)} if node else set()
        names |= {part.function.text for part in walk(node) if isinstance(part, e.Call)} if node else set()
        left += names - seen
        seen |= names
    return seen


@final
class VaryCheck(Struct, frozen=True):
    """Checks one study's `vary` against its program; `schemes` are those that may run, the study's own
    first."""

    symbols: Symbols
    schemes: Sequence[str]
    report: Report
    rewritten: bool = False
    """Whether structure varies, so that a scheme may use what it does not use as written."""

    def check(self, vary: n.Vary) -> None:
        """Report the errors of one of them."""
        name = vary.name.text
        param = self.symbols.nodes.get(name)
        if vary.part is not None:
            self._of_prompt(vary, vary.part)
        elif isinstance(param, n.Param):
            self._param(vary, param)
        elif name == SCHEME:
            self._schemes(vary)
        elif name == STRUCTURE:
            self._structure(vary)
        elif name in VARIED:
            self._setting(vary, VARIED[name])
            if name in (*ASKED, MODELS):
                self._overruled(vary, "model" if name == MODELS else name, None)
        else:
            known = [k for k, v in self.symbols.nodes.items() if isinstance(v, n.Param)]
            note = f"the settings of all prompts and of runs: {', '.join((SCHEME, STRUCTURE, *VARIED))}"
            known += [SCHEME, STRUCTURE, *VARIED]
            self.report.unknown("GOT0602", "param", name, vary.name.span, known, note)

    # ------------------------------------------------------------ params

    def _param(self, vary: n.Vary, param: n.Param) -> None:
        name = vary.name.text
        if not any(name in self._used(scheme) for scheme in self.schemes):
            self._unused(vary, f"param `{name}`")
        elif vary.domain is None:
            if param.domain is None:
                help = f"add one: `vary {name} in 1..10` or `in [...]`"
                self.report.error("GOT0604", f"`{name}` has no range", vary.span, help=help)
        else:
            type_ = self.symbols.params[name]
            element = type_.element if param.each and isinstance(type_, ListType) else type_
            if self._fits(vary, vary.domain, SettingRule((element,))):
                if outside := _outside(vary.domain, param.domain):
                    message = f"{outside} is outside the declared range of `{name}`"
                    self.report.error("GOT0604", message, vary.domain.span)
                elif not param.each:
                    self._several(vary, constant_value(param.default))
        if vary.domain is None and isinstance(param.domain, n.Range | n.Choices) and not param.each:
            self._several(vary, constant_value(param.default), param.domain)

    def _used(self, scheme: str) -> set[str]:
        names = reached(self.symbols, scheme)
        params = [self.symbols.nodes.get(name) for name in names]
        for param in params:
            if isinstance(param, n.Param) and param.guard is not None:
                names |= {part.name for part in walk(param.guard) if isinstance(part, e.Reference)}
        return names

    def _unused(self, vary: n.Vary, what: str) -> None:
        if self.rewritten:
            return
        of = " or ".join(f"`{scheme}`" for scheme in self.schemes)
        help = 'leave it out, or name the scheme that uses it: `program "..." scheme name`'
        self.report.error("GOT0605", f"{what} is not used in the scheme {of}", vary.place, help=help)

    def _several(self, vary: n.Vary, own: Any, domain: n.Range | n.Choices | None = None) -> None:
        """Report a dimension with one value only, including that of the untuned program (None: not known)."""
        domain = domain or vary.domain
        if domain is None or (isinstance(domain, n.Choices) and not all(map(_is_plain, domain.values))):
            return
        values = list(map(constant_value, values_of(domain)))
        if own is not None:
            values.append(own)
        if all(value == values[0] for value in values[1:]):
            message = f"`{vary.text}` has one value only, {values[0]!r}: nothing varies"
            help = f"give it others, `vary {vary.text} in [...]`, or leave it out"
            self.report.error("GOT0605", message, vary.span, help=help)

    # ------------------------------------------------------------ settings

    def _setting(self, vary: n.Vary, rule: SettingRule, own: Any = None) -> None:
        if vary.domain is None:
            some = "0.0..1.0" if FLOAT in rule.types else "1..4" if INT in rule.types else '["a", "b"]'
            help = f"add one, such as `vary {vary.text} in {some}`"
            self.report.error("GOT0604", f"`{vary.text}` has no range", vary.span, help=help)
        elif self._fits(vary, vary.domain, rule):
            values = values_of(vary.domain)
            if vary.text == MODELS and len(values) < 2:
                message, help = (
                    "one model is not a choice",
                    f'name several: `vary {MODELS} in ["small", "large"]`',
                )
                self.report.error("GOT0605", message, vary.domain.span, help=help)
            elif own is not None:
                self._several(vary, own)
            elif isinstance(vary.domain, n.Range):
                self._several(vary, None)

    def _of_prompt(self, vary: n.Vary, part: e.Identifier) -> None:
        name, symbols = vary.name.text, self.symbols
        prompt = symbols.nodes.get(name)
        if not isinstance(prompt, n.Prompt):
            self.report.unknown("GOT0602", "prompt", name, vary.name.span, symbols.prompts)
            return
        if part.text not in (*ASKED, *TEXT_PARTS):
            note = f"of a prompt, a study varies: {', '.join((*TEXT_PARTS, *ASKED))}"
            known = (*ASKED, *TEXT_PARTS)
            self.report.unknown("GOT0604", "setting", part.text, part.span, known, note)
            return
        if not any(name in self._used(scheme) for scheme in self.schemes):
            self._unused(vary, f"prompt `{name}`")
        elif part.text == "instruction":
            self._instruction(vary, prompt)
        elif part.text == "examples":
            self._examples(vary, prompt)
        else:
            own = next((s.value for s in prompt.settings if s.name.text == part.text), None)
            known_own = constant_value(own) if own is not None and _is_plain(own) else None
            self._setting(vary, MODEL_SETTINGS[part.text], known_own)
            self._overruled(vary, part.text, name)

    def _overruled(self, vary: n.Vary, setting: str, prompt: str | None) -> None:
        """Report a setting that every step which calls the prompt (None: any) sets itself, so that it has no
        effect."""
        asking = []
        for scheme in {name for each in self.schemes for name in reached(self.symbols, each)}:
            node = self.symbols.nodes.get(scheme)
            for step in walk(node) if isinstance(node, n.Scheme | n.Score) else ():
                called = [c.function.text for c in getattr(step, "operands", ()) if isinstance(c, e.Call)]
                if isinstance(step, n.Step) and any(
                    name == prompt or (prompt is None and name in self.symbols.prompts) for name in called
                ):
                    own = [a for a in step.settings or () if a.name is not None and a.name.text == setting]
                    asking.append(own[0] if own else None)
        if asking and None not in asking:
            message = f"the calling steps set `{setting}` themselves, so `{vary.text}` changes nothing"
            help = f"vary a param there: `param t = ...`, `Generate({setting}=t)`, and `vary t in ...`"
            self.report.error("GOT0605", message, vary.place, help=help)

    # ------------------------------------------------------------ texts

    def _instruction(self, vary: n.Vary, prompt: n.Prompt) -> None:
        if not isinstance(vary.domain, n.Choices):
            help = f'list texts: `vary {vary.text} in ["...", file "short.md"]`'
            self.report.error("GOT0604", "an instruction varies among texts", vary.span, help=help)
            return
        own = prompt.own_text
        texts: list[str] = []
        for value in vary.domain.values:
            if isinstance(value, n.TextFile):
                texts.append(f"file {value.path.value}")
            elif not _is_plain(value) or not isinstance(text := constant_value(value), str):
                help = 'write it in quotes, or `file "short.md"`'
                self.report.error("GOT0604", "this must be a text", value.span, help=help)
                return
            elif problem := text_problem(text, prompt, self.symbols):
                self.report.error("GOT0604", problem[0], value.span, help=problem[1])
                return
            else:
                texts.append(text)
        self._distinct(vary.domain, texts)
        if own is not None and all(text == own.value for text in texts):
            help = "list another text"
            self.report.error(
                "GOT0605", "this is the prompt's own text: nothing varies", vary.span, help=help
            )

    def _examples(self, vary: n.Vary, prompt: n.Prompt) -> None:
        count = len(prompt.examples)
        if vary.domain is None:
            help = f"say how many: `vary {vary.text} in 0..{count}`"
            self.report.error("GOT0604", f"`{vary.text}` has no range", vary.span, help=help)
        elif count == 0:
            help = f"write some, or let an optimizer find them: `prompts {vary.name.text} with bootstrap`"
            self.report.error("GOT0605", f"prompt `{vary.name.text}` has no examples", vary.place, help=help)
        elif self._fits(vary, vary.domain, SettingRule((INT,), 0, count)):
            self._several(vary, count)

    # ------------------------------------------------------------ schemes

    def _schemes(self, vary: n.Vary) -> None:
        symbols, own = self.symbols, self.schemes[0]
        if not isinstance(vary.domain, n.Choices):
            help = f"list them: `vary {SCHEME} in [{', '.join([*symbols.schemes][:3])}]`"
            self.report.error("GOT0604", "say which schemes", vary.span, help=help)
            return
        names = []
        for value in vary.domain.values:
            name = name_of(value)
            if name not in symbols.schemes:
                self.report.unknown("GOT0602", "scheme", str(name), value.span, symbols.schemes)
                return
            names.append(name)
            self._alike(own, name, value.span)
        self._distinct(vary.domain, names)
        if set(names) == {own}:
            message, help = f"`{own}` is the study's own scheme: nothing varies", "name other schemes, too"
            self.report.error("GOT0605", message, vary.domain.span, help=help)

    def _structure(self, vary: n.Vary) -> None:
        if vary.domain is not None:
            help = f"write `vary {STRUCTURE}` alone"
            self.report.error("GOT0604", "the rewrites to choose from are not listed", vary.span, help=help)
        elif len(self.schemes) > 1:
            message = f"`vary {STRUCTURE}` rewrites one scheme, and this study varies which one runs"
            help = "tune each scheme in a study of its own"
            self.report.error("GOT0604", message, vary.span, help=help)

    def _alike(self, own: str, other: str, span: Span) -> None:
        """Report a scheme with other inputs than the study's own, or another result."""
        one, two = self.symbols.schemes[own], self.symbols.schemes[other]
        why = None
        if dict(one.parameters) != dict(two.parameters):
            why = f"`{other}` takes {two.takes()}; `{own}` takes {one.takes()}"
        elif (one.truth or one.result) != (two.truth or two.result):
            known = (f"`{s.name}`: {s.truth or s.result}" for s in (two, one))
            why = f"their known answers differ: {', '.join(known)}"
        elif one.many != two.many or not (accepts(one.result, two.result) or accepts(two.result, one.result)):
            why = f"`{other}` returns {two.result}, `{own}` returns {one.result}"
        if why is not None:
            help = "schemes vary that have the same inputs and a result of the same type"
            self.report.error("GOT0602", f"`{other}` cannot replace `{own}`", span, why, help=help)

    # ------------------------------------------------------------ values

    def _distinct(self, domain: n.Choices, values: Sequence[Any]) -> None:
        for at, value in enumerate(values):
            if value in values[:at]:
                help = "list each value once"
                self.report.error("GOT0604", "this value is listed twice", domain.values[at].span, help=help)

    def _fits(self, vary: n.Vary, domain: n.Range | n.Choices, rule: SettingRule) -> bool:
        """Whether a range or choices satisfy a rule; reports the reason otherwise."""
        name, before = vary.text, len(self.report.diagnostics)
        parts = values_of(domain)
        types = " or ".join(map(str, rule.types))
        for part in parts:
            model = name == MODELS or name.rpartition(".")[2] == "model"
            if model and isinstance(part, e.Reference):
                continue  # a model's name
            if not _is_plain(part) or not any(
                accepts(type_, of_value(constant_value(part))) for type_ in rule.types
            ):
                named = isinstance(part, e.Reference) and STR in rule.types
                at = 'a text needs quotes: `"..."`' if named else None
                self.report.error("GOT0604", f"this must be {types}", part.span, help=at)
                continue
            value = constant_value(part)
            if name == "schedule" and value not in SCHEDULES:
                message = f"`schedule` must be one of {', '.join(SCHEDULES)}"
                self.report.error("GOT0604", message, part.span)
            if why := rule.refused(name, value):
                self.report.error("GOT0604", why, part.span)
        if len(self.report.diagnostics) > before:
            return False
        if isinstance(domain, n.Choices):
            self._distinct(domain, [name_of(part) for part in parts])
        else:
            low, high = map(constant_value, parts)
            whole = not any(accepts(FLOAT, type_) and type_ != INT for type_ in rule.types)
            if not all(isinstance(value, int | float) for value in (low, high)) or rule.types == (STR,):
                help = 'list texts: `in ["a", "b"]`'
                self.report.error("GOT0604", "a range is between two numbers", domain.span, help=help)
            elif low > high:
                help = f"write `{high}..{low}`"
                self.report.error("GOT0604", "empty range", domain.span, help=help)
            elif whole and isinstance(low + high, float):
                self.report.error("GOT0604", f"this must be {types}", domain.span)
        return len(self.report.diagnostics) == before


def name_of(value: e.Node) -> Any:
    """A choice as a plain value; a bare name is its text."""
    if isinstance(value, e.Reference):
        return value.name
    return f"file {value.path.value}" if isinstance(value, n.TextFile) else constant_value(value)


def _is_plain(node: e.Node) -> bool:
    try:
        constant_value(node)
    except TypeError:
        return False
    return True


def _outside(inner: n.Range | n.Choices, outer: n.Range | n.Choices | None) -> str | None:
    allowed = list(map(constant_value, values_of(outer))) if outer is not None else []
    for value in map(constant_value, values_of(inner)):
        if isinstance(outer, n.Range) and not allowed[0] <= value <= allowed[1]:
            return str(value)
        if isinstance(outer, n.Choices) and value not in allowed:
            return str(value)
    return None
