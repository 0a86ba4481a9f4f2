"""Abstract interpretation of a scheme, which adds up thoughts, model calls, tokens and dollars.

A step gets the number of its input thoughts and of the model calls before them, and returns the same for its
output, by its operation's record. Where a model decides (the number of parts it names, the branch of an
`if`), all possibilities are followed and the costs become bounds. Every response is assumed to be readable:
failures are not predicted.
"""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, cast, final

from msgspec.structs import replace

from gotlang.amounts import ONE, SIGNED, ZERO, Amount, Atom, Polynomial, bounded
from gotlang.errors import EvaluationError
from gotlang.flows import (
    ANYTHING,
    FREE,
    NOTHING_KNOWN,
    SCATTERED,
    UNBOUNDED,
    UNKNOWN,
    Bill,
    Flow,
    FlowScope,
    Guess,
    Names,
    RequestEstimate,
    Result,
)
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Evaluator
from gotlang.operations import record_of
from gotlang.operations.if_ import hops_before
from gotlang.operations.names import free_names, looks_at_pool, needed_names
from gotlang.operations.record import DEFAULT_TURNS, MOST_CALLS_A_TURN
from gotlang.operations.skip import guards
from gotlang.semantics.builtins import BUILTINS
from gotlang.syntax import expressions as e
from gotlang.syntax.format import format_expression
from gotlang.syntax.walk import walk
from gotlang.types import STR

NUMBER: Final = 24
"""Maximum tokens of a fraction or of a small whole number; large ones have a token per digit."""
_DIGITS: Final = 310
"""Digits of the largest fraction as a whole number."""
_BESIDE: Final = 4
"""Tokens of the punctuation around each element of a list and each entry of a record."""


def _growth(factor: float, words: str) -> dict[str, float]:
    return dict.fromkeys(words.split(), factor)


_GROWTH: Final[Mapping[str, float]] = {
    **_growth(0, "any all starts_with is_json len count mean median hmean exp log sqrt cos similarity"),
    **_growth(0, "exact_match f1 count_difference"),
    **_growth(1, "sorted unique set intersection difference concat get values keys strip min max reversed"),
    **_growth(1, "flatten sum str int float abs round floor ceil"),
    **_growth(_BESIDE, "zip"),
    **_growth(SCATTERED, "split lines matches lower upper"),
    **_growth(2 * _BESIDE, "enumerate counts"),
}
"""By built-in function: the maximum length of its value as a multiple of its arguments' total. For others,
such as `replace` and Python, it is unknown."""


def longest(node: e.Expression, names: Names, tokens: Callable[[Any], int]) -> float:
    """The maximum tokens of a value, infinity if unknown. `tokens` counts a known value's."""

    def of(part: e.Expression, inside: Names = names) -> float:
        return bounded(longest(part, inside, tokens))

    match node:
        case e.Constant(value=value):
            return tokens(value)
        case e.Reference(name=name):
            return names[name].tokens[1] if name in names else math.inf
        case e.Compare() | e.Unary(operator="not") | e.Binary(operator="and" | "or" | "/"):
            return NUMBER
        case e.Unary(operand=operand):
            return of(operand) + 1
        case e.Binary(operator="+" | "-" | "*" | "//" | "%", left=left, right=right):
            return max(NUMBER, of(left) + of(right) + 1)
        case e.Conditional(then=then, otherwise=otherwise):
            return max(of(then), of(otherwise))
        case e.Index(value=value) | e.Field(value=value) | e.Slice(value=value):
            return of(value)
        case e.ListDisplay(elements=elements):
            return sum((of(element) + _BESIDE for element in elements), 2)
        case e.RecordDisplay(entries=entries) | e.Case(entries=entries):
            known = [(tokens(name or ""), of(value)) for name, value in entries]
            case = tokens(node.case.text) + NUMBER if isinstance(node, e.Case) else 2
            return sum((name + value + 2 * _BESIDE for name, value in known), case)
        case e.Comprehension(element=element, iterable=iterable):
            # An element takes a token at least, and no more than the list.
            whole = of(iterable)
            each = dict.fromkeys(
                (name.text for name in node.names), replace(NOTHING_KNOWN, tokens=(0, whole))
            )
            return whole * (of(element, ChainMap(each, cast(dict[str, Guess], names))) + _BESIDE)
        case e.Call(
            function=e.Identifier(text="join"), arguments=(texts, e.Argument(value=e.Constant(value=between)))
        ):
            return of(texts.value) * (1 + tokens(between))
        case e.Call(function=function, arguments=arguments) if function.text in _GROWTH:
            given = sum(of(argument.value) + 2 for argument in arguments)
            least = _DIGITS if function.text in {"int", "round", "floor", "ceil", "abs"} else NUMBER
            return max(least, _GROWTH[function.text] * given)
    return math.inf


