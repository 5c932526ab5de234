"""The types that a function's arguments may have where nothing says which: several guesses, the likeliest first.

How often an argument is subscripted says how many dimensions it has, but slices leave some out, and ``A @ B`` says
nothing of them.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from polytune.frontend.syntax.inference import infer_signature, is_of_any_array
from polytune.frontend.syntax.source import arguments_of, read_source
from polytune.signature import ArgumentType, ArrayType, Fixed, Leaf, ScalarType, Signature

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
    if any(isinstance(node, ast.Constant) and isinstance(node.value, complex) for node in ast.walk(tree)):
        open_arrays = {name for name, kind in kinds.items() if isinstance(kind, ArrayType)}
        complex_ones = (open_arrays & _written(tree), open_arrays)
        found = dict.fromkeys([inferred, *(_of_complex(inferred, names) for names in complex_ones), *found])
    missing = _may_be_none(tree)
    if missing:
        found = dict.fromkeys(each for guess in found for each in (_with_none(guess, missing), guess))
    return list(found)[:MOST]


def _may_be_none(tree: ast.FunctionDef) -> set[str]:
    """The arguments whose default is None."""
    arguments = arguments_of(tree)
    given = tree.args.defaults
    pairs = zip(arguments[len(arguments) - len(given) :], given, strict=True)
    return {each.arg for each, default in pairs if isinstance(default, ast.Constant) and default.value is None}


def _with_none(signature: Signature, names: set[str]) -> Signature:
    """The types of a call that leaves out some arguments, which then are None."""
    structure = ((name, Fixed(None) if name in names else Leaf(name)) for name, _ in signature.arguments)
    return Signature(tuple(each for each in signature.arguments if each[0] not in names), tuple(structure))


def _written(tree: ast.FunctionDef) -> set[str]:
    """The arrays to whose elements something is assigned."""
    stores = (node for node in ast.walk(tree) if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store))
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
    for node in ast.walk(tree):
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
