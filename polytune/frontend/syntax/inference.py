"""The types that a function's arguments seem to have, from its source alone: for work without arguments at hand."""

from __future__ import annotations

import ast
import builtins
import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import field
from types import FunctionType
from typing import Any

import numpy as np

from polytune.errors import Obstacle, UnsupportedSourceError
from polytune.frontend.syntax.source import Source, arguments_of, defaults_of, inlinable, read_source
from polytune.records import dataclass
from polytune.signature import DATA_TYPES, ArgumentType, ArrayType, ScalarType, Signature, parse_type
from polytune.syntax_trees import all_nodes


@dataclass
class _NameUses:
    """The uses of names: the ranks of those that are subscripted, and those that count or index."""

    ranks: dict[str, int] = field(default_factory=dict)
    integers: set[str] = field(default_factory=set)
    integer_arrays: set[str] = field(default_factory=set)

    def array(self, name: str, rank: int) -> None:
        self.ranks[name] = max(rank, self.ranks.get(name, 1))


def infer_signature(function: Any, *, annotated: bool = True) -> Signature:
    """The types of a function's arguments, guessed from its source.

    An annotation decides: a string that ``parse_type`` reads, such as ``"float64[:, ::1]"``, without quotes too where
    annotations are not evaluated, or ``bool``, ``int``, ``float``, ``complex`` or a type of NumPy's such as
    ``np.float32``.
    Without one, what is subscripted is a C-contiguous float64 array of as many dimensions, or int64 where its elements
    stand in subscripts or bound a loop; what bounds a loop, stands
    in a subscript or is compared with a loop variable is an ``int``; anything else is what it is where a call leaves it
    out, ``bool``, ``int`` or ``complex``; everything else is a ``float``.

    Args:
        function: the function.
        annotated: whether annotations count.

    Raises:
        UnsupportedSourceError: there is no source, or an annotation names no type that kernels can use.
    """
    source = read_source(function)
    uses = _uses(source, ())
    defaults = defaults_of(source.tree)
    types: list[tuple[str, ArgumentType]] = []
    refused: list[Obstacle] = []
    for argument in arguments_of(source.tree):
        annotation = argument.annotation if annotated else None
        try:
            types.append((argument.arg, _type(source, argument, uses, annotation, defaults.get(argument.arg))))
        except UnsupportedSourceError as error:
            refused += error.obstacles
    if refused:
        raise UnsupportedSourceError.of(refused)
    return Signature(tuple(types))


def _type(
    source: Source, argument: ast.arg, uses: _NameUses, annotation: ast.expr | None, default: ast.expr | None
) -> ArgumentType:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return _named_type(source, annotation, annotation.value)
    if isinstance(annotation, ast.Name) and annotation.id in ("bool", "complex", "float", "int"):
        return parse_type(annotation.id)
    if annotation is not None:
        named = _outside(source, annotation)
        if isinstance(named, type) and issubclass(named, np.generic):
            return _named_type(source, annotation, named.__name__)
        if named is None:
            with contextlib.suppress(ValueError):  # a type as in a string, where annotations are not evaluated
                return parse_type(ast.unparse(annotation))
    if argument.arg in uses.ranks or (annotation is not None and is_of_any_array(annotation)):
        dtype = "int64" if argument.arg in uses.integer_arrays else "float64"
        return ArrayType(dtype, uses.ranks.get(argument.arg, 1))
    if argument.arg in uses.integers:
        return ScalarType("int64")
    return parse_type(_named_by_value(default))


def _named_by_value(default: ast.expr | None) -> str:
    """The type of a number that is a default, as annotations name it; ``float`` for anything else."""
    with contextlib.suppress(ValueError, TypeError):
        if default is not None and isinstance(value := ast.literal_eval(default), bool | int | complex):
            return type(value).__name__
    return "float"


def is_of_any_array(annotation: ast.expr) -> bool:
    """Return whether an annotation says of an argument that it is an array, but not how many dimensions it has:
    ``np.ndarray``, ``NDArray[np.float64]``.
    """
    named = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    name = named.attr if isinstance(named, ast.Attribute) else named.id if isinstance(named, ast.Name) else ""
    return name in ("ndarray", "NDArray", "ArrayLike")


def _named_type(source: Source, annotation: ast.expr, text: str) -> ArgumentType:
    try:
        return parse_type(text)
    except ValueError as error:
        raise source.refusal(
            annotation,
            f"an argument is annotated as {source.segment(annotation)}",
            f"{error}; kernels work on numbers and arrays of {', '.join(DATA_TYPES)}",
            "annotate it with one of these types, and pass arguments of it; an array that is written must be of it "
            "from the start",
        ) from None


