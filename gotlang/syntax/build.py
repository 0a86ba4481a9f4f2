"""The tree builder: from rules of the grammar to nodes, one method per rule in the order of the grammar."""

# Every method gets the place of its rule and the values of its parts, which have no static type.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from gotlang.answers.forms import After, Json, Lines, Tag
from gotlang.diagnostics import Fix
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.build_expressions import ExpressionBuilder, every, listed, present, without_parentheses
from gotlang.syntax.recovery import HEADS
from gotlang.syntax.typos import misspelt, why_no_label
from gotlang.syntax.walk import nodes_in

_PARTS = ("expand", "simulate", "value", "backup")
_TRY_HELP = "add `else:` with a fallback; in a `foreach`, `skip` drops the element"


def _block(kind):
    """A rule whose children are the fields of its node, up to the end of its last one, a block."""
    return lambda builder, span, *children: kind(builder._until(span, children[-1]), *children)


def _form(kind):
    """A form of reading a response, with its text if it has one."""
    return lambda _builder, _span, *texts: kind(*(text.value for text in present(texts)))


def _part(kind):
    """A part of a prompt, study or search that is one value: its kind and the value."""
    return lambda _builder, _span, *children: (kind, children[-1])


def _turn(role):
    """A turn of a prompt."""
    return lambda _builder, span, text: ("turn", n.Turn(span, role, text))


def _parts(kind):
    """A part of several values."""
    return lambda _builder, _span, *children: (kind, children)


