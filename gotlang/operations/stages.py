"""The interfaces of the stages of the compiler and of a run to an operation.

An operation's record depends only on these protocols, so that it is below the checker, the estimator and the
engine, and one file contains all of it. If a part of a record needs more than its protocol offers, the
protocol is extended here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from gotlang.amounts import Amount
from gotlang.flows import Bill, Flow, FlowScope, Guess, RequestEstimate, Result
from gotlang.operations.checks import DeclaredScore
from gotlang.operations.step import Arguments, Effect, PythonArguments, Region, Step
from gotlang.scope import Facts, Narrowed, PoolType, Scope, ScoredBy
from gotlang.span import Span
from gotlang.syntax.expressions import Expression
from gotlang.thought import Thought
from gotlang.types import Type

T = TypeVar("T")

GUESSED_ROUNDS = 3
"""Default rounds of a `repeat`, and levels of a `reduce`: for scheduling only."""


class Typed(Protocol):
    """A step in its place: the names that its expressions see."""

    @property
    def pool(self) -> PoolType:
        """The input thoughts of the step."""

    @property
    def each(self) -> Scope:
        """The names for what is evaluated once per thought."""

    @property
    def whole(self) -> Scope:
        """The names for what is evaluated once for all thoughts."""

    @property
    def truth(self) -> Type:
        """The type of the known answer."""


class Checking(Typed, Protocol):
    """The checker at one step, for an operation's type rule. Errors are reported, and the rule continues."""

    @property
    def repeated(self) -> bool:
        """Whether `Repeat(k)` follows the step."""

    def setting(self, name: str) -> Expression | None:
        """The expression of a setting; None if it is omitted."""

    def infer(self, node: Expression, scope: Scope) -> Type:
        """The type of an expression."""

    def expect(self, node: Expression, scope: Scope, wanted: Type, what: str) -> Type:
        """The type of an expression, an error unless it is the expected one; `what` names the place."""

    def prompt(self, operand: Expression, scope: Scope) -> tuple[Type, bool]:
        """The result type of the prompt that an operand calls, and whether it returns several values."""

    def knowing(self, facts: Facts, type_: Type, scope: Scope, place: str) -> Scope:
        """The names of a scope, with a current thought of which only these facts are known; a score that
        calls a model is not allowed in the `place`."""

    def judgement(self, operand: Expression, scope: Scope) -> None:
        """Check the condition of valid thoughts: an expression, or a prompt that returns a bool."""

    def score(self, operand: Expression) -> ScoredBy:
        """Check the scorer of thoughts: a score, a prompt that returns a number, or an expression."""

    def prefers_high(self, node: Expression, *, mirrored: bool = False) -> None:
        """Report an expression in which higher is better but that increases with a score where lower is
        better. A score alone is allowed if it is `mirrored`."""

    def compares_scores(self) -> None:
        """Report thoughts whose scores cannot be compared with each other."""

    def looks_at_thoughts(self, operand: Expression, scope: Scope, *, named: bool = True) -> bool:
        """Whether an operand uses any thoughts of a scope: the current ones or, with `named`, others too."""

    def gives_logprobs(self, operand: Expression) -> bool:
        """Whether the prompt that an operand calls, or the step, requests log-probabilities."""

    def shares(self) -> None:
        """Report `share` at a step whose operand calls no model."""

    def value_pool(self, operand: Expression) -> PoolType:
        """The pool of an expression: named thoughts as they are, any other value as one new thought."""

    def function(self, operand: Expression) -> bool:
        """Whether an operand calls an imported Python function."""

    def corpus(self, operand: Expression) -> bool:
        """Whether an operand searches a corpus, or a function in place of one; it then counts as used."""

    def selected(self, condition: Expression) -> Type:
        """The type of the thoughts for which a condition is true."""

    def needs_thoughts(self, purpose: str = "to look at") -> None:
        """Report a step without input thoughts."""

    def joined(self, operand: Expression, result: Type) -> Type | None:
        """The common type of improved thoughts and the original ones; None, and an error, if they differ."""

    def error(
        self, code: str, message: str, span: Span | None = None, at: str = "", help: str | None = None
    ) -> None:
        """Report an error, at the step unless a place is given."""

    def warning(self, code: str, message: str, span: Span, *, help: str | None = None) -> None:
        """Report a warning."""


