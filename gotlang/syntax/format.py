"""Nodes to the one canonical text: what `gotc fmt` writes.

Four spaces of indentation; one blank line between declarations of different kinds or of several lines;
the signs of neighbouring params in columns; texts in triple quotes indented with their block. Blank lines
inside a block and between params stay, at most one at a time. The parts of a prompt and the clauses of a
study stay in the order they were written in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gotlang.answers.forms import After, Json, Lines, Tag
from gotlang.span import Source
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.format_expressions import format_expression, format_type
from gotlang.syntax.format_pipelines import PipelinePrinter
from gotlang.syntax.layout import arrange
from gotlang.syntax.pieces import WIDTH, Brackets, Item, Piece, flat, lay_out
from gotlang.syntax.texts import quote

__all__ = ["format_expression", "format_module", "format_type"]

_COLUMN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_PADDING = 24
"""A param's default longer than this does not push the ranges of its neighbours to the right."""

_Row = tuple[list[Piece], list[Piece], list[Piece], list[Piece]]


def format_module(module: n.Module, source: Source | None = None) -> str:
    """The canonical text of a module. Without the source it was parsed from, only the code is written.

    Parsed again it gives an equal module, and formatted again the same text.
    """
    comments = module.comments if source else ()
    printer = _ModulePrinter(source, comments)
    printer.module(module)
    return arrange(printer.lines, comments, source)


