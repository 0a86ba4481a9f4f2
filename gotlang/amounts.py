"""Polynomials in params: how a cost depends on them, as numbers and as text.

    1 + 8*sort_tries + 7*merge_tries

An atom is a param or any other quantity that is not expanded further: the length of a list that a model
writes, the larger of two costs. Its value lies between `low` and `high`; `least` and `most` bound it for all
inputs and params, and comparisons use these. Values may be negative (see `SIGNED`); counts and factors may
not (see `Amount.count`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from typing import final

from msgspec import Struct
from msgspec.structs import replace

from gotlang.patterns import lazy_pattern

_LONGEST_TEXT = 200
_MOST_TERMS = 32
_MOST_FACTORS = 12
"""Maximum number of products in a sum, and of factors in a product: recursion multiplies them, and larger
ones would be unreadable."""
MOST = 10.0**100
"""Larger numbers are as good as unbounded."""
UNWRITTEN = "…"
"""The prefix of an atom whose text would be too long to read."""
_NEEDS_NO_PARENTHESES = lazy_pattern(r"[\w.]+(\(.*\))?")


@final
class Atom(Struct, frozen=True, cache_hash=True):
    """A symbolic number; atoms with the same text are equal. `parts` are the atoms that it is computed from,
    which have no parts themselves."""

    text: str
    low: float = 0
    high: float = math.inf
    least: float = 0
    most: float = math.inf
    parts: tuple[Atom, ...] = ()

    @property
    def leaves(self) -> tuple[Atom, ...]:
        """The atoms that it is computed from; itself if there are none."""
        return self.parts or (self,)


Product = tuple[Atom, ...]
"""Atoms sorted by their texts; a squared one occurs twice."""


@final
class Polynomial:
    """A sum of products with coefficients. Frozen; equal sums are equal. `constant` is its value if it has no
    atoms, else None. Its bounds are computed once."""

    def __init__(self, terms: Mapping[Product, float]) -> None:
        self.terms: dict[Product, float] = {product: factor for product, factor in terms.items() if factor}
        self.constant: float | None = self.terms.get(()) if len(self.terms) == 1 else None
        if not self.terms:
            self.constant = 0

    @staticmethod
    def of(value: float | Atom) -> Polynomial:
        """A number or an atom as a polynomial."""
        if isinstance(value, Atom):
            return Polynomial({(value,): 1})
        number = Polynomial.__new__(Polynomial)
        number.terms, number.constant = {(): value} if value else {}, value or 0
        return number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __repr__(self) -> str:
        return f"<{self}>"

    def __add__(self, other: Polynomial) -> Polynomial:
        if not (self.terms and other.terms):
            return self if self.terms else other
        a, b = self.constant, other.constant
        if a is not None and b is not None:
            return Polynomial.of(a + b)
        terms = dict(self.terms)
        for product, factor in other.terms.items():
            terms[product] = terms.get(product, 0) + factor
        return Polynomial(terms)

    def __sub__(self, other: Polynomial) -> Polynomial:
        terms = dict(self.terms)
        for product, factor in other.terms.items():
            terms[product] = terms.get(product, 0) - factor
        return Polynomial(terms)

    def __mul__(self, other: Polynomial) -> Polynomial:
        if not (self.terms and other.terms):
            return other if self.terms else self
        a, b = self.constant, other.constant
        if a is not None and b is not None:
            return Polynomial.of(a * b)
        terms: dict[Product, float] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                product = tuple(sorted((*left, *right), key=lambda atom: atom.text))
                terms[product] = terms.get(product, 0) + a * b
        return Polynomial(terms)

    @property
    def atoms(self) -> Iterator[Atom]:
        """Its distinct atoms, in order of appearance."""
        yield from dict.fromkeys(atom for product in self.terms for atom in product)

    @property
    def leaves(self) -> Iterator[Atom]:
        """The leaves of its atoms."""
        return (leaf for atom in self.atoms for leaf in atom.leaves)

    @property
    def low(self) -> float:
        """A lower bound: its minimum if it is monotonic in each atom and at most `MOST`, otherwise possibly
        less."""
        return self._ends[0] if (number := self.constant) is None else number

    @property
    def high(self) -> float:
        """An upper bound, likewise."""
        return self._ends[1] if (number := self.constant) is None else number

    @cached_property
    def _ends(self) -> tuple[float, float]:
        slopes = self._slopes
        return min(self._end(-math.inf, slopes), MOST), self._end(math.inf, slopes)

    def _end(self, side: float, slopes: Mapping[Atom, float]) -> float:
        """A bound on the `side`: each atom is at the end that its slope leads to, or, if the slope is
        unknown, at the end that is worst in each product."""
        ends = [
            _times(f, [atom.high if (slopes.get(atom) or f) * side > 0 else atom.low for atom in product])
            for product, f in self.terms.items()
        ]
        return side if side in ends else sum(ends)

    @property
    def _slopes(self) -> Mapping[Atom, float]:
        """For each atom 1 if it is increasing in it everywhere, -1 if decreasing, 0 if neither is certain."""
        if all(factor > 0 for factor in self.terms.values()):
            return {}
        slopes = dict[Atom, float]()
        for atom in self.atoms:
            slope = Polynomial({})
            for product, factor in self.terms.items():
                if power := product.count(atom):
                    place = product.index(atom)
                    slope = slope + Polynomial({product[:place] + product[place + 1 :]: power * factor})
            low, high = slope._end(-math.inf, {}), slope._end(math.inf, {})
            slopes[atom] = 1 if low >= 0 else -1 if high <= 0 else 0
        return slopes

    @property
    def least(self) -> float:
        """A lower bound for all inputs and params."""
        return self._always[0] if (number := self.constant) is None else number

    @property
    def most(self) -> float:
        """An upper bound for all inputs and params."""
        return self._always[1] if (number := self.constant) is None else number

    @cached_property
    def _always(self) -> tuple[float, float]:
        terms = self.terms.items()
        return (
            sum(_times(f, (atom.least if f > 0 else atom.most for atom in product)) for product, f in terms),
            sum(_times(f, (atom.most if f > 0 else atom.least for atom in product)) for product, f in terms),
        )

    def __str__(self) -> str:
        match list(self.terms.items()):
            case []:
                return "0"
            case [((Atom(text=text),), 1)]:
                return text
        words: list[str] = []
        for product, factor in sorted(self.terms.items(), key=lambda term: term[0] != ()):
            sign = "-" if factor < 0 else "+"
            if words or sign == "-":
                words.append(sign)
            words.append(_term(product, abs(factor)))
        text = " ".join(words)
        return "-" + text[2:] if text.startswith("- ") else text


def _times(factor: float, values: Iterable[float]) -> float:
    """A product in which 0 times infinity is 0."""
    for value in values:
        factor = 0 if factor == 0 or value == 0 else bounded(factor * bounded(value))
    return factor


def bounded(number: float) -> float:
    """A number, or infinity beyond `MOST`: Python adds no float to a larger whole number than the largest."""
    return number if -MOST <= number <= MOST else math.copysign(math.inf, 1 if number > 0 else -1)


def _term(product: Product, factor: float) -> str:
    number = f"{factor:g}" if factor % 1 else str(int(factor))
    names: dict[str, int] = {}
    for atom in product:
        names[atom.text] = names.get(atom.text, 0) + 1
    factors = [
        (text if _NEEDS_NO_PARENTHESES.fullmatch(text) else f"({text})") + (f"**{power}" if power > 1 else "")
        for text, power in names.items()
    ]
    return "*".join(factors if factors and factor == 1 else [number, *factors])


@final
class Amount(Struct, frozen=True):
    """A number from `low` to `high` (None: unbounded); exact if both are equal."""

    low: Polynomial
    high: Polynomial | None

    @staticmethod
    def of(value: float | Atom | Polynomial) -> Amount:
        """An exact number, which may be a formula."""
        exact = _shortened(value if isinstance(value, Polynomial) else Polynomial.of(value))
        return Amount(exact, exact)

    @staticmethod
    def between(low: float, high: float) -> Amount:
        """A number with bounds."""
        return Amount(Polynomial.of(min(low, MOST)), None if high > MOST else Polynomial.of(high))

    @property
    def exact(self) -> Polynomial | None:
        """The formula if it is exact, else None."""
        return self.low if self.low == self.high else None

    @property
    def bounds(self) -> tuple[float, float]:
        """The lower and the upper bound."""
        return self.low.low, math.inf if self.high is None else self.high.high

    @property
    def number(self) -> float | None:
        """The number if it is a known constant, else None."""
        low, high = self.bounds
        return low if low == high else None

    @property
    def is_zero(self) -> bool:
        """Whether it is exactly 0."""
        return self.high is not None and not self.low.terms and not self.high.terms

    def __add__(self, other: Amount) -> Amount:
        return _each(Polynomial.__add__, self, other)

    def __sub__(self, other: Amount) -> Amount:
        """The increase from `other` to `self`."""
        return Amount(self.low - other.low, _both(Polynomial.__sub__, self.high, other.high))

    def __mul__(self, other: Amount) -> Amount:
        return ZERO if self.is_zero or other.is_zero else _each(Polynomial.__mul__, self, other)

    def or_(self, other: Amount) -> Amount:
        """A number that is one or the other."""
        if self == other:
            return self
        return Amount(smaller(self.low, other.low), _both(larger, self.high, other.high))

    def up_to(self, other: Amount) -> Amount:
        """The maximum of both."""
        return _each(larger, self, other)

    def at_most(self, other: Amount) -> Amount:
        """The minimum of both."""
        high = _both(smaller, self.high, other.high) or self.high or other.high
        return Amount(smaller(self.low, other.low), high)

    @property
    def count(self) -> Amount:
        """The same as a count, which is not negative: values below 0 become 0."""
        return Amount(_count(self.low), None if self.high is None else _count(self.high))


def _each(combine: Callable[[Polynomial, Polynomial], Polynomial], a: Amount, b: Amount) -> Amount:
    """Both bounds of two amounts combined, or bounds in place of formulas that have grown too long."""
    low = _shortened(combine(a.low, b.low))
    if a.low is a.high and b.low is b.high:
        return Amount(low, low)
    high = _both(combine, a.high, b.high)
    return Amount(low, None if high is None else _shortened(high))


def _both(
    combine: Callable[[Polynomial, Polynomial], Polynomial], a: Polynomial | None, b: Polynomial | None
) -> Polynomial | None:
    """Two upper bounds combined; None if either is unbounded."""
    return combine(a, b) if a is not None and b is not None else None


def _count(formula: Polynomial) -> Polynomial:
    if formula.constant is not None:
        return formula if formula.constant >= 0 else ZERO.low
    match list(formula.terms.items()):
        case [((Atom() as atom,), 1)] if atom.least < 0:
            return Polynomial.of(replace(atom, low=max(0, atom.low), high=max(0, atom.high), least=0))
    return larger(formula, Polynomial.of(0))


def _shortened(formula: Polynomial) -> Polynomial:
    if (number := formula.constant) is not None:
        if -MOST <= number <= MOST:
            return formula
        low, high = (MOST, math.inf) if number > 0 else (-math.inf, -MOST)
        return Polynomial.of(Atom(_unwritten(str(hash(number))), low, high, low, high))
    if len(formula.terms) <= _MOST_TERMS and all(
        len(term) <= _MOST_FACTORS and -MOST <= factor <= MOST for term, factor in formula.terms.items()
    ):
        return formula
    leaves = tuple(dict.fromkeys(formula.leaves))
    atom = Atom(_unwritten(str(formula)), formula.low, formula.high, formula.least, parts=leaves)
    return Polynomial.of(atom)


def _unwritten(text: str) -> str:
    """A placeholder for a text that would be too long to read."""
    return f"{UNWRITTEN}{sha256(text.encode()).hexdigest()[:16]}"


def larger(a: Polynomial, b: Polynomial) -> Polynomial:
    """The maximum of two formulas: one of them if that is certain, otherwise an atom for it."""
    if a.constant is not None and b.constant is not None:
        return a if a.constant >= b.constant else b
    difference = a - b
    if difference.least >= 0:
        return a
    return b if difference.most <= 0 else _chosen("max", a, b, max)


def smaller(a: Polynomial, b: Polynomial) -> Polynomial:
    """The minimum of two formulas, likewise."""
    if a.constant is not None and b.constant is not None:
        return b if a.constant >= b.constant else a
    difference = a - b
    if difference.least >= 0:
        return b
    return a if difference.most <= 0 else _chosen("min", a, b, min)


def _chosen(word: str, a: Polynomial, b: Polynomial, choose: Callable[[float, float], float]) -> Polynomial:
    text = f"{word}({a}, {b})"
    if len(text) > _LONGEST_TEXT:
        text = _unwritten(text)
    ends = (a.low, b.low), (a.high, b.high), (a.least, b.least), (a.most, b.most)
    low, high, least, most = (choose(*pair) for pair in ends)
    parts = tuple(dict.fromkeys((*a.leaves, *b.leaves)))
    return Polynomial.of(Atom(text, low, high, least, most, parts))


SIGNED = (-math.inf, math.inf, -math.inf)
"""Bounds of an atom that may be any number, also a negative one."""
ZERO = Amount.of(0)
ONE = Amount.of(1)
