"""Templates that only put values into a text, as those of most prompts do: filled in without Jinja.

What they give, what they may cost and what they refuse is the same as in `sandbox.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self, final

from jinja2 import nodes

from gotlang.errors import TemplateError
from gotlang.templates import filters
from gotlang.templates.budget import Budget
from gotlang.templates.sandbox import environment


class Hole(NamedTuple):
    """Where a value goes, by its name."""

    name: str
    line: int


@final
class Straight:
    """A template without loops, conditions, filters and fields, ready to run."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[str | Hole]) -> None:
        self._parts = parts

    @classmethod
    def of(cls, root: nodes.Template) -> Self | None:
        """A tree that has been checked as such a template; None where it is another kind."""
        parts: list[str | Hole] = []
        for statement in root.body:
            if not isinstance(statement, nodes.Output):
                return None
            for node in statement.nodes:
                if isinstance(node, nodes.TemplateData):
                    parts.append(node.data)
                elif isinstance(node, nodes.Name) and node.name not in environment().globals:
                    parts.append(Hole(node.name, node.lineno))
                else:
                    return None
        return cls(parts)

    def run(self, values: Mapping[str, Any]) -> str:
        """Render. Raises TemplateError with the line."""
        budget = Budget()
        written: list[str] = []
        for part in self._parts:
            if isinstance(part, Hole):
                part = self._value(part, values, budget)
            budget.write(len(part))
            written.append(part)
        return "".join(written)

    def _value(self, hole: Hole, values: Mapping[str, Any], budget: Budget) -> str:
        try:
            return filters.text(budget, values[hole.name])
        except KeyError:
            raise TemplateError(f"'{hole.name}' is undefined", line=hole.line) from None
        except TemplateError as error:
            raise TemplateError(error.message, line=hole.line, help=error.help) from None
        except RecursionError:
            raise TemplateError("a value too deep to print", line=hole.line) from None
        except (TypeError, ValueError) as error:
            raise TemplateError(f"cannot be rendered: {error}", line=hole.line) from None
