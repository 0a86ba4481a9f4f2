"""IR of every kind for the law that its text reads back: it means nothing, it only has the shape."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace
from support.programs import expressions, texts

from gotlang.answers.forms import After, Json, Lines, Tag
from gotlang.answers.reader import write
from gotlang.errors import EvaluationError
from gotlang.ir import program as ir
from gotlang.ir.text import line_text
from gotlang.operations.step import LineKey
from gotlang.span import NOWHERE
from gotlang.syntax import expressions as e
from gotlang.templates import Template
from gotlang.types import (
    BOOL,
    DYNAMIC,
    EMPTY,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    DictType,
    ListType,
    LiteralType,
    RecordType,
    fits,
    optional,
)

names = st.sampled_from(["a", "k", "settings", "stop", "x_1", "one", "value", "enter", "by"])
pools = names | st.sampled_from(["%1", "%23", "%start", "%merge_step_1"])
types = st.recursive(
    st.sampled_from([INT, FLOAT, BOOL, STR, DYNAMIC, EMPTY, NEVER, NONE, LiteralType(("a", 'b"|', "one"))]),
    lambda inner: st.one_of(
        inner.map(ListType),
        inner.map(DictType),
        inner.map(optional),
        st.dictionaries(names, inner, max_size=2).map(lambda fields: RecordType(tuple(fields.items()))),
    ),
    max_leaves=3,
)
values = expressions | st.builds(e.Reference, st.just(NOWHERE), pools)
arguments = st.dictionaries(names, values, max_size=2).map(lambda found: tuple(found.items()))
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-1e9, 1e9) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)
some = st.none() | values
templates = texts.map(lambda text: Template.parse(text.replace("{", "{{ value }} (")))


def _several(items: st.SearchStrategy[Any], least: int = 0, most: int = 3) -> st.SearchStrategy[Any]:
    return st.lists(items, min_size=least, max_size=most).map(tuple)


def _step(class_: Any, /, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(class_, pools, types, st.booleans(), pool=pools, **fields)


_stops = st.builds(ir.EarlyStop, names, arguments, values)
_lines = st.none() | st.builds(LineKey, texts, st.integers(0, 9))


def _at_line(step: ir.Step, line: LineKey | None) -> ir.Step:
    """The line of a step that calls something, usually one with equal text."""
    text = line_text(step)
    return replace(step, line=line or LineKey(text)) if text else step


_plain = st.one_of(
    *(
        _step(
            kind,
            prompt=names,
            arguments=arguments,
            k=values,
            settings=arguments,
            until=some,
            batched=st.booleans(),
            stop=st.none() | _stops,
        )
        for kind in (ir.Generate, ir.Improve, ir.Aggregate)
    ),
    _step(ir.Score, score=names, arguments=arguments, value=st.none(), k=values, batched=st.booleans()),
    _step(ir.Score, score=st.none(), arguments=st.just(()), value=values, k=values, batched=st.booleans()),
    _step(ir.Validate, condition=values),
    _step(ir.Validate, condition=st.none(), prompt=names, arguments=arguments),
    _step(ir.KeepValid),
    _step(
        ir.ValidateAndImprove,
        condition=st.none(),
        judge=names,
        judge_arguments=arguments,
        prompt=names,
        arguments=arguments,
        tries=values,
        settings=arguments,
    ),
    _step(
        ir.ValidateAndImprove,
        condition=values,
        judge=st.none(),
        judge_arguments=st.just(()),
        prompt=names,
        arguments=arguments,
        tries=values,
    ),
    _step(ir.KeepBestN, count=values),
    _step(ir.Select, condition=values, positions=st.none()),
    _step(ir.Select, condition=st.none(), positions=values),
    _step(ir.Vote, weight=some),
    _step(ir.Map, value=values),
    _step(ir.Pool, values=_several(values, 1)),
    _step(ir.Retrieve, corpus=names, query=values, k=values, texts=st.none() | values),
    _step(
        ir.Call,
        function=names,
        arguments=_several(st.tuples(st.none(), values)) | _several(st.tuples(names, values)),
    ),
    _step(ir.GroundTruth, condition=values),
    _step(ir.Invoke, scheme=names, arguments=arguments),
)
_simple = st.builds(_at_line, _plain, _lines)


def _regions(steps: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(ir.Region, pools, _several(steps), pools)


def _blocks(steps: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    body = _regions(steps)
    return st.one_of(
        _step(
            ir.Foreach,
            iterable=some,
            name=pools,
            position=st.none() | pools,
            parts=st.just(()) | st.tuples(pools, pools),
            after=some,
            body=body,
        ),
        _step(ir.Reduce, iterable=some, left=pools, right=pools, step=st.none() | pools, body=body),
        _step(ir.Repeat, count=values, counter=st.none() | pools, until=some, body=body),
        _step(ir.Repeated, count=values, settings=arguments, body=body),
        _step(ir.If, branches=_several(st.tuples(values, body), 0, 2), otherwise=st.none() | body),
        _step(ir.Block, label=texts, names=_several(st.tuples(pools, pools), 0, 2), body=body),
    )


regions = _regions(st.recursive(_simple, _blocks, max_leaves=4))
_parameters = st.dictionaries(names, types, max_size=2).map(lambda found: tuple(found.items()))
_numbers = st.integers(-5, 5) | st.floats(-1e9, 1e9)
_constants = _numbers | st.booleans() | texts
_domains = st.builds(ir.Domain, _numbers, _numbers) | st.builds(
    ir.Domain, st.none(), st.none(), _several(_constants, 1)
)
_params = st.builds(
    lambda name, type_, default, each, domain, guard: ir.Param(
        name, type_, default, each and domain is not None, domain, guard
    ),
    names,
    types,
    _constants | st.lists(_constants, max_size=2),
    st.booleans(),
    st.none() | _domains,
    some,
)


@st.composite
def _prompts(draw: st.DrawFn) -> ir.Prompt:
    result, many = draw(types), draw(st.booleans())
    reader = draw(st.none() | names)
    forms = st.none() | st.sampled_from([Json(), Tag("a"), Lines(), Lines('{x} "'), After("So:\n")])
    form = draw(forms) if reader is None else None
    examples = []
    for inputs, output in draw(
        st.lists(st.tuples(st.dictionaries(names, plain, min_size=1), plain), max_size=2)
    ):
        whole = ListType(result) if many else result
        raw = isinstance(output, str) and fits(whole, output) is not None and whole not in (STR, DYNAMIC)
        raw = raw and not isinstance(whole, LiteralType)
        with suppress(EvaluationError):  # no response reads as an output of another type
            response = output if raw else write(output, whole, form)
            examples.append(ir.Example(tuple(inputs.items()), output, response))
    user = draw(st.none() | templates)
    return ir.Prompt(
        draw(names),
        draw(_parameters),
        result,
        many,
        draw(arguments.map(lambda found: tuple((f"s_{name}", value) for name, value in found))),
        draw(st.none() | templates),
        draw(templates if user is None else st.none() | templates),
        tuple(examples),
        user,
        form,
        reader,
        draw(some),
    )


_scores = st.builds(
    ir.ScoreFunction, names, _parameters, st.booleans(), st.none() | _numbers, regions, values
)
_metrics = st.builds(
    ir.MetricFunction,
    names,
    _parameters,
    st.booleans(),
    st.none() | _numbers,
    st.none() | _numbers,
    st.booleans(),
    values,
)
_schemes = st.builds(ir.Scheme, names, _parameters, types, st.booleans(), st.booleans(), types, regions)
_functions = st.builds(ir.PythonFunction, names, types)
_imports = st.builds(ir.PythonImport, texts, _several(_functions, 1))
programs = st.builds(
    ir.Program,
    texts,
    _several(_params, 0, 2),
    _several(_prompts(), 0, 2),
    _several(_scores, 0, 1),
    _several(_schemes, 0, 2),
    _several(_imports, 0, 1),
    _several(st.builds(ir.Corpus, names, texts), 0, 1),
    _several(st.builds(ir.PythonImport, texts, st.just(())), 0, 1),
    _several(st.tuples(names, types), 0, 1),
    _several(_functions, 0, 2),
    metrics=_several(_metrics, 0, 1),
    servers=_several(_imports, 0, 1),
)
