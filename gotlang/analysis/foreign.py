"""Checks the files that a program names: Python by its syntax tree, without running it, and corpora."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final, Protocol, final

from msgspec import Struct, field

from gotlang.diagnostics import Label, Report, nearest, suggestion
from gotlang.packages import in_package
from gotlang.scope import plain as own_name
from gotlang.semantics.check import Checked
from gotlang.semantics.symbols import Signature, Symbols
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import walk
from gotlang.types import DYNAMIC, SIMPLE, DictType, ListType, LiteralType, PairType, Type, optional

_NAMES: Final[dict[str, Type]] = {
    **{name: SIMPLE[name] for name in ("str", "int", "float", "bool")},
    "list": ListType(DYNAMIC),
    "dict": DictType(DYNAMIC),
    "Any": DYNAMIC,
    "object": DYNAMIC,
}


def annotated(text: str) -> Type | None:
    """The type of an annotation; None if the language has no such type."""
    try:
        return _type(ast.parse(text, mode="eval").body)
    except SyntaxError:
        return None


def _type(node: ast.expr) -> Type | None:
    match node:
        case ast.Constant(value=str() as text):  # written in quotes
            return annotated(text)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _NAMES.get(name)
        case ast.BinOp(left=item, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _optional(item)
        case ast.BinOp(left=ast.Constant(value=None), op=ast.BitOr(), right=item):
            return _optional(item)
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inside):
            return _generic(name, inside.elts if isinstance(inside, ast.Tuple) else [inside])
    return None


def _optional(item: ast.expr) -> Type | None:
    found = _type(item)
    return optional(found) if found is not None else None


def _generic(name: str, inside: list[ast.expr]) -> Type | None:
    if name == "Literal":
        values = tuple(one.value for one in inside if isinstance(one, ast.Constant))
        texts = tuple(value for value in values if isinstance(value, str))
        return LiteralType(texts) if texts and len(texts) == len(inside) else None
    if name == "Optional" and len(inside) == 1:
        return _optional(inside[0])
    types = [found for one in inside if (found := _type(one)) is not None]
    match name, types:
        case _ if len(types) < len(inside):
            return None
        case "list" | "List" | "Sequence", [element]:
            return ListType(element)
        case "dict" | "Dict" | "Mapping", [key, value] if key == SIMPLE["str"]:
            return DictType(value)
        case "tuple" | "Tuple", [first, second]:
            return PairType((first, second))
    return None


CHANGES_GRAPH = "changes_graph"
_TRANSPARENT = {CHANGES_GRAPH, "cache", "lru_cache", "override", "final"}
"""Decorators that leave the parameters of a function unchanged."""

_DYNAMIC = {"globals", "locals", "vars", "exec", "eval", "setattr", "__import__"}
"""Built-in functions by which a module may define names that its text does not show."""

_CONTEXT = ("temperature", "model", "messages", "settings")
"""Parameters of a simulator that receive a request's data, beside the prompt's inputs."""


class Files(Protocol):
    """The files beside a program, by their path relative to it."""

    def text(self, path: str) -> str:
        """The text of a file. Raises OSError if it cannot be read."""

    def missing(self, path: str) -> str | None:
        """Why there is no file or folder at a path; None if there is one."""


Declared = n.Param | n.Prompt | n.Score | n.Scheme
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@final
class PythonFile(Struct, frozen=True):
    """The static contents of a Python file: its functions by name (None: a name that is something else or is
    not certain), and whether it may have more names than its text shows."""

    functions: dict[str, Function | None] = field(default_factory=dict)
    values: frozenset[str] = frozenset()
    dynamic: bool = False

    @classmethod
    def of(cls, text: str) -> PythonFile:
        """The names of a module. Raises the errors of `ast.parse`."""
        tree = ast.parse(text)
        found: dict[str, Function | None] = {}
        values: set[str] = set()
        for name, function, plain in _bound(tree.body):
            if plain and name not in found:
                values.add(name)
            else:
                values.discard(name)
            found[name] = function if name not in found else None
        dynamic = "__getattr__" in found or "*" in found
        # Python treats some other letters as ASCII ones.
        unsure = not text.isascii() or any(word in text for word in ("global", *_DYNAMIC))
        for node in ast.walk(tree) if unsure else ():
            match node:
                case ast.Name(id=name):
                    dynamic = dynamic or name in _DYNAMIC
                case ast.Global(names=names):
                    found |= dict.fromkeys(names)
                    values -= {*names}
        return cls(found, frozenset(values), dynamic)


def _bound(body: list[ast.stmt]) -> Iterator[tuple[str, Function | None, bool]]:
    """The names that statements of a module bind: with the function, and whether it is a plain value."""
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                plain = all(_decorator(d) in _TRANSPARENT for d in node.decorator_list)
                yield name, node if plain else None, False
            case ast.ClassDef(name=name):
                yield name, None, False
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value if isinstance(value, ast.Lambda) else None, _is_value(value)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from ((alias.asname or alias.name.partition(".")[0], None, False) for alias in names)
            case _:
                for inner in ast.walk(node):
                    match inner:
                        case ast.Name(id=name, ctx=ast.Store()):
                            yield name, None, False
                        case (
                            ast.FunctionDef(name=name)
                            | ast.AsyncFunctionDef(name=name)
                            | ast.ClassDef(name=name)
                        ):
                            yield name, None, False
                        case ast.alias(name=name, asname=asname):
                            yield asname or name.partition(".")[0], None, False


def _is_value(node: ast.expr) -> bool:
    return isinstance(
        node, ast.Constant | ast.List | ast.Dict | ast.Set | ast.Tuple | ast.JoinedStr | ast.ListComp
    )


def _decorator(node: ast.expr) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def misfit(function: Function, positional: int, named: list[str]) -> str | None:
    """Why a function cannot be called with this number of positional arguments and these named ones, or
    None."""
    given = function.args
    positions = [a.arg for a in (*given.posonlyargs, *given.args)]
    only = {a.arg for a in given.posonlyargs}
    if positional > len(positions) and given.vararg is None:
        return f"it takes {len(positions)} argument{'s' * (len(positions) != 1)}, not {positional}"
    filled = set(positions[:positional])
    known = {*positions, *(a.arg for a in given.kwonlyargs)} - only
    for name in named:
        if name in filled:
            return f"its argument `{name}` is given twice"
        if name not in known and given.kwarg is None:
            guess = nearest(name, known)
            return f"it has no parameter `{name}`" + (f"; did you mean `{guess}`?" if guess else "")
        filled.add(name)
    needed = positions[: len(positions) - len(given.defaults)]
    needed += [
        a.arg for a, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default is None
    ]
    lacks = [f"`{name}`" for name in needed if name not in filled]
    return f"it needs {', '.join(lacks)}" if lacks else None


def _shown(function: Function) -> str:
    return f"its parameters: {ast.unparse(function.args) or 'none'}"


def check_foreign(checked: Checked, files: Files, report: Report) -> None:
    """Report missing files, missing functions and mismatched calls, if they are certain."""
    _Foreign(checked, files, report).program()


@final
class _Foreign:
    """The files that the modules of a program name; each is read once."""

    def __init__(self, checked: Checked, files: Files, report: Report) -> None:
        self.checked = checked
        self.symbols: Symbols = checked.symbols
        self.files = files
        self.report = report
        self.read: dict[str, PythonFile | None] = {}

    def program(self) -> None:
        """Check everything that the program imports, and the simulators of its prompts."""
        functions: dict[str, Function] = {}
        for module in self.checked.modules:
            for d in module.declarations:
                match d:
                    case n.ImportMcp():
                        pass  # its contents are known at run time only
                    case n.ImportPython():
                        functions |= self._imported(d)
                    case n.ImportCorpus():
                        self._exists(d.path)
                    case _:
                        pass
        self._calls(functions)
        self._tools(functions)
        self._simulators()

    def _place(self, path: e.Constant) -> str:
        return str(PurePosixPath(path.span.source).parent / str(path.value))

    def _exists(self, path: e.Constant) -> bool:
        place = self._place(path)
        why, help = self.files.missing(place), None
        if in_package(place):
            why = f"a module of a package is written in got alone: it cannot open `{path.value}`"
            help = "let it take a `scheme`, a `corpus` or a value as input; the program imports the file"
        if why is not None:
            self.report.error("GOT0107", why, path.span, help=help)
        return why is None

    def _python(self, path: e.Constant) -> PythonFile | None:
        """The contents of a file; None, and an error, if it is not Python that can be imported."""
        place = self._place(path)
        if place in self.read:
            return self.read[place]
        self.read[place] = None
        if not self._exists(path):
            return None
        message = None
        try:
            text = self.files.text(place)
            with warnings.catch_warnings(action="ignore"):
                self.read[place] = PythonFile.of(text)
        except SyntaxError as error:
            message = f"`{path.value}` is not Python: line {error.lineno}: {error.msg}"
        except UnicodeEncodeError:
            if "coding" in text[:200]:
                self.read[place] = PythonFile(dynamic=True)
            else:
                message = f"`{path.value}` is not UTF-8"
        except (ValueError, RecursionError, MemoryError) as error:
            message = f"`{path.value}` is not Python: {error}"
        except OSError as error:
            message = f"cannot read `{path.value}`: {error.strerror or error}"
        if message is not None:
            self.report.error("GOT0107", message, path.span)
        return self.read[place]

    def _imported(self, node: n.ImportPython) -> dict[str, Function]:
        """The functions that an import names, if they are certain."""
        file = self._python(node.path)
        found: dict[str, Function] = {}
        for name in (function.name for function in node.functions) if file is not None else ():
            assert file is not None
            if name.text in file.values:
                self.report.error(
                    "GOT0108", f"`{name.text}` of `{node.path.value}` is not a function", name.span
                )
            elif name.text in file.functions:
                if (function := file.functions[name.text]) is not None:
                    found[name.text] = function
            elif not file.dynamic:
                message = f"`{node.path.value}` has no function `{name.text}`"
                self.report.error("GOT0108", message, name.span, help=suggestion(name.text, file.functions))
        return found

    # ---------------------------------------------------------------- calls

    def _calls(self, functions: dict[str, Function]) -> None:
        if not functions:
            return
        for module in self.checked.modules:
            for d in module.declarations:
                if isinstance(d, n.Prompt):
                    reader = d.parse.function if d.parse is not None else None
                    if reader is not None and reader.text in functions:
                        self._fits(functions[reader.text], reader, 1, [], in_call=False)
                elif isinstance(d, n.Scheme | n.Score | n.Metric | n.Param):
                    outer = {id(step.operands[0]): step.operation.text for step in _steps(d) if step.operands}
                    for node in walk(d):
                        if isinstance(node, e.Call) and node.function.text in functions:
                            operation = outer.get(id(node), "")
                            named = [a.name.text for a in node.arguments if a.name is not None]
                            count = len(node.arguments) - len(named) + (operation == "Retrieve")
                            in_call = operation in ("Call", "Retrieve")
                            self._fits(
                                functions[node.function.text], node.function, count, named, in_call=in_call
                            )

    def _fits(
        self, function: Function, called: e.Identifier, positional: int, named: list[str], *, in_call: bool
    ) -> None:
        name = called.text
        changes = any(_decorator(d) == CHANGES_GRAPH for d in getattr(function, "decorator_list", ()))
        if not in_call and (changes or isinstance(function, ast.AsyncFunctionDef)):
            what = "changes the graph" if changes else "is async"
            self.report.error("GOT0108", f"`{name}` {what}, so only `Call` can run it", called.span)
            return
        why = misfit(function, positional + changes, named)
        if why is not None:
            code = "GOT0203" if "no parameter" in why else "GOT0202"
            self.report.error(
                code, f"`{name}` does not take these arguments: {why}", called.span, notes=(_shown(function),)
            )

    def _tools(self, functions: dict[str, Function]) -> None:
        """Check tools: a model writes their arguments, so the types of their parameters must be known."""
        for node in self.symbols.nodes.values():
            for tool in node.tools if isinstance(node, n.Prompt) else ():
                function = functions.get(tool.text)
                if function is None:
                    continue
                if any(_decorator(d) == CHANGES_GRAPH for d in getattr(function, "decorator_list", ())):
                    message = f"`{tool.text}` changes the graph, so it cannot be a tool"
                    self.report.error("GOT0713", message, tool.span)
                    continue
                given = function.args
                parameters = [*given.args, *given.kwonlyargs]
                untyped = [
                    a.arg
                    for a in parameters
                    if a.annotation is None or annotated(ast.unparse(a.annotation)) is None
                ]
                if untyped or given.posonlyargs or given.vararg or given.kwarg:
                    told = (
                        f"the type of its parameter `{untyped[0]}`" if untyped else "its parameters by name"
                    )
                    self.report.error(
                        "GOT0713",
                        f"a model cannot call `{tool.text}`: it has to know {told}",
                        tool.span,
                        notes=(_shown(function),),
                        help="annotate each parameter, like `def search(query: str, k: int = 3)`, with str, "
                        "int, float, bool, list[...], dict[str, ...], Literal[...], or one of these or None",
                    )

    # ---------------------------------------------------------------- simulators

    def _simulators(self) -> None:
        main, *_ = self.checked.modules
        simulated: set[str] = set()
        files: list[tuple[n.Simulate, PythonFile]] = []
        whole = True
        for module in self.checked.modules:
            for d in module.declarations:
                if isinstance(d, n.Simulate):
                    simulated.add(module.span.source)
                    file = self._python(d.path)
                    whole = whole and file is not None and not file.dynamic
                    if file is not None:
                        files.append((d, file))
        if not files:
            return
        asked = _reachable_prompts(self.symbols, main)
        for name, signature in self.symbols.prompts.items():
            node = self.symbols.nodes[name]
            names = dict.fromkeys((name, own_name(name)))
            simulators = [(d, file.functions[x]) for d, file in files for x in names if x in file.functions]
            if simulators:
                d, function = simulators[0]
                if function is not None:
                    self._simulates(d, signature, node, function)
            elif whole and name in asked and simulated & {node.span.source, main.span.source}:
                d = next((d for d, _ in files if d.span.source == node.span.source), files[0][0])
                near = nearest(name, [other for _, file in files for other in file.functions])
                parameters = ", ".join(["rng", *dict(signature.parameters)])
                help = f"did you mean `{near}`? " if near else ""
                self.report.error(
                    "GOT0109",
                    f"`{d.path.value}` has no simulator for prompt `{name}`",
                    d.path.span,
                    labels=(Label(node.name.span, "this prompt is used"),),
                    help=f"{help}write `def {own_name(name)}({parameters}):`, which returns its response",
                )

    def _simulates(
        self,
        d: n.Simulate,
        signature: Signature,
        node: n.Param | n.Prompt | n.Score | n.Scheme,
        function: Function,
    ) -> None:
        named = list(dict(signature.parameters))
        parameters = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
        named += [name for name in _CONTEXT if name in parameters and name not in named]
        why = misfit(function, 1, named)
        if isinstance(function, ast.AsyncFunctionDef):
            why = "it is async"
        if why is not None:
            name, parameters_ = own_name(signature.name), ", ".join(["rng", *dict(signature.parameters)])
            self.report.error(
                "GOT0109",
                f"the simulator of prompt `{signature.name}` does not take its arguments: {why}",
                d.path.span,
                labels=(Label(node.name.span, "this prompt"),),
                notes=(_shown(function),),
                help=f"write `def {name}({parameters_}):`",
            )


def _steps(node: e.Node) -> Iterator[n.Step]:
    return (step for step in walk(node) if isinstance(step, n.Step))


def _reachable_prompts(symbols: Symbols, main: n.Module) -> set[str]:
    """The prompts that the schemes of a module may use."""
    found: set[str] = set()
    waiting = [d.name.text for d in main.declarations if isinstance(d, n.Scheme)]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        declared = symbols.nodes.get(name)
        if isinstance(declared, n.Scheme | n.Score):
            people = {id(s.operands[0]) for s in _steps(declared) if s.operation.text == "Ask" and s.operands}
            calls = [call for call in walk(declared) if isinstance(call, e.Call) and id(call) not in people]
            waiting += [call.function.text for call in calls]
        elif isinstance(declared, n.Prompt):
            waiting += [tool.text for tool in declared.tools]
    return found
