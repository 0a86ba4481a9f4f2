"""The model that proposes texts to DSPy's optimizers, statistics of its responses, and a simulated one.

Optimizers expect responses in a certain form, and give up, or repeat the request, if a response has another.
So responses are parsed here, with DSPy's own parsers: an unreadable one reaches the optimizer as the
program's own text, and a proposer without a usable new text for some time is stopped.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import msgspec

from gotlang.errors import BudgetExceeded, GotError, ModelError
from gotlang.models.base import Completion, DecodingSettings, Message, Model, Request, Usage
from gotlang.models.prices import dollars
from gotlang.models.simulated import SimulatedModel
from gotlang.models.tokens import request_tokens
from gotlang.runtime.sampler.events import MissingSample
from gotlang.runtime.sampler.sampler import Sampler
from gotlang.runtime.sampler.shared import ROLE
from gotlang.tune import points

PROMPT = "proposal"
"""The prompt name of optimizers' requests in caches and traces."""
MAX_TOKENS = 2000
IDLE = 8
"""A proposer is stopped after this number of consecutive responses without a usable new text."""
IDLE_SHARE = 0.05
"""The largest share of a study's budget for such responses."""

ADVICE = (
    "Work step by step.",
    "Check your answer before you give it.",
    "Be exact and leave nothing out.",
    "Keep to the form that is asked for.",
    "Think of what is often overlooked.",
    "Give the answer and nothing else.",
    "Read everything twice before you begin.",
    "You are an expert in this field.",
    "Take your time.",
    "Consider more than one way.",
    "Use plain words.",
    "Begin with what is certain.",
)
"""The additions of the simulated proposer. Simulators may let some of it help, harm or have no effect."""