class TreeBuilder(ExpressionBuilder):
    """Builds all other nodes: declarations, prompts, studies, types and pipelines."""

    # ------------------------------------------------------------ declarations

    module = listed(n.Module)
    import_got = n.ImportGot
    imported_name = n.ImportedName

    def import_names(self, span, path, *names):
        return n.ImportGot(span, path, None, names)

    def module_name(self, span, *parts):
        return n.ModuleName(span, ".".join(part.text for part in parts))

    def member_name(self, span, module, name):
        return e.Identifier(span, f"{module.text}.{name.text}")

    def import_python(self, span, path, *functions):
        return n.ImportPython(span, path, functions)

    def import_mcp(self, span, path, *functions):
        return n.ImportMcp(span, path, functions)

    python_function = n.PythonFunction
    import_corpus = n.ImportCorpus
    simulate = n.Simulate
    type_alias = n.TypeAlias

    def param(self, span, name, type_, default, each, domain, guard):
        return n.Param(span, name, type_, default, each is not None, domain, guard)

    each = every
    range = n.Range
    choices = listed(n.Choices)

    # ------------------------------------------------------------ prompts

    def prompt(self, span, head, *children):
        name, parameters, many, result, *file = head
        place, parts = self._until(span, *nodes_in(children)), _by_kind(children)
        lost = any(map(n.is_unreadable, parts.get("setting", ())))
        system, user, turns = self._turns(parts.get("turn", []), lost)
        instruction, given, parse, tools = self._only(parts, "instruction", "examples", "parse", "tools")
        as_turns, *examples = given or (False,)
        settings, examples = tuple(parts.get("setting", ())), (*examples, *parts.get("example", ()))
        inputs = (name, parameters, many, result)
        texts = (system, instruction, examples, user)
        return n.Prompt(place, *inputs, settings, *texts, parse, tools or (), turns, as_turns, *file)

    def prompt_file(self, span, name, parameters, many, result, file):
        return self.prompt(span, (name, parameters, many is not None, result, file))

    partial = n.Partial

    def _turns(self, found: Sequence[n.Turn], lost: bool):
        """The system text and the single text of a plain prompt, or all turns of another; `lost`: some may be
        among unreadable lines."""
        texts = {role: [turn for turn in found if turn.role == role] for role in ("", "system", "user")}
        several = len(texts["user"]) > 1 or (texts["user"] and len(texts["system"]) > 1)
        if (
            several
            or any(turn.role not in texts for turn in found)
            or (lost and (texts["user"] or (texts["system"] and not texts[""])))
        ):
            for turn in texts[""]:
                help = "in a prompt with turns each text needs a role: write `user` before this one"
                self._problem("GOT0701", "missing `user`", turn.span, help)
            return None, None, tuple(found)
        for again in (*texts["system"][1:], *[*texts[""], *texts["user"]][1:]):
            what = "prompt text" if again.role != "system" else "`system`"
            help = 'keep one of them; in a prompt with turns each text has a role, as in `user "..."`'
            self._problem("GOT0008", f"duplicate {what}", again.text.span, help)
        plain, system = [*texts[""], *texts["user"]], texts["system"]
        return system[0].text if system else None, plain[0].text if plain else None, ()

    def prompt_head(self, _span, name, parameters, many, result, file):
        return name, parameters, many is not None, result, file

    def lost_prompt(self, span, _hole):
        return *self._signature(span), False, self._lost_type(span)

    def lost_part(self, span, _hole):
        return "setting", self._lost_setting(span)

    lost_parts = lost_part

    lost_example = _part("example")
    prompt_setting = _part("setting")
    tools = _part("tools")
    instruction = _part("instruction")
    system = _turn("system")
    assistant = _turn("assistant")
    history = _turn("messages")
    role = every

    def user(self, span, role, text):
        return "turn", n.Turn(span, "" if role is None else "user", text)

    as_turns = every

    def examples(self, _span, as_turns, *children):
        return "examples", (as_turns is not None, *(c for c in children if isinstance(c, n.Example)))

    def example(self, span, *children):
        return n.Example(span, children[:-1], children[-1])

    def parse(self, span, form):
        function = form if isinstance(form, e.Identifier) else None
        return "parse", n.ParseForm(span, None if function else form, function)

    parse_tag = _form(Tag)
    parse_json = _form(Json)
    parse_lines = _form(Lines)
    parse_after = _form(After)

    # ------------------------------------------------------------ scores and schemes

    def score(self, span, head, body):
        name, parameters, direction, best = head
        return n.Score(self._until(span, body), name, parameters, direction, best, body)

    def score_head(self, _span, *parts):
        return parts

    def lost_score(self, span, _hole):
        return *self._signature(span), "higher", None

    def metric(self, span, head, body):
        name, parameters, direction, best, failed = head
        return n.Metric(self._until(span, body), name, parameters, direction, best, failed, body)

    metric_head = operation = score_head

    def lost_metric(self, span, _hole):
        return *self._signature(span), "higher", None, None

    def scheme(self, span, head, body):
        name, parameters, many, result, truth, decreases, within, *variables = head
        if not any(p.part for p in parameters) and not any(variables):
            for given in (p for p in parameters if p.default is not None):
                help = "an input of type `int?` is optional, and a `param` has a default"
                self._problem("GOT0746", "an input of a scheme that runs has no default", given.span, help)
        place, signature = self._until(span, body), (name, parameters, many, result, truth)
        return n.Scheme(place, *signature, body, decreases, within, *variables)

    def scheme_head(self, _span, name, variables, parameters, many, result, truth, decreases, within):
        return name, parameters, many is not None, result, truth, decreases, within or (), variables or ()

    def define_operation(self, span, _word, name, settings, operands, body):
        return n.OperationDefinition(self._until(span, body), name, settings, operands or (), body)

    def define_function(self, span, name, variables, parameters, result, value):
        return n.Function(span, name, variables or (), parameters, result, value)

    def part_type(self, span, kind, *children):
        *parameters, result = children
        return n.PartType(span, kind, present(parameters), result)

    def lost_scheme(self, span, _hole):
        return *self._signature(span), False, self._lost_type(span), None, None, ()

    limits = every
    amount = n.Limit

    def test(self, span, name, value, within):
        return n.Test(span, name, (), value, within=within or ())

    def law(self, span, name, *parts):
        *drawn, value, share, times, within = parts
        return n.Test(span, name, tuple(drawn), value, share, times and int(times), within or ())

    drawn = n.Drawn

    parameters = inputs = operand_inputs = variables = every
    input = n.TypedName
    many = every

    # ------------------------------------------------------------ placeholders of unreadable lines

    def _lost_type(self, span):
        return n.NamedType(span, e.Identifier(span, e.HOLE))

    def _lost_setting(self, span):
        return n.Setting(span, e.Identifier(span, e.HOLE), e.Reference(span, e.HOLE))

    def _signature(self, span):
        """The name of a declaration whose head is unreadable; every word that may be a parameter is taken for
        one."""
        words = self._words(span)
        if words and (words[0].text in HEADS or misspelt(words[0].text, HEADS)):
            del words[0]
        first = span.start + self._lost[span.start].find("\n") % (len(self._lost[span.start]) + 1)
        name = next(
            (word for word in words if word.text not in HEADS and word.span.start < first),
            e.Identifier(span, e.HOLE),
        )
        if words == [name] and "(" not in self._lost[span.start]:  # it may continue
            name = words[0] = replace(name, text=name.text + e.HOLE)
        others = [word for word in words if word.text != name.text] + [e.Identifier(span, e.HOLE)]
        return name, tuple(n.TypedName(word.span, word, self._lost_type(span)) for word in others)

    def _words(self, span):
        """The words of an unreadable line."""
        words = r"^(?:prompt|score|metric|scheme|study)(?=\w)|[A-Za-z_]\w*"
        return [
            e.Identifier(Span(span.source, span.start + word.start(), span.start + word.end()), word[0])
            for word in re.finditer(words, self._lost[span.start])
        ]

    def lost(self, span, _hole):
        return n.Evaluate(span, e.Reference(span, e.HOLE))

    def lost_block(self, span, _hole, body, *children):
        """A block whose first line is unreadable: that of an `if` if its clauses show that, or what follows
        it."""
        *branches, otherwise = children
        place = self._until(span, otherwise or (branches[-1][1] if branches else body))
        if branches or otherwise or re.match(r"el|if\b", self._lost[span.start]):
            return n.If(place, ((e.Reference(span, e.HOLE), body), *branches), otherwise)
        words = [*self._words(span)]
        if not self._lost[span.start].rstrip().endswith(":"):
            words.append(e.Identifier(span, e.HOLE))  # the rest of the line may have had more
        return n.Labelled(place, e.HOLE, (), tuple(words), body)

    def search(self, span, first, *rest):
        unreadable = isinstance(first, e.Reference)
        if unreadable:
            state, root, until = (*self._words(first.span)[1:2], e.Identifier(span, e.HOLE))[0], first, None
        else:
            state, root, until, rest = *rest[:3], rest[3:]
        clauses = tuple(part for part in rest if isinstance(part, n.Setting))
        parts = [part for part in rest if isinstance(part, tuple)]
        words = [word for word, _ in parts]
        found: dict[str, Any] = dict(parts)
        if "" not in words and not unreadable:  # otherwise an unreadable line may be any of them
            wanted = [word for word in _PARTS if word in words or word in ("expand", "value")]
            if words != wanted:
                message = (
                    "a `search` has `expand`, maybe `simulate`, `value` and maybe `backup`, in this order"
                )
                place = replace(span, end=span.start + len("search"))
                self._problem("GOT0751", message, place, f"write {', '.join(wanted)}, once each")
        missing = n.Suite(span, (self.lost(span, None),))
        unread = found.pop("", missing)
        lost = next((word for word in ("expand", "value") if word not in found), None)
        expand, value = (found.get(word, unread if word == lost else missing) for word in ("expand", "value"))
        simulate, backup = found.get("simulate"), found.get("backup")
        ends = [backup] if backup is not None else [part for _, part in parts]
        inside = (expand, simulate, value, backup)
        return n.Search(self._until(span, *ends), state, root, until, clauses, *inside)

    expand = _part("expand")
    simulated = _part("simulate")
    valued = _part("value")
    backup = _part("backup")

    def lost_search(self, span, _hole, body=None):
        return "", body or n.Suite(span, (self.lost(span, None),))

    def inline(self, span, statement):
        return self.suite(span, statement)

    def first(self, span, _word, until, at_once, body):
        lines = tuple(n.Suite(line.span, (line,)) for line in body.statements)
        return n.First(self._until(span, body), "once" if at_once else "turn", until, lines)

    def at_once(self, _span):
        return True

    def race(self, span, _word, until, body):
        return replace(self.first(span, None, until, None, body), way="race")

    def lost_branch(self, span, _hole, body=None):
        return n.MatchBranch(span, (), None, body or n.Suite(span, (self.lost(span, None),)))

    # ------------------------------------------------------------ studies

    def study_head(self, _span, name):
        return name

    def lost_study(self, span, _hole):
        return self._signature(span)[0]

    def lost_clause(self, span, _hole):
        return "options", (self._lost_setting(span),)

    lost_clauses = lost_clause

    def study(self, span, name, *children):
        place, parts = self._until(span, *nodes_in(children)), _by_kind(children)
        program, data, own = self._only(parts, "program", "data", "scheme")
        objectives, constraints, vary, options = (
            tuple(item for group in parts.get(kind, ()) for item in group)
            for kind in ("objectives", "constraints", "vary", "options")
        )
        prompts = tuple(parts.get("prompts", ()))
        path, scheme = program or (None, None)
        if own is not None and scheme is not None:
            self._problem("GOT0008", "duplicate `scheme`", own.span, "keep one of them")
        scheme = scheme or own
        clauses = (data, objectives, constraints, vary, prompts, options)
        return n.Study(place, name, path, scheme, *clauses)

    study_program = _parts("program")
    study_scheme = _part("scheme")

    def study_data(self, span, path, columns, *options):
        return "data", n.StudyData(span, path, columns or (), options)

    columns = every

    def column_pair(self, _span, name, column):
        return name.text, column

    def column(self, _span, column):
        return column.text if isinstance(column, e.Identifier) else column.value

    objective = every
    study_objective = _parts("objectives")
    study_constraint = _parts("constraints")
    study_vary = _parts("vary")
    vary_item = n.Vary
    varied = listed(n.Choices)
    text_file = n.TextFile

    def study_prompts(self, span, names, optimizer):
        return "prompts", n.StudyPrompts(span, names, optimizer)

    study_setting = _parts("options")
    setting = n.Setting

    # ------------------------------------------------------------ types

    def named_type(self, span, name, *arguments):
        return n.NamedType(span, name, present(arguments))

    record_type = listed(n.RecordTypeNode)
    typed_name = n.TypedName

    optional_type = n.OptionalTypeNode

    def text_type(self, span, text):
        return n.UnionTypeNode(span, (text.value,))

    def case_type(self, span, name, fields):
        if not name.text[0].isupper():
            help = f"write `{name.text.title().replace('_', '')} {{...}}`"
            self._problem("GOT0217", "the name of a case starts with a capital letter", name.span, help)
        return n.CaseTypeNode(span, name, fields)

    def alternatives(self, span, *parts):
        if all(isinstance(part, n.UnionTypeNode) for part in parts):
            return n.UnionTypeNode(span, tuple(value for part in parts for value in part.values))
        for part in parts:
            plain = isinstance(part, n.NamedType) and part.name.text[0].isupper() and not part.arguments
            if not plain and not isinstance(part, n.CaseTypeNode):
                message = "a union has only texts, or only named cases"
                help = "give each a name: `Number {value: int} | Text {value: str}`"
                others = [p for p in parts if not (isinstance(p, n.NamedType) and p.name.text == "none")]
                if len(others) == 1 and len(parts) == 2:
                    start, end = (
                        self._fragment.offset(at) for at in (others[0].span.start, others[0].span.end)
                    )
                    help = f"write `{self._fragment.text[start:end]}?`"
                self._problem("GOT0217", message, part.span, help)
                break
        cases = (p if isinstance(p, n.CaseTypeNode) else n.CaseTypeNode(p.span, p.name, None) for p in parts)
        return n.AlternativesNode(span, () if self.problems else tuple(cases))

    # ------------------------------------------------------------ pipelines

    def suite(self, _span, *statements):
        found: list[Any] = []
        for statement in statements:
            if isinstance(statement, e.Case):
                statement = n.Evaluate(statement.span, statement)
            if found and (joined := self._joined(found[-1], statement)) is not None:
                found[-1] = joined
            else:
                found.append(statement)
        for statement, after in zip(found, [*found[1:], None], strict=True):
            block = statement.value if isinstance(statement, n.Bind) else statement
            missing = isinstance(block, n.Try) and block.otherwise is block.body
            if missing and not (after is not None and n.is_unreadable(after)):
                place = replace(block.span, end=block.span.start + 3)
                self._problem("GOT0340", "`try` needs an `else`", place, _TRY_HELP)
        return n.Suite(found[0].span.to(found[-1].span), tuple(found))

    def _joined(self, block, lost):
        """An `if` or a `try` joined with the block below, if that may be its `elif` or `else` with an
        unreadable first line."""
        if isinstance(block, n.Bind):
            value = self._joined(block.value, lost)
            return value and replace(block, span=block.span.to(value.span), value=value)
        match block, lost:
            case n.If(otherwise=None), n.If(branches=((e.Reference(name=e.HOLE, span=hole), body), *others)):
                before, word = block.branches, self._lost[hole.start]
                if word.startswith("els") and not others and lost.otherwise is None:
                    return replace(block, span=block.span.to(lost.span), otherwise=body)
                if word.startswith("el"):
                    return replace(lost, span=block.span.to(lost.span), branches=(*before, *lost.branches))
            case n.If(otherwise=None), n.Labelled(label=e.HOLE, span=place, body=body):
                at = self._fragment.offset(place.start)
                if re.compile(r"\w+ *:").match(self._fragment.text, at):
                    return replace(block, span=block.span.to(place), otherwise=body)
            case (
                n.Try(),
                n.Labelled(label=e.HOLE, body=body) | n.If(branches=((e.Reference(name=e.HOLE), body),)),
            ) if block.otherwise is block.body:
                return replace(block, span=block.span.to(lost.span), otherwise=body)
        return None

    body = suite

    def bind_line(self, span, name, *rest):
        *types, value = rest
        return n.Bind(self._until(span, value), name, types[0] if types else None, value)

    bind_block = bind_line
    evaluate = n.Evaluate
    return_ = n.Return

    def step(self, span, operation, operands, again):
        name, settings = operation
        if settings is None and operands is None and again is None:
            return self.case(span, name)
        if name.text == "Call":
            # `Call f(x)` and `Call() f(x)` are equal, and the first is the canonical form.
            settings = settings or None
        elif settings is None:
            self._no_constant(name)
            self.problems.append(without_parentheses(name.text, name.span))
        return n.Step(span, name, settings, operands or (), again)

    def member_operation(self, _span, module, name, settings):
        if not isinstance(module, e.Reference):
            self._problem("GOT0001", f"unexpected `{name.text}`", name.span, "write `module.Operation(...)`")
            return name, settings
        return e.Identifier(module.span.to(name.span), f"{module.name}.{name.text}"), settings

    stop_setting = n.Setting

    def stop_name(self, span):
        return e.Identifier(span, "stop")

    def stop_when(self, span):
        return e.Identifier(span, n.STOP_WHEN)

    def settings(self, _span, *arguments):
        found = self._arguments(arguments)
        first = next((at for at, setting in enumerate(found) if setting.name is not None), len(found))
        return tuple(s for at, s in enumerate(found) if at < first or s.name is not None)

    operands = every

    def again(self, span, name, settings):
        return n.Step(span, name, settings, ())

    repeated = _block(n.Repeated)

    def repeated_call(self, span, value, again):
        return n.Repeated(span, again, n.Suite(value.span, (n.Evaluate(value.span, value),)), True)

    def foreach(self, span, words, others, *rest):
        *adjectives, first = words
        # One word may precede the name, so that a misspelt `in` does not silently become another program.
        for word in adjectives[1:][-1:]:
            self._problem("GOT0001", f"unexpected `{word.text}`", word.span, "write `foreach x in xs:`")
        if len(adjectives) > 1:
            return n.Labelled(self._until(span, rest[-1]), e.HOLE, (), (), rest[-1])
        adjective = adjectives[0].text if adjectives else None
        names = self._one_or_two((self.name(span, first), *(others or ())))
        return n.Foreach(self._until(span, rest[-1]), adjective, names, *rest)

    reduce = _block(n.Reduce)
    repeat = _block(n.RepeatBlock)

    def if_(self, span, *children):
        *branches, otherwise = children
        return n.If(self._until(span, otherwise or branches[-1][1]), tuple(branches), otherwise)

    branch = every

    def match(self, span, subject, *children):
        *branches, otherwise = children
        return n.Match(self._until(span, otherwise or branches[-1]), subject, tuple(branches), otherwise)

    def match_branch(self, span, *children):
        *patterns, name, body = children
        for pattern in patterns if len(patterns) > 1 else ():
            if isinstance(pattern, n.CasePattern) and pattern.fields:
                help = "write `as name` after the cases, and use its fields"
                self._problem(
                    "GOT0221", "fields can be named only in a branch for one case", pattern.span, help
                )
        return n.MatchBranch(self._until(span, body), tuple(patterns), name, body)

    def case_pattern(self, span, case, *fields):
        self._no_constant(case)
        return n.CasePattern(span, case, present(fields))

    def try_(self, span, body, otherwise):
        return n.Try(self._until(span, otherwise or body), body, otherwise or body)

    skip = n.Skip

    def labelled(self, span, label, sources, names, body):
        label = label.text if isinstance(label, e.Identifier) else label
        if isinstance(label, e.Constant):
            label, place = str(label.value), label.span
            if not label.strip() or not label.isprintable():
                self._problem("GOT0012", "empty label", place, 'write words: `"final merge":`')
        elif (why := why_no_label(label, sources=sources is not None)) is not None:
            word, help = why
            before = re.split(rf"\b{word}\b", self._fragment.text[span.start - self._fragment.base :])[0]
            place = Span(span.source, span.start + len(before), span.start + len(before) + len(word))
            meant = re.fullmatch(r"did you mean `(\w+)`\?", help or "")
            fix = Fix(place, meant[1]) if meant is not None else None
            self._problem("GOT0012", f"unexpected `{word}`", place, help, fix)
            label = e.HOLE
        return n.Labelled(self._until(span, body), label, sources or (), names or (), body)

    def word(self, _span, word):
        return word

    def only_word(self, span, word, body):
        return self.labelled(span, word, None, None, body)

    def sources(self, _span, *sources):
        return tuple(
            n.LabelReference(source.span, source.value)
            if isinstance(source, e.Constant) and isinstance(source.value, str)
            else source
            for source in sources
        )

    words = every

    def quoted_label(self, _span, text):
        return text

    def label(self, _span, *words):
        return " ".join(word if isinstance(word, str) else word.text for word in present(words))

    def label_reference(self, span, *words):
        return n.LabelReference(span, self.label(span, *words))


def _by_kind(parts: Iterable[tuple[str, Any]]) -> dict[str, list[Any]]:
    kinds: dict[str, list[Any]] = {}
    for kind, value in parts:
        kinds.setdefault(kind, []).append(value)
    return kinds
