"""Docstrings of the package begin as sentences do that say what something does or is, and say what is to be passed.

*Public* is a function, or a method of a public class, with no name on the way to it that begins with an underscore: its
own, its class's, those of its file and folders.  Functions inside of functions are not.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.package_syntax import statements

ROOT = Path(__file__).parents[1]
PACKAGES = ("polytune", "polybench", "gallery")
DESCRIBED = (*PACKAGES, "benchmarks", "examples")

CLAUSE_WORDS = frozenset({"How", "That", "What", "When", "Where", "Whether", "Which", "Who", "Whose", "Why"})
"""The words that clauses begin with, and docstrings do not: they begin with a verb or a noun, "Return whether ..."."""

OTHER_WORDS = frozenset(
    {
        *(
            "After",
            "As",
            "At",
            "Before",
            "Behind",
            "By",
            "For",
            "From",
            "In",
            "Of",
            "On",
            "Per",
            "Under",
            "With",
            "Without",
        ),
        *("It", "Not", "Nothing", "There", "They"),
    }
)
"""The words that begin what is no sentence, or one that says neither what something does nor what it is."""


@functools.cache
def parsed(text: str) -> ast.Module:
    """The syntax of a module, which several tests look at."""
    return ast.parse(text)


def docstrings(text: str) -> Iterator[tuple[int, str, bool]]:
    """The line and the docstring of a module, and of each class, function and variable in it, that has one, and whether
    it is a function's."""
    for node in statements(parsed(text)):
        body = getattr(node, "body", ())
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found = ast.get_docstring(node)
            if found is not None:
                yield body[0].lineno, found, isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for assigned, after in pairwise(body):
            match after:
                case ast.Expr(ast.Constant(str(found))) if isinstance(assigned, ast.Assign | ast.AnnAssign):
                    yield after.lineno, found, False


def wrong(text: str) -> list[int]:
    """The lines of the docstrings of a module that begin with a clause, or have nothing in them, or say of what is no
    function what it returns."""
    firsts = ((line, found.split(maxsplit=1), is_function) for line, found, is_function in docstrings(text))
    return sorted(
        line
        for line, words, is_function in firsts
        if not words
        or words[0].strip("`,:.") in CLAUSE_WORDS | OTHER_WORDS
        or (words[0] == "Return" and not is_function)
    )


@pytest.mark.parametrize("package", DESCRIBED)
def test_docstrings_begin_with_a_verb_or_a_noun_phrase(package):
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    places = [f"{file.relative_to(ROOT)}:{line}" for file in files for line in wrong(file.read_text(encoding="utf-8"))]
    assert not places


