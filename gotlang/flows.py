"""The data of an estimate: what is known of a value (`Guess`), the thoughts of a pool (`Flow`), calls and
tokens (`Bill`), and the names in scope (`FlowScope`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, final

from msgspec import Struct
from msgspec.structs import replace

from gotlang.amounts import MOST, ONE, ZERO, Amount, Polynomial, bounded


class _Unknown:
    __slots__ = ()

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Any = _Unknown()
SCATTERED: Final = 6 * 128
"""By how much the tokens of a text may grow if it is split: the longest tokens of known vocabularies have 128
characters, commas or blanks for example, and each character may be written as six, such as `"", ` or
`\\u003c`."""


@final
class Guess(Struct, frozen=True):
    """What is known of a value: the value itself, or `number` if it is one, or `length` and `element` if it
    is a list. `tokens` are the fewest and the most it has in a prompt; `chosen` tells that params determine
    it."""

    value: Any = UNKNOWN
    number: Amount | None = None
    length: Amount | None = None
    element: Guess | None = None
    tokens: tuple[float, float] = (0, math.inf)
    chosen: bool = False

    @property
    def known(self) -> bool:
        """Whether the value itself is known."""
        return self.value is not UNKNOWN

    def or_(self, other: Guess) -> Guess:
        """A value that is one or the other."""
        if self == other:
            return self
        number = self.number.or_(other.number) if self.number and other.number else None
        length = self.length.or_(other.length) if self.length and other.length else None
        element = self.element.or_(other.element) if self.element and other.element else None
        tokens = min(self.tokens[0], other.tokens[0]), max(self.tokens[1], other.tokens[1])
        return Guess(UNKNOWN, number, length, element, tokens, self.chosen or other.chosen)


NOTHING_KNOWN = Guess()
Names = Mapping[str, Guess]


@final
class Bill(Struct, frozen=True):
    """Model calls, requests, tokens, and US dollars (None: a price is not known)."""

    calls: Amount = ZERO
    requests: Amount = ZERO
    input_tokens: Amount = ZERO
    output_tokens: Amount = ZERO
    usd: Amount | None = ZERO

    def __add__(self, other: Bill) -> Bill:
        return self._with(other, Amount.__add__)

    def or_(self, other: Bill) -> Bill:
        """A bill that is one or the other."""
        return self._with(other, Amount.or_)

    def times(self, count: Amount) -> Bill:
        """The bill multiplied."""
        return self._with(Bill(count, count, count, count, count), Amount.__mul__)

    def _with(self, other: Bill, combine: Callable[[Amount, Amount], Amount]) -> Bill:
        usd = combine(self.usd, other.usd) if self.usd is not None and other.usd is not None else None
        return Bill(
            combine(self.calls, other.calls),
            combine(self.requests, other.requests),
            combine(self.input_tokens, other.input_tokens),
            combine(self.output_tokens, other.output_tokens),
            usd,
        )


FREE = Bill()
ANYTHING = Amount(Polynomial.of(0), None)
UNBOUNDED = Bill(ANYTHING, ANYTHING, ANYTHING, ANYTHING, ANYTHING)


@final
class RequestEstimate(Struct, frozen=True):
    """A request before it is made: its tokens, the most tokens of one of its responses, and of its value in a
    prompt, US dollars of an input and of an output token, the number of values in a response, the number of
    further samples per wanted sample when some fail, and whether each may be requested twice (`hedged`)."""

    tokens: Amount
    most: int
    shown: float
    price: tuple[float, float] | None
    values: Amount
    retries: Amount = ZERO
    hedged: bool = False

    def rounds(self, k: Amount) -> Amount:
        """The model calls in a row until k responses have arrived."""
        return ONE if self.retries == ZERO else Amount(ONE.low, (ONE + k * self.retries).high)

    def bill(self, calls: Amount, requests: Amount) -> Bill:
        """The bill of this number of samples."""
        if self.retries != ZERO:
            more = calls * self.retries
            calls = Amount(calls.low, (calls + more).high)
            requests = Amount(requests.low, (requests + more).high)
        if self.hedged:
            calls = Amount(calls.low, (calls + calls).high)
            requests = Amount(requests.low, (requests + requests).high)
        sent, received = requests * self.tokens, calls * Amount.between(1, self.most)
        usd = None
        if self.price is not None:
            per_input, per_output = map(Amount.of, self.price)
            usd = sent * per_input + received * per_output
        return Bill(calls, requests, sent, received, usd)


@final
class Scorer(Struct, frozen=True, eq=False):
    """An expression by which a model scored thoughts: `text` is its source, `names` are the values of its
    names except `it`. Equal ones send the same request for the same thought."""

    text: tuple[str, ...]
    names: tuple[object, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scorer) and (self.text, *map(id, self.names)) == (
            other.text,
            *map(id, other.names),
        )

    def __hash__(self) -> int:
        return hash(self.text)


@final
class KeptScores(Struct, frozen=True):
    """Of `total` thoughts all but the `fresh` ones have the score of this scorer, which is not computed
    again; without a scorer it is unknown whose scores are kept."""

    total: Amount = ZERO
    fresh: Amount = ZERO
    scorer: Scorer | None = None


@final
class Flow(Struct, frozen=True):
    """The thoughts of a pool: how many, what each is like, the number of model calls in a row before the last
    of them, and from how many thoughts each can be reached. `part` is one result of a `foreach` whose block
    leaves exactly one; `start` marks the empty thought. `scorer` is the model's scorer that scored all of
    them last; `kept`: some have a score that is kept. `repeated`: some may be the same thought."""

    count: Amount = ONE
    each: Guess = NOTHING_KNOWN
    hops: Amount = ZERO
    volume: Amount = ZERO
    single: bool = False
    part: Flow | None = None
    start: bool = False
    kept: KeptScores | None = None
    scorer: Scorer | None = None
    repeated: bool = False

    def or_(self, other: Flow) -> Flow:
        """A pool that is one or the other."""
        if self == other:
            return self
        return Flow(
            self.count.or_(other.count),
            self.each.or_(other.each),
            self.hops.or_(other.hops),
            self.volume.or_(other.volume),
            self.single and other.single,
            start=self.start and other.start,
            kept=self.kept if self.kept == other.kept else KeptScores(),
            scorer=self.scorer if self.scorer == other.scorer else None,
            repeated=self.repeated or other.repeated,
        )

    @property
    def fewest(self) -> float:
        """The minimum number of different thoughts."""
        low = self.count.bounds[0]
        return min(1, low) if self.repeated else low

    @property
    def one(self) -> Flow:
        """A flow of one of the thoughts."""
        return replace(self, count=ONE, single=True, part=None)

    @property
    def guess(self) -> Guess:
        """What is known of the value of a name for these thoughts."""
        if self.single:
            return self.each
        low, high = self.count.bounds
        # `[]` is one token.
        least, most = self.each.tokens
        tokens = min(MOST, 1 + low * least), bounded(2 + high * (most + 1)) if high else 2.0
        return Guess(UNKNOWN, None, self.count, self.each, tokens)


@final
class FlowScope(Mapping[str, Guess]):
    """Names in scope, as what is known of their values; `floor` is the number of model calls before the step
    that added this block to the graph, `depth` the number of nested scheme calls."""

    def __init__(
        self, parent: FlowScope | None, names: dict[str, Flow | Guess], floor: Amount, depth: int = 0
    ) -> None:
        self.parent = parent
        self.names = names
        self.floor = floor
        self.depth = depth

    def inside(self, names: Mapping[str, Flow | Guess], floor: Amount | None = None) -> FlowScope:
        """A scope for a nested block."""
        return FlowScope(self, dict(names), floor if floor is not None else self.floor, self.depth)

    def each(self, flow: Flow) -> FlowScope:
        """The names for what is evaluated once per thought."""
        return self if flow.start else self.inside({"it": flow.one})

    def whole(self, flow: Flow) -> FlowScope:
        """The names for what is evaluated once for all thoughts."""
        if flow.start:
            return self
        thoughts = {"thoughts": replace(flow, single=False)}
        return self.inside({**thoughts, "it": flow.one} if flow.single else thoughts)

    def find(self, name: str) -> Flow | Guess | None:
        """The entry of a name, or None."""
        scope: FlowScope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def flow(self, name: str) -> Flow:
        """The pool of a name."""
        found = self.find(name)
        assert isinstance(found, Flow), name
        return found

    def hops(self, names: Iterable[str], start: Amount | None = None) -> Amount:
        """The model calls in a row before the last of these is available."""
        hops = self.floor if start is None else self.floor.up_to(start)
        for name in names:
            if isinstance(found := self.find(name), Flow):
                hops = hops.up_to(found.hops)
        return hops

    @property
    def root(self) -> FlowScope:
        """The scope that holds the params."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def __getitem__(self, name: str) -> Guess:
        found = self.find(name)
        if found is None:
            raise KeyError(name)
        return found.guess if isinstance(found, Flow) else found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def __iter__(self) -> Iterator[str]:
        raise TypeError("names are looked up, not gone through")

    def __len__(self) -> int:
        raise TypeError("names are looked up, not counted")


Result = tuple[Flow, Bill]
"""The output of a step or a block, and its bill."""


def any_of(flows: Sequence[Flow]) -> Flow:
    """A guess that is one of these; there is at least one."""
    found = flows[0]
    for other in flows[1:]:
        found = found.or_(other)
    return found


def one_of(ends: Sequence[Result]) -> Result:
    """The outcome of alternatives."""
    found, bill = ends[0]
    for other, cost in ends[1:]:
        found, bill = found.or_(other), bill.or_(cost)
    return found, bill
