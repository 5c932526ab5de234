"""The obstacles that keep a kernel from devices, whatever its schedule."""

from __future__ import annotations

from polytune.errors import SourceLocation
from polytune.frontend.bits import OPERATORS as BITS
from polytune.frontend.expression import Binary, Checked, Element, LibraryCall, Loop, Operation, walk
from polytune.frontend.scop import Scop

_TYPES = ("int32", "int64", "float32", "float64")


def obstacle_to_devices(scop: Scop) -> tuple[SourceLocation, str] | None:
    """The first place with something of which there is no code for devices, and what it is; None where there is none.

    Loops inside of statements would leave most threads of a device idle, and which elements a subscript that depends on
    data selects, and so what has to be copied to a device, is not known before.
    """
    for array in scop.arrays:
        if array.dtype not in _TYPES:
            return array.location or scop.location, f"{array.name!r}, an array of {array.dtype}"
    for statement in scop.statements:
        for operation in statement.operations:
            what = _obstacle(operation)
            if what is not None:
                return statement.location, what
    return None


def _obstacle(operation: Operation) -> str | None:
    for part in walk(operation):
        if isinstance(part, Loop):
            return "a loop whose iterations depend on data"
        if isinstance(part, Binary) and part.operator in BITS:
            return "an operation on bits"
        if isinstance(part, LibraryCall):
            return f"a call of {part.function.partition(' ')[0]}, which NumPy computes"
        if isinstance(part, Checked):
            return "a subscript that depends on data"
        if isinstance(part, Element) and any(isinstance(s, Element) for each in part.subscripts for s in walk(each)):
            return "a subscript that depends on data"
    return None