@final
class Proposed(msgspec.Struct):
    """The results and the cost of an optimizer of prompts.

    Of `answers`, `unreadable` had another form than requested. `proposed` counts different new instructions
    and sets of examples, `usable` those that the program can use, `tried` those that ran on rows, `kept`
    those that became choices of the search. `usd` is the cost of the proposer, `runs_usd` that of the runs
    (US dollars, None if a price is unknown; cached responses cost nothing). `stopped` says why the optimizer
    ended early.
    """

    optimizer: str
    prompts: tuple[str, ...]
    answers: int = 0
    unreadable: int = 0
    proposed: int = 0
    usable: int = 0
    tried: int = 0
    kept: int = 0
    usd: float | None = 0.0
    runs_usd: float | None = 0.0
    stopped: str | None = None

    def __str__(self) -> str:
        """`copro: 14 proposed, 14 usable, 12 tried, 4 kept; proposer $0.0021, runs $0.0430`."""
        counts = [f"{getattr(self, name)} {name}" for name in ("proposed", "usable", "tried", "kept")]
        unreadable = [f"{self.unreadable} of {self.answers} answers not readable"] * bool(self.unreadable)
        money = [
            f"{each} {dollars(usd)}" for each, usd in (("proposer", self.usd), ("runs", self.runs_usd)) if usd
        ]
        stopped = [f"stopped: {self.stopped}"] * (self.stopped is not None)
        return f"{self.optimizer}: " + "; ".join([", ".join(counts + unreadable), *money, *stopped])

    def to_dict(self) -> dict[str, Any]:
        """The form in documents."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


class StopOptimizer(BaseException):
    """Ends an optimizer immediately: optimizers catch every Exception and continue."""

    def __init__(self, reason: GotError | str) -> None:
        super().__init__(str(reason))
        self.reason = reason


@final
class Proposer:
    """Responds to optimizers through the study's cache and budget, which `sampler` holds. Equal requests get
    consecutive samples. If the model is simulated, so is the proposer: it adds a piece of `ADVICE` to a
    prompt's own text.

    `own` are the texts that are to be replaced, `fits` tells whether a text can replace one of them. `found`
    counts, and `tell` is called whenever it changed. `budget` is the study's, in US dollars.
    """

    def __init__(
        self,
        model: Model,
        sampler: Sampler,
        seed: int,
        own: Sequence[str],
        fits: Callable[[str], bool],
        found: Proposed,
        tell: Callable[[], None],
        budget: float | None,
    ) -> None:
        self.model = model
        if model.simulated:
            self.model = SimulatedModel({PROMPT: self._advise}, price=model.price, version=PROMPT)
        self._sampler = sampler
        self._loop = asyncio.get_running_loop()
        self._seed = seed
        self._own = own
        self._fits = fits
        self._found = found
        self._tell = tell
        self._most_idle = None if budget is None else IDLE_SHARE * budget
        self._asked: Counter[str] = Counter()
        self._advised: Counter[str] = Counter()
        self._seen = {_words(text) for text in own}
        self.fresh: dict[str, str] = {}
        """Usable new texts, each with the own text that it is to replace."""
        self._idle = 0
        self._idle_from = 0.0
        self._longest = 0
        self._useless = ""

    def complete(self, request: Any) -> Any:
        """One candidate for a request of DSPy's. Raises StopOptimizer."""
        from dspy.lm15 import Message as Said
        from dspy.lm15 import Response, TextPart
        from dspy.lm15 import Usage as Used

        completion, text = asyncio.run_coroutine_threadsafe(self._answer(request), self._loop).result()
        return Response(
            id=None,
            model=self.model.name,
            message=Said.assistant([TextPart(text)]),
            finish_reason="stop",
            usage=Used(input_tokens=None, output_tokens=completion.output_tokens),
        )

    async def _answer(self, request: Any) -> tuple[Completion, str]:
        roles = {"developer": "system"}
        said = [Message(roles.get(m.role, m.role), m.text or "") for m in request.messages]
        if (system := request.system) is not None:
            text = system if isinstance(system, str) else "".join(part.text for part in system)
            said.insert(0, Message("system", text))
        config = request.config
        settings = DecodingSettings(
            temperature=config.temperature, max_tokens=config.max_tokens or MAX_TOKENS
        )
        endpoint = self.model.endpoint
        asked = Request(self.model.name, tuple(said), settings, self._seed, PROMPT, endpoint=endpoint)
        number = self._asked[asked.key()]
        self._asked[asked.key()] += 1
        form = said[-1].content
        if any(name.endswith("instruction") for name in _fields(form)):
            self._advised[self._improves(form)] += 1
        self._afford(asked)
        ROLE.set("proposer")  # of this task alone
        key, end = asked.key(), self._loop.time() + points.PATIENCE_S
        (found,) = await self._sampler.sample(self.model, asked, key, [number], None)
        while isinstance(found, MissingSample):
            if not found.retryable or self._loop.time() > end:
                raise StopOptimizer((BudgetExceeded if found.cut_off else ModelError)(found.reason))
            await asyncio.sleep(points.PAUSE_S)
            self._sampler.forget(key, number)
            (found,) = await self._sampler.sample(self.model, asked, key, [number], None)
        completion = found[0].completion
        self._longest = max(self._longest, completion.output_tokens)
        fields = _read(form, completion.text)
        self._judge(self._improves(form), fields, completion.text)
        if fields is None:
            own = self._improves(form)
            fields = {name: own if name.endswith("instruction") else "" for name in _fields(form)}
        return completion, _in_form(form, fields) or completion.text or " "

    def _afford(self, asked: Request) -> None:
        """Raises StopOptimizer if a request that may bring as little as the last ones costs too much."""
        if self._idle and self._most_idle is not None and self.model.price is not None:
            next_usd = self.model.price.usd(Usage(request_tokens(asked.messages), self._longest))
            if (self._found.usd or 0.0) - self._idle_from + next_usd > self._most_idle:
                raise StopOptimizer(self._useless)

    def _judge(self, own: str, fields: Mapping[str, str] | None, answer: str) -> None:
        """Count an answer. Raises StopOptimizer if the last ones had nothing new of use to the program."""
        found = self._found
        found.answers += 1
        found.usd = self._sampler.ledger.spent.usd
        texts = [text for name, text in (fields or {}).items() if name.endswith("instruction")]
        new = [text for text in texts if _words(text) not in self._seen]
        self._seen.update(map(_words, new))
        usable = [text for text in new if self._fits(text)]
        self.fresh.update((text, own) for text in usable)
        found.unreadable += fields is None
        found.proposed += len(new)
        found.usable += len(usable)
        self._idle = 0 if usable else self._idle + (fields is None or bool(texts))
        spent = found.usd or 0.0
        if not self._idle:
            self._idle_from = spent
        self._tell()
        why = "has the form that was asked for" if fields is None else "is new and fits the program"
        last = f"the last begins {json.dumps(answer[:60], ensure_ascii=False)}"
        self._useless = f"none of the last {self._idle} responses of `{self.model.name}` {why}; {last}"
        if self._idle >= IDLE:
            raise StopOptimizer(self._useless)

    def _improves(self, asked: str) -> str:
        """The text of the program that a request is about: the last one that it shows."""
        shown = _words(asked)
        return max(self._own, key=lambda text: shown.rfind(_words(text)))

    def _advise(self, rng: random.Random, messages: Sequence[Message]) -> str:
        """The simulated response: it cycles through the pieces of advice, then through pairs, in an order of
        the study's own."""
        asked = messages[-1].content
        own = self._improves(asked)
        order = random.Random(f"{self._seed} {own}").sample(ADVICE, len(ADVICE))
        again, place = divmod(self._advised[own], len(order))
        pieces = dict.fromkeys((order[place], order[(place + again) % len(order)]))
        proposal = "\n".join([own.strip(), *pieces])
        return _in_form(
            asked,
            {name: proposal if name.endswith("instruction") else "As before." for name in _fields(asked)},
        )

    def stream(self, request: Any) -> Any:
        """The same as events."""
        from dspy.lm15 import response_to_events

        return response_to_events(self.complete(request))

    def close(self) -> None:
        """Nothing to close."""


