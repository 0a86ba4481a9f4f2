"""From the parser's reductions to nodes, second part: steps, blocks and the other lines of a pipeline."""

# Every method gets the rule's position and its children from Lark, which have no static type.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from difflib import get_close_matches

from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.build_expressions import ExpressionBuilder, present
from gotlang.syntax.hints import CAPITAL, LABELS


class PipelineBuilder(ExpressionBuilder):
    """Adds the rules of pipelines, in the order of the grammar."""

    def _until(self, meta, *parts: e.Node) -> Span:
        """The place of a block: up to its last part, without the line end that closes it."""
        return Span(self._name, self._base + meta.start_pos, max(part.span.end for part in parts))

    def suite(self, _meta, children):
        return n.Suite(children[0].span.to(children[-1].span), tuple(children))

    body = suite

    def bind_step(self, meta, children):
        return n.Bind(self._here(meta), *children)

    bind_expression = bind_step

    def bind_suite(self, meta, children):
        return n.Bind(self._until(meta, children[-1]), *children)

    bind_block = bind_suite

    def evaluate(self, meta, children):
        return n.Evaluate(self._here(meta), children[0])

    def return_(self, meta, children):
        return n.Return(self._here(meta), children[0])

    def step(self, meta, children):
        (name, settings), operands, again = children
        return n.Step(self._here(meta), name, settings, operands or (), again)

    def operation(self, _meta, children):
        token, settings = children
        name = self._identifier(token)
        if name.text == "Call":
            # `Call f(x)` and `Call() f(x)` are one thing, and the first is how it is written.
            return name, settings or None
        if name.text in CAPITAL:
            self._problem(
                "GOT0001", f"`{name.text}` does not fit here", name.span, f"write `{CAPITAL[name.text]}`"
            )
        elif settings is None:
            self._problem(
                "GOT0010",
                f"`{name.text}` has no settings",
                name.span,
                f"write `{name.text}()`: the parentheses are always there, even empty",
            )
        return name, settings or ()

    def settings(self, _meta, children):
        return self._arguments(children)

    def operands(self, _meta, children):
        return tuple(children)

    def again(self, meta, children):
        token, settings = children
        return n.Step(self._here(meta), self._identifier(token), settings, ())

    def foreach(self, meta, children):
        (*adjectives, name), position, iterable, after, body = children
        for word in adjectives[1:]:
            # Any word may stand before the name, so a misspelt `in` would make another program.
            if word == "of" or get_close_matches(word, ["in", "after"], cutoff=0.75):
                message, help = f"`{word}` does not fit here", "write `foreach x in xs:`"
                self._problem("GOT0001", message, self._place(word), help)
        return n.Foreach(
            self._until(meta, body),
            tuple(str(word) for word in adjectives),
            self._name_of(name),
            position,
            iterable,
            after,
            body,
        )

    def reduce(self, meta, children):
        return n.Reduce(self._until(meta, children[-1]), *children)

    def repeat(self, meta, children):
        return n.RepeatBlock(self._until(meta, children[-1]), *children)

    def if_(self, meta, children):
        condition, body, *rest = children
        branches = [(condition, body), *(part for part in rest if isinstance(part, tuple))]
        otherwise = next((part for part in rest if isinstance(part, n.Suite)), None)
        last = otherwise or branches[-1][1]
        return n.If(self._until(meta, last), tuple(branches), otherwise)

    def elif_(self, _meta, children):
        return tuple(children)

    def else_(self, _meta, children):
        return children[0]

    def labelled(self, meta, children):
        words, number, *rest, body = children
        if words[0] in LABELS:
            message = f"`{words[0]}` opens no block here"
            self._problem("GOT0001", message, self._place(words[0]), LABELS[words[0]])
        label = " ".join([*words, *([number] if number is not None else [])])
        parts = present(rest)
        sources = tuple(c for c in parts if not isinstance(c, e.Identifier))
        names = tuple(c for c in parts if isinstance(c, e.Identifier))
        return n.Labelled(self._until(meta, body), label, sources, names, body)

    def source(self, _meta, children):
        return children[0]

    def words(self, _meta, children):
        return tuple(children)

    def words_reference(self, meta, children):
        return n.LabelReference(self._here(meta), " ".join(present(children)))