def _uses(source: Source, callers: tuple[FunctionType, ...]) -> _NameUses:
    uses = _NameUses()
    for node in all_nodes(source.tree):
        _note_arrays(node, uses)
        _note_integers(node, uses)
        if isinstance(node, ast.Call):
            _note_call(source, node, uses, callers)
    grown = -1
    while grown != len(uses.integers) + len(uses.integer_arrays):
        grown = len(uses.integers) + len(uses.integer_arrays)
        for node in all_nodes(source.tree):
            _spread_integers(node, uses)
    return uses


def _note_arrays(node: ast.AST, uses: _NameUses) -> None:
    match node:
        case ast.Subscript():
            base: ast.expr = node
            rank = 0
            while isinstance(base, ast.Subscript):
                items = base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice]
                rank += sum(not _is_new_or_rest(item) for item in items)
                base = base.value
            if isinstance(base, ast.Name):
                uses.array(base.id, rank)
            elif isinstance(base, ast.Attribute) and base.attr == "shape" and isinstance(base.value, ast.Name):
                dimension = node.slice.value if isinstance(node.slice, ast.Constant) else 0
                uses.array(base.value.id, dimension + 1 if isinstance(dimension, int) else 1)
        case ast.Assign([ast.Tuple(targets)], ast.Attribute(ast.Name(name), "shape")):
            uses.array(name, len(targets))
        case ast.Attribute(ast.Name(name), "shape" | "dtype" | "ndim") | ast.Call(ast.Name("len"), [ast.Name(name)]):
            uses.array(name, 1)
        case ast.For(_, ast.Name(name)) | ast.Assign([ast.Tuple() | ast.List()], ast.Name(name)):
            uses.array(name, 1)
        case ast.For(_, ast.Call(ast.Name("enumerate" | "zip" | "reversed"), arguments)):
            for argument in arguments:
                if isinstance(argument, ast.Name):
                    uses.array(argument.id, 1)


def _is_new_or_rest(item: ast.expr) -> bool:
    """Return whether an item of a subscript is ``None``, ``np.newaxis`` or ``...``, which stand for no certain
    dimension."""
    match item:
        case ast.Constant(None) | ast.Constant(builtins.Ellipsis) | ast.Attribute(_, "newaxis"):
            return True
    return False


def _note_integers(node: ast.AST, uses: _NameUses) -> None:
    match node:
        case ast.For(
            ast.Name(variable),
            ast.Call(ast.Name("range" | "prange") | ast.Attribute(_, "prange")),
        ):
            uses.integers.add(variable)
        case ast.Call(ast.Name("range" | "prange") | ast.Attribute(_, "prange"), arguments):
            uses.integers |= set(_bare_names(arguments))
            uses.integer_arrays |= set(_arrays_in(arguments))
        case ast.BinOp(left, ast.BitAnd() | ast.BitOr() | ast.BitXor() | ast.LShift() | ast.RShift(), right):
            uses.integers |= set(_bare_names([left, right]))
            uses.integer_arrays |= set(_arrays_in([left, right]))
        case ast.Subscript(_, subscripts):
            uses.integers |= set(_bare_names([subscripts]))
            uses.integer_arrays |= set(_arrays_in([subscripts]))
        case ast.Call(ast.Attribute(_, "empty" | "zeros" | "ones" | "full" | "eye" | "arange"), [shape, *_]) | ast.Call(
            ast.Attribute(_, "reshape" | "histogram"), [_, shape, *_]
        ):
            uses.integers |= set(_bare_names([shape]))


def _note_call(source: Source, node: ast.Call, uses: _NameUses, callers: tuple[FunctionType, ...]) -> None:
    """Note what an inlined function does with its arguments as done with those of the call."""
    function = inlinable(_outside(source, node.func))
    if function is None or function is source.function or function in callers:
        return
    callee = read_source(function)
    inner = _uses(callee, (*callers, source.function))
    names = [argument.arg for argument in arguments_of(callee.tree)]
    for name, argument in zip(names, node.args, strict=False):
        if name in inner.ranks:
            for base in _bases(argument):
                uses.array(base.id, inner.ranks[name] + _subscript_count(argument))
        if name in inner.integers:
            uses.integers |= set(_bare_names([argument]))
            uses.integer_arrays |= set(_arrays_in([argument]))
        if name in inner.integer_arrays:
            uses.integer_arrays |= {part.id for part in _bases(argument) if part.id in uses.ranks}


