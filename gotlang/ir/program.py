"""The IR: its declarations and its steps, which are used as `ir.Prompt`, `ir.Generate`.

A kind of step is imported at its first use: a program has few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gotlang.ir.declarations import NUMBER as NUMBER
from gotlang.ir.declarations import Corpus as Corpus
from gotlang.ir.declarations import Domain as Domain
from gotlang.ir.declarations import Example as Example
from gotlang.ir.declarations import MetricFunction as MetricFunction
from gotlang.ir.declarations import Param as Param
from gotlang.ir.declarations import Program as Program
from gotlang.ir.declarations import Prompt as Prompt
from gotlang.ir.declarations import PythonFunction as PythonFunction
from gotlang.ir.declarations import PythonImport as PythonImport
from gotlang.ir.declarations import Scheme as Scheme
from gotlang.ir.declarations import ScoreFunction as ScoreFunction
from gotlang.ir.declarations import Turn as Turn
from gotlang.operations import MODULES
from gotlang.operations.sampled import EarlyStop as EarlyStop
from gotlang.operations.sampled import SampledStep as SampledStep
from gotlang.operations.step import Arguments as Arguments
from gotlang.operations.step import Region as Region
from gotlang.operations.step import Step as Step

if TYPE_CHECKING:
    from gotlang.operations.aggregate import Aggregate as Aggregate
    from gotlang.operations.ask import Ask as Ask
    from gotlang.operations.call import Call as Call
    from gotlang.operations.first import First as First
    from gotlang.operations.foreach import Foreach as Foreach
    from gotlang.operations.generate import Generate as Generate
    from gotlang.operations.ground_truth import GroundTruth as GroundTruth
    from gotlang.operations.if_ import Branching as Branching
    from gotlang.operations.if_ import If as If
    from gotlang.operations.improve import Improve as Improve
    from gotlang.operations.keep_best_n import KeepBestN as KeepBestN
    from gotlang.operations.keep_valid import KeepValid as KeepValid
    from gotlang.operations.labelled import Block as Block
    from gotlang.operations.map import Map as Map
    from gotlang.operations.match import Match as Match
    from gotlang.operations.pool import Pool as Pool
    from gotlang.operations.reduce import Reduce as Reduce
    from gotlang.operations.repeat import Repeat as Repeat
    from gotlang.operations.repeated import Repeated as Repeated
    from gotlang.operations.retrieve import Retrieve as Retrieve
    from gotlang.operations.scheme_call import Invoke as Invoke
    from gotlang.operations.score import Score as Score
    from gotlang.operations.search import Search as Search
    from gotlang.operations.select import Select as Select
    from gotlang.operations.skip import Skip as Skip
    from gotlang.operations.try_ import Try as Try
    from gotlang.operations.validate import Validate as Validate
    from gotlang.operations.validate_and_improve import ValidateAndImprove as ValidateAndImprove
    from gotlang.operations.vote import Vote as Vote

_PLACES = MODULES | {"Block": "labelled", "Branching": "if_", "Invoke": "scheme_call"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> type[Step]:
        if name not in _PLACES:
            raise AttributeError(f"module `{__name__}` has no `{name}`")
        step = globals()[name] = getattr(import_module(f"gotlang.operations.{_PLACES[name]}"), name)
        return step
