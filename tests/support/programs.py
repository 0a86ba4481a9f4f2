"""Well-formed programs for laws: syntax trees of every kind, and texts with comments in every place.

The programs mean nothing; they only have the shape of one, so that printing and parsing can be held
against each other.
"""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

from gotlang.answers.forms import After, Json, Lines, Tag
from gotlang.span import NOWHERE
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n

# Some of these are words of the grammar in other places.
_NAMES = ["it", "x1", "_hidden", "iffy", "inner", "score", "data", "lower", "user", "json", "type"]
_TYPES = ["int", "str", "State", "list"]
_OPERATIONS = ["Generate", "Improve", "Score", "KeepBestN", "Pool"]
# What escapes, margins and quotes are made of.
_CHARACTERS = st.sampled_from([*' \t\n"\\nrtu0041a{}#é', '"""', "\x00", "\r", " ", " ", "\\n"])

texts = st.lists(_CHARACTERS, max_size=12).map("".join)
names = st.sampled_from(_NAMES)


def _several(items: st.SearchStrategy[Any], least: int = 0, most: int = 3) -> st.SearchStrategy[Any]:
    return st.lists(items, min_size=least, max_size=most).map(tuple)


def _given(name: st.SearchStrategy[Any], value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Arguments of a call: those without a name come first."""
    arguments = _several(_node(e.Argument, name, value))
    return arguments.map(lambda given: tuple(sorted(given, key=lambda argument: argument.name is not None)))


@st.composite
def _node(draw: st.DrawFn, kind: Any, *parts: st.SearchStrategy[Any]) -> Any:
    # Not `builds`: Hypothesis then takes minutes to print a deep tree of calls.
    return kind(NOWHERE, *[draw(part) for part in parts])


identifiers = _node(e.Identifier, names)
case_names = _node(e.Identifier, st.sampled_from(["Act", "Stop", "Finish2"]))
short_texts = _node(e.Constant, texts)
all_texts = _node(e.Constant, texts, st.booleans())
numbers = _node(
    e.Constant,
    st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False) | st.just(-0.0),
)
constants = numbers | all_texts | _node(e.Constant, st.sampled_from([True, False]))
param_constants = constants | _node(e.ListDisplay, _several(constants))


def _expressions(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    arguments = _given(st.none() | identifiers, inner)
    operators = st.sampled_from(["or", "and", "+", "-", "*", "/", "//", "%", "**"])
    comparators = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not in"])
    return st.one_of(
        _node(e.Unary, st.sampled_from(["not", "-", "+"]), inner),
        _node(e.Binary, operators, inner, inner),
        _node(e.Compare, inner, _several(st.tuples(comparators, inner), 1)),
        _node(e.Conditional, inner, inner, inner),
        _node(e.Index, inner, inner),
        _node(e.Slice, inner, st.none() | inner, st.none() | inner),
        _node(e.Field, inner, st.sampled_from(["left", "not", "e3"])),
        _node(e.Call, identifiers, arguments),
        _node(e.ListDisplay, _several(inner)),
        _node(e.Comprehension, inner, _several(identifiers, 1, 2), inner, st.none() | inner),
        _node(e.Case, case_names, _several(st.tuples(st.sampled_from(["path", "in", "a b"]), inner))),
        _node(e.RecordDisplay, _several(st.tuples(st.sampled_from(["path", "in", "a b", "", None]), inner))),
    )


_atoms = _node(e.Reference, names) | constants | _node(e.Constant, st.none())
expressions = st.recursive(_atoms, _expressions, max_leaves=6)
_settings_names = _node(e.Identifier, st.sampled_from(["k", "until", "model"]))
_arguments = _given(st.none() | _settings_names, expressions)

type_nodes = st.recursive(
    _node(n.NamedType, _node(e.Identifier, st.sampled_from(_TYPES)))
    | _node(n.UnionTypeNode, _several(texts, 1)),
    lambda inner: (
        _node(n.NamedType, _node(e.Identifier, st.sampled_from(_TYPES)), _several(inner, 1, 2))
        | _node(n.RecordTypeNode, _several(_node(n.TypedName, identifiers, inner)))
        | _node(n.OptionalTypeNode, inner.filter(lambda node: not isinstance(node, n.OptionalTypeNode)))
    ),
    max_leaves=4,
)
_fields = _node(n.RecordTypeNode, _several(_node(n.TypedName, identifiers, type_nodes), 1))
type_nodes |= _node(n.CaseTypeNode, case_names, _fields) | _node(
    n.AlternativesNode, _several(_node(n.CaseTypeNode, case_names, st.none() | _fields), 2)
)

# ---------------------------------------------------------------- pipelines

_again = _node(n.Step, _node(e.Identifier, st.just("Repeat")), _arguments, st.just(()))
steps = _node(
    n.Step,
    _node(e.Identifier, st.sampled_from(_OPERATIONS)),
    _arguments,
    _several(expressions),
    st.none() | _again,
) | _node(
    n.Step,
    _node(e.Identifier, st.just("Call")),
    _arguments.map(lambda arguments: arguments or None),
    _several(expressions, 1),
    st.none() | _again,
)
_words = st.lists(st.sampled_from(["merge", "step", "final", "score"]), min_size=2, max_size=3)
_labels = st.sampled_from(["merge", "merge step 1", "final merge", "step 12", "batch 1", 'for "all"?'])
_references = _node(n.LabelReference, _labels)


def _branches(suites: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    values = short_texts | _node(e.Constant, st.sampled_from([True, False, None]))
    several = _several(_node(n.CasePattern, case_names, st.just(())) | values, 1)
    one = _several(_node(n.CasePattern, case_names, _several(identifiers, 1)), 1, 1)
    return _node(n.MatchBranch, several | one, st.none() | identifiers, suites)


def _blocks(suites: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    optional = st.none() | expressions
    adjectives = st.none() | st.just("list")
    sources = expressions.filter(lambda x: not isinstance(getattr(x, "value", None), str)) | _references
    labelled = st.tuples(_several(sources, 1), _several(identifiers)) | st.just(((), ()))
    return st.one_of(
        _node(n.Foreach, adjectives, _several(identifiers, 1, 2), optional, optional, suites),
        _node(n.Reduce, identifiers, identifiers, optional, st.none() | identifiers, suites),
        _node(n.RepeatBlock, expressions, st.none() | identifiers, optional, suites),
        _node(n.Repeated, _again, suites),
        _node(n.If, _several(st.tuples(expressions, suites), 1, 2), st.none() | suites),
        _node(n.Match, expressions, _several(_branches(suites), 1), st.none() | suites),
        st.builds(
            lambda label, ends, body: n.Labelled(NOWHERE, label, ends[0], ends[1], body),
            _labels,
            labelled,
            suites,
        ),
    )


def _suites(statements: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return _node(n.Suite, _several(statements, 1, 3))


_simple = st.one_of(
    steps,
    _node(n.Evaluate, expressions),
    st.builds(
        lambda again, call: n.Repeated(NOWHERE, again, n.Suite(NOWHERE, (n.Evaluate(NOWHERE, call),)), True),
        _again,
        _node(e.Call, identifiers, _arguments),
    ),
    _node(n.Bind, identifiers, st.none() | type_nodes, steps | expressions),
    _node(n.Return, expressions),
)
statements = st.recursive(
    _simple,
    lambda inner: st.one_of(
        _blocks(_suites(inner)),
        _node(n.Bind, identifiers, st.none() | type_nodes, _suites(inner) | _blocks(_suites(inner))),
    ),
    max_leaves=4,
)
suites = _suites(statements)

# ---------------------------------------------------------------- declarations

_domains = _node(n.Range, numbers, numbers) | _node(n.Choices, _several(param_constants, 1))
_varied = _node(
    n.Choices, _several(_node(e.Reference, names) | _node(n.TextFile, short_texts) | all_texts, 1)
)
params = st.builds(
    lambda name, type_, default, each, domain, guard: n.Param(
        NOWHERE, name, type_, default, each and domain is not None, domain, guard
    ),
    identifiers,
    st.none() | type_nodes,
    param_constants,
    st.booleans(),
    st.none() | _domains,
    st.none() | expressions,
)
_parameters = _several(_node(n.TypedName, identifiers, type_nodes))
_settings = _node(n.Setting, _node(e.Identifier, st.sampled_from(["temperature", "stop"])), expressions)
_examples = _node(n.Example, _several(_node(e.Argument, identifiers, expressions), 1), expressions)
_parse_forms = _node(
    n.ParseForm,
    st.builds(Tag, texts) | st.just(Json()) | st.builds(Lines, st.none() | texts) | st.builds(After, texts),
) | _node(n.ParseForm, st.none(), identifiers)
prompts = _node(
    n.Prompt,
    identifiers,
    _parameters,
    st.booleans(),
    type_nodes,
    _several(_settings),
    st.none() | all_texts,
    st.none() | all_texts,
    _several(_examples, 0, 2),
    all_texts,
    st.none() | _parse_forms,
)
scores = _node(
    n.Score,
    identifiers,
    _parameters,
    st.sampled_from(["lower", "higher"]),
    st.none() | numbers,
    suites,
)
metrics = _node(
    n.Metric,
    identifiers,
    _parameters,
    st.sampled_from(["lower", "higher"]),
    st.none() | numbers,
    st.none() | numbers,
    suites,
)
schemes = _node(n.Scheme, identifiers, _parameters, st.booleans(), type_nodes, st.none() | type_nodes, suites)
_inputs = _several(_node(n.TypedName, identifiers, type_nodes, st.none() | expressions), 0, 2)
_variables = _several(_node(e.Identifier, st.sampled_from(["T", "S"])), 0, 2)
operations = _node(
    n.OperationDefinition, _node(e.Identifier, st.sampled_from(["BestOf", "Mine"])), _inputs, _inputs, suites
)
functions = _node(n.Function, identifiers, _variables, _inputs, type_nodes, expressions)
partials = _node(n.Partial, identifiers, _parameters, short_texts)
_options = _node(n.Setting, _node(e.Identifier, st.sampled_from(["trials", "sampler"])), expressions)
_data = _node(
    n.StudyData,
    short_texts,
    _several(st.tuples(names, st.sampled_from(["Unsorted", "my column", "x", ""]))),
    _several(_options),
)
_studies = st.tuples(
    identifiers,
    st.none() | short_texts,
    st.none() | identifiers,
    st.none() | _data,
    _several(st.tuples(st.sampled_from(["minimize", "maximize"]), expressions)),
    _several(expressions),
    _several(_node(n.Vary, identifiers, st.none() | identifiers, st.none() | _domains | _varied)),
    _several(_node(n.StudyPrompts, _several(identifiers, 1), expressions)),
    _several(_options, 1),
)
studies = _studies.map(
    lambda parts: n.Study(NOWHERE, parts[0], parts[1], parts[2] if parts[1] else None, *parts[3:])
)
_functions = _node(n.PythonFunction, identifiers, st.none() | type_nodes)
_files = short_texts | _node(n.ModuleName, st.sampled_from(["std.vote", "kit.parts.lists"]))
imports = st.one_of(
    _node(n.ImportGot, _files, st.none() | identifiers),
    _node(
        n.ImportGot,
        _files,
        st.none(),
        _several(_node(n.ImportedName, identifiers, st.none() | identifiers), 1),
    ),
    _node(
        n.ImportPython, short_texts, _several(_node(n.PythonFunction, identifiers, st.none() | type_nodes), 1)
    ),
    _node(n.ImportCorpus, short_texts, identifiers),
    _node(n.Simulate, short_texts),
)
aliases = _node(n.TypeAlias, _node(e.Identifier, st.sampled_from(["State", "plain"])), type_nodes)
declarations = st.one_of(
    imports, aliases, params, prompts, scores, metrics, schemes, operations, functions, partials, studies
)
modules = _node(n.Module, _several(declarations, 0, 5) | _several(params, 2, 6))

# ---------------------------------------------------------------- comments

_CODE = re.compile(r'"""(?:[^"\\]|\\[\s\S]|"(?!""))*"""|"(?:[^"\\\n]|\\[^\n])*"|#[^\n]*|[()\[\]{},]|\n')


@st.composite
def with_comments(draw: st.DrawFn, text: str) -> str:
    """A program with comments, blank lines and line breaks put in wherever they change nothing."""
    places: list[tuple[int, bool]] = [(0, False)] if text else []
    depth = 0
    for match in _CODE.finditer(text):
        mark = match[0]
        if mark == "\n":
            places.append((match.start(), False))
        elif mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
        if mark in "([{," and depth:
            places.append((match.end(), True))
    if not places:
        return text
    chosen = draw(st.lists(st.sampled_from(places), max_size=6))
    for number, (place, inside) in enumerate(sorted(chosen, reverse=True)):
        gap = " " * draw(st.integers(0, 9))
        comment = f"# {number}"
        if inside:
            extra = draw(st.sampled_from([f"\n{gap}", f" {comment}\n{gap}", f"\n{gap}{comment}\n\n{gap}"]))
        elif place == 0:
            extra = draw(st.sampled_from(["\n", f"{comment}\n", f"{comment}\n\n\n"]))
        else:
            extra = draw(
                st.sampled_from(
                    [gap + comment, f"\n{gap}{comment}", "\n", f"\n\n{gap}\n", f"{gap}{comment}\n\n"]
                )
            )
        if not inside and place and text[place : place + 1] != "\n" and "#" in extra:
            continue
        text = text[:place] + extra + text[place:]
    return text
