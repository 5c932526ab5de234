"""Typed expressions and operations: what a statement computes.

The grammar, in ASDL style (every node is immutable; ``dtype`` is a NumPy type name or ``"bool"``):

    expression = Constant(value, dtype)
               | Iterator(name)                       -- a loop variable of the statement's domain, int64
               | Counter(name)                        -- the variable of a loop inside of a statement, int64
               | ParameterValue(name)                 -- a parameter of the SCoP, int64
               | Argument(name, dtype)                -- a scalar argument that the kernel only reads
               | Extent(array, dimension)             -- array.shape[dimension], int64
               | Element(array, subscripts, dtype)    -- an element of an array; a scalar has no subscripts
               | Unary(operator, operand, dtype)      -- - + not abs
               | Binary(operator, left, right, dtype) -- + - * / // % ** min max & | ^ << >>
               | Power(operand, exponent, dtype)      -- operand ** exponent, a constant integer, by multiplication
               | Compare(operator, left, right)       -- < <= > >= == !=
               | Logical(operator, operands)          -- and or
               | Select(condition, then, otherwise, dtype)
               | Call(function, arguments, dtype)     -- sqrt exp log pow sin cos tan tanh floor ceil ... and real
                                                         imag conjugate complex rounded
               | Cast(operand, dtype)
    operation  = Assign(target, value)
               | Branch(condition, then, otherwise)            -- only in opaque statements
               | While(condition, body)                        -- only in opaque statements
               | Loop(counter, start, stop, step, body)        -- ``for counter in range(...)`` in opaque statements
               | Break() | Continue()                          -- in the body of a While or a Loop
               | Checked(violation, report, site, body, leaves, what)
                                                               -- body, unless a subscript in it is out of range: then
                                                                  the site is written to the scalar that reports it, and
                                                                  the loop inside of the statement is left; what is
                                                                  wrong with extents, for a test of these, which has no
                                                                  body
               | LibraryCall(function, results, arguments, report)
                                                               -- ``results = function(arguments)`` by NumPy, of parts
                                                                  of arrays; where it raises an exception, -1 is written
                                                                  to the scalar that reports it
    part       = ArrayPart(element, counters, extents)         -- the elements that ``element`` is while each counter
                                                                  goes from 0 to its extent

Types are explicit: both operands of a Binary have the node's dtype (a Cast stands where the source mixes types by
NumPy's promotion, NEP 50), and an Assign's value has its target's dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator as Iteration
from dataclasses import fields, is_dataclass, replace
from typing import Any

from polytune.records import dataclass


@dataclass(frozen=True, eq=False)
class Constant:
    """A number.  One NaN equals another, and 0.0 does not equal -0.0: equal constants stand for one another."""

    value: Any
    dtype: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[str, int | bool | str]:
        return self.dtype, repr(self.value) if isinstance(self.value, float | complex) else self.value


@dataclass(frozen=True)
class Iterator:
    name: str
    dtype: str = "int64"


@dataclass(frozen=True)
class Counter:
    name: str
    dtype: str = "int64"


@dataclass(frozen=True)
class ParameterValue:
    name: str
    dtype: str = "int64"


@dataclass(frozen=True)
class Argument:
    name: str
    dtype: str


@dataclass(frozen=True)
class Extent:
    array: str
    dimension: int
    dtype: str = "int64"


@dataclass(frozen=True)
class Element:
    array: str
    subscripts: tuple[Expression, ...]
    dtype: str


@dataclass(frozen=True)
class Unary:
    operator: str
    operand: Expression
    dtype: str


@dataclass(frozen=True)
class Binary:
    operator: str
    left: Expression
    right: Expression
    dtype: str


@dataclass(frozen=True)
class Power:
    operand: Expression
    exponent: int
    dtype: str


@dataclass(frozen=True)
class Compare:
    operator: str
    left: Expression
    right: Expression
    dtype: str = "bool"


@dataclass(frozen=True)
class Logical:
    operator: str
    operands: tuple[Expression, ...]
    dtype: str = "bool"


@dataclass(frozen=True)
class Select:
    condition: Expression
    then: Expression
    otherwise: Expression
    dtype: str


@dataclass(frozen=True)
class Call:
    function: str
    arguments: tuple[Expression, ...]
    dtype: str


@dataclass(frozen=True)
class Cast:
    """A number as one of another type.

    Attributes:
        is_frozen: whether LLVM has to take the operand as it is, and computes it as without ``fastmath``.
    """

    operand: Expression
    dtype: str
    is_frozen: bool = False


Expression = (
    Constant
    | Iterator
    | Counter
    | Counter
    | ParameterValue
    | Argument
    | Extent
    | Element
    | Unary
    | Binary
    | Power
    | Compare
    | Logical
    | Select
    | Call
    | Cast
)


@dataclass(frozen=True)
class Assign:
    target: Element
    value: Expression


@dataclass(frozen=True)
class Branch:
    condition: Expression
    then: tuple[Operation, ...]
    otherwise: tuple[Operation, ...] = ()


@dataclass(frozen=True)
class While:
    condition: Expression
    body: tuple[Operation, ...]


@dataclass(frozen=True)
class Loop:
    counter: str
    start: Expression
    stop: Expression
    step: int
    body: tuple[Operation, ...]


@dataclass(frozen=True)
class Break:
    pass


@dataclass(frozen=True)
class Continue:
    pass


@dataclass(frozen=True)
class Checked:
    violation: Expression
    report: Element
    site: int
    body: tuple[Operation, ...]
    leaves: bool = False
    what: str = ""


@dataclass(frozen=True)
class ArrayPart:
    element: Element
    counters: tuple[Counter, ...]
    extents: tuple[Expression, ...]


MATRIX_PRODUCT = "numpy.matmul * out=result"
"""The function of the library call that is a product of matrices, see ``polytune.runtime.intrinsics.library.run``."""


@dataclass(frozen=True)
class LibraryCall:
    function: str
    results: tuple[ArrayPart, ...]
    arguments: tuple[ArrayPart, ...]
    report: Element


Operation = Assign | Branch | While | Loop | Break | Continue | Checked | LibraryCall


class _NodeFields(dict[type, tuple[str, ...] | None]):
    """The names of the fields of classes that may have expressions or operations, which `dataclasses.fields` looks for
    each time; None for other classes."""

    def __missing__(self, kind: type) -> tuple[str, ...] | None:
        self[kind] = None
        if is_dataclass(kind):
            self[kind] = tuple(field.name for field in fields(kind) if field.type not in _WITHOUT_NODES)
        return self[kind]


_WITHOUT_NODES = ("str", "int", "bool")
"""The types of fields that are neither expressions nor operations, as they are written."""

_NODE_FIELDS = _NodeFields()


def map_children(node: Any, change: Callable[[Any], Any]) -> Any:
    """The node with ``change`` applied to each expression or operation directly below it."""
    new: dict[str, Any] = {}
    for name in _NODE_FIELDS[type(node)] or ():
        value = getattr(node, name)
        if isinstance(value, tuple):
            changed: Any = tuple(change(item) for item in value)
        elif _NODE_FIELDS[type(value)] is not None:
            changed = change(value)
        else:
            continue
        if changed != value:
            new[name] = changed
    return replace(node, **new) if new else node


def counted_from_either_end(subscript: Expression) -> Expression | None:
    """The number that a subscript is where it is not negative, and from which it counts from the end where it is; None
    for a subscript of any other form."""
    match subscript:
        case Select(Compare("<", index, Constant(0)), Binary("+", same), other) if index == same == other:
            return index
    return None


def children(expression: Expression) -> Iteration[Expression]:
    """The operands of an expression that has no order of evaluation of its own, from left to right."""
    for name in ("operand", "left", "right"):
        child = getattr(expression, name, None)
        if child is not None:
            yield child
    yield from getattr(expression, "arguments", ())


def walk(node: Any) -> Iteration[Any]:
    """The node and everything below it, in source order."""
    rest = [node]
    while rest:
        node = rest.pop()
        yield node
        below: list[Any] = []
        for name in _NODE_FIELDS[type(node)] or ():
            value = getattr(node, name)
            if type(value) is tuple:
                below += [child for child in value if _NODE_FIELDS[type(child)] is not None]
            elif _NODE_FIELDS[type(value)] is not None:
                below.append(value)
        below.reverse()
        rest += below


def arrays_written(node: Any) -> Iteration[str]:
    """The arrays and variables that an operation, or one in it, may write."""
    for part in walk(node):
        if isinstance(part, Assign):
            yield part.target.array
        elif isinstance(part, LibraryCall):
            yield from (result.element.array for result in part.results)
