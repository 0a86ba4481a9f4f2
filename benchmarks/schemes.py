"""Every scheme of programs/ on one input of its task: its calls and critical path, by formula and by run.

    python benchmarks/schemes.py           # prints docs/schemes.md
    python benchmarks/schemes.py --write   # writes it

Formulas use the program's params and the names in the column "with": sizes that the input determines (parts
of a list) or, if the scheme is dynamic, the number of calls of one prompt in this run. Runs are simulated,
without early stopping, so that they make all calls that the scheme describes.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, final

from gotlang.api import Options, Program, load
from gotlang.data import inputs
from gotlang.data import load as load_data
from gotlang.ir.evaluate import evaluate
from gotlang.result import Result
from gotlang.runtime.sampler.events import Asked, Event
from gotlang.span import Source
from gotlang.syntax import nodes as n
from gotlang.syntax.parse import parse

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / "programs"
PAGE = ROOT / "docs" / "schemes.md"


@final
@dataclass(frozen=True, slots=True)
class Row:
    """One scheme on one task.

    `sizes` are the names in the formulas `calls` and `path` that are not params; `decided` are those that the
    run decides, as the number of calls of these prompts. `at_least` marks a path that may get longer,
    `fallback` a scheme that may ask for less, where a `try` fails.
    """

    program: str
    scheme: str
    task: str
    structure: str
    calls: str
    path: str
    data: str
    columns: Mapping[str, str] = field(default_factory=dict)
    row: int = 0
    params: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    decided: Mapping[str, str] = field(default_factory=dict)
    at_least: bool = False
    fallback: bool = False
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dynamic(self) -> bool:
        """Whether the graph depends on answers."""
        return bool(self.decided) or self.fallback

    @property
    def name(self) -> str:
        """For test ids."""
        return f"{self.program}-{self.scheme}-{self.task}".replace(" ", "_")


@cache
def program_of(name: str) -> Program:
    """A program of programs/, loaded once."""
    return load(PROGRAMS / f"{name}.got")


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """A run, and what its row's formulas give for it."""

    result: Result
    calls: int
    path: int
    sizes: Mapping[str, int]


def given(row: Row) -> tuple[dict[str, Any], dict[str, Any]]:
    """The inputs of a row's run, and the known answer (`truth`) where there is one."""
    scheme = program_of(row.program).scheme(row.scheme)
    if not row.data:
        return dict(row.inputs), {}
    table = load_data(PROGRAMS / "data" / row.data)
    optional = {"truth": scheme.truth} if "truth" in row.columns else {}
    found = inputs(table, row.row, row.columns, dict(scheme.parameters), optional)
    truth = {"truth": found.pop("truth")} if "truth" in found else {}
    return {**row.inputs, **found}, truth


def measure(row: Row) -> Measured:
    """One simulated run."""
    program, (found, truth) = program_of(row.program), given(row)
    asked: Counter[str] = Counter()

    def count(event: Event) -> None:
        if isinstance(event, Asked):
            asked[event.request.prompt] += len(event.numbers)

    options = Options(params=row.params, level=1, observe=count, python=True)
    result = program.run(found, scheme=row.scheme, options=options, **truth)
    sizes = {**row.sizes, **{name: asked[prompt] for name, prompt in row.decided.items()}}
    params = {param.name: param.default for param in program.ir(0).params} | dict(row.params)
    return Measured(result, value_of(row.calls, params | sizes), value_of(row.path, params | sizes), sizes)


def value_of(formula: str, names: Mapping[str, Any]) -> int:
    """What a formula gives."""
    module, problems = parse(Source.of("formula.got", f"scheme formula() -> int:\n    return {formula}\n"))
    assert not problems, problems
    scheme = module.declarations[0]
    assert isinstance(scheme, n.Scheme)
    statement = scheme.body.statements[0]
    assert isinstance(statement, n.Return)
    return int(evaluate(statement.value, names))