class _ModulePrinter(PipelinePrinter):
    def __init__(self, source: Source | None, comments: Sequence[n.Comment]) -> None:
        super().__init__(source)
        self._inside = [comment for comment in comments if comment.nested]

    def module(self, module: n.Module) -> None:
        declarations = module.declarations
        number = 0
        while number < len(declarations):
            declaration = declarations[number]
            if isinstance(declaration, n.Param):
                group = self._group(declarations[number:])
                self._params(group)
                number += len(group)
            else:
                self._declaration(declaration)
                number += 1

    def _declaration(self, node: n.Declaration) -> None:
        start = node.span.start
        match node:
            case n.ImportGot(path=path):
                self.line(0, start, "import ", self.text(path), declaration="import")
            case n.ImportPython(path=path, names=names):
                listed = ": " + ", ".join(name.text for name in names)
                self.line(0, start, "import python ", self.text(path), listed, declaration="import")
            case n.ImportCorpus(path=path, name=name):
                self.line(0, start, "import corpus ", self.text(path), f": {name.text}", declaration="import")
            case n.Simulate(path=path):
                self.line(0, start, "simulate with ", self.text(path), declaration="simulate")
            case n.TypeAlias(name=name, type=type_):
                self.line(0, start, f"type {name.text} = ", *self.type(type_), declaration="type")
            case n.Prompt():
                self._prompt(node)
            case n.Score(best=best):
                head = self._head("score", node, [node.direction])
                head += [", best ", *self.expression(best)] if best else []
                self.line(0, start, *head, ":", declaration="score")
                self.suite(node.body, 1)
            case n.Scheme(truth=truth):
                head = self._head("scheme", node, self._result(node))
                head += [", truth ", *self.type(truth)] if truth else []
                self.line(0, start, *head, ":", declaration="scheme")
                self.suite(node.body, 1)
            case n.Study():
                self._study(node)

    def _head(self, word: str, node: n.Prompt | n.Score | n.Scheme, result: Sequence[Piece]) -> list[Piece]:
        items = tuple(
            Item((p.name.text + ": ", *self.type(p.type)), p.span.start, p.span.end) for p in node.parameters
        )
        end = node.body.span.start if isinstance(node, n.Score) else node.result.span.start
        inputs = Brackets("(", items, ")", node.name.span.end, end)
        return [f"{word} {node.name.text}", inputs, " -> ", *result]

    def _result(self, node: n.Prompt | n.Scheme) -> list[Piece]:
        return ["many " if node.many else "", *self.type(node.result)]

    # ------------------------------------------------------------ params

    def _group(self, declarations: Sequence[n.Declaration]) -> list[n.Param]:
        """The params at the start of some declarations, line by line; one over several lines is alone."""
        group: list[n.Param] = []
        for node in declarations:
            if not isinstance(node, n.Param) or (group and self._parted(group[-1], node)):
                break
            if self._has_one_line(node):
                group.append(node)
            else:
                return group or [node]
        return group

    def _has_one_line(self, node: n.Param) -> bool:
        comments = [c for c in self._inside if node.span.start <= c.span.start < node.span.end]
        pieces = [piece for cell in self._param(node) for piece in cell]
        return len(lay_out(pieces, 0, comments)[0]) == 1

    def _parted(self, above: n.Param, below: n.Param) -> bool:
        """Whether a blank line stands between two params."""
        if self._source is None:
            return False
        between = self._source.text[above.span.end : below.span.start]
        return re.search(r"\n[ \t]*\n", between) is not None

    def _params(self, group: Sequence[n.Param]) -> None:
        rows = [self._param(node) for node in group]
        lines = _in_columns(rows, [True] * len(rows))
        for node, line in zip(
            group, _in_columns(rows, [len(flat(line)) <= WIDTH for line in lines]), strict=True
        ):
            self.line(0, node.span.start, *line, declaration="param")

    def _param(self, node: n.Param) -> _Row:
        """The cells of a param's line, which stand in columns."""
        type_ = [": ", *self.type(node.type)] if node.type else []
        domain = [" each in " if node.each else " in ", *self._domain(node.domain)] if node.domain else []
        guard = [" when ", *self.expression(node.guard)] if node.guard else []
        return ["param " + node.name.text, *type_], [" = ", *self.expression(node.default)], domain, guard

    def _domain(self, node: n.Range | n.Choices) -> list[Piece]:
        if isinstance(node, n.Range):
            return [*self.expression(node.low), "..", *self.expression(node.high)]
        items = tuple(self.item(value) for value in node.values)
        return [Brackets("[", items, "]", node.span.start, node.span.end)]

    # ------------------------------------------------------------ prompts

    def _prompt(self, node: n.Prompt) -> None:
        head = self._head("prompt", node, self._result(node))
        self.line(0, node.span.start, *head, ":", declaration="prompt")
        parts: list[tuple[int, list[Piece]]] = [
            (setting.span.start, [setting.name.text, " ", *self.expression(setting.value)])
            for setting in node.settings
        ]
        for word, text in (("system ", node.system), ("instruction ", node.instruction), ("", node.user)):
            if text:
                parts.append((text.span.start, [word, self.text(text, hang=0)]))
        if node.parse:
            parts.append((node.parse.span.start, ["parse ", self._form(node.parse)]))
        if node.examples:
            parts.append((self.keyword("examples", node, node.examples[0]), []))
        for start, pieces in sorted(parts, key=lambda part: part[0]):
            if pieces:
                self.line(1, start, *pieces)
            else:
                self._examples(node.examples, start)

    def _examples(self, examples: Sequence[n.Example], start: int) -> None:
        self.line(1, start, "examples:")
        for example in examples:
            inputs = self.separated(
                [[f"{a.name.text} = " if a.name else "", *self.expression(a.value)] for a in example.inputs]
            )
            self.line(2, example.span.start, *inputs, " -> ", *self.expression(example.output))

    def _form(self, node: n.ParseForm) -> str:
        match node.form:
            case Tag(name=name):
                return f"tag({quote(name)})"
            case Json():
                return "json"
            case Lines(pattern=None):
                return "lines"
            case Lines(pattern=str(pattern)):
                return f"lines matching {quote(pattern)}"
            case After(text=text):
                return f"after {quote(text)}"
            case _:
                return f"with {node.function.text}" if node.function else "json"

    # ------------------------------------------------------------ studies

    def _study(self, node: n.Study) -> None:
        self.line(0, node.span.start, f"study {node.name.text}:", declaration="study")
        clauses: list[tuple[int, list[Piece]]] = []
        if node.program:
            scheme = f" scheme {node.scheme.text}" if node.scheme else ""
            clauses.append((node.program.span.start, ["program ", self.text(node.program), scheme]))
        if node.data:
            clauses.append((node.data.span.start, self._data(node.data)))
        for prompts in node.prompts:
            names = ", ".join(name.text for name in prompts.names)
            pieces = [f"prompts {names} with ", *self.expression(prompts.optimizer)]
            clauses.append((prompts.span.start, pieces))
        objectives = [(value, [word + " ", *self.expression(value)]) for word, value in node.objectives]
        clauses += self._lines_of("", objectives)
        clauses += self._lines_of("subject to ", [(c, self.expression(c)) for c in node.constraints])
        clauses += self._lines_of("vary ", [(vary, self._vary(vary)) for vary in node.vary])
        clauses += self._lines_of("", [(option, self._option(option)) for option in node.options])
        for start, pieces in sorted(clauses, key=lambda clause: clause[0]):
            self.line(1, start, *pieces)

    def _lines_of(
        self, word: str, parts: Sequence[tuple[e.Node, list[Piece]]]
    ) -> list[tuple[int, list[Piece]]]:
        """Clauses of one kind; those that shared a line still do."""
        lines: list[tuple[int, list[Piece]]] = []
        for number, (node, pieces) in enumerate(parts):
            if number and not self._ends_line(parts[number - 1][0], node):
                lines[-1][1].extend([", ", *pieces])
            else:
                lines.append((node.span.start, [word, *pieces]))
        return lines

    def _ends_line(self, above: e.Node, below: e.Node) -> bool:
        """Whether a line ends between two nodes."""
        return self._source is not None and "\n" in self._source.text[above.span.end : below.span.start]

    def _data(self, node: n.StudyData) -> list[Piece]:
        pieces: list[Piece] = ["data ", self.text(node.path)]
        if node.columns:
            columns = [
                f"{name} = {column if _COLUMN.fullmatch(column) else quote(column)}"
                for name, column in node.columns
            ]
            pieces.append(f" ({', '.join(columns)})")
        for option in node.options:
            pieces += [", ", *self._option(option)]
        return pieces

    def _vary(self, node: n.Vary) -> list[Piece]:
        return [node.name.text, *([" in ", *self._domain(node.domain)] if node.domain else [])]

    def _option(self, node: n.StudyOption) -> list[Piece]:
        return [node.name.text, " ", *self.expression(node.value)]


def _in_columns(rows: Sequence[_Row], fitting: Sequence[bool]) -> list[list[Piece]]:
    """The lines of params; the signs of those that are fitting stand in columns."""
    even = [row for row, fits in zip(rows, fitting, strict=True) if fits]
    names = max((len(flat(name)) for name, *_ in even), default=0)
    widths = [len(flat(default)) for _, default, domain, _ in even if domain]
    defaults = max((width for width in widths if width <= _MOST_PADDING), default=0)
    lines: list[list[Piece]] = []
    for (name, default, domain, guard), fits in zip(rows, fitting, strict=True):
        if fits and len(even) > 1:
            name = [flat(name).ljust(names)]
            default = [flat(default).ljust(defaults if domain else 0)]
        lines.append([*name, *default, *domain, *guard])
    return lines
