"""Calls of the library: what NumPy computes on whole arrays, as one statement that no pass looks into.

It reads all elements of its arguments and writes all of its results, new local arrays.  Loops around and between such
statements are compiled as any others, and dependences keep their order.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from polytune.frontend.array_expressions.affine_arithmetic import ONE, ZERO
from polytune.frontend.array_expressions.stores import store
from polytune.frontend.array_expressions.temporaries import allocate, emit, kept, perform
from polytune.frontend.array_expressions.values import ArrayRegion, ArrayValue, Axis, Shape
from polytune.frontend.array_expressions.views import element_of, in_memory, whole
from polytune.frontend.expression import ArrayPart, Assign, Counter, Element, LibraryCall
from polytune.frontend.generated_names import REPORT
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.promotion import Value, convert, number, truth
from polytune.frontend.scop import Array, ArrayRole

_LINEAR_ALGEBRA = "numpy.linalg."
_ALL_THREADS = " all_threads"
"""Added to calls of linear algebra in strict kernels: their digits depend on how many threads NumPy's library has."""

Wanted = tuple[Shape, str]
"""The shape and the element type of a result."""


def library_call(
    frame: Frame,
    node: ast.AST,
    function: str,
    arguments: Sequence[ArrayValue | Value],
    results: Sequence[Wanted],
    *,
    state: str = "",
) -> list[ArrayValue | Value]:
    """The results of a call, in new local arrays; one without dimensions is a number.

    Args:
        frame: where it stands.
        node: what it is in the source.
        function: the function's name and its further arguments, as ``numpy.sort * axis=0``; see
            ``polytune.runtime.intrinsics.library.run``.
        arguments: the arrays, or numbers, that it is given.
        results: what it gives.
        state: the name of a state that the call reads and changes, as random generators have; calls with the same state
            keep their order.
    """
    given = [_in_memory(frame, node, argument) for argument in arguments]
    regions = [allocate(frame, node, shape or (ONE,), dtype) for shape, dtype in results]
    written = [_part(frame, region, shape) for region, (shape, _) in zip(regions, results, strict=True)]
    read = [_part(frame, region, shape) for region, shape in given]
    if state:
        region = _state(frame, node, state)
        read.append(_part(frame, region, ()))
        written.append(_part(frame, region, ()))
    if frame.kernel.strict and function.startswith(_LINEAR_ALGEBRA):
        function += _ALL_THREADS
    operation = LibraryCall(function, tuple(written), tuple(read), Element(REPORT, (), "int64"))
    emit(frame, node, [perform(frame, node, operation)])
    return [
        in_memory(frame.kernel, region, shape, is_new=True)
        if shape
        else Value(element_of(frame.kernel, region, [ZERO]))
        for region, (shape, _) in zip(regions, results, strict=True)
    ]


def change(
    frame: Frame,
    node: ast.AST,
    function: str,
    target: ArrayValue,
    *,
    state: str = "",
    further: Sequence[Value] = (),
) -> None:
    """Lower a call that changes an array in place: the function works on a copy, which is then assigned.

    Args:
        frame: where it stands.
        node: the call.
        function: the function's name and its further arguments, as ``numpy.sort * axis=0``.
        target: the array.
        state: the name of a state that the call reads and changes, as random generators have; empty where there is
            none.
        further: what else the function is given.
    """
    results = [(target.shape, target.dtype)]
    (changed,) = library_call(frame, node, function, [target, *further], results, state=state)
    store(frame, node, target, changed)


def in_place_call(
    frame: Frame,
    node: ast.AST,
    function: str,
    changed: Sequence[ArrayValue],
    arguments: Sequence[ArrayValue | Value],
) -> None:
    """Lower a call of a function of Python's that changes elements of arrays where they are.

    As it may change some of them only, it reads and writes them all.

    Args:
        frame: where it stands.
        node: what it is in the source.
        function: the text of the function, see ``polytune.runtime.intrinsics.library.run``.
        changed: its first arguments, arrays in memory, whose elements it may change.
        arguments: those after them.
    """
    places = [_in_memory(frame, node, argument) for argument in (*changed, *arguments)]
    parts = [_part(frame, region, shape) for region, shape in places]
    operation = LibraryCall(function, tuple(parts[: len(changed)]), tuple(parts), Element(REPORT, (), "int64"))
    emit(frame, node, [perform(frame, node, operation)])


def _in_memory(frame: Frame, node: ast.AST, argument: ArrayValue | Value) -> tuple[ArrayRegion, Shape]:
    """Return where an argument is; what is not in memory is computed into a new local array."""
    if isinstance(argument, ArrayValue) and argument.shape:
        array = argument if argument.region is not None else kept(frame, node, argument)
        assert array.region is not None
        return array.region, array.shape
    value = argument if isinstance(argument, Value) else argument.at(())
    value = truth(value) if value.dtype == "bool" else number(value)
    region = allocate(frame, node, (ONE,), value.dtype)
    target = element_of(frame.kernel, region, [ZERO])
    emit(frame, node, [perform(frame, node, Assign(target, convert(value, region.dtype)))])
    return region, ()


def _part(frame: Frame, region: ArrayRegion, shape: Shape) -> ArrayPart:
    """A region as a part of its array; without a shape its first element."""
    kernel = frame.kernel
    counters = tuple(Counter(kernel.fresh(f"{region.array}_{place}")) for place in range(len(shape)))
    for counter, extent in zip(counters, shape, strict=True):
        kernel.affine.counters[counter.name] = kernel.affine.is_function(extent)
    return ArrayPart(element_of(kernel, region, counters or [ZERO]), counters, shape)


def _state(frame: Frame, node: ast.AST, name: str) -> ArrayRegion:
    """Return what stands for a state: an array of one element, from the start of the kernel to its end."""
    kernel = frame.kernel
    if name not in kernel.states:
        array = kernel.fresh(name)
        kernel.states[name] = array
        location = frame.source.location(node)
        kernel.arrays[array] = Array(array, "int64", ArrayRole.LOCAL, (ONE,), zeroed=True, location=location)
        kernel.extents[array, 0] = Value(ONE, weak=True)
    region = whole(frame, node, kernel.states[name]).region
    assert region is not None
    return ArrayRegion(region.array, region.dtype, (Axis(ZERO, 0),), region.location)