class Building(Protocol):
    """The builder of the IR at one step that was checked."""

    @property
    def base(self) -> tuple[str, Type, bool, str]:
        """The first fields of the step: result, element type, whether it is single, and the input pool."""

    def setting(self, name: str) -> Expression | None:
        """The expression of a setting; None if it is omitted."""

    def count(self, name: str) -> Expression:
        """The expression of a setting, 1 if it is omitted; `k` is multiplied by that of a `Repeat(k)`."""

    def model_settings(self) -> Arguments:
        """The settings of model calls that the step has."""

    def called(self, operand: Expression) -> tuple[str, Arguments]:
        """The name that a call refers to, and its arguments by parameter."""

    def judgement(self, operand: Expression) -> tuple[Expression | None, str | None, Arguments]:
        """The condition of valid thoughts: an expression, or a prompt with its arguments."""

    def is_prompt(self, operand: Expression) -> bool:
        """Whether an operand calls a prompt."""

    def is_score(self, operand: Expression) -> bool:
        """Whether an operand calls a declared score."""

    def in_force(self, name: str) -> bool:
        """Whether a name is an input of the scheme, or bound."""

    def is_lower(self, operand: Expression) -> bool:
        """Whether an operand is a score where lower is better: that of the thoughts, or a declared one."""


class Verifying(Typed, Protocol):
    """The verifier at one step. Its methods raise VerificationError for an invalid step."""

    def expect(self, node: Expression, scope: Scope, wanted: Type) -> Type:
        """The type of an expression, which must be the expected one."""

    def infer(self, node: Expression, scope: Scope) -> Type:
        """The type of an expression, which must not call a model."""

    def elements(self, iterable: Expression | None) -> Type:
        """The type of the elements that a block iterates over."""

    def prompt(self, name: str, arguments: Arguments, scope: Scope) -> tuple[Type, bool]:
        """The result type of a declared prompt whose arguments must match, and whether it returns several
        values."""

    def score(self, name: str, arguments: Arguments, scope: Scope, *, ends_sampling: bool = False) -> None:
        """A declared score whose arguments must match; one that ends sampling is local and has a best
        value."""

    def is_score(self, name: str) -> bool:
        """Whether a score of this name is declared."""

    def scheme(self, name: str, arguments: Arguments) -> tuple[Type, bool]:
        """The result type of a declared scheme whose arguments must match, and whether it returns several
        values."""

    def settings(self, settings: Arguments, scope: Scope) -> None:
        """Settings of model calls, each of which must exist and be valid."""

    def judgement(self, condition: Expression | None, prompt: str | None, arguments: Arguments) -> None:
        """A condition or a prompt that returns a bool."""

    def fits(self, wanted: Type, given: Type, what: str) -> None:
        """Check that a type is the expected one."""

    def named(self, name: str) -> PoolType:
        """The pool of a name."""

    def joined(self, *types: Type) -> Type:
        """The common type of several, which must exist."""

    def selected(self, condition: Expression) -> Type:
        """The type of the thoughts for which a condition is true."""

    def where(self, condition: Expression, holds: bool, entry: str) -> Verifying:
        """The verifier where a condition is true, or false; `entry` is the pool that it sees."""

    def known(self, known: Narrowed, entry: str) -> Verifying:
        """The verifier where the types of some expressions are known."""

    def inside(self, pools: Mapping[str, PoolType], values: Mapping[str, Type] | None = None) -> Verifying:
        """The verifier inside the step, where these names are in scope too."""

    @property
    def names(self) -> Scope:
        """The names in scope, without the current thoughts."""

    def region(self, region: Region) -> PoolType:
        """The output of a region whose entry is in scope; the names of its steps are in scope from then
        on."""

    def whole_of(self, pool: PoolType) -> Scope:
        """The names in scope, with the thoughts of another pool as the current ones."""

    def fail(self, reason: str) -> Exception:
        """The error to raise, with the place."""


class Declared(Protocol):
    """The program's declarations, for queries about one step."""

    def asks(self, name: str | None) -> bool:
        """Whether a name is a prompt's."""

    def local_score(self, name: str | None) -> bool:
        """Whether a name is that of a score that calls no model."""

    def changes_graph(self, function: str) -> bool:
        """Whether a Python function changes the graph that it runs in."""

    def effects(self, name: str) -> frozenset[Effect]:
        """The effects of a declared scheme or score, with everything it calls."""

    def tools(self, prompt: str) -> frozenset[Effect]:
        """The effects of the tools of a prompt; none without tools."""