MAX_STEPS = 2_000
"""Maximum number of steps for which schemes, rounds and elements are followed: the rest is unbounded, or like
any other."""
MAX_DEPTH = 40
"""Maximum depth to which nested schemes are followed."""
EAGER_DEPTH = 8
"""After this number of nested calls the runtime lets one wait for its thoughts."""
_LARGE = 1e15
"""Numbers below it have few digits."""


class TokenCounter(Protocol):
    """Counts tokens before any request, and knows prices."""

    default_max_tokens: int
    batch: int
    """Maximum number of calls in one request."""
    spread: int
    """Maximum tokens of a value other than text in a prompt, per token of its response."""

    def price(self, model: str | None) -> tuple[float, float] | None:
        """US dollars of an input and of an output token, by the model that a prompt names (None: the run's
        own); None if unknown."""

    def value(self, value: Any) -> int:
        """The tokens of a value as a prompt shows it."""

    def request(
        self,
        prompt: ir.Prompt,
        known: Mapping[str, Any],
        tokens: Mapping[str, tuple[float, float]],
        model: Any = None,
    ) -> tuple[float, float]:
        """The minimum and maximum tokens of a request, whose arguments are known values or numbers of tokens;
        `model` is the prompt's, as for `price`, or UNKNOWN."""


@final
class Estimator:
    """Estimates the steps of a program (`gotlang.operations.stages.Estimating`). `early` assumes early
    stopping: in rounds of initially `wave` calls, or with `at_once` before the first call or not at all, or
    with `ahead` at any of the samples, which are all requested at once. `told` is called for each step, each
    time that its block is evaluated."""

    def __init__(
        self,
        program: ir.Program,
        counter: TokenCounter,
        *,
        early: bool = False,
        at_once: bool = False,
        ahead: bool = False,
        wave: int | None = None,
        told: Callable[[ir.Step, Flow, Bill], None] | None = None,
    ) -> None:
        self.program = program
        self.told = told
        self.counter = counter
        self.early = early
        self.at_once = at_once
        self.ahead = ahead
        self.wave = wave
        self.steps = 0
        self.invoked: list[tuple[ir.Scheme, Bill]] = []
        """The calls of schemes that have a budget, and what each costs."""
        self._scores = {score.name for score in program.scores if not score.body.steps}
        self._functions = (BUILTINS.keys() - program.functions) | self._scores
        self._evaluate = Evaluator({score.name: score for score in program.scores})
        self._prompts = {prompt.name for prompt in program.prompts}
        self._asking_scores = {score.name for score in program.scores if score.body.steps}
        self._read: dict[int, tuple[e.Expression, dict[str, None], bool]] = {}
        self._needs: dict[int, tuple[ir.Step, tuple[str, ...]]] = {}
        self._tokens_of: dict[str, Amount] = {}
        """The tokens of requests, by what is known of them: equal ones are estimated over and over."""

    @property
    def exhausted(self) -> bool:
        return self.steps > MAX_STEPS

    def needs(self, step: ir.Step) -> tuple[str, ...]:
        if id(step) not in self._needs:
            self._needs[id(step)] = step, needed_names(step)
        return self._needs[id(step)][1]

    # ---------------------------------------------------------------- values

    def known(self, value: Any, *, chosen: bool = False) -> Guess:
        number = length = None
        if isinstance(value, int | float) and not isinstance(value, bool):
            number = Amount.of(value)
        elif isinstance(value, list):
            length = Amount.of(len(value))
        tokens = self.counter.value(value)
        return Guess(value, number, length, None, (tokens, tokens), chosen)

    def guess(self, node: e.Expression, names: Names) -> Guess:
        match node:
            case e.Reference(name=name) if name in names:
                return names[name]
            case e.Conditional(then=then, otherwise=otherwise):
                holds = self.holds(node.condition, names)
                if holds is not None:
                    return self.guess(then if holds else otherwise, names)
                return self.guess(then, names).or_(self.guess(otherwise, names))
        value = self._value(node, names)
        chosen = any(names[name].chosen for name in self._reads(node)[0] if name in names)
        if value is not UNKNOWN:
            known = self.known(value, chosen=chosen)
            if known.number is None or not chosen:
                return known
            return Guess(
                value,
                self._number(node, names) or self._opaque(node, value),
                tokens=known.tokens,
                chosen=True,
            )
        number = self._number(node, names)
        if number is None and _gives_number(node):
            number = self._opaque(node, UNKNOWN)
        length, element = self._list(node, names)
        return Guess(UNKNOWN, number, length, element, self._tokens(node, names, number), chosen)

    def amount(self, node: e.Expression, names: Names) -> Amount:
        found = self.guess(node, names).number
        return (found if found is not None else self._opaque(node, UNKNOWN)).count

    def length(self, node: e.Expression, names: Names) -> Amount:
        found = self.guess(node, names).length
        return found if found is not None else Amount.of(Atom(f"len({format_expression(node)})"))

    def holds(self, node: e.Expression, names: Names) -> bool | None:
        match node:
            case e.Unary(operator="not", operand=operand):
                inner = self.holds(operand, names)
                return None if inner is None else not inner
            case e.Binary(operator="and" | "or", left=left, right=right):
                sides = self.holds(left, names), self.holds(right, names)
                decisive = node.operator == "or"
                if decisive in sides:
                    return decisive
                return None if None in sides else not decisive
        value = self._value(node, names)
        if value is not UNKNOWN:
            return bool(value)
        if isinstance(node, e.Compare) and len(node.rest) == 1:
            word, other = node.rest[0]
            return self._compared(word, self.guess(node.first, names).number, self.guess(other, names).number)
        return None

    @staticmethod
    def _compared(word: str, left: Amount | None, right: Amount | None) -> bool | None:
        if left is None or right is None:
            return None
        (a, b), (c, d) = left.bounds, right.bounds
        match word:
            case "<" | ">=" if b < c or a >= d:
                return (b < c) == (word == "<")
            case ">" | "<=" if a > d or b <= c:
                return (a > d) == (word == ">")
            case "==" | "!=" if b < c or d < a:
                return word == "!="
        return None

    # ---------------------------------------------------------------- parts

    def _value(self, node: e.Expression, names: Names) -> Any:
        """The value of an expression whose names are all known."""
        free, computable = self._reads(node)
        if not computable or any(name not in names or not names[name].known for name in free):
            return UNKNOWN
        try:
            return self._evaluate(node, _KnownValues(names))
        except EvaluationError:
            return UNKNOWN

    def _reads(self, node: e.Expression) -> tuple[dict[str, None], bool]:
        """The free names of an expression, and whether all functions in it are known; the same expressions
        are estimated over and over."""
        if id(node) not in self._read:
            calls = (n.function.text for n in walk(node) if isinstance(n, e.Call))
            self._read[id(node)] = node, free_names(node), all(name in self._functions for name in calls)
        return self._read[id(node)][1:]

    def _opaque(self, node: e.Expression, value: Any) -> Amount:
        """A number as an atom that its text stands for."""
        if value is UNKNOWN:
            return Amount.of(Atom(format_expression(node), *SIGNED))
        return Amount.of(Atom(format_expression(node), value, value) if value >= 0 else value)

    def _number(self, node: e.Expression, names: Names) -> Amount | None:
        """The numeric value of an expression, as a formula or with bounds."""
        match node:
            case e.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return Amount.of(value)
            case e.Reference(name=name):
                return names[name].number if name in names else None
            case e.Binary(operator="+" | "-" | "*", left=left, right=right):
                a, b = self._number(left, names), self._number(right, names)
                return _combined(node, a, b) if a is not None and b is not None else None
            case e.Call(function=function, arguments=(e.Argument(value=of),)) if function.text == "len":
                return self.length(of, names)
            case e.Call(function=function, arguments=(e.Argument(value=a_), e.Argument(value=b_))) if (
                function.text in {"min", "max"}
            ):
                a, b = self._number(a_, names), self._number(b_, names)
                if a is None and b is None:
                    return None
                a, b = a or self._opaque(a_, UNKNOWN), b or self._opaque(b_, UNKNOWN)
                return a.at_most(b) if function.text == "min" else a.up_to(b)
            case e.Conditional():
                return self.guess(node, names).number
            case e.Index() | e.Field():
                value = self._value(node, names)
                if isinstance(value, int | float) and not isinstance(value, bool):
                    return Amount.of(value)
        return None

    def _list(self, node: e.Expression, names: Names) -> tuple[Amount | None, Guess | None]:
        """The length of a list, and what is known of its elements."""
        match node:
            case e.ListDisplay(elements=elements) if elements:
                guesses = [self.guess(element, names) for element in elements]
                first = guesses[0]
                for other in guesses[1:]:
                    first = first.or_(other)
                return Amount.of(len(elements)), first
            case e.Comprehension(iterable=iterable, condition=condition):
                length = self.length(iterable, names)
                return (Amount(Polynomial.of(0), length.high) if condition is not None else length), None
            case e.Binary(operator="+", left=left, right=right):
                a, b = self.guess(left, names), self.guess(right, names)
                if a.length is not None and b.length is not None:
                    return a.length + b.length, a.element.or_(b.element) if a.element and b.element else None
            case e.Slice(value=value):
                return self._slice(node, names), self.guess(value, names).element
            case e.Call(function=function, arguments=arguments) if arguments:
                first_argument = arguments[0].value
                match function.text:
                    case "unique" | "set" | "pairs" | "difference" | "intersection":
                        found = self.guess(first_argument, names)
                        whole = self.length(first_argument, names)
                        part = Amount(ZERO.low, whole.high) if whole.bounds[1] < math.inf else None
                        return part, found.element if function.text == "unique" else None
                    case "zip" if len(arguments) == 2:
                        return self.length(first_argument, names).at_most(
                            self.length(arguments[1].value, names)
                        ), None
                    case "range" if len(arguments) == 1:
                        return self.amount(first_argument, names), None
                    case "chunks" if len(arguments) == 2:
                        return self.amount(arguments[1].value, names), None
                    case "sorted" | "reversed" | "enumerate":
                        found = self.guess(first_argument, names)
                        return found.length, found.element if function.text != "enumerate" else None
        return None, None

    def _slice(self, node: e.Slice, names: Names) -> Amount:
        """The length of a part of a list; negative positions count from the end."""
        whole = self.length(node.value, names)
        start = self.guess(node.start, names).number if node.start is not None else ZERO
        stop = self.guess(node.stop, names).number if node.stop is not None else whole
        if start is None or stop is None or min(start.bounds[0], stop.bounds[0]) < 0:
            return Amount(ZERO.low, whole.high)
        if start == ZERO:
            return whole.at_most(stop)
        most = max(0, stop.bounds[1] - start.bounds[0])
        return Amount(ZERO.low, whole.at_most(Amount.of(most)).high if most < math.inf else whole.high)

    def _tokens(self, node: e.Expression, names: Names, number: Amount | None) -> tuple[float, float]:
        """The minimum and maximum tokens of a value."""
        if number is not None and max(map(abs, number.bounds)) < _LARGE:
            return 1, NUMBER
        return 0, bounded(longest(node, names, self.counter.value))

    # ---------------------------------------------------------------- requests

    def is_prompt(self, name: str | None) -> bool:
        return name in self._prompts

    def asking_score(self, name: str | None) -> bool:
        return name in self._asking_scores

    def request(
        self, prompt: str, arguments: ir.Arguments, settings: ir.Arguments, scope: FlowScope
    ) -> RequestEstimate:
        declared = self.program.prompt(prompt)
        guesses = {name: self.guess(value, scope) for name, value in arguments}
        known = {name: guess.value for name, guess in guesses.items() if guess.known}
        tokens = {name: guess.tokens for name, guess in guesses.items() if not guess.known}
        chosen = {name: self.guess(value, scope) for name, value in (*declared.settings, *settings)}
        most = chosen["max_tokens"].value if "max_tokens" in chosen else None
        model = chosen["model"].value if "model" in chosen else None
        most = most if isinstance(most, int) else self.counter.default_max_tokens
        if (key := repr((prompt, known, tokens, model))) not in self._tokens_of:
            self._tokens_of[key] = Amount.between(*self.counter.request(declared, known, tokens, model))
        return RequestEstimate(
            self._tokens_of[key],
            most,
            self._shown(declared, most),
            self.counter.price(model) if model is not UNKNOWN else None,
            self._values(declared, FlowScope(scope.root, dict(guesses), scope.floor)),
            chosen["retries"].number or ANYTHING if "retries" in chosen else ZERO,
            "hedge" in chosen,
        )

    def _shown(self, prompt: ir.Prompt, most: int) -> float:
        """The maximum tokens of a response's value in a prompt; the result of Python is unbounded."""
        if prompt.reader is not None:
            return math.inf
        return most if prompt.result == STR else most * self.counter.spread

    def tools(self, prompt: str, scope: FlowScope) -> tuple[Amount, Bill, Amount] | None:
        declared = self.program.prompt(prompt)
        if not declared.tools:
            return None
        given = dict(declared.settings).get("turns")
        turns = self.amount(given, scope) if given is not None else Amount.of(DEFAULT_TURNS)
        bill, hops = FREE, ZERO
        for scheme in (one for one in self.program.schemes if one.name in declared.tools):
            if self.exhausted or scope.depth >= MAX_DEPTH:
                return Amount(ONE.low, turns.high), UNBOUNDED, ANYTHING
            names: dict[str, Flow | Guess] = {name: NOTHING_KNOWN for name, _ in scheme.parameters}
            found, cost = self.declared_scheme(scheme, FlowScope(scope.root, names, ZERO, scope.depth + 1))
            bill, hops = bill.or_(cost), hops.up_to(found.hops)
        return Amount(ONE.low, turns.high), bill.times(Amount.between(0, MOST_CALLS_A_TURN)), hops

    def _values(self, prompt: ir.Prompt, own: FlowScope) -> Amount:
        """The number of thoughts of one response."""
        if not prompt.many:
            return ONE
        if prompt.count is not None:
            return self.amount(prompt.count, own)
        return Amount.of(Atom(f"len({prompt.name})", 1, math.inf, 1))

    def requests(self, calls: Amount, k: Amount, batched: bool) -> Amount:
        if not batched:
            return calls * k
        low, high = (math.ceil(n / self.counter.batch) if n < math.inf else n for n in k.bounds)
        return calls * Amount.between(low, high)

    def apart(self, prompt: str, settings: ir.Arguments, batched: bool) -> bool:
        named = {name for name, _ in (*self.program.prompt(prompt).settings, *settings)}
        return not batched or self.counter.batch == 1 or "model" in named

    def first_batch(self, k: float) -> int:
        return max(1, self.wave or math.ceil(k / 3))

    def judged(
        self, prompt: str | None, arguments: ir.Arguments, pool: Flow, scope: FlowScope
    ) -> tuple[Bill, Amount]:
        if prompt is None:
            return FREE, ZERO
        request = self.request(prompt, arguments, (), scope.each(pool))
        return request.bill(pool.count, pool.count), request.rounds(ONE)

    # ---------------------------------------------------------------- thoughts

    def made_from(
        self, pool: Flow, arguments: ir.Arguments, scope: FlowScope, together: bool = False
    ) -> Amount:
        names = dict.fromkeys(name for _, value in arguments for name in free_names(value))
        flows = _thoughts_behind(names, scope)
        if not pool.start:
            flows.append(pool if together else replace(pool, count=ONE))
        return _after_all(flows)

    def gathered(self, value: e.Expression, scope: FlowScope, hops: Amount) -> Flow:
        name = value.value if isinstance(value, e.Index) else value
        found = scope.find(name.name) if isinstance(name, e.Reference) else None
        if isinstance(found, Flow) and not found.start:
            if isinstance(value, e.Reference):
                return found
            if not found.single:
                return found.one
        flows = _thoughts_behind(free_names(value), scope)
        return Flow(ONE, self.guess(value, scope), hops, _after_all(flows), True)

    # ---------------------------------------------------------------- blocks, scores and schemes

    def region(self, region: ir.Region, scope: FlowScope) -> Result:
        bill = FREE
        for step in region.steps:
            self.steps += 1
            found, cost = record_of(step).estimate(step, scope, self)
            scope.names[step.result] = found
            bill = bill + cost
            if self.told is not None:
                self.told(step, found, cost)
        found = scope.flow(region.result)
        for guard in guards(region):
            decides = scope.flow(guard.result)
            fewest = Polynomial.of(min(found.count.bounds[0], decides.count.bounds[0]))
            found = replace(
                found, count=Amount(fewest, found.count.high), hops=found.hops.up_to(decides.hops)
            )
        return found, bill

    def declared_scheme(self, scheme: ir.Scheme, scope: FlowScope) -> Result:
        """The output and the cost of a scheme; its parameters are in the scope."""
        inner = scope.inside({scheme.body.entry: Flow(hops=scope.floor, single=True, start=True)})
        found, bill = self.region(scheme.body, inner)
        self.invoked += [(scheme, bill)] if scheme.limits else []
        if not scheme.collect:
            return replace(found, single=not scheme.many, scorer=None), bill
        volume = (found.volume + ONE) * found.count
        low = Polynomial.of(max(found.fewest, found.volume.bounds[0] + 1))
        return Flow(ONE, found.guess, found.hops, Amount(low, volume.high), True), bill

    def scheme(
        self, step: ir.Step, name: str, arguments: ir.Arguments, scope: FlowScope
    ) -> tuple[Flow, Bill, Amount] | None:
        declared = self.program.scheme(name)
        if self.exhausted or scope.depth >= MAX_DEPTH:
            self.invoked += [(declared, UNBOUNDED)] if declared.limits else []
            return None
        pool, floor = scope.flow(step.pool), scope.floor
        if not pool.single or not (scope.depth + 1) % EAGER_DEPTH:
            floor = scope.hops(self.needs(step), pool.hops)
        each = scope.each(pool)
        names = {key: self._argument(value, pool, each, floor) for key, value in arguments}
        inner = FlowScope(scope.root, names, floor, scope.depth + 1)
        return (*self.declared_scheme(declared, inner), floor)

    def _argument(self, value: e.Expression, pool: Flow, scope: FlowScope, floor: Amount) -> Flow | Guess:
        """The entry of a parameter: thoughts as they are, values, or a new thought when it is known."""
        if isinstance(value, e.Reference) and value.name != "it":
            found = scope.find(value.name)
            if found is not None:
                return found
        waits = any(isinstance(scope.find(name), Flow) for name in free_names(value))
        if not waits and not looks_at_pool(value):
            return self.guess(value, scope)
        hops = floor.up_to(hops_before([value], pool, scope))
        return replace(self.gathered(value, scope, hops), count=ONE, hops=hops, single=True)

    def score(
        self, name: str, arguments: ir.Arguments, k: e.Expression, pool: Flow, scope: FlowScope
    ) -> Result:
        score, floor = self.program.score(name), pool.hops
        samples = self.amount(k, scope.whole(pool))
        each = scope.each(pool)
        names: dict[str, Flow | Guess] = {}
        for key, value in arguments:
            is_thought = isinstance(value, e.Reference) and value.name == "it"
            names[key] = replace(pool.one, hops=floor) if is_thought else self.guess(value, each)
        inner = FlowScope(scope.root, names, floor, scope.depth)
        inner.names[score.body.entry] = Flow(hops=floor, single=True, start=True)
        _, bill = self.region(score.body, inner)
        hops = inner.hops([free for free in free_names(score.value) if free in inner.names])
        if pool.count.bounds[0] == 0:
            hops = Amount(floor.low, hops.high)
        return replace(pool, hops=hops.up_to(floor), part=None), bill.times(pool.count * samples)