def _bases(node: ast.expr) -> Iterator[ast.Name]:
    """The name of what an argument is, or is a part of."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        yield node


def _subscript_count(node: ast.expr) -> int:
    """Return how many dimensions an argument that is a part of an array has less than the array."""
    count = 0
    while isinstance(node, ast.Subscript):
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        count += sum(not isinstance(item, ast.Slice) and not _is_new_or_rest(item) for item in items)
        node = node.value
    return count


def _outside(source: Source, node: ast.expr) -> Any:
    """The object that a dotted name means outside of the function, or None."""
    match node:
        case ast.Name(name):
            try:
                return source.resolve(name)
            except KeyError:
                return None
        case ast.Attribute(owner, attribute):
            return getattr(_outside(source, owner), attribute, None)
    return None


def _spread_integers(node: ast.AST, uses: _NameUses) -> None:
    """Integers make integers of what they are computed from, and of what they are compared with."""
    match node:
        case ast.Assign([ast.Name(name)], value) if name in uses.integers and name not in uses.ranks:
            uses.integers |= set(_bare_names([value]))
            uses.integer_arrays |= set(_arrays_in([value]))
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)):
            for target, value in zip(targets, values, strict=False):
                if isinstance(target, ast.Name) and target.id in uses.integers and target.id not in uses.ranks:
                    uses.integers |= set(_bare_names([value]))
                    uses.integer_arrays |= set(_arrays_in([value]))
        case ast.Assign([ast.Name(name)], ast.Name(other)) if name in uses.integer_arrays and other in uses.ranks:
            uses.integer_arrays.add(other)
        case ast.For(target, iterated):
            for name, array in _iterated(target, iterated):
                if name in uses.integers:
                    uses.integer_arrays |= {part.id for part in _bases(array)}
        case ast.Compare(left, _, comparators):
            sides = [left, *comparators]
            names = set(_bare_names(sides))
            if names & uses.integers and not any(_is_data(side) for side in sides):
                uses.integers |= names


def _iterated(target: ast.expr, iterated: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The variables of a loop, each with what its values come from."""
    match target, iterated:
        case ast.Tuple([_, inner]), ast.Call(ast.Name("enumerate"), [array, *_]):
            yield from _iterated(inner, array)
        case ast.Tuple(targets), ast.Call(ast.Name("zip"), arrays):
            for inner, array in zip(targets, arrays, strict=False):
                yield from _iterated(inner, array)
        case ast.Name(name), ast.Name() | ast.Subscript():
            yield name, iterated


def _is_data(node: ast.expr) -> bool:
    """Return whether an expression holds an element of an array or a floating-point number."""
    return any(
        (isinstance(part, ast.Subscript) and not isinstance(part.value, ast.Attribute))
        or (isinstance(part, ast.Constant) and isinstance(part.value, float))
        for part in all_nodes(node)
    )


def _arrays_in(nodes: Iterable[ast.expr]) -> Iterator[str]:
    """The arrays whose elements are terms of integer arithmetic."""
    for node in nodes:
        match node:
            case ast.Subscript(ast.Name(name), _):
                yield name
            case ast.BinOp(left, _, right):
                yield from _arrays_in([left, right])
            case ast.UnaryOp(_, operand):
                yield from _arrays_in([operand])
            case ast.IfExp(_, then, otherwise):
                yield from _arrays_in([then, otherwise])
            case ast.Tuple(elements):
                yield from _arrays_in(elements)
            case ast.Slice(lower, upper, step):
                yield from _arrays_in([each for each in (lower, upper, step) if each is not None])


def _bare_names(nodes: Iterable[ast.expr]) -> Iterator[str]:
    """The variables of integer arithmetic: those outside of subscripts, and of calls other than min, max and abs."""
    for node in nodes:
        match node:
            case ast.Name(name):
                yield name
            case ast.BinOp(left, _, right):
                yield from _bare_names([left, right])
            case ast.UnaryOp(_, operand):
                yield from _bare_names([operand])
            case ast.Tuple(elements):
                yield from _bare_names(elements)
            case ast.Slice(lower, upper, step):
                yield from _bare_names([each for each in (lower, upper, step) if each is not None])
            case ast.IfExp(_, then, otherwise):
                yield from _bare_names([then, otherwise])
            case ast.Call(ast.Name("min" | "max" | "abs" | "int"), arguments):
                yield from _bare_names(arguments)
