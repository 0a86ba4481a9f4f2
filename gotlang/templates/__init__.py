"""Prompt texts: templates in Jinja's notation that can fill values into a text and do nothing else.

A program may be untrusted, so a template has no more than the part of that notation that is harmless
(`parser.py`), reads only plain values (`nodes.py`), and pays for its work from a budget (`rendering.py`): no
timeout interrupts a CPU loop inside a template.

A text is shown as it is, every other value as JSON: `[3, 4]`, `{"left": 2.5}`, `true`, `null`. One newline at
the very end of the template is dropped, as in Jinja.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

from gotlang.frozen import Frozen
from gotlang.templates.nodes import Data, Name, Shown, TemplateNode
from gotlang.templates.parser import names, parse
from gotlang.templates.render_state import FAILURES, Rendering

if TYPE_CHECKING:
    from gotlang.templates.typed import Problem
    from gotlang.types import Type


@final
class Template(Frozen, frozen=True):
    """A parsed template, equal to others of the same text. `names` are the values it needs, each with
    its first place (see `gotlang.templates.nodes.TemplatePlace`)."""

    incidental = frozenset({"names", "_body"})

    text: str
    names: Mapping[str, int]
    _body: tuple[TemplateNode, ...]

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
        run = Rendering(values)
        try:
            for part in self._body:
                part.write(run)
        except FAILURES as error:
            raise run.failure(error) from None
        return "".join(run.parts)

    @property
    def plain(self) -> bool:
        """Whether it only shows values, each unchanged."""
        return all(
            isinstance(part, Data) or (isinstance(part, Shown) and isinstance(part.expression, Name))
            for part in self._body
        )

    def longest(
        self, tokens: Callable[[Any], int], sizes: Mapping[str, float], counts: Mapping[str, float]
    ) -> float:
        """The maximum tokens of the text, infinity if unknown (see `gotlang.templates.longest.Longest`)."""
        from gotlang.templates.longest import Longest

        return Longest(tokens, sizes, counts).blocks(self._body)

    def problems(self, types: Mapping[str, Type]) -> list[Problem]:
        """Errors of every rendering with values of these types; names without a type are skipped."""
        if self.plain:  # any value can be shown
            return []
        from gotlang.templates.typed import TypedTemplate

        return TypedTemplate().check(self._body, types)


@lru_cache(maxsize=1024)
def _parse(text: str) -> Template:
    body = parse(text)
    return Template(text, names(body), body)