def code_lines(name: str) -> int:
    """Lines of a program without prompts, their examples, tests, comments and blank lines."""
    count, inside = 0, False
    for line in (PROGRAMS / f"{name}.got").read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if text and not text.startswith("#"):
            if not line.startswith((" ", ")")):
                inside = line.startswith(("prompt ", "test ", "law "))
            count += not inside
    return count


# ---------------------------------------------------------------- the rows

SORT = {"numbers": "Unsorted", "truth": "Sorted"}
SETS = {"set1": "SET1", "set2": "SET2", "truth": "INTERSECTION"}
COUNTRIES = {"text": "Text", "countries": "Countries"}
STORY = {"story": "Story", "truth": "Answer"}
TOWN = {"question": "Question", "truth": "Answer"}
SIZES = (32, 64, 128)
"""Numbers in a list or set; params with one value for each of them are indexed by `size`."""


def listings() -> Iterator[Row]:
    """Listings 1 to 7 of Graph of Thoughts."""
    for number, size, calls, path in (
        (1, 32, "1 + 2 * 5 + 10", "3"),
        (2, 64, "1 + 4 * 5 + 3 * 10", "4"),
        (3, 128, "1 + 8 * 5 + 4 * 5", "3"),
        (4, 128, "1 + 8 * 5 + 7 * 5", "5"),
    ):
        columns = {key: SETS[key] for key in ("set1", "set2")}
        data = f"sets{size}.csv"
        name = f"listing{number}"
        yield Row(f"listings/{name}", name, f"set intersection {size}", "graph", calls, path, data, columns)
    for number, size, calls, path in (
        (5, 32, "1 + 2 * 5 + 10 + 10", "4"),
        (6, 64, "1 + 4 * 5 + 3 * 10 + 2 * 5 + 10", "6"),
        (7, 128, "1 + 8 * 5 + 7 * 10 + 6 * 5 + 10", "8"),
    ):
        name = f"listing{number}"
        yield Row(
            f"listings/{name}", name, f"sorting {size}", "graph", calls, path, f"digits{size}.csv", SORT
        )


