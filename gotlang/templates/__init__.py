"""Prompt texts: templates in Jinja's notation that can fill values into a text and do nothing else.

A program may be untrusted, so a template is refused when it is parsed unless everything in it is known to be
harmless (`rules.py`), reads only plain values (`sandbox.py`), and pays for its work from a budget
(`budget.py`): no timeout interrupts a CPU loop inside a template.

A text is shown as it is, every other value as JSON: `[3, 4]`, `{"left": 2.5}`, `true`, `null`. One newline at
the very end of the template is dropped, as in Jinja.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

from gotlang.frozen import Frozen
from gotlang.templates.plain import PlainTemplate, read_plain

if TYPE_CHECKING:
    from jinja2 import nodes

    from gotlang.templates.sandbox import SandboxedTemplate
    from gotlang.templates.typed import Problem
    from gotlang.types import Type


@final
class Template(Frozen, frozen=True):
    """A parsed template, equal to others of the same text. `names` are the values it needs, each with
    its first place (see `gotlang.templates.sandbox.placed`)."""

    incidental = frozenset({"names", "_runnable"})

    text: str
    names: Mapping[str, int]
    _runnable: PlainTemplate | SandboxedTemplate

    def __reduce__(self) -> tuple[Any, ...]:
        """As its text: it is parsed where it arrives."""
        return Template.parse, (self.text,)

    @staticmethod
    def parse(text: str) -> Template:
        """Parse a template; equal texts are parsed once. Raises TemplateError, with the line."""
        return _parse(text)

    def render(self, values: Mapping[str, Any]) -> str:
        """The text with the values filled in; values are of JSON's kinds.

        Raises TemplateError, with the line, if a value is missing or of the wrong kind, and if the text would
        need more than 100,000 iterations of loops, 10 million characters, or a similar amount of work.
        """
        return self._runnable.render(values)

    @property
    def plain(self) -> bool:
        """Whether it only shows values, each as it is."""
        return isinstance(self._runnable, PlainTemplate)

    def longest(
        self, tokens: Callable[[Any], int], sizes: Mapping[str, float], counts: Mapping[str, float]
    ) -> float:
        """The most tokens of the text, infinity where that is not known (see
        `gotlang.templates.longest.Longest`)."""
        from gotlang.templates.longest import Longest

        return Longest(tokens, sizes, counts).blocks(self._root.body)

    @property
    def _root(self) -> nodes.Template:
        """Jinja's tree of the text."""
        if not isinstance(self._runnable, PlainTemplate):
            return self._runnable.root
        from gotlang.templates.rules import tree

        return tree(self.text)

    def problems(self, types: Mapping[str, Type]) -> list[Problem]:
        """What fails in every rendering with values of these types; names without a type are passed over."""
        if isinstance(self._runnable, PlainTemplate):  # any value can be shown
            return []
        from gotlang.templates.typed import TypedTemplate

        return TypedTemplate().check(self._runnable.root, types)


@lru_cache(maxsize=1024)
def _parse(text: str) -> Template:
    if (plain := read_plain(text)) is not None:
        return Template(text, plain.names, plain)
    from gotlang.templates.rules import check, tree
    from gotlang.templates.sandbox import runnable

    root = tree(text)
    return Template(text, check(root), runnable(root))
