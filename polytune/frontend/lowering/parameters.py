"""The parameters of a SCoP: integer arguments, extents of arrays, and integers that are derived from these."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from polytune.conversions import array_conversion, scalar_conversion
from polytune.errors import Obstacle
from polytune.frontend.expression import (
    Argument,
    Binary,
    Compare,
    Constant,
    Element,
    Expression,
    Extent,
    Iterator,
    ParameterValue,
    Select,
    map_children,
    walk,
)
from polytune.frontend.lowering.frame import Frame, KernelWalk, assigned_names
from polytune.frontend.lowering.meanings import (
    ArrayBinding,
    Binding,
    GeneratorObject,
    Meaning,
    ObjectBinding,
    ScalarBinding,
    TupleBinding,
    Unknown,
    ValueBinding,
)
from polytune.frontend.promotion import ScalarKind, Value, cast, number, truth
from polytune.frontend.scop import Array, ArrayRole, Parameter
from polytune.frontend.syntax.source import Source, arguments_of
from polytune.signature import (
    COMPLEX_TYPES,
    DATA_TYPES,
    ArgumentType,
    ArrayType,
    Drawing,
    Fixed,
    Items,
    Leaf,
    ScalarType,
    Signature,
    Structure,
)
from polytune.syntax_trees import all_nodes


def refused_arguments(source: Source, signature: Signature) -> dict[str, Obstacle]:
    """The arguments that a kernel cannot have, starred ones and those of types that are not compiled, each with the
    reason.

    Raises:
        ValueError: the signature names other arguments than the function.
    """
    refused: dict[str, Obstacle] = {}
    arguments = source.tree.args
    for starred in (arguments.vararg, arguments.kwarg):
        if starred is not None:
            refused[starred.arg] = source.obstacle(
                starred,
                f"the argument {starred.arg!r} is starred",
                "a kernel is compiled for a fixed number of arguments",
                "list the arguments by name",
            )
    nodes = arguments_of(source.tree)
    names = [node.arg for node in nodes]
    if names != [name for name, _ in signature.structure or signature.arguments if name not in refused]:
        raise ValueError(f"{source.name} has the arguments ({', '.join(names)}), not ({signature})")
    owners = {part: node for node in nodes for part in _parts(dict(signature.structure).get(node.arg, Leaf(node.arg)))}
    for name, kind in signature.arguments:
        if name in refused:  # a call has given it, too
            continue
        node = owners[name]
        if kind.dtype not in DATA_TYPES or (isinstance(kind, ArrayType) and kind.ndim == 0):
            refused[name] = source.obstacle(
                node,
                f"the argument {name!r} has the type {kind}",
                f"kernels work on numbers and arrays of {', '.join(DATA_TYPES)}, arrays with at least one dimension",
                _conversion(name, kind),
            )
    return refused


def _parts(structure: Structure) -> list[str]:
    """The names of the numbers and arrays that an argument is made of."""
    match structure:
        case Leaf(name) | Drawing(name):
            return [name]
        case Items(items):
            return [name for item in items for name in _parts(item)]
    return []


def _structured(structure: Structure, bindings: dict[str, Binding]) -> Meaning:
    """Return what an argument means that is made of others, or is a constant."""
    match structure:
        case Leaf(name):
            return bindings[name]  # type: ignore[return-value]  # it is not refused
        case Items(items, fields):
            return TupleBinding(tuple(_structured(item, bindings) for item in items), fields)
        case Fixed(value):
            return ObjectBinding(value)
        case Drawing(name):
            address = bindings[name]
            assert isinstance(address, ValueBinding), "it is an integer that nothing assigns to"
            return ObjectBinding(GeneratorObject(address.value))


def _conversion(name: str, kind: ArgumentType) -> str:
    """Return what to pass in place of an argument of a type that is not compiled."""
    if isinstance(kind, ArrayType) and kind.ndim == 0:
        return f"pass {name}[()], its value, or {name}.reshape(1), a view that has one dimension"
    try:
        dtype = np.dtype(kind.dtype)
    except TypeError:
        return "annotate it with one of these types"
    return array_conversion(name, dtype) if isinstance(kind, ArrayType) else scalar_conversion(name, dtype)


def declare_arguments(kernel: KernelWalk, source: Source, refused: Iterable[str] = ()) -> dict[str, Binding]:
    """Make the arrays and parameters of the arguments.

    Args:
        kernel: what they become part of.
        source: the kernel's function.
        refused: the arguments whose types are refused; reading one is no further obstacle.
    """
    kernel.taken |= {node.id for node in all_nodes(source.tree) if isinstance(node, ast.Name)}
    kernel.taken |= {name for name, _ in kernel.signature.arguments}
    aliases = _extent_names(source)
    location = source.location(source.tree)
    bindings: dict[str, Binding] = {name: Unknown() for name in refused}
    for name, kind in kernel.signature.arguments:
        if name in bindings:
            continue
        if isinstance(kind, ArrayType):
            shape = tuple(Extent(name, dimension) for dimension in range(kind.ndim))
            kernel.arrays[name] = Array(name, kind.dtype, ArrayRole.ARGUMENT, shape, location=location)
            known = dict(kind.extents)
            for extent in shape:
                parameter = aliases.get(extent) or kernel.fresh(f"{name}_{extent.dimension}")
                if extent in aliases:
                    kernel.source_names.add(parameter)
                kernel.parameters[parameter] = Parameter(parameter, extent, nonnegative=True)
                size = known.get(extent.dimension)
                value = ParameterValue(parameter) if size is None else Constant(size, "int64")
                kernel.extents[name, extent.dimension] = Value(value, weak=True)
            bindings[name] = ArrayBinding(name)
        else:
            bindings[name] = _declare_scalar(kernel, source, name, kind)
    for name, structure in kernel.signature.structure:
        is_refused = any(isinstance(bindings[part], Unknown) for part in _parts(structure))
        bindings[name] = Unknown() if is_refused else _structured(structure, bindings)
    return bindings


def _declare_scalar(kernel: KernelWalk, source: Source, name: str, kind: ScalarType) -> Binding:
    argument = Argument(name, kind.dtype)
    if kind.dtype in ("int32", "int64"):
        kernel.parameters[name] = Parameter(name, argument)
    # Contexts have words for numbers of one word only.
    if name in kernel.knowledge.in_memory or kind.dtype in COMPLEX_TYPES:
        kernel.initial[name] = name
        own = ScalarKind("bool" if kind.is_truth else kind.dtype, kind.weak)
        kernel.widen(name, own, source.location(source.tree))
        return ScalarBinding(name)
    kernel.by_value.add(name)
    plain = kind.weak and kind.dtype == "int64"
    value = Value(ParameterValue(name) if plain else argument, kind.weak)
    return ValueBinding(truth(value) if kind.is_truth else value)


def _extent_names(source: Source) -> dict[Extent, str]:
    """The names that the function itself gives to extents: ``n, m = A.shape``, ``n = A.shape[0]``, ``n = len(A)``."""
    counts = assigned_names(source.tree.body)
    arguments = {argument.arg for argument in all_nodes(source.tree) if isinstance(argument, ast.arg)}
    names: dict[Extent, str] = {}
    for statement in source.tree.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        for target, extent in _named_extents(statement.targets[0], statement.value):
            if counts[target] == 1 and target not in arguments:
                names.setdefault(extent, target)
    return names


def _named_extents(target: ast.expr, value: ast.expr) -> Iterable[tuple[str, Extent]]:
    match target, value:
        case ast.Tuple(elts), ast.Attribute(ast.Name(array), "shape"):
            for dimension, element in enumerate(elts):
                if isinstance(element, ast.Name):
                    yield element.id, Extent(array, dimension)
        case ast.Tuple(targets), ast.Tuple(values):
            for left, right in zip(targets, values, strict=False):
                yield from _named_extents(left, right)
        case ast.Name(name), ast.Subscript(ast.Attribute(ast.Name(array), "shape"), ast.Constant(int(dimension))):
            yield name, Extent(array, dimension)
        case ast.Name(name), ast.Call(ast.Name("len"), [ast.Name(array)]):
            yield name, Extent(array, 0)


def derive(frame: Frame, name: str, value: Value) -> Value | None:
    """A parameter for an integer or truth value that depends on arguments and shapes alone, though not affinely; None
    for others.

    Args:
        frame: where it is assigned.
        name: what the parameter is to be called.
        value: the integer or truth value.
    """
    if value.dtype == "bool":
        outcome = derive(frame, name, number(value))
        return None if outcome is None else replace(truth(outcome), weak=value.weak)
    leaves = Element | Iterator
    if not (value.is_integer and frame.is_top_level) or any(
        isinstance(node, leaves) for node in walk(value.expression)
    ):
        return None
    if value.weak and value.constant is not None:  # an integer of Python's, of any size, which calls are checked for
        value = replace(value, expression=Constant(value.constant, "int64"))
    known = frame.kernel.parameters.get(name)
    if known is not None and known.source != value.expression:  # a loop that is written out comes here again
        name = frame.kernel.fresh(name)
    frame.kernel.parameters[name] = Parameter(name, value.expression)
    # Parameters are of 64 bits; what is computed from a smaller or unsigned integer is computed in its type.
    parameter = cast(Value(ParameterValue(name)), value.dtype, value.weak)
    frame.kernel.affine.preserving.add(parameter.expression)
    return parameter


def with_products(frame: Frame, value: Value) -> Value:
    """A value with parameters in place of what is no affine part of it but depends on arguments and extents alone, as
    ``n * m`` and ``n // m`` do.

    They have a value whether or not the program comes to where they stand: a quotient by 0 is 0, as it is in compiled
    code.
    """

    def replaced(node: Any) -> Any:
        if isinstance(node, Binary) and _is_of_arguments(node) and not frame.kernel.affine.is_function(node):
            return ParameterValue(_product_name(frame, _total(node)))
        return map_children(node, replaced)

    return Value(replaced(value.expression), value.weak) if value.is_integer else value


def _is_of_arguments(expression: Expression) -> bool:
    return all(
        (isinstance(node, Binary) and node.operator in ("+", "-", "*", "//", "%", "min", "max"))
        or isinstance(node, Constant | Argument | ParameterValue)
        for node in walk(expression)
    ) and all(node.dtype == "int64" for node in walk(expression))


def _total(node: Any) -> Any:
    """The expression with 0 for quotients and remainders of a division by 0."""
    node = map_children(node, _total)
    if isinstance(node, Binary) and node.operator in ("//", "%") and not isinstance(node.right, Constant):
        zero = Constant(0, "int64")
        return Select(Compare("!=", node.right, zero), node, zero, "int64")
    return node


def _product_name(frame: Frame, expression: Expression) -> str:
    kernel = frame.kernel
    name = kernel.derived.get(expression)
    if name is None:
        name = kernel.derived[expression] = kernel.fresh("product")
        kernel.parameters[name] = Parameter(name, expression)
    return name


def needed_parameters(parameters: dict[str, Parameter], names: set[str]) -> tuple[Parameter, ...]:
    """The parameters of these names and those they are computed from, in an order in which each can be computed."""
    needed = set(names)
    for parameter in reversed(parameters.values()):
        if parameter.name in needed:
            needed |= {node.name for node in walk(parameter.source) if isinstance(node, ParameterValue)}
    return tuple(parameter for parameter in parameters.values() if parameter.name in needed)


def replace_parameters(node: Any, replaced: dict[str, Expression]) -> Any:
    """An expression or operation with the named parameters replaced by what they are computed from."""
    if isinstance(node, ParameterValue) and node.name in replaced:
        return replaced[node.name]
    return map_children(node, lambda child: replace_parameters(child, replaced))