def sorting() -> Iterator[Row]:
    """Sorting by all schemes of Figure 5, and the tree and the graph that Framework of Thoughts tunes."""
    for index, size in enumerate(SIZES):
        task, data = f"sorting {size}", f"digits{size}.csv"
        parts = {"parts": size // 16, "levels": (size // 16).bit_length() - 1}
        level = {"size": index}
        yield Row("sorting", "io", task, "one prompt", "1", "1", data, SORT)
        yield Row("sorting", "cot", task, "chain", "1", "1", data, SORT)
        yield Row(
            "sorting",
            "tot",
            task,
            "tree",
            "tot_branches * tot_levels[size]",
            "tot_levels[size]",
            data,
            SORT,
            sizes=level,
        )
        yield Row(
            "sorting",
            "tot2",
            task,
            "tree",
            "tot2_branches * tot2_levels[size]",
            "tot2_levels[size]",
            data,
            SORT,
            sizes=level,
        )
        calls = (
            "1 + parts * sort_tries + (parts - 1) * merge_tries + (parts - 2) * repair_tries + final_tries"
        )
        yield Row("sorting", "got", task, "graph", calls, "2 + 2 * levels", data, SORT, sizes=parts)
    yield Row("sort128", "sort128", "sorting 128", "graph", calls, "2 + 2 * levels", data, SORT, sizes=parts)
    for params in ({}, {"tot_branches": 14, "tree_rounds": 6}):
        yield Row(
            "sorting",
            "tot_rounds",
            "sorting 128" + (", tuned" if params else ""),
            "tree",
            "tot_branches * (1 + tree_rounds)",
            "1 + tree_rounds",
            data,
            SORT,
            params=params,
        )
    calls = "1 + parts * sort_tries + (parts - 1) * merge_tries + rounds"
    for params in ({}, {"sort_tries": 2, "merge_tries": 13, "rounds": 2}):
        yield Row(
            "sorting",
            "got_rounds",
            "sorting 128" + (", tuned" if params else ""),
            "graph",
            calls,
            "2 + levels + rounds",
            data,
            SORT,
            params=params,
            sizes=parts,
        )


NODES = {"answers": "solve", "ratings": "rate", "nodes": "gather"}
TRIES = {"answers": "sort", "ratings": "rate"}


def enhanced() -> Iterator[Row]:
    """Sorting and the frozen lake by all schemes of Enhancing Graph of Thoughts."""
    calls, path, lakes = "1 + answers + ratings + nodes", "2 + 3 * levels", {"lake": "Lake"}
    for size in (128, 256):
        task, data = f"sorting {size}", f"numbers{size}.csv"
        for scheme, structure in (("io", "one prompt"), ("cot1", "chain"), ("cot2", "chain")):
            yield Row("egot_baselines", scheme, task, structure, "1", "1", data, SORT)
        tree, merges = "answers + ratings", "(2 * parts - 1) * got_tries"
        yield Row("egot_baselines", "tot", task, "tree", tree, "2 * answers", data, SORT, decided=TRIES)
        yield Row("egot_baselines", "got", task, "graph", merges, "3", data, SORT)
        for scheme in ("egot", "egot_star"):
            yield Row("egot", scheme, task, "graph", calls, path, data, SORT, decided=NODES, at_least=True)
    task, data, tries = "frozen lake", "lakes.csv", {**TRIES, "answers": "solve"}
    yield Row("egot_lake_baselines", "cot", task, "chain", "1", "1", data, lakes)
    yield Row("egot_lake_baselines", "tot", task, "tree", tree, "2 * answers", data, lakes, decided=tries)
    for scheme in ("egot_lake", "egot_lake_star"):
        yield Row("egot_lake", scheme, task, "graph", calls, path, data, lakes, decided=NODES, at_least=True)
    task, data = "document merging", "documents.csv"
    judged = {"answers": "solve", "judgements": "judge", "nodes": "gather"}
    calls, path = "1 + answers + judgements + nodes + ratings", "3 + 3 * depth"
    for scheme in ("egot_documents", "egot_documents_star"):
        yield Row("egot_documents", scheme, task, "graph", calls, path, data, decided=judged, at_least=True)


def sets() -> Iterator[Row]:
    """Set intersection by all schemes of Figure 6."""
    for index, size in enumerate(SIZES):
        task, data = f"set intersection {size}", f"sets{size}.csv"
        level = {"size": index}
        parts = {"parts": size // 16, "levels": (size // 16).bit_length() - 1, **level}
        yield Row("sets", "io", task, "one prompt", "1", "1", data, SETS)
        yield Row("sets", "cot", task, "chain", "1", "1", data, SETS)
        yield Row(
            "sets",
            "tot",
            task,
            "tree",
            "tot_branches[size] * tot_levels[size]",
            "tot_levels[size]",
            data,
            SETS,
            sizes=level,
        )
        yield Row(
            "sets",
            "tot2",
            task,
            "tree",
            "tot2_branches * tot2_levels[size]",
            "tot2_levels[size]",
            data,
            SETS,
            sizes=level,
        )
        calls = "1 + parts * tries + (parts - 1) * merge_tries[size]"
        yield Row("sets", "got", task, "graph", calls, "2 + levels", data, SETS, sizes=parts)


def keywords() -> Iterator[Row]:
    """Keyword counting by all schemes of Figure 7."""
    task, data = "keyword counting", "countries.csv"
    yield Row("keywords", "io", task, "one prompt", "1", "1", data, COUNTRIES)
    yield Row("keywords", "cot", task, "chain", "1", "1", data, COUNTRIES)
    yield Row("keywords", "tot", task, "tree", "tot_branches * tot_levels", "tot_levels", data, COUNTRIES)
    yield Row("keywords", "tot2", task, "tree", "tot2_branches * tot2_levels", "tot2_levels", data, COUNTRIES)
    calls = "1 + passages * count_tries + (passages - 1) * merge_tries + mended"
    for scheme, sizes in (
        ("got4", {"passages": 4, "levels": 2}),
        ("got8", {"passages": 8, "levels": 3}),
        ("gotx", {"passages": 14, "levels": 4}),
    ):
        yield Row(
            "keywords",
            scheme,
            task,
            "graph",
            calls,
            "2 + levels",
            data,
            COUNTRIES,
            sizes=sizes,
            decided={"mended": "repair"},
            at_least=True,
        )


def documents() -> Iterator[Row]:
    """Document merging by all schemes of Figure 8."""
    for scheme, structure, calls, path in (
        ("io", "one prompt", "1 + ratings", "2"),
        ("cot", "chain", "1 + ratings", "2"),
        ("tot", "tree", "branches * levels * (1 + ratings)", "2 * levels"),
        ("got", "graph", "(merges + aggregations + improvements) * (1 + ratings)", "6"),
        ("got2", "graph", "(2 * merges + aggregations + pair_improvements) * (1 + ratings)", "6"),
        ("got_tuned", "graph", "(merges + aggregations + improvements) * 2", "6"),
    ):
        yield Row("documents", scheme, "document merging", structure, calls, path, "documents.csv")


def others() -> Iterator[Row]:
    """The other rows of Table 1 of Framework of Thoughts."""
    for scheme, asked in (("tot", ""), ("candidates", " + answers")):
        yield Row(
            "game24",
            scheme,
            "game of 24",
            "tree",
            f"1 + keep[0] + keep[1] + verdicts + judgements{asked}",
            "8" if asked else "6",
            "game24.csv",
            {"numbers": "Puzzles"},
            900,
            decided={"verdicts": "value", "judgements": "judge"} | ({"answers": "answer"} if asked else {}),
        )
    yield Row("chain_of_thought", "chain_of_thought", "stories", "chain", "1", "1", "stories.csv", STORY)
    yield Row("zero_shot", "zero_shot", "stories", "chain", "2", "2", "stories.csv", STORY)
    words = {"words": "Words"}
    yield Row("small_model", "once", "words", "one prompt", "1", "1", "words.csv", words)
    yield Row("small_model", "best_of_ten", "words", "tree", "samples", "1", "words.csv", words)
    yield Row("self_consistency", "self_consistency", "stories", "tree", "chains", "1", "stories.csv", STORY)
    notes = {"note": "Note"}
    yield Row("orders", "order", "notes to a shop", "tree", "readings", "1", "orders.csv", notes)
    for program, scheme, calls in (
        ("self_certainty", "one_chain", "1"),
        ("self_certainty", "best_of_n", "samples"),
        ("self_certainty", "borda", "samples"),
        ("deepconf", "deepconf", "traces"),
    ):
        structure = "chain" if calls == "1" else "tree"
        yield Row(program, scheme, "stories", structure, calls, "1", "stories.csv", STORY)
    steps = ("warm + traces", "2")
    yield Row("deepconf_online", "online", "stories", "graph", *steps, "stories.csv", STORY, fallback=True)
    for scheme, calls, decided in (("plain", "2", {}), ("s1", "1 + thinking", {"thinking": "think"})):
        columns = {"question": "Question", "truth": "Answer"}
        yield Row("s1", scheme, "products", "chain", calls, calls, "products.csv", columns, decided=decided)
    yield Row(
        "least_to_most",
        "least_to_most",
        "stories",
        "chain",
        "1 + parts",
        "1 + parts",
        "stories.csv",
        STORY,
        decided={"parts": "answer"},
    )
    for row, kind, calls in (
        (0, "last letters", "steps + splits + picks + merges"),
        (20, "reversal", "steps + halves + shorts + merges"),
        (31, "questions of several hops", "steps + pages"),
    ):
        prompts = {
            "steps": "next_step",
            "splits": "split",
            "picks": "pick",
            "merges": "merge",
            "halves": "half",
            "shorts": "short",
            "pages": "read_pages",
        }
        yield Row(
            "decomposed_prompting",
            "decomposed_prompting",
            kind,
            "graph",
            calls,
            "5",
            "letters.csv",
            {"kind": "Kind", "question": "Question", "truth": "Answer"},
            row,
            decided={name: prompt for name, prompt in prompts.items() if name in calls},
            at_least=True,
        )
    yield Row("self_discover", "self_discover", "stories", "chain", "4", "4", "stories.csv", STORY)
    yield Row(
        "forest_of_thought",
        "forest_of_thought",
        "stories",
        "tree",
        "2 * drafts + corrected + grown + expert",
        "grown * (2 * depth + 1)",
        "stories.csv",
        STORY,
        decided={"drafts": "go_on", "corrected": "correct", "grown": "finish", "expert": "decide"},
        at_least=True,
    )
    for name, calls, decided in (
        ("beam_search", "drafts + rated + 1", {"drafts": "go_on", "rated": "promise"}),
        ("rap", "drafts + rated + 1", {"drafts": "go_on", "rated": "promise"}),
        ("rstar", "drafts + rated + 2 * ways", {"drafts": "go_on", "rated": "promise"}),
        ("frugalgpt", "replies + rated", {"replies": "reply", "rated": "reliable"}),
    ):
        path = "2 * levels + 1" if name == "beam_search" else "1" if name == "frugalgpt" else "4"
        least = name != "beam_search"
        structure = "chain" if name == "frugalgpt" else "tree"
        row = Row(name, name, "stories", structure, calls, path, "stories.csv", STORY, decided=decided)
        yield replace(row, at_least=least)
        if name == "frugalgpt":
            yield replace(row, scheme="impatient", task="stories, all at once", at_least=True)
    game = {"numbers": "Puzzles"}
    calls = "proposed + verdicts + lessons"
    verdicts = {"proposed": "explore", "verdicts": "value", "lessons": "reflect"}
    yield Row(
        "lats", "lats", "game of 24", "tree", calls, "4", "game24.csv", game, decided=verdicts, at_least=True
    )
    yield Row(
        "dynamic_least_to_most",
        "dynamic_least_to_most",
        "commands",
        "tree",
        "1 + halves + clauses + phrases",
        "3 + phrases",
        "commands.csv",
        {"command": "Command", "truth": "Moves"},
        decided={"halves": "clauses", "clauses": "phrases", "phrases": "translate"},
    )
    yield Row(
        "skeleton_of_thought",
        "skeleton_of_thought",
        "advice",
        "tree",
        "1 + points",
        "2",
        "",
        inputs={"question": "How do I learn to draw?"},
        decided={"points": "expand"},
    )
    yield Row(
        "skeleton_of_thought",
        "skeleton_of_thought",
        "advice, with the router",
        "tree",
        "2 + points",
        "3",
        "",
        params={"router": True},
        inputs={"question": "How do I learn to draw?"},
        decided={"points": "expand"},
    )
    yield Row(
        "socratic_questioning",
        "socratic_questioning",
        "questions of several hops",
        "graph",
        "attempts + turns + hints",
        "1",
        "towns.csv",
        TOWN,
        decided={"attempts": "attempt", "turns": "raise_questions", "hints": "as_hint"},
        at_least=True,
    )
    yield Row(
        "probtree",
        "probtree",
        "questions of several hops",
        "graph",
        "1 + 2 * questions + inner",
        "1 + questions",
        "towns.csv",
        TOWN,
        3,
        decided={"questions": "closed_book", "inner": "combine"},
    )
    yield Row(
        "decompose_analyse_rethink",
        "decompose_analyse_rethink",
        "stories",
        "graph",
        "3 * questions + cuts + rethought + updates",
        "3 * questions + cuts + rethought",
        "stories.csv",
        STORY,
        1,
        decided={
            "questions": "analyse",
            "cuts": "decompose_question",
            "rethought": "who_can_use",
            "updates": "update",
        },
        at_least=True,
    )
    yield Row(
        "adaptive_graph",
        "adaptive_graph",
        "questions of several hops",
        "graph",
        "2 * tasks + 1 + graphs + extensions + closed",
        "5",
        "towns.csv",
        TOWN,
        3,
        decided={
            "tasks": "is_complex",
            "graphs": "begin_graph",
            "extensions": "extend",
            "closed": "close_graph",
        },
        at_least=True,
    )
    yield Row(
        "react",
        "react",
        "questions of several hops",
        "graph",
        "steps",
        "steps",
        "towns.csv",
        TOWN,
        3,
        decided={"steps": "next_step"},
    )


def over_std() -> Iterator[Row]:
    """Schemes of `std` on tasks of ours."""
    yield Row(
        "reflexion",
        "learner",
        "sorting 32",
        "chain",
        "attempts + lessons",
        "attempts + lessons",
        "digits32.csv",
        SORT,
        decided={"attempts": "try_to_sort", "lessons": "learn"},
    )
    rounds = "1 + 2 * rounds"
    yield Row("self_refine", "refined", "sorting 32", "chain", rounds, rounds, "digits32.csv", SORT)
    yield Row(
        "chain_of_verification",
        "verified",
        "stories",
        "graph",
        "3 + checks",
        "4",
        "stories.csv",
        STORY,
        decided={"checks": "compute"},
    )
    yield Row(
        "debate", "agreed", "stories", "graph", "agents * (1 + rounds)", "1 + rounds", "stories.csv", STORY
    )
    layers = "1 + layers"
    calls = "1 + agents * layers"
    yield Row("mixture_of_agents", "mixed", "stories", "graph", calls, layers, "stories.csv", STORY)
    yield Row("buffer_of_thoughts", "buffered", "stories", "chain", "2", "2", "stories.csv", STORY)
    steps = {"steps": "agent__next_move"}
    yield Row(
        "agent",
        "agent",
        "questions of several hops",
        "chain",
        "steps",
        "steps",
        "towns.csv",
        TOWN,
        3,
        decided=steps,
    )


ROWS = (*listings(), *sorting(), *sets(), *keywords(), *documents(), *enhanced(), *others(), *over_std())


def line(row: Row) -> str:
    """A row of the page's table."""
    measured = measure(row)
    outcome = measured.result.outcome
    kind = f"{row.structure}, {'dynamic' if row.dynamic else 'static'}"
    known = {**row.params, **measured.sizes}
    cells = [
        f"[{row.program}](../programs/{row.program}.got)",
        row.scheme,
        row.task,
        kind,
        f"`{row.calls}`",
        str(outcome.ledger.accounts[0].calls),
        f"`{row.path}`" + (" or more" if row.at_least else ""),
        str(outcome.hops),
        ", ".join(f"{name} {json.dumps(value)}" for name, value in known.items()),
        str(code_lines(row.program)),
    ]
    return "| " + " | ".join(cells) + " |"


HEAD = """# Schemes

Every program of `programs/`, one row for each scheme and task: the number of model calls and the length of
the critical path in calls, both by formula and in a simulated run on one input of the task, without early
stopping (`-O 1`; `--prefer cost` makes fewer calls on a longer path). Formulas use the program's
params and the names in the column "with": values that the input determines (parts of a list), or that the
model decided in this run, if the graph is dynamic. Lines are those of the program without prompts and
examples. The page is written by `python benchmarks/schemes.py --write`, and a test compares them.

"""


def page() -> str:
    """The whole page."""
    head = [
        "| program | scheme | task | structure | calls | run | critical path | run | with | lines |",
        "| --- | --- | --- | --- | --- | ---: | --- | ---: | --- | ---: |",
    ]
    table = "\n".join([*head, *map(line, ROWS)])
    pages = sorted((ROOT / "docs" / "schemes").glob("*.md"))
    titles = [path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for path in pages]
    links = [f"- [{title}](schemes/{path.name})" for title, path in zip(titles, pages, strict=True)]
    return HEAD + table + "\n\n## The schemes\n\n" + "\n".join(links) + "\n"


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
