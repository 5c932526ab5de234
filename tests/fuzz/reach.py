"""Which elements a kernel may touch: its text is run on arrays without elements.

Loops and conditions on sizes are followed exactly.  Of a condition on data both ways are taken, as a compiler has to
that checks subscripts before it runs anything; the body of a ``while`` is run once.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


class TooManyInstances(Exception):
    """The kernel touches more elements than wanted."""


class Unknown:
    """A value that depends on data."""

    def _same(self, *others: Any) -> Unknown:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _same
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __pos__ = __abs__ = _same
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _same  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        """True, so that a chain of comparisons goes on to its end."""
        return True


UNKNOWN = Unknown()


@dataclass
class Reached:
    """An array of which only the subscripts are noted: for each dimension the least and the largest."""

    shape: tuple[int, ...]
    limit: list[int]
    ranges: list[tuple[int, int]] = field(default_factory=list)
    written: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, subscripts: Any) -> Any:
        self._note(subscripts)
        return UNKNOWN

    def __setitem__(self, subscripts: Any, value: Any) -> None:
        self.written = True
        self._note(subscripts)

    def _note(self, subscripts: Any) -> None:
        self.limit[0] -= 1
        if self.limit[0] < 0:
            raise TooManyInstances
        position = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        if not self.ranges:
            self.ranges = [(index, index) for index in position]
        else:
            self.ranges = [
                (low if low < index else index, high if high > index else index)
                for (low, high), index in zip(self.ranges, position, strict=True)
            ]

    @property
    def is_inside(self) -> bool:
        """Whether no subscript is outside the array; negative ones are."""
        return all(
            low >= 0 and high < extent for (low, high), extent in zip(self.ranges, self.shape, strict=bool(self.ranges))
        )


def reach(source: str, values: Mapping[str, Any], constants: Mapping[str, Any], limit: int) -> dict[str, Reached]:
    """The elements of each array that a kernel may touch.

    Args:
        source: its text.
        values: the arguments by name; of arrays only the shape matters, and ``Shape`` will do.
        constants: names of the module.
        limit: the most accesses and iterations.

    Returns:
        What is reached of each array argument; those that are one object share it.  Arrays that the kernel makes have
        the names ``local 0``, ``local 1`` and so on, in the order in which they are made.

    Raises:
        TooManyInstances: there are more than ``limit``.
    """
    left = [limit]
    tree = ast.fix_missing_locations(_Rewriter().visit(ast.parse(source)))

    def counted(*bounds: Any) -> Any:
        for value in range(*bounds):
            left[0] -= 1
            if left[0] < 0:
                raise TooManyInstances
            yield value

    made: list[Reached] = []

    def local(shape: Any, *_: Any, **__: Any) -> Reached:
        made.append(Reached(tuple(shape) if isinstance(shape, tuple) else (int(shape),), left))
        return made[-1]

    names: dict[str, Any] = {
        "np": _Numpy(local),
        "math": _Data(),
        "_data": UNKNOWN,
        "range": counted,
        "min": _known(min),
        "max": _known(max),
        "int": _known(int),
        "float": _known(float),
        "_kept": lambda value: UNKNOWN,
        "_taken": _taken,
        "_either": _either,
        "_both": _both,
        "_not": lambda value: value if value is UNKNOWN else not value,
        **constants,
    }
    exec(compile(tree, "<reach>", "exec"), names)
    arrays: dict[int, Reached] = {}
    arguments: dict[str, Any] = {}
    for name, value in values.items():
        shape = getattr(value, "shape", None)
        if shape:
            arguments[name] = arrays.setdefault(id(value), Reached(tuple(shape), left))
        else:
            arguments[name] = int(value) if isinstance(value, int | np.integer) else UNKNOWN
    with contextlib.suppress(UnboundLocalError):  # plain Python ends there too
        names["kernel"](**arguments)
    return {name: value for name, value in arguments.items() if isinstance(value, Reached)} | {
        f"local {number}": array for number, array in enumerate(made)
    }


@dataclass(eq=False)
class Shape:
    """Stands for an array of this shape."""

    shape: tuple[int, ...]


class _Data:
    """A module whose functions and constants are data."""

    def __getattr__(self, name: str) -> Any:
        return (lambda *_, **__: UNKNOWN) if callable(getattr(np, name, None)) else UNKNOWN


class _Numpy(_Data):
    """NumPy, whose local arrays are noted too."""

    def __init__(self, local: Callable[..., Reached]):
        self.zeros = self.empty = local
        self.zeros_like = self.empty_like = lambda array, *_, **__: local(array.shape)


def _known(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, of which an unknown argument makes the result unknown."""

    def call(*arguments: Any) -> Any:
        return UNKNOWN if any(value is UNKNOWN for value in arguments) else function(*arguments)

    return call


def _taken(test: Any, branch: bool) -> bool:
    return True if test is UNKNOWN else bool(test) is branch


def _either(test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    if test is UNKNOWN:
        first, second = then(), otherwise()
        return UNKNOWN if first is UNKNOWN or second is UNKNOWN or first != second else first
    return then() if test else otherwise()


def _both(stops_at: bool, operands: Sequence[Callable[[], Any]]) -> Any:
    """``and`` or ``or``: operands up to the one that decides, and all behind an unknown one."""
    result: Any = not stops_at
    for operand in operands:
        value = operand()
        if value is UNKNOWN:
            result = UNKNOWN
        elif bool(value) is stops_at:
            return stops_at if result is not UNKNOWN else UNKNOWN
    return result


class _Rewriter(ast.NodeTransformer):
    """Lets conditions on data go both ways."""

    def __init__(self) -> None:
        self.conditions = 0

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return ast.Name("_data", ast.Load()) if isinstance(node.value, float) else node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """Variables of truth values, ``b1``, may be in memory, and so be data."""
        self.generic_visit(node)
        match node.targets:
            case [ast.Name(name)] if name[0] == "b" and name[1:].isdigit():
                node.value = _call("_kept", node.value)
        return node

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        self.conditions += 1
        name = f"_condition{self.conditions}"
        self.generic_visit(node)
        found: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], node.test)]
        for branch, body in ((True, node.body), (False, node.orelse)):
            if body:
                test = _call("_taken", ast.Name(name, ast.Load()), ast.Constant(branch))
                found.append(ast.If(test, body, []))
        return found

    def visit_While(self, node: ast.While) -> ast.stmt:
        self.generic_visit(node)
        return ast.If(_call("_taken", node.test, ast.Constant(True)), node.body, [])

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        return _call("_either", node.test, _delayed(node.body), _delayed(node.orelse))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        operands = ast.Tuple([_delayed(value) for value in node.values], ast.Load())
        return _call("_both", ast.Constant(isinstance(node.op, ast.Or)), operands)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return _call("_not", node.operand) if isinstance(node.op, ast.Not) else node


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _delayed(value: ast.expr) -> ast.expr:
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(empty, value)
