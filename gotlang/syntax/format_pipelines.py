"""Steps, blocks and the other lines of a pipeline to canonical lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gotlang.span import Source
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.format_expressions import ExpressionPrinter
from gotlang.syntax.layout import Line
from gotlang.syntax.pieces import Piece, flat


class PipelinePrinter(ExpressionPrinter):
    """Collects lines in the order of the source."""

    def __init__(self, source: Source | None) -> None:
        super().__init__(source)
        self.lines: list[Line] = []

    def line(self, depth: int, start: int, *pieces: Piece, declaration: str = "") -> None:
        """Adds a line; lines never go back in the source, so that comments keep their order."""
        if self.lines:
            start = max(start, self.lines[-1].start)
        self.lines.append(Line(depth, list(pieces), start, declaration))

    def separated(self, parts: Sequence[list[Piece]]) -> list[Piece]:
        """Parts with commas between them."""
        pieces: list[Piece] = []
        for number, part in enumerate(parts):
            pieces += [", ", *part] if number else part
        return pieces

    def suite(self, suite: n.Suite, depth: int) -> None:
        """The lines of a pipeline at a depth."""
        for statement in suite.statements:
            self._statement(statement, depth)

    def keyword(self, word: str, block: e.Node, first: e.Node) -> int:
        """Where the line with a word like `else` stands in a block: the last one before what follows it."""
        after, before = block.span.start, first.span.start
        if self._source is None:
            return before
        found = list(re.finditer(rf"^[ \t]*{word}\b", self._source.text[after:before], re.MULTILINE))
        return after + found[-1].end() - len(word) if found else before

    def _statement(self, node: n.Statement, depth: int) -> None:
        start = node.span.start
        match node:
            case n.Step():
                self.line(depth, start, *self._step(node))
            case n.Evaluate(value=value):
                self.line(depth, start, *self.expression(value))
            case n.Return(value=value):
                self.line(depth, start, "return ", *self.expression(value))
            case n.Bind():
                self._bind(node, depth)
            case _:
                self._block(node, depth, start, "")

    def _bind(self, node: n.Bind, depth: int) -> None:
        start, name = node.span.start, node.name.text
        match node.value:
            case n.Step() as step:
                self.line(depth, start, f"{name} = ", *self._step(step))
            case n.Suite() as suite:
                self.line(depth, start, f"{name} =")
                self.suite(suite, depth + 1)
            case n.Foreach() | n.Reduce() | n.RepeatBlock() | n.If() | n.Labelled() as block:
                self._block(block, depth, start, f"{name} = ")
            case value:
                self.line(depth, start, f"{name} = ", *self.expression(value))

    def _step(self, node: n.Step) -> list[Piece]:
        operands = self.separated([self.expression(operand) for operand in node.operands])
        pieces: list[Piece] = [node.operation.text]
        if node.settings is not None:
            after = [*node.operands, *([node.again] if node.again else [])]
            end = after[0].span.start if after else node.span.end
            pieces.append(self.arguments(node.settings, (node.operation.span.end, end)))
        elif flat(operands).startswith("("):
            pieces.append("()")  # otherwise the operand would be read as settings
        if operands:
            pieces += [" ", *operands]
        return [*pieces, " ", *self._step(node.again)] if node.again else pieces

    def _block(self, node: n.Block, depth: int, start: int, name: str) -> None:
        """A block; `name` is what it is bound to, with the sign."""
        match node:
            case n.If():
                self._if(node, depth, start, name)
                return
            case n.Foreach():
                head = self._foreach(node)
            case n.Reduce(left=left, right=right, iterable=iterable, step=step):
                head = [f"reduce {left.text}, {right.text}"]
                head += [" in ", *self.expression(iterable)] if iterable else []
                head += [f" as {step.text}"] if step else []
            case n.RepeatBlock(count=count, counter=counter, until=until):
                head = ["repeat ", *self.expression(count)]
                head += [f" as {counter.text}"] if counter else []
                head += [" until ", *self.expression(until)] if until else []
            case n.Labelled():
                head = self._labelled(node)
        self.line(depth, start, name, *head, ":")
        self.suite(node.body, depth + 1)

    def _foreach(self, node: n.Foreach) -> list[Piece]:
        position = f", {node.position.text}" if node.position else ""
        head: list[Piece] = [" ".join(["foreach", *node.adjectives, node.name.text]) + position]
        if node.iterable:
            head += [" in ", *self.expression(node.iterable)]
        if node.after:
            head += [" after ", *self.expression(node.after)]
        return head

    def _labelled(self, node: n.Labelled) -> list[Piece]:
        head: list[Piece] = [node.label]
        if node.sources:
            head += [" from ", *self.separated([self._source_of(source) for source in node.sources])]
        if node.names:
            head.append(" as " + ", ".join(name.text for name in node.names))
        return head

    def _source_of(self, node: e.Expression | n.LabelReference) -> list[Piece]:
        return [node.label] if isinstance(node, n.LabelReference) else self.expression(node)

    def _if(self, node: n.If, depth: int, start: int, name: str) -> None:
        for number, (condition, body) in enumerate(node.branches):
            head = [name, "if "] if number == 0 else ["elif "]
            self.line(
                depth, condition.span.start if number else start, *head, *self.expression(condition), ":"
            )
            self.suite(body, depth + 1)
        if node.otherwise:
            self.line(depth, self.keyword("else", node, node.otherwise.statements[0]), "else:")
            self.suite(node.otherwise, depth + 1)
