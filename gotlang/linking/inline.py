"""Definitions of the language's own users: operations, functions, and schemes that take prompts, scores or
schemes. Each use is replaced by the definition's body, with the arguments substituted, so that later stages
see a program without definitions.

    operation BestOf(k: int = 5) p: prompt:     best = BestOf(3) sort(part)      best =
        Generate(k=k) p                                                 becomes      Generate(k=3) sort(part)
        Vote()                                                                       Vote()

Arguments keep their own place in the text; the rest has its place in the definition, and that of the use.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, TypeVar, cast, final

from msgspec.structs import replace

from gotlang.diagnostics import Fix, Label, Report, nearest
from gotlang.linking.inlined import Ascription, Inlined, is_open
from gotlang.operations import OPERATIONS
from gotlang.operations.names import POOL_NAMES, free_names, looks_at_pool
from gotlang.operations.search import strategy_words
from gotlang.scope import BETWEEN, plain
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import children, mapped, walk

if TYPE_CHECKING:
    from gotlang.linking.unused import Definition

MOST = 10_000
"""Uses of definitions in one program."""
DEEPEST = 150
"""Maximum nesting depth of an expression with inlined functions, each of which takes two or three levels."""
MOST_INSIDE = 50
"""Functions whose definitions use each other."""
_KINDS: Mapping[str, tuple[type[n.Declaration], ...]] = {
    "prompt": (n.Prompt,),
    "score": (n.Score, n.Prompt),
    "scheme": (n.Scheme,),
    "corpus": (n.ImportCorpus,),
}
"""The kinds of arguments for a part, by its keyword."""
_TAKEN = POOL_NAMES | {"pi"}
"""Names that no declaration of a program has."""
_Values = Mapping[str, e.Expression]


_Part = TypeVar("_Part", bound=e.Node)


def inline(modules: tuple[n.Module, ...], builtin: Collection[str], report: Report) -> Inlined:
    """The program with each use of a definition replaced by its body. `builtin` are names that no function
    may have."""
    return _Inliner([d for module in modules for d in module.declarations], builtin, report).modules(modules)


def _bound(node: e.Node) -> Iterator[str]:
    """The names that a node binds, except those of fields."""
    for part in walk(node):
        match part:
            case n.Bind(name=name):
                yield name.text
            case n.Foreach(names=names) | n.Labelled(names=names) | e.Comprehension(names=names):
                yield from (name.text for name in names)
            case n.Reduce(left=left, right=right, step=step):
                yield from (name.text for name in (left, right, step) if name is not None)
            case n.CasePattern(fields=fields):
                yield from (name.text for name in fields or ())
            case (
                n.RepeatBlock(counter=e.Identifier(text=text))
                | n.MatchBranch(name=e.Identifier(text=text))
                | n.Search(state=e.Identifier(text=text))
            ):
                yield text


def _inputs(d: n.OperationDefinition | n.Function | n.Scheme) -> Iterator[e.Identifier]:
    """The names of a definition's inputs, and of its type variables."""
    groups = (d.settings, d.operands) if isinstance(d, n.OperationDefinition) else (d.parameters,)
    yield from (p.name for group in groups for p in group)
    if not isinstance(d, n.OperationDefinition):
        yield from d.variables


