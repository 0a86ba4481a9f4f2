"""Nodes to canonical text: what `gotc fmt` writes.

Four spaces of indentation; one blank line between declarations of different kinds or of several lines;
neighbouring params aligned in columns; texts in triple quotes indented with their block. Blank lines inside a
block and between params stay, at most one at a time. The parts of a prompt and the clauses of a study keep
their order. Expressions get as few parentheses as possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import assert_never

from gotlang.answers.forms import After, Json, Lines, Tag
from gotlang.patterns import lazy_pattern
from gotlang.span import Source, Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.layout import (
    COLUMN,
    INDENT,
    Brackets,
    CanonicalLine,
    Item,
    LongText,
    Piece,
    arrange,
    flat,
)
from gotlang.syntax.texts import long_lines, quote, reindented
from gotlang.syntax.typos import is_bare, is_bare_reference

# Precedence of expressions, from the lowest, as in the grammar.
_ANY, _OR, _AND, _NOT, _SUM, _PRODUCT, _FACTOR, _VALUE, _NOTHING = range(9)
_BINARY = {
    "or": (_OR, _OR, _AND),
    "and": (_AND, _AND, _NOT),
    **dict.fromkeys(("+", "-"), (_SUM, _SUM, _PRODUCT)),
    **dict.fromkeys(("*", "/", "//", "%"), (_PRODUCT, _PRODUCT, _FACTOR)),
    "**": (_FACTOR, _VALUE, _FACTOR),
}
"""The precedence of an operator, and the minimum of its operands."""
_NUMBER = lazy_pattern(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,3})?")
_STEP_LIKE = lazy_pattern(r"[A-Z]\w*(?:\[| not\b| [-+] )")
_KEY = lazy_pattern(r"[a-z_][A-Za-z0-9_]*")
_COLUMN = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")

_Clause = n.Setting | n.ParseForm | n.Example | n.StudyData | n.StudyPrompts | n.Vary
_Small = (
    e.Identifier
    | e.Argument
    | n.PythonFunction
    | n.ModuleName
    | n.ImportedName
    | n.TypeNode
    | n.TypedName
    | n.PartType
    | n.Range
    | n.Choices
    | n.TextFile
    | n.CasePattern
    | n.Limit
    | n.Drawn
)
_Inline = e.Expression | n.Step | n.LabelReference | _Clause | _Small
"""Nodes within a line."""
_Part = Piece | _Inline | tuple["_Part | None", ...]
"""A part of a line; a tuple is an optional one, left out if anything in it is None."""


def format_module(module: n.Module, source: Source | None = None) -> str:
    """The canonical text of a module. Without its source, comments are not written.

    The text parses to an equal module, and formatting it again does not change it.
    """
    comments = module.comments if source else ()
    printer = _Printer(source)
    printer.module(module)
    return arrange(printer.lines, comments, source)


def format_expression(expression: e.Expression) -> str:
    """An expression on one line, which parses to an equal one. Numbers must be finite."""
    return flat(_Printer().expression(expression))


def format_inline(node: _Inline) -> str:
    """A node within a line, on one line."""
    return flat(_Printer().pieces(node))


class _Printer:
    """Collects lines in the order of the source; with the source, numbers and texts keep their spelling."""

    def __init__(self, source: Source | None = None) -> None:
        self._text = source.text if source else ""
        self.lines: list[CanonicalLine] = []

    def module(self, module: n.Module) -> None:
        """Adds the lines of a module."""
        for declaration in module.declarations:
            self._declaration(declaration)

    def _line(self, depth: int, start: int, *parts: _Part) -> None:
        """Adds a line; lines never go back in the source, so that comments keep their order."""
        if self.lines:
            start = max(start, self.lines[-1].start)
        self.lines.append(CanonicalLine(depth, start, self._join(*parts)))

    def _join(self, *parts: _Part) -> list[Piece]:
        """The pieces of the parts of a line."""
        pieces: list[Piece] = []
        for part in parts:
            if isinstance(part, (str, LongText, Brackets)):
                pieces.append(part)
            elif not isinstance(part, tuple):
                pieces += self.pieces(part)
            elif None not in part:
                pieces += self._join(*(inner for inner in part if inner is not None))
        return pieces

    def _between(self, above: e.Node, below: e.Node) -> str:
        """The source between two nodes; empty without the source."""
        return self._text[above.span.end : below.span.start]

    # ------------------------------------------------------------ declarations

    def _declaration(self, node: n.Declaration) -> None:
        start = node.span.start
        match node:
            case n.ImportGot(path=path, alias=alias, names=()):
                self._line(0, start, "import ", path, (" as ", alias))
            case n.ImportGot(path=path, names=names):
                self._line(0, start, "from ", path, *_commas(names, " import "))
            case n.ImportMcp(path=path, functions=functions):
                self._line(0, start, "import mcp ", path, *_commas(functions, ": "))
            case n.ImportPython(path=path, functions=functions):
                self._line(0, start, "import python ", path, *_commas(functions, ": "))
            case n.ImportCorpus(path=path, name=name):
                self._line(0, start, "import corpus ", path, ": ", name)
            case n.Simulate(path=path):
                self._line(0, start, "simulate with ", path)
            case n.TypeAlias(name=name, type=type_):
                self._line(0, start, "type ", name, " = ", type_)
            case n.Param(name=name, type=type_, default=default, domain=domain, guard=guard):
                head: list[_Part] = ["param ", name, (": ", type_), COLUMN, " = ", default, COLUMN]
                word = " each in " if node.each else " in "
                self._line(0, start, *head, (word, domain), COLUMN, (" when ", guard))
            case n.Prompt(many=many, result=result):
                inputs = self._inputs(node, result)
                parts = (node.settings, node.texts, node.examples, node.parse, node.tools)
                end = ":" if node.file is None or any(parts) else ""
                result_ = ("many " if many else "", result, (" from ", node.file), end)
                self._line(0, start, "prompt ", *inputs, *result_)
                self._prompt(node)
            case n.Partial(text=text):
                quoted = self._quoted(text, hang=0)
                self._line(0, start, "partial ", *self._inputs(node, text)[:2], ": ", quoted)
            case n.Score(direction=direction, best=best, body=body):
                self._line(0, start, "score ", *self._inputs(node, body), direction, (", best ", best), ":")
                self._suite(body, 1)
            case n.Metric(direction=direction, best=best, failed=failed, body=body):
                claims: list[_Part] = [direction, (", best ", best), (", failed ", failed), ":"]
                self._line(0, start, "metric ", *self._inputs(node, body), *claims)
                self._suite(body, 1)
            case n.Scheme(many=many, result=result, truth=truth, body=body):
                inputs = self._inputs(node, result, _variables(node.variables))
                output: list[_Part] = ["many " if many else "", result, (", truth ", truth)]
                output += [(" decreases ", node.decreases), *_commas(node.within, " within ")]
                self._line(0, start, "scheme ", *inputs, *output, ":")
                self._suite(body, 1)
            case n.Test(name=name, drawn=drawn, value=value, share=share, times=times, within=within):
                head = ["law " if drawn else "test ", name, *_commas(drawn, " for "), ": ", value]
                claim: _Part = (", at least ", share, f" of {times}")
                self._line(0, start, *head, claim, *_commas(within, ", within "))
            case n.OperationDefinition(name=name, settings=settings, operands=operands, body=body):
                gap = _gap(name, operands[0] if operands else body)
                inputs = [name, self._brackets("(", settings, gap), *_commas(operands, " ")]
                self._line(0, start, "operation ", *inputs, ":")
                self._suite(body, 1)
            case n.Function(result=result, value=value):
                inputs = self._inputs(node, result, _variables(node.variables))
                self._line(0, start, "function ", *inputs, result, " = ", value)
            case n.Study(name=name):
                self._line(0, start, "study ", name, ":")
                self._study(node)
            case _:
                assert_never(node)

    def _inputs(
        self,
        node: n.Prompt | n.Score | n.Metric | n.Scheme | n.Function | n.Partial,
        after: e.Node,
        variables: Iterable[_Part] = (),
    ) -> list[_Part]:
        """The name and inputs of a declaration; `after` is what comes after them."""
        return [node.name, *variables, self._brackets("(", node.parameters, _gap(node.name, after)), " -> "]

    # ------------------------------------------------------------ prompts and studies

    def _prompt(self, node: n.Prompt) -> None:
        groups: list[list[CanonicalLine]] = [self._clause(setting, setting) for setting in node.settings]
        for word, text in (("system ", node.system), ("instruction ", node.instruction), ("", node.user)):
            if text:
                groups.append(self._clause(text, word, self._quoted(text, hang=0)))
        for turn in node.turns:
            said = self._quoted(turn.text, hang=0) if isinstance(turn.text, e.Constant) else turn.text.text
            groups.append(self._clause(turn, f"{turn.role} ", said))
        if node.parse:
            groups.append(self._clause(node.parse, "parse ", node.parse))
        if node.tools:
            groups.append(self._clause(node.tools[0], *_commas(node.tools, "tools ")))
        if node.examples:
            start = self._keyword("examples", node, node.examples[0])
            examples = [CanonicalLine(2, one.span.start, self.pieces(one)) for one in node.examples]
            word = "examples as turns:" if node.as_turns else "examples:"
            groups.append([CanonicalLine(1, start, [word]), *examples])
        self._in_order(groups)

    def _study(self, node: n.Study) -> None:
        groups: list[list[CanonicalLine]] = []
        if node.program:
            groups.append(self._clause(node.program, "program ", node.program, (" scheme ", node.scheme)))
        elif node.scheme:
            groups.append(self._clause(node.scheme, "scheme ", node.scheme))
        if node.data:
            groups.append(self._clause(node.data, node.data))
        groups += [self._clause(prompts, prompts) for prompts in node.prompts]
        shared: list[tuple[str, list[tuple[str, e.Expression | n.Vary | n.Setting]]]] = [
            ("", [(f"{word} ", value) for word, value in node.objectives]),
            ("subject to ", [("", constraint) for constraint in node.constraints]),
            ("vary ", [("", vary) for vary in node.vary]),
            ("", [("", option) for option in node.options]),
        ]
        for opening, parts in shared:
            for number, (word, part) in enumerate(parts):
                if number and "\n" not in self._between(parts[number - 1][1], part):
                    # Clauses of one kind on one line stay on one line.
                    groups[-1][0].pieces.extend(self._join(", ", word, part))
                else:
                    groups.append(self._clause(part, opening, word, part))
        self._in_order(groups)

    def _clause(self, node: e.Node, *parts: _Part) -> list[CanonicalLine]:
        return [CanonicalLine(1, node.span.start, self._join(*parts))]

    def _in_order(self, groups: list[list[CanonicalLine]]) -> None:
        """Adds groups of lines in the order of the source."""
        for group in sorted(groups, key=lambda group: group[0].start):
            for line in group:
                self._line(line.depth, line.start, *line.pieces)

    # ------------------------------------------------------------ pipelines

    def _suite(self, suite: n.Suite, depth: int) -> None:
        for statement in suite.statements:
            self._statement(statement, depth, statement.span.start)

    def _statement(self, node: n.Statement | e.Expression, depth: int, start: int, *before: _Part) -> None:
        """The lines of a statement or of the value it binds; `before` opens the first."""

        def block(body: n.Suite, *head: _Part) -> None:
            self._line(depth, start, *before, *head, ":")
            self._suite(body, depth + 1)

        match node:
            case n.Bind(name=name, type=type_, value=value):
                if isinstance(value, n.Suite):
                    self._line(depth, start, name, (": ", type_), " =")
                    self._suite(value, depth + 1)
                else:
                    self._statement(value, depth, start, name, (": ", type_), " = ")
            case n.Return(value=value):
                self._line(depth, start, "return ", value)
            case n.Skip():
                self._line(depth, start, "skip")
            case n.Evaluate(value=value):
                self._line(depth, start, *before, *self._apart(value))
            case n.Foreach(adjective=adjective, names=names, iterable=iterable, after=after, body=body):
                word = (adjective, " ")
                block(body, "foreach ", word, *_commas(names, ""), (" in ", iterable), (" after ", after))
            case n.Reduce(left=left, right=right, iterable=iterable, step=step, body=body):
                block(body, "reduce ", left, ", ", right, (" in ", iterable), (" as ", step))
            case n.RepeatBlock(count=count, counter=counter, until=until, body=body):
                block(body, "repeat ", count, (" as ", counter), (" until ", until))
            case n.Repeated(again=again, body=n.Suite(statements=(n.Evaluate(value=call),)), follows=True):
                self._line(depth, start, *before, call, " ", again)
            case n.Repeated(again=again, body=body):
                block(body, again)
            case n.Labelled(label=label, sources=sources, names=names, body=body):
                label = label if is_bare(label, sources=bool(sources)) else quote(label)
                block(body, label, *_commas(sources, " from "), *_commas(names, " as "))
            case n.If(branches=branches, otherwise=otherwise):
                (condition, body), *others = branches
                block(body, "if ", condition)
                for condition, body in others:
                    self._line(depth, condition.span.start, "elif ", condition, ":")
                    self._suite(body, depth + 1)
                if otherwise:
                    self._else(node, otherwise, depth)
            case n.Match(subject=subject, branches=choices, otherwise=otherwise):
                self._line(depth, start, *before, "match ", subject, ":")
                for branch in choices:
                    named: list[_Part] = [*_between(branch.patterns, " | "), (" as ", branch.name)]
                    self._line(depth + 1, branch.span.start, *named, ":")
                    self._suite(branch.body, depth + 2)
                if otherwise:
                    self._else(node, otherwise, depth + 1)
            case n.Try(body=body, otherwise=otherwise):
                block(body, "try")
                self._else(node, otherwise, depth)
            case n.Search(state=state, root=root, until=until, clauses=clauses):
                head: list[_Part] = [state, " from ", root, (" until ", until)]
                self._line(depth, start, *before, "search ", *head, *_commas(clauses, ", "), ":")
                simulate = [("simulate", node.simulate)] if node.simulate is not None else []
                for part in (("expand", node.expand), *simulate, ("value", node.value)):
                    self._part(node, *part, depth + 1)
                if node.backup is not None:
                    self._line(depth + 1, node.backup.span.start, "backup ", node.backup)
            case n.First(way=way, until=until, lines=lines):
                opening = "race" if way == "race" else "first"
                once = ", at once" if way == "once" else ""
                self._line(depth, start, *before, opening, (" until ", until), once, ":")
                for line in lines:
                    self._suite(line, depth + 1)
            case n.Step():
                self._line(depth, start, *before, *self._step(node))
            case _:
                self._line(depth, start, *before, *self._apart(node))

    def _apart(self, node: e.Expression) -> list[Piece]:
        """An expression where an operation might be: `(Stop not in xs)` is not a step without parentheses."""
        pieces = self.expression(node)
        return ["(", *pieces, ")"] if _STEP_LIKE.match(flat(pieces)) else pieces

    def _part(self, block: n.Search, word: str, body: n.Suite, depth: int) -> None:
        """A part of a `search`: on the line of its keyword if it is one step or a call."""
        start = self._keyword(word, block, body.statements[0])
        match body.statements:
            case (n.Step() | n.Evaluate() as one,):
                self._statement(one, depth, start, f"{word}: ")
            case (n.Repeated(follows=True) as one,):
                self._statement(one, depth, start, f"{word}: ")
            case _:
                self._line(depth, start, f"{word}:")
                self._suite(body, depth + 1)

    def _else(self, block: n.If | n.Match | n.Try, body: n.Suite, depth: int) -> None:
        self._line(depth, self._keyword("else", block, body.statements[0]), "else:")
        self._suite(body, depth + 1)

    def _keyword(self, word: str, block: e.Node, first: e.Node) -> int:
        """The start of the line with a word like `else` in a block: the last one before what follows it."""
        after, before = block.span.start, first.span.start
        found = list(re.finditer(rf"^[ \t]*{word}\b", self._text[after:before], re.MULTILINE))
        return after + found[-1].end() - len(word) if found else before

    # ------------------------------------------------------------ nodes within a line

    def pieces(self, node: _Inline) -> list[Piece]:
        """The pieces of a node within a line."""
        match node:
            case e.Constant() | e.Reference() | e.ListDisplay():  # first, since they are most frequent
                return self._bare(node)[1]
            case e.Identifier():
                return [node.text]
            case e.Argument(name=name, value=value):
                return self._join((name, "="), value)
            case n.NamedType(name=name, arguments=arguments):
                return self._join(name, *_commas(arguments, "["), "]" if arguments else "")
            case n.RecordTypeNode(fields=fields):
                return [self._brackets("{", fields, node.span)]
            case n.UnionTypeNode(values=values):
                return [" | ".join(quote(value) for value in values)]
            case n.CaseTypeNode(name=name, fields=fields):
                return self._join(name, (" ", fields))
            case n.AlternativesNode(cases=cases):
                return self._join(*_between(cases, " | "))
            case n.CasePattern(case=name, fields=names):
                return self._join(name, *_commas(names, " {"), "}" if names else "")
            case n.OptionalTypeNode(type=n.UnionTypeNode() | n.AlternativesNode() as inner):
                return self._join("(", inner, ")?")
            case n.OptionalTypeNode(type=inner):
                return self._join(inner, "?")
            case n.ModuleName(value=text):
                return [text]
            case n.ImportedName(name=name, alias=alias):
                return self._join(name, (" as ", alias))
            case n.PythonFunction(name=name, result=result):
                return self._join(name, (" -> ", result))
            case n.TypedName(name=name, type=type_, default=default):
                return self._join(name, ": ", type_, (" = ", default))
            case n.PartType(kind=kind, parameters=parameters, result=result):
                return self._join(kind, "(", *_commas(parameters, ""), ")", (" -> ", result))
            case n.Setting(name=name, value=value):
                return self._join(name, " ", value)
            case n.StudyData(path=path, columns=columns, options=options):
                pairs = [f"{name} = {c if _COLUMN.fullmatch(c) else quote(c)}" for name, c in columns]
                mapped = f" ({', '.join(pairs)})" if pairs else ""
                return self._join("data ", path, mapped, *_commas(options, ", "))
            case n.StudyPrompts(names=names, optimizer=optimizer):
                return self._join(*_commas(names, "prompts "), " with ", optimizer)
            case n.Vary(name=name, part=part, domain=domain):
                return self._join(name, (".", part), (" in ", domain))
            case n.Limit(number=number, unit=unit):
                return self._join(number, " ", unit)
            case n.Drawn(names=names, generator=generator):
                return self._join(*_commas(names, ""), " in ", generator)
            case n.TextFile(path=path):
                return self._join("file ", path)
            case n.Range(low=low, high=high):
                return self._join(low, "..", high)
            case n.Choices(values=values):
                return [self._brackets("[", values, node.span)]
            case n.Example(inputs=inputs, output=output):
                given = [(argument.name, " = ", argument.value) for argument in inputs]
                return self._join(*_commas(given, ""), " -> ", output)
            case n.ParseForm():
                return [_form(node)]
            case n.LabelReference(label=label):
                return [label if is_bare_reference(label) else quote(label)]
            case n.Step():
                return self._step(node)
            case _:
                return self.expression(node)

    def _step(self, node: n.Step) -> list[Piece]:
        operands = self._join(*_commas(node.operands, " "))
        settings: _Part = ""
        if node.settings is not None:
            after = next(iter(node.operands), node.again)
            place = _gap(node.operation, after) if after else node.span
            settings = self._brackets("(", node.settings, place)
        elif flat(operands).startswith((" (", " {")):
            settings = "()"  # otherwise the operand would be read as settings, or as the fields of a case
        return self._join(node.operation, settings, *operands, (" ", node.again))

    def expression(self, node: e.Expression, level: int = _ANY) -> list[Piece]:
        """The pieces of an expression, in parentheses if its precedence is below `level`."""
        own, pieces = self._bare(node)
        return pieces if own >= level else ["(", *pieces, ")"]

    def _bare(self, node: e.Expression) -> tuple[int, list[Piece]]:
        """The precedence of an expression, and its pieces."""
        part = self.expression
        match node:
            case e.Constant(value=str()):
                return _VALUE, [self._quoted(node)]
            case e.Constant(value=bool() | None as value):
                return _VALUE, [str(value).lower()]
            case e.Constant():
                return _VALUE if e.is_plain_number(node) else _FACTOR, [self._number(node)]
            case e.Reference(name=name):
                return _VALUE, [name]
            case e.Unary(operator="not", operand=operand):
                return _NOT, ["not ", *part(operand, _NOT)]
            case e.Unary(operator=operator, operand=operand):
                # `-5` is one number, so the operation on the number 5 is `-(5)`.
                level = _NOTHING if operator == "-" and e.is_plain_number(operand) else _FACTOR
                return _FACTOR, [operator, *part(operand, level)]
            case e.Binary(operator=operator, left=left, right=right):
                own, before, after = _BINARY[operator]
                return own, [*part(left, before), f" {operator} ", *part(right, after)]
            case e.Compare(first=first, rest=rest):
                pieces = part(first, _SUM)
                for operator, operand in rest:
                    pieces += [f" {operator} ", *part(operand, _SUM)]
                return _NOT, pieces
            case e.Conditional(then=then, condition=condition, otherwise=otherwise):
                choice = [*part(then, _OR), " if ", *part(condition, _OR)]
                return _ANY, [*choice, " else ", *part(otherwise)]
            case e.Index(value=value, index=index):
                return _VALUE, [*part(value, _VALUE), "[", *part(index), "]"]
            case e.Slice(value=value, start=start, stop=stop):
                return _VALUE, self._join(*part(value, _VALUE), "[", (start, ""), ":", (stop, ""), "]")
            case e.Field(value=value, name=name):
                return _VALUE, [*part(value, _VALUE), "." + name]
            case e.Call(function=function, arguments=arguments):
                return _VALUE, [function.text, self._brackets("(", arguments, node.span)]
            case e.ListDisplay(elements=elements):
                return _VALUE, [self._brackets("[", elements, node.span)]
            case e.RecordDisplay(entries=entries):
                return _VALUE, [self._entries(entries, node.span)]
            case e.Case(case=name, entries=entries):
                return _VALUE, [f"{name.text} ", self._entries(entries, node.span)] if entries else [
                    name.text
                ]
            case e.Comprehension(element=element, names=names, iterable=iterable):
                test = [" if ", *part(node.condition, _OR)] if node.condition else []
                loop = self._join(*_commas(names, " for "), " in ", *part(iterable, _OR), *test)
                return _VALUE, ["[", *part(element), *loop, "]"]

    def _brackets(self, opening: str, nodes: Iterable[_Inline], place: Span) -> Brackets:
        return Brackets(opening, [Item(self.pieces(node), node.span) for node in nodes], place)

    def _entries(self, entries: Iterable[tuple[str | None, e.Expression]], place: Span) -> Brackets:
        items = [Item([_opening(key), *self.expression(value)], value.span) for key, value in entries]
        return Brackets("{", items, place)

    def _number(self, node: e.Constant) -> str:
        """A number, with its digits in the source."""
        raw, plain = self._written(node), repr(node.value)
        if raw == plain or not _NUMBER.fullmatch(raw):
            return plain
        again = float(raw) if set(raw) & set(".eE") else int(raw)
        return raw if repr(again) == plain else plain

    def _quoted(self, node: e.Constant, hang: int = INDENT) -> Piece:
        """A text in the quotes that it has."""
        value = str(node.value)
        if not node.long:
            return quote(value)
        raw = self._written(node)
        if len(raw) >= 6 and raw.startswith('"""') and raw.endswith('"""'):
            return LongText(quote(value), reindented(raw[3:-3], value), hang)
        return LongText(quote(value), long_lines(value), hang)

    def _written(self, node: e.Constant) -> str:
        """A constant as the source writes it; empty without the source."""
        return self._text[node.span.start : node.span.end]


def _gap(before: e.Node, after: e.Node) -> Span:
    """The place between two nodes."""
    return Span(before.span.source, before.span.end, after.span.start)


def _commas(parts: Iterable[_Part], opening: str) -> list[_Part]:
    """Parts separated by commas, with `opening` before the first; empty without parts."""
    return _between(parts, ", ", opening)


def _variables(names: tuple[e.Identifier, ...]) -> list[_Part]:
    """Type variables in brackets, if there are any."""
    return [*_commas(names, "["), "]"] if names else []


def _between(parts: Iterable[_Part], sign: str, opening: str = "") -> list[_Part]:
    """Parts separated by a sign, with `opening` before the first."""
    return [piece for number, part in enumerate(parts) for piece in (sign if number else opening, part)]


def _opening(key: str | None) -> str:
    """The text before the value of a record's entry: its name, in quotes if needed, or `...`."""
    return "..." if key is None else f"{key if _KEY.fullmatch(key) else quote(key)}: "


def _form(node: n.ParseForm) -> str:
    """The words after `parse`."""
    match node.form:
        case None:
            return f"with {node.function.text}" if node.function else "json"
        case Tag(name=name):
            return f"tag({quote(name)})"
        case Json():
            return "json"
        case Lines(pattern=pattern):
            return "lines" if pattern is None else f"lines matching {quote(pattern)}"
        case After(text=text):
            return f"after {quote(text)}"