def test_functions_that_return_nothing_say_what_they_do():
    """And not what they return, or what is so."""
    nouns = ("A ", "All ", "An ", "Each ", "Every ", "Everything ", "Nobody ", "One ", "Something ", "The ")
    places = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for package in PACKAGES
        for file in sorted((ROOT / package).rglob("*.py"))
        for node in statements(parsed(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (ast.get_docstring(node) or "").startswith(("Return ", "Returns ", *nouns))
        and node.returns is not None
        and ast.unparse(node.returns) in ("None", "Iterator[None]", "NoReturn")
    ]
    assert not places


def test_clauses_are_found():
    """The check sees docstrings wherever they are: what it would miss could break the rule."""
    text = (
        '"""What it is."""\n'
        "class A:\n"
        '    """Where: it is."""\n'
        "    def f(self):\n"
        '        """Return whether it is so."""\n'
        "        async def g():\n"
        '            """\n            Whether it is so.\n            """\n'
        "def h():\n"
        '    """ """\n'
        "def i():\n"
        "    return 'What is no docstring'\n"
        "def j():\n"
        '    """For a reader."""\n'
        "def k():\n"
        '    """Forms of it."""\n'
        "L = 3\n"
        '"""How many there are."""\n'
        "M: int = 3\n"
        '"""Return how many there are."""\n'
        "N = 3\n"
        '"""The number of them."""\n'
    )
    assert wrong(text) == [1, 3, 7, 11, 15, 19, 21]


# ---- parameters

MANY = 3
"""The number of parameters from which on each of them is described."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Public(NamedTuple):
    """A public function: its place, its class and the bases of that, if any, and itself."""

    file: str
    owner: str
    bases: frozenset[str]
    node: Function

    @property
    def place(self) -> str:
        return f"{self.file}:{self.node.lineno} {self.owner}{'.' if self.owner else ''}{self.node.name}"


def last_name(node: ast.expr) -> str:
    """``b`` of ``a.b``, ``b[T]`` and ``b(...)``."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case ast.Subscript(value=inner) | ast.Call(func=inner):
            return last_name(inner)
    return ""


def public_functions(file: str, text: str) -> Iterator[Public]:
    """The public functions of a module, without those that stand for a library's: its own documentation describes
    these."""
    if any(part.startswith("_") and not part.startswith("__") for part in Path(file).parts):
        return
    bodies = [("", frozenset[str](), parsed(text).body)]
    for owner, bases, body in bodies:
        for node in body:
            if isinstance(node, Function) and not node.name.startswith("_") and not stands_for_another(node):
                yield Public(file, owner, bases, node)
            elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                bodies.append((node.name, frozenset(map(last_name, node.bases)), node.body))
            elif isinstance(node, ast.If | ast.Try):
                bodies.append((owner, bases, node.body))


def stands_for_another(node: Function) -> bool:
    """Return whether a function is inlined where a kernel calls a library's."""
    return any(isinstance(each, ast.Call) and last_name(each.func) == "stands_for" for each in node.decorator_list)


def parameters(function: Public) -> list[str]:
    """The names of what a caller passes: no ``self``, and no typing context, which Numba passes to intrinsics."""
    node, given = function.node, function.node.args
    decorators = {last_name(each) for each in node.decorator_list}
    names = [each.arg for each in (*given.posonlyargs, *given.args)]
    if (function.owner and "staticmethod" not in decorators) or "intrinsic" in decorators:
        names = names[1:]
    names += [each.arg for each in given.kwonlyargs]
    return names + [each.arg for each in (given.vararg, given.kwarg) if each is not None]


def described(docstring: str) -> list[str]:
    """The names under ``Args:``, where several may share a line; ``?`` for what is no entry."""
    _, _, section = docstring.partition("\nArgs:\n")
    lines = [line for line in section.split("\n\n")[0].splitlines() if line[4:5] != " "]
    entries = [re.match(r" {4}(\*{0,2}\w+(?:, \*{0,2}\w+)*): \S", line) for line in lines]
    return [name.lstrip("*") for entry in entries for name in (entry[1].split(", ") if entry else ["?"])]


def undescribed(functions: Iterable[Public], bases: Mapping[str, frozenset[str]]) -> list[str]:
    """The places of the functions of three parameters or more that do not describe each of them, and of those that
    describe one that they do not have.

    A method without a docstring has that of the method that it overrides.  Commands of the command line describe their
    options to people, in the annotations.

    Args:
        functions: all public ones.
        bases: by the name of each class those of the classes that it is made of.
    """
    functions = list(functions)
    methods = {(each.owner, each.node.name) for each in functions if ast.get_docstring(each.node) is not None}
    places = []
    for each in functions:
        is_command = Path(each.file).parent.name == "commands" and Path(each.file).stem.rstrip("_") == each.node.name
        if is_command or "overload" in map(last_name, each.node.decorator_list):
            continue
        docstring = ast.get_docstring(each.node)
        if docstring is None and any((name, each.node.name) in methods for name in above(each, bases)):
            continue
        wanted, found = set(parameters(each)), set(described(docstring or ""))
        if found - wanted or (len(wanted) >= MANY and wanted - found):
            places.append(each.place)
    return places


def undescribed_constructors(texts: Mapping[str, str]) -> list[str]:
    """The places of the constructors of public classes that take three parameters or more, not all of them described:
    by the constructor, or the class or one that it is made of, as parameters or as attributes.

    Args:
        texts: modules, by their files.
    """
    bases = bases_of(texts.values())
    known: dict[str, set[str]] = {}
    constructors = []
    for file, text in texts.items():
        for node in statements(parsed(text)):
            if isinstance(node, ast.ClassDef):
                own = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
                known[node.name] = {
                    name.lstrip("*")
                    for each in (node, *own)
                    for names in re.findall(
                        r"(?m)^    (\*{0,2}\w+(?:, \*{0,2}\w+)*): \S", ast.get_docstring(each) or ""
                    )
                    for name in names.split(", ")
                }
                if not node.name.startswith("_"):
                    constructors += [Public(file, node.name, bases[node.name], each) for each in own]
    return [
        each.place
        for each in constructors
        if len(parameters(each)) >= MANY
        and not {*parameters(each)} <= set().union(*(known.get(name, ()) for name in {each.owner, *above(each, bases)}))
    ]


def above(function: Public, bases: Mapping[str, frozenset[str]]) -> set[str]:
    """The classes that a method's class is made of, at any distance.

    Args:
        function: the method.
        bases: by the name of each class those of the classes that it is made of.
    """
    found, more = set[str](), set(function.bases)
    while more:
        found |= more
        more = {base for name in more for base in bases.get(name, ())} - found
    return found


def bases_of(texts: Iterable[str]) -> dict[str, frozenset[str]]:
    """By the name of each class those of the classes that it is made of."""
    classes = (node for text in texts for node in statements(parsed(text)) if isinstance(node, ast.ClassDef))
    return {node.name: frozenset(map(last_name, node.bases)) for node in classes}


def test_public_functions_describe_their_parameters():
    root = ROOT / "polytune"
    texts = {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in sorted(root.rglob("*.py"))}
    functions = [each for file, text in texts.items() for each in public_functions(file, text)]
    assert len(functions) > 1000
    assert not undescribed(functions, bases_of(texts.values()))
    assert not undescribed_constructors(texts)


EXAMPLES = """
class Base:
    def f(self, a, b, c):
        '''Do it.

        Args:
            a, b: numbers.
            c: how often, which takes
                two lines.

        Raises:
            ValueError: it cannot be done.
        '''

class Middle(Base):
    pass

class Good(Middle):
    def f(self, a, b, c): ...

    @staticmethod
    def two(a, b):
        '''Do it.'''

class Bad(Other[int]):
    def f(self, a, b, c): ...

    def g(self, a, *more, c):
        '''Do it.

        Args:
            a: a number.
            c: another.
        '''

    def _h(self, a, b, c): ...

class _Private:
    def f(self, a, b, c): ...

@intrinsic(prefer_literal=True)
def lanes(typing_context, a, b):
    '''Do it.'''

def stale(a):
    '''Do it.

    Args:
        b: what is passed no more.
    '''

def empty(a, b, c):
    '''Do it.

    Args:
        a, b, c:
    '''

def outer(a):
    def inner(a, b, c): ...
"""


def test_parameters_that_are_not_described_are_found():
    """The check sees functions wherever they are: what it would miss could break the rule."""
    places = undescribed(public_functions("p/a.py", EXAMPLES), bases_of([EXAMPLES]))
    assert [place.split()[1] for place in places] == ["stale", "empty", "Bad.f", "Bad.g"]
    assert not list(public_functions("p/_a.py", EXAMPLES)) and list(public_functions("p/__init__.py", EXAMPLES))


def test_parameters_of_constructors_that_are_not_described_are_found():
    text = """
class Base:
    '''One.

    Attributes:
        a: a number.
    '''

    def __init__(self, a, b, c):
        '''
        Args:
            b, c: others.
        '''

class Good(Base):
    def __init__(self, a, b, c, d):
        '''
        Args:
            d: one more.
        '''

class Bad(Base):
    def __init__(self, a, b, c, e): ...

class _Private:
    def __init__(self, a, b, c): ...
"""
    assert [place.split()[1] for place in undescribed_constructors({"p/a.py": text})] == ["Bad.__init__"]


@pytest.mark.parametrize(("file", "count"), [("p/commands/check.py", 0), ("p/commands/other.py", 1), ("p/check.py", 1)])
def test_only_commands_describe_their_parameters_elsewhere(file, count):
    assert len(undescribed(public_functions(file, "def check(a, b, c): ...\n"), {})) == count
