"""What a scheme will cost, found by going through it once without running it.

A step is told how many thoughts it takes and how many model calls stand before them, and tells the same of
what it gives. Where a model decides (how many parts it names, which way an `if` goes), both ways are gone
and the costs become bounds. Thoughts are taken to be read from every answer: failures are not foreseen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

from gotlang.amounts import ONE, ZERO, Amount, Atom, Polynomial
from gotlang.ir import program as ir
from gotlang.ir.forecast.flows import FREE, Bill, Flow, Measure, Scope
from gotlang.ir.forecast.guess import NOTHING_KNOWN, UNKNOWN, Guess, Guesser
from gotlang.ir.names import free_names, needed_names
from gotlang.syntax import expressions as e


@final
@dataclass(frozen=True, slots=True)
class Request:
    """A request before it is made: its tokens, the most tokens of one of its answers, US dollars of an input
    and of an output token, and the names that the prompt itself sees."""

    tokens: Amount
    most: int
    price: tuple[float, float] | None
    own: Scope

    def bill(self, calls: Amount, requests: Amount) -> Bill:
        """What so many answers in so many such requests cost."""
        sent, answered = requests * self.tokens, calls * Amount.between(1, self.most)
        usd = None
        if self.price is not None:
            per_input, per_output = map(Amount.of, self.price)
            usd = sent * per_input + answered * per_output
        return Bill(calls, requests, sent, answered, usd)


class StepForecaster:
    """Forecasts the steps that hold no others. `early` counts on early stop, in waves of `wave` at first."""

    def __init__(
        self, program: ir.Program, measure: Measure, *, early: bool = False, wave: int | None = None
    ) -> None:
        self.program = program
        self.measure = measure
        self.guesser = Guesser(program, measure.value)
        self.early = early
        self.wave = wave
        self.asking_scores = {score.name for score in program.scores if score.body.steps}

    def each(self, flow: Flow, scope: Scope) -> Scope:
        """The names for what is evaluated once a thought."""
        return scope if flow.start else scope.inside({"it": _one(flow)})

    def whole(self, flow: Flow, scope: Scope) -> Scope:
        """The names for what is evaluated once for all thoughts."""
        if flow.start:
            return scope
        names: dict[str, Flow | Guess] = {"thoughts": replace(flow, single=False)}
        if flow.single:
            names["it"] = _one(flow)
        return scope.inside(names)

    # ---------------------------------------------------------------- asking

    def request(
        self, prompt: ir.Prompt, arguments: ir.Arguments, settings: ir.Arguments, scope: Scope
    ) -> Request:
        """What is known of a request before it is made."""
        guesses = {name: self.guesser.guess(value, scope) for name, value in arguments}
        known = {name: guess.value for name, guess in guesses.items() if guess.known}
        tokens = {name: guess.tokens for name, guess in guesses.items() if not guess.known}
        chosen = {name: self.guesser.guess(value, scope) for name, value in (*prompt.settings, *settings)}
        most = chosen["max_tokens"].value if "max_tokens" in chosen else None
        model = chosen["model"].value if "model" in chosen else None
        return Request(
            Amount.between(*self.measure.request(prompt, known, tokens)),
            most if isinstance(most, int) else self.measure.default_max_tokens,
            self.measure.price(model) if model is not UNKNOWN else None,
            Scope(scope.root, dict(guesses), scope.floor),
        )

    def _values(self, prompt: ir.Prompt, own: Scope) -> Amount:
        """How many thoughts one answer gives."""
        if not prompt.many:
            return ONE
        if prompt.count is not None:
            return self.guesser.amount(prompt.count, own)
        return Amount.of(Atom(f"len({prompt.name})", 1, math.inf, 1))

    def requests(self, sites: Amount, k: Amount, fused: bool) -> Amount:
        """How many requests it takes to ask k answers at each of so many places."""
        if not fused:
            return sites * k
        low, high = (math.ceil(n / self.measure.batch) if n < math.inf else n for n in k.bounds)
        return sites * Amount.between(low, high)

    def ask(self, step: ir.Generate | ir.Improve | ir.Aggregate, scope: Scope) -> tuple[Flow, Bill]:
        """`Generate`, `Improve`, `Aggregate`."""
        pool = scope.flow(step.pool)
        together = isinstance(step, ir.Aggregate)
        whole = self.whole(pool, scope)
        where = whole if together else self.each(pool, scope)
        prompt = self.program.prompt(step.prompt)
        request = self.request(prompt, step.arguments, step.settings, where)
        k, sites = self.guesser.amount(step.k, whole), pool.count.at_most(ONE) if together else pool.count
        calls, requests = sites * k, self.requests(sites, k, step.fused)
        rounds = _once(calls)
        made = calls * self._values(prompt, request.own)
        if step.until is not None or (self.early and step.stop is not None):
            calls, requests, rounds = self._stopped(step, calls, k, sites)
            # What came after the thought that ended the sampling is not kept.
            kept = Polynomial.of(min(1, calls.low.low)) if step.until is not None else calls.low
            made = Amount(kept, made.high)
        bill = request.bill(calls, requests)
        hops = scope.hops(needed_names(step), pool.hops) + rounds
        one = Guess(tokens=(0, request.most))
        volume = self._made_from(pool, step.arguments, scope, together)
        if isinstance(step, ir.Improve):
            each, volume = pool.each.or_(one), pool.volume.or_(volume)
            return Flow(pool.count + made, each, hops, volume), bill
        return Flow(ONE if step.single else made, one, hops, volume, step.single), bill

    def _made_from(self, pool: Flow, arguments: ir.Arguments, scope: Scope, together: bool) -> Amount:
        """From how many thoughts an answer can be reached: its own pool's, and those it is shown by name."""
        names = dict.fromkeys(name for _, value in arguments for name in free_names(value))
        flows = [flow for name in names if isinstance(flow := scope.find(name), Flow) and not flow.start]
        if not pool.start:
            flows.append(pool if together else replace(pool, count=ONE))
        return _after_all(flows)

    def _stopped(
        self, step: ir.Sampling, calls: Amount, k: Amount, sites: Amount
    ) -> tuple[Amount, Amount, Amount]:
        """The answers, requests and rounds of a sampling that may end after any wave."""
        low, high = calls.bounds
        first = max(1, self.wave or math.ceil(k.bounds[0] / 3))
        least = 0 if isinstance(step, ir.Improve) and step.until is None else min(first, low)
        waves: float = math.inf if high == math.inf else math.ceil(math.log2(high / first + 1))
        sent = min(high, waves * sites.bounds[1]) if step.fused else high
        some = float(least > 0)
        return (
            Amount(Polynomial.of(least), calls.high),
            Amount.between(some if step.fused else least, sent),
            Amount.between(some, waves),
        )

    # ---------------------------------------------------------------- judging

    def rate(self, step: ir.Score, scope: Scope) -> tuple[Flow, Bill]:
        """`Score` by a prompt, or here."""
        pool = scope.flow(step.pool)
        hops = scope.hops(needed_names(step), pool.hops)
        rated = replace(pool, hops=hops, part=None)
        prompts = {prompt.name: prompt for prompt in self.program.prompts}
        if step.score not in prompts:
            return rated, FREE
        prompt = prompts[step.score]
        k = self.guesser.amount(step.k, self.whole(pool, scope))
        request = self.request(prompt, step.arguments, (), self.each(pool, scope))
        bill = request.bill(pool.count * k, self.requests(pool.count, k, step.fused))
        return replace(rated, hops=hops + ONE), bill

    def validate(self, step: ir.Validate, scope: Scope) -> tuple[Flow, Bill]:
        """`Validate`."""
        pool = scope.flow(step.pool)
        flow = replace(pool, hops=scope.hops(needed_names(step), pool.hops), part=None)
        bill = self._judged(step.prompt, step.arguments, pool, scope)
        return (flow, FREE) if bill is None else (replace(flow, hops=flow.hops + ONE), bill)

    def mend(self, step: ir.ValidateAndImprove, scope: Scope) -> tuple[Flow, Bill]:
        """`ValidateAndImprove`: from nothing to improve to every try of every thought."""
        pool = scope.flow(step.pool)
        prompt = self.program.prompt(step.prompt)
        tries = self.guesser.amount(step.tries, self.whole(pool, scope))
        tried = replace(pool, each=pool.each.or_(Guess(tokens=(0, math.inf))))
        request = self.request(prompt, step.arguments, step.settings, self.each(tried, scope))
        judged = self._judged(step.judge, step.judge_arguments, pool, scope)
        once = request.bill(pool.count, pool.count)
        turn = once + (judged or FREE)
        first, hops = judged or FREE, scope.hops(needed_names(step), pool.hops)
        per_turn = ONE if judged is None else ONE + ONE
        most_turns = Amount(Polynomial.of(0), tries.high)
        after = self._made_from(pool, step.arguments, scope, False)
        flow = replace(
            pool,
            each=pool.each.or_(Guess(tokens=(0, request.most))),
            hops=(hops if judged is None else hops + ONE) + per_turn * most_turns,
            volume=Amount(pool.volume.low, (after + tries * after).high),
            part=None,
        )
        return flow, first + turn.times(most_turns)

    def _judged(self, name: str | None, arguments: ir.Arguments, pool: Flow, scope: Scope) -> Bill | None:
        """What it costs to have each thought judged by a prompt; None where it is judged here."""
        if name is None:
            return None
        request = self.request(self.program.prompt(name), arguments, (), self.each(pool, scope))
        return request.bill(pool.count, pool.count)

    # ---------------------------------------------------------------- thoughts

    def local(self, step: ir.AnyStep, scope: Scope) -> Flow:
        """The steps that ask nothing."""
        pool = scope.flow(step.pool)
        hops = scope.hops(needed_names(step), pool.hops)
        same = replace(pool, hops=hops, part=None)
        whole = self.whole(pool, scope)
        match step:
            case ir.KeepValid():
                return replace(same, count=Amount(_one_if_any(pool.count), pool.count.high), single=False)
            case ir.KeepBestN():
                kept = self.guesser.amount(step.count, whole).at_most(pool.count)
                return replace(same, count=ONE if step.single else kept, single=step.single)
            case ir.Select(condition=condition, positions=positions):
                if positions is not None:
                    return replace(same, count=self.guesser.length(positions, whole), single=False)
                assert condition is not None
                holds = self.guesser.holds(condition, self.each(pool, scope))
                some = Amount(Polynomial.of(0), pool.count.high)
                chosen = some if holds is None else pool.count if holds else ZERO
                return replace(same, count=chosen, single=False)
            case ir.Vote():
                return replace(same, count=ONE, single=True)
            case ir.Map(value=value):
                each = self.guesser.guess(value, self.each(pool, scope))
                return replace(same, each=each, volume=ZERO if pool.start else pool.volume + ONE)
            case ir.Retrieve():
                most = pool.count * self.guesser.amount(step.k, whole)
                volume = ZERO if pool.start else pool.volume + ONE
                return Flow(Amount(Polynomial.of(0), most.high), NOTHING_KNOWN, hops, volume)
            case ir.Call():
                volume = ZERO if pool.start else pool.volume + ONE
                return replace(same, each=NOTHING_KNOWN, volume=volume, start=False)
            case ir.Pool(values=values):
                flows = [self.gathered(value, whole, hops) for value in values]
                found = flows[0]
                for other in flows[1:]:
                    found = replace(found.or_(other), count=found.count + other.count, hops=hops)
                return replace(found, hops=hops, single=step.single, part=None)
        return same

    def gathered(self, value: e.Expression, scope: Scope, hops: Amount) -> Flow:
        """The thoughts that a name stands for, or a new one with the value of an expression."""
        name = value.value if isinstance(value, e.Index) else value
        found = scope.find(name.name) if isinstance(name, e.Reference) else None
        if isinstance(found, Flow) and not found.start:
            if isinstance(value, e.Reference):
                return found
            if not found.single:
                return replace(found, count=ONE, single=True, part=None)
        flows = [
            flow for n in free_names(value) if isinstance(flow := scope.find(n), Flow) and not flow.start
        ]
        return Flow(ONE, self.guesser.guess(value, scope), hops, _after_all(flows), True)


def _one(flow: Flow) -> Flow:
    """One of its thoughts."""
    return replace(flow, count=ONE, single=True, part=None)


def _once(calls: Amount) -> Amount:
    """The rounds of calls that are made side by side."""
    low, high = calls.bounds
    return Amount.between(float(low > 0), float(high > 0))


def _after_all(flows: list[Flow]) -> Amount:
    """From how many thoughts one can be reached that is made of all the thoughts of these."""
    if not flows:
        return ZERO
    certain = [flow for flow in flows if flow.count.bounds[0] > 0]
    low = max((max(flow.count.bounds[0], flow.volume.bounds[0] + 1) for flow in certain), default=0)
    if len(flows) == 1 and flows[0].count == ONE:
        return flows[0].volume + ONE
    most = ZERO
    for flow in flows:
        most = most + (flow.volume + ONE) * flow.count
    return Amount(Polynomial.of(low), most.high)


def _one_if_any(count: Amount) -> Polynomial:
    """At least one, where there is any."""
    return count.at_most(ONE).low
