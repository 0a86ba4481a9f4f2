"""Prompts' texts: templates in Jinja2's notation that can put values into a text and do nothing else.

A program may come from a stranger, so a template is refused when it is parsed unless all of it is known to
be harmless (`rules.py`), sees only plain values (`sandbox.py`), and pays for its work out of a budget
(`budget.py`): a CPU loop inside a template would not notice any time-out.

A text stands in the prompt as it is, every other value as JSON: `[3, 4]`, `{"left": 2.5}`, `true`, `null`.
One newline at the very end of the template is dropped, as Jinja does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from gotlang.templates.sandbox import Program
    from gotlang.templates.straight import Straight


@final
@dataclass(frozen=True)
class Template:
    """A parsed template; equal texts are parsed once.

    `names` are the values it asks for.
    """

    text: str
    names: frozenset[str] = field(compare=False)
    _prefix: str = field(compare=False, repr=False)

    @staticmethod
    def parse(text: str) -> Template:
        """Read a template. Raises TemplateError, with the line, for whatever a template may not hold."""
        return _parse(text)

    def render(self, values: Mapping[str, Any]) -> str:
        """The text with the values in their places; values are of JSON's kinds.

        Raises TemplateError, with the line, where a value is missing or of the wrong kind, and where the
        text would need more than 100,000 turns of loops, 10 million characters, or a like amount of work.
        """
        return self._program.run(values)

    def constant_prefix(self) -> str:
        """The text that starts every rendering, whatever the values: all before the first `{{` or `{%`."""
        return self._prefix

    @cached_property
    def _program(self) -> Program | Straight:
        from gotlang.templates.rules import tree
        from gotlang.templates.sandbox import Program
        from gotlang.templates.straight import Straight

        root = tree(self.text)
        return Straight.of(root) or Program.of(root)


@lru_cache(maxsize=1024)
def _parse(text: str) -> Template:
    from gotlang.templates.rules import check, constant_prefix, tree

    root = tree(text)
    return Template(text, check(root), constant_prefix(root))
