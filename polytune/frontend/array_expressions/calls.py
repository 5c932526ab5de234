"""Calls of NumPy's functions, and of methods of arrays, on arrays: the table of those that are compiled.

A function of numbers works on arrays element by element.  Every other one is registered, by ``compiles``, in the module
that has its subject; a method is the function of its name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from polytune.errors import UnsupportedSourceError
from polytune.frontend.array_expressions.affine_arithmetic import constant_of, integer, normal
from polytune.frontend.array_expressions.data_sizes import size_of_data
from polytune.frontend.array_expressions.elementwise import as_array, computed
from polytune.frontend.array_expressions.readers import Evaluate, ShapeOf
from polytune.frontend.array_expressions.sizes import require, require_size, size_text
from polytune.frontend.array_expressions.slices import is_none
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Shape
from polytune.frontend.expression import Compare, Expression
from polytune.frontend.lowering.frame import Frame, ShapesOfDataError
from polytune.frontend.lowering.meanings import GeneratorMethod, ObjectBinding, TupleBinding
from polytune.frontend.lowering.names import element_type
from polytune.frontend.lowering.parameters import derive, with_products
from polytune.frontend.polyhedral.affine import as_index
from polytune.frontend.promotion import Value, number
from polytune.records import dataclass
from polytune.signature import DATA_TYPES


@dataclass(frozen=True)
class ArrayCall:
    """A call with its arguments by the names of the function's parameters, syntax trees that nothing has read yet.

    Attributes:
        receiver: the array whose method is called, which is the first argument.
        evaluate: reads an expression.
        read: what has been read of them.
        shape_of: gives the shape that ``A.shape`` and its like stand for; None for any other expression.
    """

    frame: Frame
    node: ast.Call
    name: str
    arguments: dict[str, ast.expr]
    receiver: Operand | None
    first: str
    evaluate: Evaluate
    shape_of: ShapeOf
    read: dict[str, Operand] = field(default_factory=dict)

    def given(self, name: str) -> bool:
        """Return whether there is such an argument, and it is not None."""
        if self.receiver is not None and name == self.first:
            return True
        node = self.arguments.get(name)
        return node is not None and not is_none(node)

    def operand(self, name: str) -> Operand:
        """An argument that may be an array.

        Raises:
            UnsupportedSourceError: it is not there.
        """
        if self.receiver is not None and name == self.first:
            return self.receiver
        if name in self.read:
            return self.read[name]
        node = written_out(self.frame, self.argument(name))
        if isinstance(node, ast.Tuple | ast.List | ast.ListComp):
            found = handler_of(np.array)
            assert found is not None
            return found[1](replace(self, arguments={"a": node}, receiver=None, first="a", read={}))
        return self.evaluate(self.frame, node)

    def operand_type(self, name: str) -> str:
        """The element type of an argument; it is read once."""
        operand = self.operand(name)
        self.read[name] = operand
        return operand.dtype

    def value(self, name: str) -> ArrayValue | Value:
        """An argument, with its sums computed."""
        return computed(self.frame, self.node, self.operand(name))

    def array(self, name: str) -> ArrayValue:
        """An argument as an array; a number has no dimensions."""
        return as_array(self.value(name))

    def vector(self, name: str) -> ArrayValue:
        """An argument as an array of one dimension.

        Raises:
            UnsupportedSourceError: it is a number, or has several.
        """
        array = self.array(name)
        if array.ndim != 1:
            what = f"{self.name} with {name!r} of {array.ndim or 'no'} dimensions"
            raise self.refusal(what, f"pass an array of one dimension as {name!r}")
        return array

    def argument(self, name: str) -> ast.expr:
        """The syntax tree of an argument."""
        if name not in self.arguments:
            raise self.refusal(f"{self.name}(...) without {name!r}", f"pass {name!r}")
        return self.arguments[name]

    def constant(self, name: str, default: Any = None) -> Any:
        """An argument that is a number, a truth value, None, or a tuple of numbers, known before the kernel runs.

        Raises:
            UnsupportedSourceError: it depends on arguments or data.
        """
        if name not in self.arguments or is_none(self.arguments[name]):
            return default
        node = self.arguments[name]
        if isinstance(node, ast.Tuple | ast.List):
            return tuple(self._number(each) for each in node.elts)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        return self._number(node)

    def _number(self, node: ast.expr) -> Any:
        operand = self.evaluate(self.frame, node)
        value = operand.constant if isinstance(operand, Value) else None
        if value is None:
            raise self.refusal(
                f"{self.frame.source.segment(node)} as an argument of {self.name}, which is known only at run time",
                "write a constant",
            )
        return value

    def of_constant(self, node: ast.expr) -> Any:
        """The number that an expression is, known before the kernel runs.

        Raises:
            UnsupportedSourceError: it depends on arguments or data.
        """
        return self._number(node)

    def axis(self, name: str, ndim: int, default: Any = None) -> int | None:
        """The number of a dimension, counted from the front; None where none is named.

        Args:
            name: the argument's.
            ndim: how many dimensions the array has.
            default: what holds where the argument is not given.
        """
        axis = self.constant(name, default)
        if axis is None:
            return None
        if not isinstance(axis, int) or not -ndim <= axis < ndim:
            raise self.refusal(f"the axis {axis} of an array of {ndim} dimensions", "name a dimension that there is")
        return axis % ndim

    def dtype(self, name: str, default: str) -> str:
        """The element type that an argument names, ``"bool"`` included; ``(2 * A).dtype`` is that of an expression."""
        if not self.given(name):
            return default
        node = self.arguments[name]
        return expression_type(self.frame, node) or element_type_of(self.frame, node)

    def shape(self, name: str) -> Shape:
        """The shape of a new array that an argument stands for: a number, a tuple of them, or the shape of an array."""
        node = self.argument(name)
        known = self.shape_of(self.frame, node)
        if known is not None:
            return tuple(self._checked(normal(value.expression)) for value in known)
        elements = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
        shape = tuple(extent for element in elements for extent in self._extents(element))
        if sum(extent in self.frame.kernel.sized_by_room for extent in shape) > 1:
            raise self.refusal(
                "an array with several extents of which nothing says how great they are",
                "pass the sizes as integer arguments, or make the array before the kernel is called",
            )
        return shape

    def _extents(self, node: ast.expr) -> list[Expression]:
        """The extents that a part of a shape stands for: one, or as many as a starred shape has."""
        inner = self.shape_of(self.frame, node.value) if isinstance(node, ast.Starred) else None
        return [self.size(node)] if inner is None else [self._checked(normal(value.expression)) for value in inner]

    def size(self, node: ast.expr) -> Expression:
        """An extent of a new array: one that is 0 or more, by proof, or else by a check at each call."""
        return self._checked(self.extent(node))

    def _checked(self, size: Expression) -> Expression:
        """The extent, which is 0 or more."""
        known = constant_of(size)
        if known is not None and known < 0:
            raise self.refusal(f"the extent {known} of an array", "an extent is 0 or more")
        require_size(self.frame, self.node, size)
        return size

    def extent(self, node: ast.expr) -> Expression:
        """An extent of a shape: an integer that does not depend on data."""
        operand = computed(self.frame, node, self.evaluate(self.frame, node))
        if isinstance(operand, Value) and number(operand).is_integer:
            value = with_products(self.frame, number(operand))
            if self.frame.kernel.affine.is_function(value.expression):
                return normal(as_index(value.expression))
            derived = derive(self.frame, self.frame.kernel.fresh("size"), value)
            if derived is not None:
                return as_index(derived.expression)
            return size_of_data(self.frame, node, value)
        error = self.refusal(
            f"the size {self.frame.source.segment(node)} of an array is no integer",
            "use // in place of /, an int in place of a float argument, or int(x)",
        )
        raise ShapesOfDataError(error.location, error.what, error.reason, error.remedy)

    def of(self, function: Any, operand: Operand, *names: str, **given: ast.expr) -> Operand:
        """Return what another function gives of an operand, and of arguments of this call.

        Args:
            function: one that is compiled.
            operand: its first argument.
            names: the arguments of this call that it is given as well, as far as they are there.
            given: further arguments, by its own names.
        """
        found = handler_of(function)
        assert found is not None
        parameters, handler = found
        arguments = {name: self.arguments[name] for name in names if name in self.arguments}
        return handler(replace(self, arguments={**arguments, **given}, receiver=operand, first=parameters[0], read={}))

    def require_extent(self, size: Expression, wanted: int, what: str) -> None:
        """See to it that an extent has a value: by proof, or else by a check at each call.

        Args:
            size: the extent.
            wanted: the value.
            what: the function that needs it, for the message.
        """
        condition = Compare("==", size, integer(wanted))
        text = f"{what} of an extent of {size_text(self.frame.kernel, size)} in place of {wanted}"
        require(self.frame, self.node, condition, text, (), f"pass arrays that have {wanted}")

    def refusal(self, what: str, remedy: str) -> UnsupportedSourceError:
        """The error that refuses this call; for the caller to raise."""
        reason = "of arrays, a call's shape and type must be known before the kernel runs"
        return self.frame.source.refusal(self.node, what, reason, remedy)


def written_out(frame: Frame, node: ast.expr) -> ast.expr:
    """The name of a tuple or list as a list of its items; any other expression itself."""
    binding = frame.bindings.get(node.id) if isinstance(node, ast.Name) else None
    if not isinstance(binding, TupleBinding):
        return node
    places = (ast.copy_location(ast.Constant(place), node) for place in range(len(binding.items)))
    items: list[ast.expr] = [ast.copy_location(ast.Subscript(node, at, ast.Load()), node) for at in places]
    return ast.copy_location(ast.List(items, ast.Load()), node)


Handler = Callable[[ArrayCall], Operand]

SeveralHandler = Callable[[ArrayCall], "Sequence[Operand | None] | None"]

_HANDLERS: dict[Any, tuple[tuple[str, ...], Handler]] = {}


def compiles(function: Any, *parameters: str) -> Callable[[Handler], Handler]:
    """Register what compiles calls of a function of NumPy's, which has these parameters.

    A last parameter ``*shape`` takes all further arguments, as one tuple.
    """

    def register(handler: Handler) -> Handler:
        _HANDLERS[function] = (parameters, handler)
        return handler

    return register


class ResultList(tuple["Operand | None", ...]):
    """Several values that are a list, even if there is one."""


_OF_SEVERAL: dict[Any, tuple[tuple[str, ...], SeveralHandler]] = {}


def compiles_several(function: Any, *parameters: str) -> Callable[[SeveralHandler], SeveralHandler]:
    """The same for a function that gives several values: those of a tuple are a tuple even if it is one, those of a
    list are ``ResultList``, and one in a list stands for itself.

    None stands for one that no kernel can use, and in place of all for a call that gives a single array or number.
    """

    def register(handler: SeveralHandler) -> SeveralHandler:
        _OF_SEVERAL[function] = (parameters, handler)
        return handler

    return register


def handler_of_several(function: Any) -> tuple[tuple[str, ...], SeveralHandler] | None:
    """The parameters of a function that gives a tuple, and what compiles calls of it; None where nothing does."""
    try:
        return _OF_SEVERAL.get(function)
    except TypeError:  # not hashable
        return None


def handler_of(function: Any) -> tuple[tuple[str, ...], Handler] | None:
    """The parameters of a function and what compiles calls of it; None where nothing does."""
    if isinstance(function, GeneratorMethod):  # the first parameter is the generator
        return _HANDLERS.get(getattr(np.random.Generator, function.name, None))
    try:
        return _HANDLERS.get(function)
    except TypeError:  # not hashable
        return None


def method(name: str) -> Any:
    """NumPy's function that does what an array's method does; None where arrays have no such method."""
    if not hasattr(np.ndarray, name):
        return None
    named = {"copy": np.copy, "astype": np.astype, "flatten": np.ndarray.flatten}
    return named.get(name, getattr(np, name, None))


def matched(
    frame: Frame, node: ast.Call, name: str, parameters: tuple[str, ...], receiver: Operand | None
) -> dict[str, ast.expr]:
    """The arguments of a call by the names of the parameters.

    Args:
        frame: where it stands.
        node: the call.
        name: what is called, for the message.
        parameters: the names; the last one may be ``*name``, which takes all further positional arguments as a tuple.
            Those that are given by their names alone begin with ``=``, and those that are not compiled with ``-``:
            None or False may stand in their places.
        receiver: the array whose method it is, which is the first parameter; None for a function.

    Raises:
        UnsupportedSourceError: there are others than those.
    """
    names = list(parameters[1:] if receiver is not None else parameters)
    by_name = [each[1:] for each in names if each.startswith("=")]
    names = [each for each in names if not each.startswith("=")]
    rest = names[-1][1:] if names and names[-1].startswith("*") else None
    plain = [each.lstrip("-") for each in (names[:-1] if rest else names)]
    left_out = [each[1:] for each in names if each.startswith("-")]
    given = [_without_name(frame, each) for each in node.args]
    arguments = dict(zip(plain, given, strict=False))
    extra = given[len(plain) :]
    if extra and rest:
        first = extra[0]
        whole = ast.copy_location(ast.Tuple(list(extra), ast.Load()), first) if len(extra) > 1 else first
        arguments[rest], extra = whole, []
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in arguments or keyword.arg not in (*plain, *by_name, rest):
            extra = [*extra, keyword.value]
        else:
            arguments[keyword.arg] = _without_name(frame, keyword.value)
    extra = [*extra, *(arguments[name] for name in left_out if name in arguments and not _is_off(arguments[name]))]
    arguments = {name: argument for name, argument in arguments.items() if name not in left_out}
    starred = [argument for argument in arguments.values() if isinstance(argument, ast.Starred)]
    if extra or starred:
        compiled = [*(each.lstrip("*") for each in names if not each.startswith("-")), *by_name]
        raise frame.source.refusal(
            (extra or starred)[0],
            f"an argument of {name} that is not compiled",
            f"of its arguments these are: {', '.join(compiled) or 'none'}",
            "leave it out, and do what it is for in a line of its own",
        )
    return arguments


def _is_off(node: ast.expr) -> bool:
    """Return whether an argument says that there is none, as ``out=None`` and ``retstep=False`` do."""
    return isinstance(node, ast.Constant) and (node.value is None or node.value is False)


def expression_type(frame: Frame, node: ast.expr) -> str | None:
    """The element type that ``(2 * A).dtype`` stands for; None for what is no type of an expression."""
    match node:
        case ast.Attribute(ast.BinOp() | ast.UnaryOp() | ast.Call() as computed_array, "dtype"):
            return frame.kernel.evaluate(frame, computed_array).dtype
    return None


def element_type_of(frame: Frame, node: ast.expr, among: Sequence[str] = (*DATA_TYPES, "bool")) -> str:
    """The element type that an expression names.

    Args:
        frame: where it stands.
        node: the expression.
        among: the types that it may be.

    Raises:
        UnsupportedSourceError: it is none that kernels can use.
    """
    thing: Any = node.value if isinstance(node, ast.Constant) else element_type(frame, node)
    try:
        dtype = np.dtype(thing).name if thing is not None else ""
    except TypeError:
        dtype = ""
    if dtype not in among:
        raise frame.source.refusal(
            node,
            f"the element type {frame.source.segment(node)}",
            f"arrays have elements of {', '.join(DATA_TYPES)}",
            "use one of these, as dtype=np.float64",
        )
    return dtype


def _without_name(frame: Frame, node: ast.expr) -> ast.expr:
    """``None`` in place of a name that means it, as a parameter of a helper may; any other argument itself."""
    binding = frame.bindings.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(binding, ObjectBinding) and binding.value is None:
        return ast.copy_location(ast.Constant(None), node)
    return node