@final
class _Inliner:
    def __init__(self, declared: Sequence[n.Declaration], builtin: Collection[str], report: Report) -> None:
        self.all = declared
        self.report = report
        self.builtin = builtin
        self.operations = {d.name.text: d for d in declared if isinstance(d, n.OperationDefinition)}
        self.functions = {d.name.text: d for d in declared if isinstance(d, n.Function)}
        self.open = {d.name.text: d for d in declared if isinstance(d, n.Scheme) and is_open(d)}
        parts = (n.Prompt, n.Score, n.Scheme, n.ImportCorpus)
        self.parts = {d.name.text: d for d in declared if isinstance(d, parts) and not is_open(d)}
        self.made: dict[tuple[str, ...], n.Scheme] = {}
        self.waiting: list[n.Scheme] = []
        self.ascribed: dict[int, list[Ascription]] = {}
        self.shown: dict[str, str] = {}
        self.kept: list[e.Expression] = []
        self.depths: dict[int, int] = {}
        self.too_deep = set[str]()
        self.uses = 0
        self.used = set[str]()
        self.words = {name for d in declared for name in _bound(d)}
        others = n.ImportGot | n.ImportPython | n.Simulate | n.Test
        self.declared = {str(d.name.text) for d in declared if not isinstance(d, others)}
        self.words |= self.declared
        self.words |= {p.name.text for d in declared for p in getattr(d, "parameters", ())}
        self.aliases = {d.name.text: d.type for d in declared if isinstance(d, n.TypeAlias)}
        cases = {part.name.text for d in declared for part in walk(d) if isinstance(part, n.CaseTypeNode)}
        self.locals = self.words - self.declared - cases
        self.strategies = frozenset[tuple[str, int]]().union(*map(strategy_words, declared))
        first: dict[str, e.Identifier] = {}
        defined = {*self.operations, *self.functions}
        for d in declared:
            if isinstance(d, n.OperationDefinition | n.Function) or is_open(d):
                self._definition(d)
            if isinstance(d, n.ImportGot | n.ImportPython | n.Simulate | n.Test | n.Study):
                continue
            before = first.setdefault(d.name.text, d.name)
            if before is not d.name and d.name.text in defined:
                labels = (Label(before.span, "first here"),)
                message = f"duplicate name `{d.name.text}`"
                report.error("GOT0101", message, d.name.span, "here again", labels=labels)

    def modules(self, modules: tuple[n.Module, ...]) -> Inlined:
        """The modules with everything inlined."""
        gone = n.OperationDefinition | n.Function
        kept = [[d for d in m.declarations if not isinstance(d, gone) and not is_open(d)] for m in modules]
        found = [[self._declaration(d) for d in declarations] for declarations in kept]
        while self.waiting:
            made = self.waiting.pop()
            at = next((i for i, m in enumerate(modules) if m.span.source == made.span.source), 0)
            found[at].append(self._declaration(made))
        whole = tuple(
            replace(module, declarations=tuple(declarations))
            for module, declarations in zip(modules, found, strict=True)
        )
        definitions: list[Definition] = [*self.operations.values(), *self.functions.values()]
        definitions += self.open.values()
        unused = tuple(d for d in definitions if d.name.text not in self.used)
        written = {word for d in self.all for word in _written(d)} if self.shown else set()
        shown = {new: old for new, old in self.shown.items() if new not in written}
        return Inlined(whole, self.ascribed, shown, self.kept, unused)

    def _definition(self, d: e.Node) -> None:
        """Report names that a definition cannot have, and inputs without a default after one with one."""
        assert isinstance(d, n.OperationDefinition | n.Function | n.Scheme)
        if isinstance(d, n.OperationDefinition) and d.name.text in OPERATIONS:
            message = f"operation `{d.name.text}` is built in"
            self.report.error("GOT0746", message, d.name.span, help="choose another name")
        if isinstance(d, n.Function):
            if d.name.text in self.builtin:
                message = f"`{d.name.text}` has a meaning in the language"
                self.report.error("GOT0102", message, d.name.span, help="choose another name")
            for part in walk(d):
                if isinstance(part, e.Reference) and part.name in POOL_NAMES:
                    message = f"`{part.name}` is not defined in a function, which sees only its inputs"
                    self.report.error("GOT0105", message, part.span, help="make it an input")
        groups = (d.settings, d.operands) if isinstance(d, n.OperationDefinition) else (d.parameters,)
        seen = set[str]()
        for group in groups:
            for before, p in zip((None, *group), group, strict=False):
                if p.name.text in seen:
                    message = f"duplicate parameter `{p.name.text}`"
                    self.report.error("GOT0101", message, p.name.span)
                seen.add(p.name.text)
                if p.name.text in _TAKEN and not isinstance(d, n.Scheme):  # its names are checked later
                    message = f"`{p.name.text}` has a meaning in the language"
                    self.report.error("GOT0102", message, p.name.span, help="choose another name")
                if before is not None and before.default is not None and p.default is None:
                    help = "put those with a default last"
                    self.report.error("GOT0746", f"`{p.name.text}` has no default", p.span, help=help)
                if isinstance(p.type, n.PartType) and p.type.kind.text not in _KINDS:
                    message, help = f"unexpected `{p.type.kind.text}`", "write `prompt(str) -> str`"
                    self.report.error("GOT0746", message, p.type.kind.span, help=help)

    # ---------------------------------------------------------------- one declaration

    def _declaration(self, d: n.Declaration) -> n.Declaration:
        if isinstance(d, n.Scheme | n.Score):
            taken = {*_bound(d), *(p.name.text for p in d.parameters)}
            d = replace(d, body=self._calls(self._suites(d.body, taken, ())))
        elif isinstance(d, n.Metric | n.Prompt | n.Param | n.Test | n.Study):
            d = self._calls(d)
        return d

    def _is_strategy(self, span: Span) -> bool:
        return (span.source, span.start) in self.strategies

    def _limit(self, span: Span) -> bool:
        self.uses += 1
        if self.uses == MOST:
            help = "reduce the nesting of definitions"
            self.report.error("GOT0745", f"more than {MOST:,} uses of definitions", span, help=help)
        return self.uses < MOST

    # ---------------------------------------------------------------- operations

    def _suites(self, suite: n.Suite, taken: set[str], inside: tuple[str, ...]) -> n.Suite:
        """A block with the operations in it, at any depth, inlined. `taken` are names that are in scope, and
        `inside` the operations that contain it."""

        def change(node: e.Node) -> e.Node:
            if not isinstance(node, n.Suite):
                return node
            labels = dict[str, int]()
            found = tuple(self._statement(s, taken, inside, labels) for s in node.statements)
            return (
                node
                if all(a is b for a, b in zip(found, node.statements, strict=True))
                else replace(node, statements=found)
            )

        return mapped(suite, change)

    def _statement(
        self, node: n.Statement, taken: set[str], inside: tuple[str, ...], labels: dict[str, int]
    ) -> n.Statement:
        step = node.value if isinstance(node, n.Bind) else node
        if not isinstance(step, n.Step):
            return node
        if (used := step.operation.text) in self.operations:
            suite = self._operation(step, taken, inside)
        elif used in OPERATIONS or nearest(used, (*self.operations, *OPERATIONS)) not in self.operations:
            return node
        else:
            self.report.unknown("GOT0106", "operation", used, step.operation.span, self.operations)
            suite = None
        if suite is None:
            lost = e.Reference(step.span, e.HOLE)
            return replace(node, value=lost) if isinstance(node, n.Bind) else n.Evaluate(step.span, lost)
        repeated = n.Repeated(step.span, step.again, suite) if step.again is not None else None
        if isinstance(node, n.Bind):
            return replace(node, value=repeated or suite)
        name = plain(step.operation.text)
        labels[name] = labels.get(name, 0) + 1
        label = name if labels[name] == 1 else f"{name} {labels[name]}"
        return repeated or n.Labelled(step.span, label, (), (), suite)

    def _operation(self, step: n.Step, taken: set[str], inside: tuple[str, ...]) -> n.Suite | None:
        name = step.operation.text
        d = self.operations[name]
        self.used.add(name)
        if name in inside:
            message = f"operation `{name}` uses itself"
            help = "write a scheme, which may call itself"
            self.report.error("GOT0745", message, step.operation.span, help=help)
            return None
        if len(inside) >= MOST_INSIDE:
            message = f"operations used more than {MOST_INSIDE} levels deep inside each other"
            help = "write a scheme, which is not inlined"
            self.report.error("GOT0745", message, step.operation.span, help=help)
            return None
        operands = tuple(e.Argument(o.span, None, o) for o in step.operands)
        settings = self._matched(d.settings, step.settings or (), step.operation, d.name)
        given = self._matched(d.operands, operands, step.operation, d.name)
        if settings is None or given is None or not self._limit(step.span):
            return None
        for p in d.operands:
            if (kind := p.part) is not None and not self._fits(given[p.name.text], p, kind, d.name.text):
                return None
        avoid = taken.union(*(free_names(value) for value in (*settings.values(), *given.values())))
        avoid |= self.declared
        written = self._without_fields(d.body, avoid)
        locals_ = set(_bound(written))
        other = self._fresh(locals_, avoid | {p.name.text for p in (*d.settings, *d.operands)})
        before: list[n.Statement] = []
        for p in d.settings:
            value = settings[p.name.text]
            self._ascribe(value, p, f"`{p.name.text}` of `{name}`")
            if (typed := self._open(p.type)) or looks_at_pool(value):
                new = p.name.text
                new = self._fresh({new}, avoid | locals_ | set(other.values())).get(new, new)
                type_ = p.type if typed else None
                before.append(n.Bind(value.span, e.Identifier(value.span, new), type_, value))
                settings = {**settings, p.name.text: e.Reference(value.span, new)}
        for p in d.operands:
            if p.part is None:
                self._ascribe(given[p.name.text], p, f"`{p.name.text}` of `{name}`")
        other |= self._hidden(d)
        body = self._put(written, {**settings, **given}, other, step.span)
        whole = n.Suite(body.span, (*before, *body.statements))
        return self._suites(whole, avoid | set(_bound(whole)), (*inside, name))

    def _fits(self, value: e.Expression, parameter: n.TypedName, kind: str, owner: str) -> bool:
        """Whether an argument is of the expected kind: for a score, any expression."""
        called = value.function.text if isinstance(value, e.Call) else getattr(value, "name", "")
        if kind == "score" or called == e.HOLE:
            return True
        if isinstance(self.parts.get(called), _KINDS[kind]) or (kind == "scheme" and called in self.open):
            return True
        known = [name for name, d in self.parts.items() if isinstance(d, _KINDS[kind])]
        guess = nearest(called, known)
        help = f"did you mean `{guess}`?" if guess else f"write a {kind} with its inputs"
        labels = (Label(parameter.span, "declared here"),)
        message = f"`{parameter.name.text}` of `{owner}` is a {kind}"
        at = f"not a {kind}: `{called}`" if called else ""
        word = value.span.end - value.span.start == len(called)
        fix = Fix(value.span, guess) if guess and word else None
        self.report.error("GOT0746", message, value.span, at, labels=labels, help=help, fix=fix)
        return False

    def _fresh(self, names: Iterable[str], taken: set[str]) -> dict[str, str]:
        """Another name for each that is taken."""
        found: dict[str, str] = {}
        for name in (name for name in names if name != e.HOLE):
            number, new = 2, name
            while new in taken or new in found.values():
                new, number = f"{name}_{number}", number + 1
            if new != name:
                found[name] = new
                self.shown[new] = self.shown.get(name, name)
        return found

    def _open(self, type_: n.TypeNode, inside: frozenset[str] = frozenset()) -> bool:
        """Whether a definition may test which of several types a value of this type has, as for `T?`."""
        match type_:
            case n.OptionalTypeNode() | n.AlternativesNode():
                return True
            case n.NamedType(name=e.Identifier(text=name), arguments=arguments):
                alias = self.aliases.get(name) if name not in inside else None
                within = (alias,) if alias is not None else arguments
                return any(self._open(part, inside | {name}) for part in within)
            case n.RecordTypeNode(fields=fields):
                return any(self._open(field.type, inside) for field in fields)
        return False

    @staticmethod
    def _without_fields(body: n.Suite, taken: Collection[str]) -> n.Suite:
        """A block in which no field of a case has a taken name: fields keep their names, so such a field is
        read from the value, which gets a name."""
        numbers = count(1)

        def change(branch: e.Node) -> e.Node:
            if not isinstance(branch, n.MatchBranch):
                return branch
            fields = {f.text for p in branch.patterns for f in getattr(p, "fields", None) or ()}
            if fields.isdisjoint(taken):
                return branch
            place = branch.patterns[0].span
            name = branch.name or e.Identifier(place, f"case_{next(numbers)}")

            def looked_up(part: e.Node) -> e.Node:
                if isinstance(part, e.Reference) and part.name in fields:
                    return e.Field(part.span, e.Reference(part.span, name.text), part.name)
                return part

            patterns = tuple(replace(p, fields=()) if hasattr(p, "fields") else p for p in branch.patterns)
            return replace(branch, patterns=patterns, name=name, body=mapped(branch.body, looked_up))

        return mapped(body, change)

    def _hidden(self, node: e.Node) -> dict[str, str]:
        """Replace names that a definition or a default uses but cannot see, because other schemes bind them,
        by names that are never bound."""
        own = set(_bound(node))
        if isinstance(node, n.OperationDefinition | n.Function):
            own.update(name.text for name in _inputs(node))
        used = {part.name for part in walk(node) if isinstance(part, e.Reference)}
        found = {name: f"{name} elsewhere" for name in used & self.locals - own}
        self.shown |= {new: name for name, new in found.items()}
        return found

    # ---------------------------------------------------------------- functions and open schemes

    def _calls(self, node: _Part, inside: tuple[str, ...] = (), scope: frozenset[str] = frozenset()) -> _Part:
        """A node with the calls of functions and of open schemes in it inlined. `scope` are names generated
        around it."""

        def change(part: e.Node) -> e.Node:
            if not isinstance(part, e.Call) or self._is_strategy(part.function.span):
                return part
            if part.function.text in self.functions:
                return self._function(part, inside, scope)
            return self._instance(part) if part.function.text in self.open else part

        return mapped(node, change, self._moved)

    def _moved(self, old: e.Node, new: e.Node) -> None:
        if id(old) in self.ascribed:
            self.ascribed.setdefault(id(new), []).extend(self.ascribed[id(old)])
            self.kept.append(cast(e.Expression, new))

    def _function(self, call: e.Call, inside: tuple[str, ...], scope: frozenset[str]) -> e.Expression:
        name, lost = call.function.text, e.Reference(call.span, e.HOLE)
        d = self.functions[name]
        self.used.add(name)
        if name in inside:
            help = "functions are inlined; write a scheme, which may call itself"
            self.report.error("GOT0745", f"function `{name}` uses itself", call.function.span, help=help)
            return lost
        given = self._matched(d.parameters, call.arguments, call.function, d.name)
        if given is None or name in self.too_deep or not self._limit(call.span):
            return lost
        if len(inside) >= MOST_INSIDE:
            return self._refused(call, inside)
        variables = {variable.text for variable in d.variables}
        types = {p.name.text: p.type for p in d.parameters}
        for p in d.parameters:
            if not variables.intersection(_words(p.type)):
                self._ascribe(given[p.name.text], p, f"`{p.name.text}` of `{name}`")
        used = [part.name for part in walk(d.value) if isinstance(part, e.Reference)]
        inner = {
            part.name
            for loop in walk(d.value)
            if isinstance(loop, e.Comprehension)
            for part in walk(loop)
            if isinstance(part, e.Reference)
        }
        several = [
            p.name.text
            for p in d.parameters
            if (self._open(p.type) and not variables.intersection(_words(p.type)))
            or (
                not isinstance(given[p.name.text], e.Constant | e.Reference)
                and (used.count(p.name.text) > 1 or p.name.text in inner)
            )
        ]
        avoid = self.words.union(scope, *({*free_names(v), *_bound(v)} for v in given.values()))
        avoid |= {p.name.text for p in d.parameters}
        other = self._fresh({*_bound(d.value), *several}, avoid)
        values = {p: v for p, v in given.items() if p not in several}
        value = self._put(d.value, values, {**other, **self._hidden(d)}, call.span)
        result = Ascription(d.result, f"the result of `{name}`", d.result.span)
        concrete = not variables.intersection(_words(d.result))
        if concrete and several:
            self._note(value, result)
        for repeated in several:
            # `[f(x) for x in [argument]][0]` computes the argument once.
            names = (e.Identifier(call.span, other.get(repeated, repeated)),)
            argument = e.ListDisplay(call.span, (given[repeated],))
            if self._open(types[repeated]) and not variables.intersection(_words(types[repeated])):
                listed = n.NamedType(call.span, e.Identifier(call.span, "list"), (types[repeated],))
                self._note(argument, Ascription(listed, f"`{repeated}` of `{name}`", call.span, widens=True))
            once = e.Comprehension(call.span, value, names, argument, None)
            value = e.Index(call.span, once, e.Constant(call.span, 0))
        value = self._calls(value, (*inside, name), scope.union(other.values()))
        if self._depth(value) > DEEPEST:
            return self._refused(call, inside)
        if concrete and not several:
            self._note(value, result)
        return value

    def _refused(self, call: e.Call, inside: tuple[str, ...]) -> e.Expression:
        """Report functions that are nested in each other too deeply, once for all of them."""
        self.too_deep.update((*inside, call.function.text))
        message = "functions are nested too deeply"
        help = "reduce the nesting of functions"
        self.report.error("GOT0745", message, call.function.span, help=help)
        return e.Reference(call.span, e.HOLE)

    def _depth(self, value: e.Expression) -> int:
        """The nesting depth of an inlined function; its arguments are such values, or as written."""

        def depth(node: e.Node) -> int:
            known = self.depths.get(id(node))
            return known if known is not None else 1 + max(map(depth, children(node)), default=0)

        self.depths[id(value)] = depth(value)
        self.kept.append(value)
        return self.depths[id(value)]

    def _instance(self, call: e.Call) -> e.Expression:
        """The call of the instance of an open scheme for its arguments."""
        name = call.function.text
        d = self.open[name]
        self.used.add(name)
        given = self._matched(d.parameters, call.arguments, call.function, d.name)
        if given is None or not self._limit(call.span):
            return e.Reference(call.span, e.HOLE)
        parts: dict[str, e.Expression] = {}
        for p in d.parameters:
            if (kind := p.part) is None:
                continue
            value = given.pop(p.name.text)
            if not isinstance(value, e.Reference):
                message = f"`{p.name.text}` of `{name}` is the name of a {kind}"
                help = "declare one, and give its name alone"
                labels = (Label(p.span, "declared here"),)
                self.report.error("GOT0746", message, value.span, labels=labels, help=help)
                return e.Reference(call.span, e.HOLE)
            if not self._fits(value, p, kind, name):
                return e.Reference(call.span, e.HOLE)
            parts[p.name.text] = value
        chosen = [cast(e.Reference, value).name for value in parts.values()]
        made = self.made.get((name, *chosen))
        if made is None:
            made = self._scheme(d, parts, chosen, call)
            self.made[name, *chosen] = made
            self.waiting.append(made)
        arguments = tuple(e.Argument(value.span, None, value) for value in given.values())
        return e.Call(call.span, e.Identifier(call.function.span, made.name.text), arguments)

    def _scheme(self, d: n.Scheme, parts: _Values, chosen: Sequence[str], call: e.Call) -> n.Scheme:
        types: dict[str, n.TypeNode] = {}
        for p, name in zip((p for p in d.parameters if p.name.text in parts), chosen, strict=True):
            part = self.parts.get(name) or self.open.get(name)
            if isinstance(p.type, n.PartType) and part is not None:
                self._unify(p.type, part, {v.text for v in d.variables}, types)
        known = all(name in self.parts or name in self.open for name in chosen)
        for variable in d.variables:
            if variable.text not in types:
                message = f"`{variable.text}` of `{d.name.text}` cannot be inferred from the arguments"
                help = f"say where it is in a prompt's type: `ask: prompt(str) -> {variable.text}`"
                if known:  # otherwise that is the error
                    self.report.error("GOT0747", message, call.function.span, help=help)
                types[variable.text] = n.NamedType(variable.span, e.Identifier(variable.span, e.HOLE))

        def typed(part: e.Node) -> e.Node:
            if isinstance(part, n.NamedType) and not part.arguments:
                return types.get(part.name.text, part)
            return replace(part, span=part.span.used_at(use))

        use = call.function.span
        base = f"{d.name.text}{BETWEEN}{'_'.join(plain(name) for name in chosen)}" if chosen else d.name.text
        taken, number, name = {m.name.text for m in self.made.values()} | self.words, 2, base
        while name in taken and name != d.name.text:
            name, number = f"{base}_{number}", number + 1
        self.shown[name] = f"{d.name.text}({', '.join(chosen)})"
        own = [p for p in d.parameters if p.name.text not in parts]
        written = self._without_fields(d.body, self.declared)
        other = self._fresh({*_bound(written), *(p.name.text for p in own)}, self.declared)
        body = mapped(self._put(written, parts, other, use), lambda x: _retyped(x, types))
        parameters = tuple(replace(mapped(p, typed), name=_renamed(p.name, other), default=None) for p in own)
        truth = mapped(d.truth, typed) if d.truth is not None else None
        head = (e.Identifier(d.name.span.used_at(use), name), parameters, d.many, mapped(d.result, typed))
        decreases = self._put(d.decreases, parts, other, use) if d.decreases is not None else None
        return n.Scheme(d.span.used_at(use), *head, truth, body, decreases, d.within)

    def _unify(
        self,
        wanted: n.PartType,
        part: n.Prompt | n.Score | n.Scheme | n.ImportCorpus,
        variables: set[str],
        types: dict[str, n.TypeNode],
    ) -> None:
        """Record the types of variables, as far as a part's declaration determines them."""

        def pair(left: e.Node, right: e.Node) -> None:
            if isinstance(left, n.NamedType) and left.name.text in variables and not left.arguments:
                types.setdefault(left.name.text, cast(n.TypeNode, right))
            elif type(left) is type(right):
                for one, other in zip(children(left), children(right), strict=False):
                    pair(one, other)

        if isinstance(part, n.ImportCorpus):
            return
        for type_, parameter in zip(wanted.parameters, part.parameters, strict=False):
            pair(type_, parameter.type)
        if wanted.result is not None and not isinstance(part, n.Score):
            pair(wanted.result, part.result)

    # ---------------------------------------------------------------- substitution

    def _matched(
        self,
        parameters: Sequence[n.TypedName],
        arguments: Sequence[e.Argument],
        use: e.Identifier,
        owner: e.Identifier,
    ) -> dict[str, e.Expression] | None:
        """The argument for each parameter, including defaults; None, and an error, if they do not match."""
        names = [p.name.text for p in parameters]
        labels = (Label(owner.span, "defined here"),)
        inputs = ", ".join(f"{p.name.text}" for p in parameters) or "nothing"
        notes = (f"`{owner.text}` takes: {inputs}",)
        found: dict[str, e.Expression] = {}
        for position, argument in enumerate(arguments):
            if argument.name is None and position >= len(names):
                message = f"`{use.text}` takes {len(names)}, not {len(arguments)}"
                self.report.error("GOT0202", message, argument.span, labels=labels, notes=notes)
                return None
            name = names[position] if argument.name is None else argument.name.text
            if name not in names or name in found:
                no = f"`{use.text}` has no parameter `{name}`"
                what = f"duplicate argument `{name}`" if name in found else no
                guess = nearest(name, names)
                help = f"did you mean `{guess}`?" if guess and name not in found else None
                fix = Fix(argument.name.span, guess) if guess and help and argument.name is not None else None
                self.report.error(
                    "GOT0203", what, argument.span, labels=labels, notes=notes, help=help, fix=fix
                )
                return None
            found[name] = argument.value
        for p in parameters:
            if p.name.text not in found:
                if p.default is None:
                    message = f"`{use.text}` needs `{p.name.text}`"
                    self.report.error("GOT0202", message, use.span, labels=labels, notes=notes)
                    return None
                found[p.name.text] = self._put(p.default, {}, self._hidden(p.default), use.span)
        return {name: found[name] for name in names}

    def _put(self, node: _Part, values: _Values, other: Mapping[str, str], use: Span) -> _Part:
        """A part of a definition with its arguments substituted, and its own names changed."""

        def renamed(name: e.Identifier | None) -> e.Identifier | None:
            return _renamed(name, other) if name is not None else None

        def placed(value: e.Expression, part: e.Node) -> e.Expression:
            """An argument; a default gets the place of the name."""
            return value if value.span != use else replace(value, span=part.span.used_at(use))

        def change(part: e.Node) -> e.Node:
            match part:
                case e.Reference(span=span) if self._is_strategy(span):
                    pass
                case e.Reference(name=name) if name in values:
                    return placed(values[name], part)
                case e.Call(function=e.Identifier(text=name)) if name in values:
                    given, span = values[name], part.span.used_at(use)
                    if isinstance(given, e.Call):
                        return e.Call(span, given.function, (*given.arguments, *part.arguments))
                    if isinstance(given, e.Reference):
                        place = placed(given, part.function).span
                        return e.Call(span, e.Identifier(place, given.name), part.arguments)
                case e.Reference(name=name) if name in other:
                    part = replace(part, name=other[name])
                case n.Bind(name=name) | n.MatchBranch(name=name):
                    part = replace(part, name=renamed(name))
                case n.Foreach(names=names) | n.Labelled(names=names) | e.Comprehension(names=names):
                    part = replace(part, names=tuple(map(renamed, names)))
                case n.Reduce(left=left, right=right, step=step):
                    part = replace(part, left=renamed(left), right=renamed(right), step=renamed(step))
                case n.Search(state=state):
                    part = replace(part, state=renamed(state))
                case n.RepeatBlock(counter=counter):
                    part = replace(part, counter=renamed(counter))
            return replace(part, span=part.span.used_at(use))

        return mapped(node, change)

    def _ascribe(self, value: e.Expression, parameter: n.TypedName, what: str) -> None:
        if not isinstance(parameter.type, n.PartType):
            self._note(value, Ascription(parameter.type, what, parameter.span))

    def _note(self, value: e.Expression, ascription: Ascription) -> None:
        noted = self.ascribed.setdefault(id(value), [])
        if not any(ascription.type is other.type for other in noted):
            noted.append(ascription)
        self.kept.append(value)


def _words(type_: e.Node) -> set[str]:
    return {part.name.text for part in walk(type_) if isinstance(part, n.NamedType)}


def _written(node: e.Node) -> Iterator[str | None]:
    """The names in a part of a program, including fields."""
    for part in walk(node):
        match part:
            case e.Identifier(text=name) | e.Field(name=name):
                yield name
            case e.RecordDisplay(entries=entries) | e.Case(entries=entries):
                yield from (name for name, _ in entries)


def _renamed(name: e.Identifier, other: Mapping[str, str]) -> e.Identifier:
    return replace(name, text=other[name.text]) if name.text in other else name


def _retyped(node: e.Node, types: Mapping[str, n.TypeNode]) -> e.Node:
    if isinstance(node, n.NamedType) and not node.arguments:
        return types.get(node.name.text, node)
    return node