class Estimating(Protocol):
    """The estimator. A step gets the number of its input thoughts and of the model calls before them."""

    early: bool
    """Whether early stopping is assumed."""
    at_once: bool
    """Whether a sampling step that early stopping does not end before it begins requests all samples at
    once."""
    ahead: bool
    """The same with `until` too, and the samples that turn out not to be needed are withdrawn."""

    def needs(self, step: Step) -> tuple[str, ...]:
        """The names in a step's own expressions that a step or a block outside defines."""

    def guess(self, node: Expression, names: Mapping[str, Guess]) -> Guess:
        """What is known of an expression's value."""

    def known(self, value: Any, *, chosen: bool = False) -> Guess:
        """What is known of a known value."""

    def amount(self, node: Expression, names: Mapping[str, Guess]) -> Amount:
        """The numeric value of an expression, at least 0."""

    def length(self, node: Expression, names: Mapping[str, Guess]) -> Amount:
        """The number of elements of a list."""

    def holds(self, node: Expression, names: Mapping[str, Guess]) -> bool | None:
        """Whether a condition is true; None if unknown."""

    def request(
        self, prompt: str, arguments: Arguments, settings: Arguments, scope: FlowScope
    ) -> RequestEstimate:
        """What is known of a request to a prompt before it is made."""

    def tools(self, prompt: str, scope: FlowScope) -> tuple[Amount, Bill, Amount] | None:
        """Of a prompt with tools: the number of requests for one answer, the cost of the tools of one of its
        responses, and their sequential model calls. None without tools."""

    def requests(self, calls: Amount, k: Amount, batched: bool) -> Amount:
        """The number of requests for `k` calls at each of this number of places."""

    def apart(self, prompt: str, settings: Arguments, batched: bool) -> bool:
        """Whether each sample of a prompt may have a request of its own."""

    def first_batch(self, k: float) -> int:
        """The number of calls in the first round of a sampling step that may stop early, of at least `k`."""

    def made_from(self, pool: Flow, arguments: Arguments, scope: FlowScope, together: bool = False) -> Amount:
        """The number of thoughts from which a response can be reached: its pool's, and those it gets by
        name."""

    def judged(
        self, prompt: str | None, arguments: Arguments, pool: Flow, scope: FlowScope
    ) -> tuple[Bill, Amount]:
        """The cost of judging each thought, and the sequential model calls of that."""

    def gathered(self, value: Expression, scope: FlowScope, hops: Amount) -> Flow:
        """The thoughts of a name, or a new one with the value of an expression."""

    def is_prompt(self, name: str | None) -> bool:
        """Whether a prompt of this name is declared."""

    def asking_score(self, name: str | None) -> bool:
        """Whether a declared score with this name calls a model."""

    def score(self, name: str, arguments: Arguments, k: Expression, pool: Flow, scope: FlowScope) -> Result:
        """`Score` by a score that calls a model: its body for each thought and sample."""

    def scheme(
        self, step: Step, name: str, arguments: Arguments, scope: FlowScope
    ) -> tuple[Flow, Bill, Amount] | None:
        """The output and the cost of one call of a scheme, and the model calls before it; None if calls are
        not followed further."""

    def region(self, region: Region, scope: FlowScope) -> Result:
        """The output and the cost of a block; its names are added to the scope."""

    @property
    def exhausted(self) -> bool:
        """Whether so many steps were analyzed that the rest is summarized."""


class Remaining(Protocol):
    """Sequential model calls that are still to come, estimated for the scheduler."""

    def through(self, region: Region) -> int:
        """Those through a region."""

    def scheme(self, name: str) -> int:
        """Those through a scheme."""

    def score(self, name: str | None) -> int:
        """Those of scoring one thought."""

    def rounds(self, count: Expression) -> int:
        """The numeric value of an expression; a guess if it is not constant."""


Sample = Any
"""A numbered completion of a request, or why there is none."""


class PromptCall(Protocol):
    """A prompt with its arguments filled in: one request."""

    @property
    def names(self) -> Mapping[str, Any]:
        """The names that its arguments were evaluated with."""

    @property
    def batch(self) -> int:
        """The maximum number of its samples in one request."""

    @property
    def retries(self) -> int:
        """The number of further samples that may be requested per wanted sample when some fail."""

    async def one(self) -> Sample:
        """Its first sample, requested alone."""

    async def cached(self, numbers: Sequence[int]) -> int:
        """How many of these samples, up to the first missing one, are cached."""

    def values(self, number: int, sample: Sample, again: bool = False) -> list[Any] | None:
        """The values parsed from a sample. None for one that is missing or cannot be parsed, which is
        recorded as failed; `again` tells that another is requested instead."""

    def skipped(self, sample: Sample) -> bool:
        """Whether a sample was never requested, because of the budget or because the run was stopped."""

    def thought(self, value: Any, index: int, sample: Sample) -> Thought:
        """A thought with a value read from a sample; `index` numbers the operation's thoughts."""


