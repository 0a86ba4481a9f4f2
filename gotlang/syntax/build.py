"""From the parser's reductions to nodes, last part: declarations, studies and the module."""

# Every method gets the rule's position and its children from Lark, which have no static type.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import Any

from gotlang.answers.forms import After, Json, Lines, Tag
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.build_expressions import present
from gotlang.syntax.build_pipelines import PipelineBuilder
from gotlang.syntax.walk import nodes_in

_PROMPT_PARTS = {
    "system": "the system text",
    "instruction": "the instruction",
    "examples": "`examples`",
    "user": "the prompt's text",
    "parse": "`parse`",
}


class TreeBuilder(PipelineBuilder):
    """Adds the rules of declarations, in the order of the grammar."""

    def module(self, meta, children):
        return n.Module(self._here(meta), tuple(children))

    def import_got(self, meta, children):
        return n.ImportGot(self._here(meta), self._string(children[0]))

    def import_python(self, meta, children):
        path, *names = children
        return n.ImportPython(self._here(meta), self._string(path), tuple(names))

    def import_corpus(self, meta, children):
        return n.ImportCorpus(self._here(meta), self._string(children[0]), children[1])

    def simulate(self, meta, children):
        return n.Simulate(self._here(meta), self._string(children[0]))

    def type_alias(self, meta, children):
        return n.TypeAlias(self._here(meta), *children)

    def param(self, meta, children):
        name, type_, default, domain, guard = children
        each, allowed = domain or (False, None)
        return n.Param(self._here(meta), name, type_, default, each, allowed, guard)

    def domain(self, _meta, children):
        return children[0] is not None, children[1]

    def each(self, _meta, _children):
        return True

    def range(self, meta, children):
        return n.Range(self._here(meta), *children)

    def choices(self, meta, children):
        return n.Choices(self._here(meta), present(children))

    def guard(self, _meta, children):
        return children[0]

    # ------------------------------------------------------------ prompts

    def prompt(self, meta, children):
        name, parameters, many, result, *parts = children
        kinds = _by_kind(parts)
        only = {kind: self._only(kinds, kind, words) for kind, words in _PROMPT_PARTS.items()}
        return n.Prompt(
            self._until(meta, *nodes_in(parts)),
            name,
            parameters,
            many is not None,
            result,
            tuple(kinds.get("setting", ())),
            only["system"],
            only["instruction"],
            only["examples"] or (),
            only["user"],
            only["parse"],
        )

    def setting(self, meta, children):
        return "setting", n.PromptSetting(self._here(meta), *children)

    def system(self, _meta, children):
        return "system", self._string(children[0])

    def instruction(self, _meta, children):
        return "instruction", self._string(children[0])

    def user(self, _meta, children):
        return "user", self._string(children[0])

    def examples(self, _meta, children):
        return "examples", tuple(children)

    def example(self, meta, children):
        *inputs, output = children
        return n.Example(self._here(meta), tuple(inputs), output)

    def parse(self, meta, children):
        form = children[0]
        if isinstance(form, e.Identifier):
            return "parse", n.ParseForm(self._here(meta), None, form)
        return "parse", n.ParseForm(self._here(meta), form)

    def parse_tag(self, _meta, children):
        return Tag(self._read(children[0]))

    def parse_json(self, _meta, _children):
        return Json()

    def parse_lines(self, _meta, children):
        return Lines(self._read(children[0]) if children[0] is not None else None)

    def parse_after(self, _meta, children):
        return After(self._read(children[0]))

    def parse_with(self, _meta, children):
        return children[0]

    # ------------------------------------------------------------ scores and schemes

    def score(self, meta, children):
        name, parameters, direction, best, body = children
        return n.Score(self._until(meta, body), name, parameters, str(direction), best, body)

    def scheme(self, meta, children):
        name, parameters, many, result, truth, body = children
        return n.Scheme(self._until(meta, body), name, parameters, many is not None, result, truth, body)

    def parameters(self, _meta, children):
        return present(children)

    def parameter(self, meta, children):
        return n.Parameter(self._here(meta), *children)

    def many(self, _meta, _children):
        return True

    # ------------------------------------------------------------ studies

    def study(self, meta, children):
        name, *clauses = children
        kinds = _by_kind(clauses)
        program, scheme = self._only(kinds, "program", "`program`") or (None, None)

        def every(kind: str) -> tuple[Any, ...]:
            return tuple(item for group in kinds.get(kind, ()) for item in group)

        return n.Study(
            self._until(meta, *nodes_in(clauses)),
            name,
            program,
            scheme,
            self._only(kinds, "data", "`data`"),
            every("objectives"),
            every("constraints"),
            every("vary"),
            tuple(kinds.get("prompts", ())),
            every("options"),
        )

    def study_program(self, _meta, children):
        return "program", (self._string(children[0]), children[1])

    def study_data(self, meta, children):
        path, *rest = children
        columns = tuple(item for item in rest if isinstance(item, tuple))
        options = tuple(item for item in rest if isinstance(item, n.StudyOption))
        return "data", n.StudyData(self._here(meta), self._string(path), columns, options)

    def binding_pair(self, _meta, children):
        return children[0].text, children[1]

    def column(self, _meta, children):
        token = children[0]
        return self._read(token) if token.type == "STRING" else str(token)

    def study_objective(self, _meta, children):
        return "objectives", tuple((str(children[i]), children[i + 1]) for i in range(0, len(children), 2))

    def study_constraint(self, _meta, children):
        return "constraints", tuple(children)

    def study_vary(self, _meta, children):
        return "vary", tuple(children)

    def vary_item(self, meta, children):
        return n.Vary(self._here(meta), *children)

    def study_prompts(self, meta, children):
        *names, optimizer = children
        return "prompts", n.StudyPrompts(self._here(meta), tuple(names), optimizer)

    def study_setting(self, _meta, children):
        return "options", tuple(children)

    def study_option(self, meta, children):
        return n.StudyOption(self._here(meta), *children)

    def _only(self, kinds: dict[str, list[Any]], kind: str, what: str) -> Any:
        """The one part of a kind, or None; a second one is a mistake."""
        found = kinds.get(kind, [None])
        for again in found[1:]:
            place = next(nodes_in(again)).span
            self._problem("GOT0008", f"{what} stands here a second time", place, "keep one of them")
        return found[0]


def _by_kind(parts: list[tuple[str, Any]]) -> dict[str, list[Any]]:
    kinds: dict[str, list[Any]] = {}
    for kind, value in parts:
        kinds.setdefault(kind, []).append(value)
    return kinds
