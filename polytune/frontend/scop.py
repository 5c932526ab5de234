"""The static control part (SCoP): what the frontend makes of a Python function and everything later starts from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from enum import Enum
from typing import Any

import islpy as isl

from polytune.errors import SourceLocation
from polytune.frontend.expression import Assign, Expression, Operation
from polytune.frontend.results import Result
from polytune.frontend.source_order import SourceNode
from polytune.records import dataclass
from polytune.signature import Signature


class AccessKind(Enum):
    """The way in which an access touches memory.  A may-write overwrites some, not necessarily all, of what its
    relation names."""

    READ = "read"
    MUST_WRITE = "must-write"
    MAY_WRITE = "may-write"


class ArrayRole(Enum):
    """The place where an array lives: an argument of the kernel, an array made inside it, one that is made inside and
    returned, a constant from outside, a scalar variable (rank 0), or a scalar that says where a subscript was out of
    range, which any statement may write at any time."""

    ARGUMENT = "argument"
    LOCAL = "local"
    RESULT = "result"
    SCALAR = "scalar"
    REPORT = "report"
    CONSTANT = "constant"


@dataclass(frozen=True)
class Parameter:
    """A symbolic integer constant of the SCoP.

    Attributes:
        name: its name in every isl object.
        source: how to compute it from the call's arguments and from parameters listed before it.
        nonnegative: whether it is known to be >= 0 (an extent of an array).
    """

    name: str
    source: Expression
    nonnegative: bool = False


@dataclass(frozen=True)
class SizeCondition:
    """A set of parameter values for which a call must be refused, as shapes in it, or Python's integers, do not fit.

    Attributes:
        violated: ``[p] -> { : ... }``.
        what: what is wrong then, in terms of the source.
        parts: the same with the numbers of the call, texts and expressions of parameters in turn; empty where it needs
            loop variables.
        location: where in the source.
        remedy: what to do about it.
        reason: why it is wrong.
        is_of_sizes: whether it says what sizes arrays have, which schedules and loops are made for; else that Python's
            integers are some of a NumPy type.
    """

    violated: isl.Set
    what: str
    parts: tuple[str | Expression, ...]
    location: SourceLocation
    remedy: str
    reason: str
    is_of_sizes: bool = True


@dataclass(frozen=True)
class Array:
    """An array or scalar variable that statements access.

    Attributes:
        shape: its extents: ``Extent`` nodes for an argument, expressions of parameters for a local array, ``()`` for
            a scalar.
        initial: for a scalar that starts as the value of an argument, that argument's name.
        zeroed: whether a local array starts as zeros (``np.zeros``) and not with arbitrary content (``np.empty``).
        values: of a constant array, all of its elements in C order.
        renewed: the iterators of the loops in whose body the source makes a local array anew, with arbitrary content.
    """

    name: str
    dtype: str
    role: ArrayRole
    shape: tuple[Expression, ...] = ()
    initial: str | None = None
    zeroed: bool = False
    location: SourceLocation | None = None
    values: tuple[int | float, ...] = ()
    renewed: tuple[str, ...] = ()

    @property
    def ndim(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class RingAccess:
    """An access with subscripts ``(place + shifts) % size``, of which ``0 <= place < size``.

    Attributes:
        places: ``[p] -> { S[i] -> A[a] }``, with the place along each such axis.
        shifts: ``[p] -> { S[i] -> [s] }``, the subscripts of all the elements that are shifts.
        arrays: of each of these elements the axis, the array, how often it is added, and the size of the ring.
    """

    places: isl.Map
    shifts: isl.Map
    arrays: tuple[tuple[int, str, int, Expression], ...]


@dataclass(frozen=True)
class Access:
    """One reference to an array in a statement.

    Attributes:
        reference: an identifier, unique in the SCoP.
        relation: ``[p] -> { S[i] -> A[a] }``, its domain within the statement's domain (less, where an affine condition
            guards the reference inside the statement).
        certain: whether it happens there whatever the data are.
        on_rings: what is known of it beside the relation where subscripts are on rings.
    """

    reference: str
    statement: str
    array: str
    kind: AccessKind
    relation: isl.Map
    location: SourceLocation
    certain: bool = True
    on_rings: RingAccess | None = None

    @property
    def is_write(self) -> bool:
        return self.kind is not AccessKind.READ


@dataclass(frozen=True)
class Reduction:
    """``x op= e`` with x not in e: ``operator`` is one of ``+ * min max minimum maximum`` (``x -= e`` is a sum; the
    last two are NumPy's, which pass on NaN); the two references of x."""

    operator: str
    read: str
    write: str


@dataclass(frozen=True)
class Statement:
    """A statement with its domain ``[p] -> { S[i] : ... }``; ``iterators`` names the domain's dimensions, outermost
    first."""

    name: str
    iterators: tuple[str, ...]
    domain: isl.Set
    operations: tuple[Operation, ...]
    accesses: tuple[Access, ...]
    reduction: Reduction | None
    location: SourceLocation
    text: str

    @property
    def is_opaque(self) -> bool:
        """Return whether it holds data-dependent control, so that its writes are may-writes."""
        is_plain = len(self.operations) == 1 and isinstance(self.operations[0], Assign)
        return not is_plain or any(access.kind is AccessKind.MAY_WRITE for access in self.accesses)


@dataclass(frozen=True)
class Report:
    """A place whose subscripts are tested while the kernel runs: the references there, and where the first one is.

    Where it is extents that are tested, ``extents`` says what is wrong if they do not fit.
    """

    references: tuple[str, ...]
    arrays: tuple[str, ...]
    location: SourceLocation
    extents: str = ""


@dataclass(frozen=True)
class IndexCheck:
    """A box of an index array whose numbers have to be in range.

    Attributes:
        array: the index array.
        executed: ``[p] -> { : ... }``, for which parameters any of it is read.
        low, high: per dimension the first and the last index of the box.
        extent: how many elements the axis has that it selects from; numbers go from ``-extent`` to ``extent - 1``.
        report: where it is used.
    """

    array: str
    executed: isl.Set
    low: tuple[isl.PwAff, ...]
    high: tuple[isl.PwAff, ...]
    extent: Expression
    report: Report


@dataclass(frozen=True)
class ReportedLoop:
    """A loop of the source: the statements in it, the dimension it is of their domains, and where it stands."""

    variable: str
    depth: int
    statements: tuple[str, ...]
    location: SourceLocation


@dataclass(frozen=True)
class EarlyEnd:
    """The end of a loop, no loops around it, that may come before its last iteration.

    Its statements are modelled with all of their instances, and as if all of these happened.  Those of iterations after
    the one that sets the flag never do: the code of each version ends its loops there.

    Attributes:
        iterator: the loop's, which no other loop has.
        flag: the scalar that is 0 before the loop, and ``1 + |iterator - start|`` of the iteration that ends it after.
        start: the loop's first value.
        is_up: whether it counts up.
    """

    iterator: str
    flag: str
    start: Expression
    is_up: bool


@dataclass(frozen=True)
class Scop:
    """A kernel in the polyhedral model.

    Attributes:
        name: the kernel's name, a Python identifier.
        signature: the argument types it was analysed for.
        parameters: symbolic constants, in an order in which each can be computed.
        context: ``[p] -> { : ... }``, what is known of the parameters.
        schedule: the source order as a schedule tree, one band of one member per loop.
        nodes: the source order as loops, from which code may be generated without isl; of the kernel as it was written,
            also where its statements have been rewritten.
        result: what the kernel returns, of expressions of scalars and parameters and of arrays, or None.
        loops: the source's loops, outermost first in source order.
        strict: whether sums keep their source order.
        fastmath: the flags that ``fastmath`` gives.
        result_location: where what is returned stands.
        size_conditions: what each call is checked for, in source order, beside the bounds of accesses.
        reports: by number, from 1, the places where subscripts are tested while the kernel runs.
        checks: the numbers in index arrays that are tested before the kernel runs.
        preconditions: lines of Python on the arguments, which raise what the kernel raises before anything runs.
        early_ends: of loops that may end before their last iteration.
        of_bands: what ``interchange`` has found so far of the steps of bands: plans ask for the same bands again.
    """

    name: str
    signature: Signature
    parameters: tuple[Parameter, ...]
    context: isl.Set
    arrays: tuple[Array, ...]
    statements: tuple[Statement, ...]
    schedule: isl.Schedule
    nodes: tuple[SourceNode, ...]
    loops: tuple[ReportedLoop, ...]
    result: Result | None
    location: SourceLocation
    source: str
    strict: bool = False
    fastmath: frozenset[str] = frozenset()
    result_location: SourceLocation | None = None
    size_conditions: tuple[SizeCondition, ...] = ()
    reports: tuple[Report, ...] = ()
    checks: tuple[IndexCheck, ...] = ()
    preconditions: tuple[str, ...] = ()
    early_ends: tuple[EarlyEnd, ...] = ()
    of_bands: dict[tuple[str, ...], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def array(self, name: str) -> Array:
        return next(array for array in self.arrays if array.name == name)

    def statement(self, name: str) -> Statement:
        return next(statement for statement in self.statements if statement.name == name)

    def at_places(self, places: Callable[[SourceLocation], SourceLocation]) -> Scop:
        """Return the same kernel, with what messages speak of at other places.

        Args:
            places: under what name a place of the source is to be known.
        """

        def placed(report: Report) -> Report:
            return replace(report, location=places(report.location))

        return replace(
            self,
            location=places(self.location),
            size_conditions=tuple(replace(each, location=places(each.location)) for each in self.size_conditions),
            checks=tuple(replace(each, report=placed(each.report)) for each in self.checks),
            reports=tuple(map(placed, self.reports)),
        )