def _thoughts_behind(names: Mapping[str, None], scope: FlowScope) -> list[Flow]:
    """The thoughts that names refer to."""
    return [flow for name in names if isinstance(flow := scope.find(name), Flow) and not flow.start]


def _after_all(flows: list[Flow]) -> Amount:
    """The number of thoughts from which one that is made of all of these can be reached."""
    if not flows:
        return ZERO
    certain = [flow for flow in flows if flow.count.bounds[0] > 0]
    low = max((max(flow.fewest, flow.volume.bounds[0] + 1) for flow in certain), default=0)
    if len(flows) == 1 and flows[0].count == ONE:
        return flows[0].volume + ONE
    most = ZERO
    for flow in flows:
        most = most + (flow.volume + ONE) * flow.count
    return Amount(Polynomial.of(low), most.high)


class _KnownValues(dict[str, Any]):
    """The values of names, if they are known."""

    def __init__(self, names: Names) -> None:
        super().__init__()
        self._names = names

    def __missing__(self, name: str) -> Any:
        guess = self._names[name]
        if not guess.known:
            raise KeyError(name)
        return guess.value


def _combined(node: e.Binary, a: Amount, b: Amount) -> Amount | None:
    """The sum, product or difference of two numbers."""
    (least, most), (low, high) = a.bounds, b.bounds
    if node.operator == "+":
        return a + b
    if node.operator == "*":
        return a * b if min(least, low) >= 0 else None
    if low == high and a.exact is not None and b.exact is not None:
        return Amount.of(a.exact - b.exact)
    # The same may be known of two different thoughts, such as `len(it)`: they do not cancel out.
    return Amount.of(Atom(format_expression(node), least - high, most - low, -math.inf))


def _gives_number(node: e.Expression) -> bool:
    """Whether the value of an expression is always a number."""
    match node:
        case e.Binary(operator=operator):
            return operator in {"-", "*", "/", "//", "%", "**"}
        case e.Unary(operator="-"):
            return True
        case e.Call(function=function):
            return function.text in {"len", "sum", "min", "max", "round", "abs"} and len(node.arguments) > 0
    return False
