"""The types that a function's arguments may have where nothing says which: several guesses, the likeliest first.

How often an argument is subscripted says how many dimensions it has, but slices leave some out, and ``A @ B`` says
nothing of them.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from polytune.draws import METHODS
from polytune.frontend.syntax.inference import infer_signature, is_of_any_array
from polytune.frontend.syntax.source import arguments_of, defaults_of, read_source
from polytune.signature import ArgumentType, ArrayType, Drawing, Fixed, Items, Leaf, ScalarType, Signature, Structure
from polytune.syntax_trees import all_nodes

MOST = 24
"""So many guesses are made."""

_MOST_DIMENSIONS = 3
_OF_NUMBERS = ("abs", "float", "int", "len", "max", "min", "pow", "range", "round")


def possible_signatures(function: Any, *, annotated: bool = True) -> list[Signature]:
    """The types that a function's arguments may have, the likeliest first.

    Types that annotations give are taken as they are.

    Raises:
        UnsupportedSourceError: there is no source, or an annotation names no type that kernels can use.
    """
    inferred = infer_signature(function, annotated=annotated)
    tree = read_source(function).tree
    arguments = arguments_of(tree)
    untyped = {each.arg for each in arguments if each.annotation is not None and is_of_any_array(each.annotation)}
    open_names = {each.arg for each in arguments if not annotated or each.annotation is None} | untyped
    sliced, used, named = _uses_of_arrays(tree)
    kinds = {name: kind for name, kind in inferred.arguments if name in open_names}
    floats = {name for name, kind in kinds.items() if kind == ScalarType("float64")}
    arrays = {name for name, kind in kinds.items() if isinstance(kind, ArrayType) and name in sliced}
    arrays |= floats & (used | sliced) | untyped
    others = (floats & named) - arrays
    found = dict.fromkeys([inferred, *_same_ranks(inferred, arrays), *_same_ranks(inferred, arrays | others)])
    found.update(dict.fromkeys(itertools.islice(_all_ranks(inferred, sorted(arrays)), MOST)))
    if any(isinstance(node, ast.Constant) and isinstance(node.value, complex) for node in all_nodes(tree)):
        open_arrays = {name for name, kind in kinds.items() if isinstance(kind, ArrayType)}
        complex_ones = (open_arrays & _written(tree), open_arrays)
        found = dict.fromkeys([inferred, *(_of_complex(inferred, names) for names in complex_ones), *found])
    found = _with_structure(list(found), tree, open_names)
    generators = {each.arg for each in arguments if _is_generator(each, tree)}
    return [_with_generators(guess, generators) for guess in list(found)[:MOST]]


def _is_generator(argument: ast.arg, tree: ast.FunctionDef) -> bool:
    """Return whether an argument is a generator of random numbers, as its annotation or a method of it says."""
    if argument.annotation is not None:
        return ast.unparse(argument.annotation).strip("'\"").rpartition(".")[2] == "Generator"
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in METHODS
        and isinstance(node.value, ast.Name)
        and node.value.id == argument.arg
        for node in all_nodes(tree)
    )


def _with_generators(signature: Signature, names: set[str]) -> Signature:
    """The types of a call in which some arguments are generators of random numbers, which are given by addresses."""
    structure = dict(signature.structure or ((name, Leaf(name)) for name, _ in signature.arguments))
    given = {name for name in names if structure.get(name) == Leaf(name)}
    if not given:
        return signature
    types = ((name, ScalarType("uint64", weak=False) if name in given else kind) for name, kind in signature.arguments)
    return Signature(
        tuple(types), tuple((name, Drawing(name) if name in given else each) for name, each in structure.items())
    )


def _with_structure(guesses: Sequence[Signature], tree: ast.FunctionDef, open_names: set[str]) -> dict[Signature, None]:
    """The types that calls may have of which some arguments are functions, or what is no number by default."""
    calls = [node for node in all_nodes(tree) if isinstance(node, ast.Call)]
    called = {call.func.id for call in calls if isinstance(call.func, ast.Name)}
    constants = dict(_constant_defaults(tree))
    passed = (open_names & called) - constants.keys()
    found: dict[Signature, None] = {}
    for guess in guesses:
        given = [{name: Fixed(function) for name in passed} for function in _STAND_INS] if passed else [{}]
        for functions in given:
            found.update(dict.fromkeys((_with_fixed(guess, {**constants, **functions}), _with_fixed(guess, functions))))
    return found


def some_number(*arguments: Any) -> float:
    """Return what a function that is an argument may return: a number."""
    return 0.5 * len(arguments)


def like_argument(first: Any, *_: Any) -> Any:
    """Return what a function that is an argument may return: the like of its argument."""
    return first


_STAND_INS = (some_number, like_argument)
"""Functions in place of those that are arguments, of which the source says only that they are called."""


def _constant_defaults(tree: ast.FunctionDef) -> Iterator[tuple[str, Structure]]:
    """The arguments that are None, a text, or a tuple of such, where calls leave them out, and what they are then."""
    for name, default in defaults_of(tree).items():
        match default:
            case ast.Constant(None | str() as value):
                yield name, Fixed(value)
            case ast.Tuple([]):
                yield name, Items(())


def _with_fixed(signature: Signature, fixed: Mapping[str, Structure]) -> Signature:
    """The types of a call in which some arguments are constants."""
    names = {name for name, _ in signature.arguments} & fixed.keys()
    if not names:
        return signature
    structure = ((name, fixed[name] if name in names else Leaf(name)) for name, _ in signature.arguments)
    return Signature(tuple(each for each in signature.arguments if each[0] not in names), tuple(structure))


def _written(tree: ast.FunctionDef) -> set[str]:
    """The arrays to whose elements something is assigned."""
    stores = (node for node in all_nodes(tree) if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store))
    return {node.value.id for node in stores if isinstance(node.value, ast.Name)}


def _of_complex(inferred: Signature, names: set[str]) -> Signature:
    """Some of the arrays of floats as arrays of complex numbers."""

    def kind_of(name: str, kind: ArgumentType) -> ArgumentType:
        is_concerned = name in names and isinstance(kind, ArrayType) and kind.dtype == "float64"
        return replace(kind, dtype="complex128") if is_concerned else kind

    return Signature(tuple((name, kind_of(name, kind)) for name, kind in inferred.arguments))


def _same_ranks(inferred: Signature, names: set[str]) -> Iterator[Signature]:
    """All of some arguments as arrays of one dimension, of two, and of three; more where they are subscripted so."""
    for rank in range(1, _MOST_DIMENSIONS + 1):
        yield _with_ranks(inferred, dict.fromkeys(names, rank))


def _all_ranks(inferred: Signature, names: list[str]) -> Iterator[Signature]:
    for ranks in itertools.product((2, 1, 3), repeat=len(names)):
        yield _with_ranks(inferred, dict(zip(names, ranks, strict=True)))


def _with_ranks(inferred: Signature, ranks: dict[str, int]) -> Signature:
    def kind_of(name: str, kind: ArgumentType) -> ArgumentType:
        if name not in ranks:
            return kind
        if isinstance(kind, ArrayType):
            return ArrayType(kind.dtype, max(kind.ndim, ranks[name]))
        return ArrayType("float64", ranks[name])

    return Signature(tuple((name, kind_of(name, kind)) for name, kind in inferred.arguments))


def _uses_of_arrays(tree: ast.FunctionDef) -> tuple[set[str], set[str], set[str]]:
    """The names of which slices are taken, those that are used as only arrays are, and those in expressions."""
    sliced: set[str] = set()
    used: set[str] = set()
    named: set[str] = set()
    for node in all_nodes(tree):
        match node:
            case ast.Subscript(base, index):
                parts = index.elts if isinstance(index, ast.Tuple) else [index]
                if isinstance(base, ast.Name) and any(isinstance(part, ast.Slice) for part in parts):
                    sliced.add(base.id)
            case ast.Attribute(ast.Name(name)):
                used.add(name)
            case ast.BinOp(left, ast.MatMult(), right):
                used |= _names([left, right])
            case ast.For(_, ast.Name(name)):
                used.add(name)
            case ast.Call(ast.Name("enumerate" | "zip"), arguments):
                used |= _names(arguments)
            case ast.Call(ast.Attribute(), arguments):
                used |= _names(arguments)
            case ast.Call(ast.Name(name), arguments) if name not in _OF_NUMBERS:
                named |= _names(arguments)
            case ast.BinOp(left, _, right) | ast.Compare(left, _, [right]):
                named |= _names([left, right])
            case ast.AugAssign(target, _, value):
                named |= _names([target, value])
            case ast.Assign(_, value) | ast.Return(ast.expr() as value):
                named |= _names([value])
    return sliced, used, named


def _names(nodes: list[ast.expr]) -> set[str]:
    """The names among expressions."""
    return {node.id for node in nodes if isinstance(node, ast.Name)}