class Speculation(Protocol):
    """A context in which samples are requested before it is known whether they are needed. When it ends,
    those that were not taken are withdrawn."""

    async def __aenter__(self) -> Speculation:
        """Begin."""

    async def __aexit__(self, *error: object) -> None:
        """Withdraw what was not taken."""

    def ask(self, call: Any, number: int) -> None:
        """Request a sample of a call."""

    async def take(self, call: Any, number: int, turn: int) -> Sample:
        """A sample, which is requested now if it was not; `turn` counts the samples before it that it
        replaces."""


class Running(Protocol):
    """One execution of an operation: the names its expressions see, its samples, and the thoughts it makes.

    Values that cannot be computed raise EvaluationError.
    """

    @property
    def wave(self) -> int | None:
        """The size of the first round of an early-stopped sampling; None for the default."""

    @property
    def prefer(self) -> str | None:
        """`cost` or `latency`, as in `Options`."""

    @property
    def has_truth(self) -> bool:
        """Whether the ground truth of this run is known."""

    @property
    def skipped(self) -> bool:
        """Whether the run has skipped samples, because of the budget or because it was stopped."""

    def each(self, thought: Thought, around: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """The names for what is evaluated once per thought, over those of `around` (default: the block's)."""

    def whole(self, thoughts: Sequence[Thought]) -> Mapping[str, Any]:
        """The names for what is evaluated once for all current thoughts."""

    def with_truth(self, thought: Thought) -> Mapping[str, Any]:
        """The names for a `GroundTruth` condition: `truth` among them, if it is known."""

    def note_truth(self, correct: bool | None) -> None:
        """Record the outcome of a `GroundTruth`; None if it could not be evaluated."""

    def evaluate(self, expression: Expression, names: Mapping[str, Any] | None = None) -> Any:
        """The value of an expression; `names` defaults to the block's."""

    def count(self, expression: Expression, thoughts: Sequence[Thought], setting: str, least: int = 0) -> int:
        """A setting that is a whole number of at least `least`."""

    def bound(self, value: Expression, names: Mapping[str, Any]) -> Sequence[Thought] | None:
        """The thoughts that a name, or an index into named thoughts, refers to; None for any other."""

    def used_names(self, value: Expression) -> tuple[str, ...]:
        """The names that an expression of a step uses, in order."""

    def score(self, name: str) -> DeclaredScore:
        """A score of the program."""

    def local_score(self, name: str, arguments: Arguments, names: Mapping[str, Any]) -> float:
        """The value of a score that asks no model."""

    def derived(self, value: Any, index: int, parents: Sequence[Thought]) -> Thought:
        """A computed thought; `index` numbers the operation's thoughts."""

    def failed(self, reason: str, number: int | None = None) -> None:
        """Record that one thought or sample failed; `number` is its index."""

    def was_skipped(self, value: Expression) -> bool:
        """Whether an expression uses the thoughts of an input that was skipped."""

    def try_each(self, thoughts: Sequence[Thought], make: Callable[[Thought], T]) -> list[tuple[int, T]]:
        """`(index, make(thought))` for each thought; one for which it raises GotError is recorded as
        failed."""

    def for_each(self, thoughts: Sequence[Thought], make: Callable[[Thought], T]) -> list[tuple[int, T]]:
        """The same. Raises OperationFailed if all of them fail."""

    async def for_each_call(
        self, thoughts: Sequence[Thought], make: Callable[[Thought], Awaitable[T]]
    ) -> list[tuple[int, T]]:
        """The same for calls of Python functions, several of which run at the same time."""

    def some(self, thoughts: Sequence[Thought], found: list[T]) -> list[T]:
        """`found` as it is. Raises OperationFailed if there are thoughts, but nothing was found for any."""

    async def call_python(self, name: str, arguments: PythonArguments, names: Mapping[str, Any]) -> Any:
        """The value of an imported function for arguments in these names."""

    async def search(self, corpus: str, query: Any, k: int) -> Any:
        """The k best documents of a corpus."""

    def call(
        self,
        prompt: str,
        arguments: Arguments,
        settings: Arguments,
        thoughts: Thought | Sequence[Thought],
        turn: int = 0,
    ) -> PromptCall:
        """A call of a prompt for one thought, or for all of them together. `turn` numbers the rounds of an
        operation that samples several times."""

    def check_samples(self, samples: int) -> None:
        """Raise EvaluationError if the run may not request this number of further samples."""

    async def sample(
        self, wanted: Sequence[tuple[Any, Sequence[int]]], *, batched: bool = False
    ) -> list[list[Sample]]:
        """Samples of several calls, requested at the same time; sample numbers count from 0 for each call.
        `batched` requests all samples of a call in one request, if the endpoint supports `n`."""

    def speculation(self) -> Speculation:
        """A context for samples that may turn out not to be needed."""