def _words(text: str) -> str:
    """The words of a text, however it is wrapped, quoted or escaped."""
    return re.sub(r"\\n|[\W_]+", "", text)


# ---------------------------------------------------------------- the forms of responses


def _wanted(asked: str) -> str:
    return asked.rpartition("Respond with")[2]


def _fields(asked: str) -> list[str]:
    """The fields that a request expects in the response; empty if it does not say."""
    wanted = _wanted(asked)
    if "JSON object" in wanted:
        return re.findall(r"`(\w+)`", wanted)
    return [name for name in re.findall(r"\[\[ ## (\w+) ## \]\]", wanted) if name != "completed"]


def _in_form(asked: str, fields: Mapping[str, str]) -> str:
    """Fields in the form that a request expects; an empty text for an unknown form."""
    if not fields or "JSON object" in _wanted(asked):
        return json.dumps(fields) if fields else ""
    marked = [f"[[ ## {name} ## ]]\n{text}" for name, text in fields.items()]
    return "\n\n".join([*marked, "[[ ## completed ## ]]"])


def _read(asked: str, answer: str) -> dict[str, str] | None:
    """The fields of a response, in either form of DSPy's; None if it has neither."""
    import dspy
    from dspy.utils.exceptions import AdapterParseError

    names = _fields(asked)
    wanted = dspy.Signature({name: (str, dspy.OutputField()) for name in names})
    first, second = dspy.JSONAdapter(), dspy.ChatAdapter()
    for adapter in (first, second) if "JSON object" in _wanted(asked) else (second, first):
        try:
            found = adapter.parse(wanted, answer)
        except (AdapterParseError, ValueError, RecursionError):
            continue
        return {name: str(found[name]) for name in names}
    return None if names else {}
