"""``np.histogram`` with bins of equal width: first the bin of each element, then sums over bins."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from polytune.frontend import promotion
from polytune.frontend.array_expressions.affine_arithmetic import ONE, ZERO, add
from polytune.frontend.array_expressions.calls import ArrayCall
from polytune.frontend.array_expressions.elementwise import cast_array, computed
from polytune.frontend.array_expressions.extrema import extremum
from polytune.frontend.array_expressions.sizes import require, size_text
from polytune.frontend.array_expressions.temporaries import (
    allocate,
    assigned,
    emit,
    increased,
    kept,
    over,
    perform,
    scalar,
)
from polytune.frontend.array_expressions.values import ArrayRegion, ArrayValue, Axis, Operand, Subscripts
from polytune.frontend.array_expressions.views import element_of, in_memory, rearranged
from polytune.frontend.expression import Assign, Branch, Compare, Element, Expression, Iterator, Operation
from polytune.frontend.program import Node
from polytune.frontend.promotion import (
    Value,
    binary,
    cast,
    compare,
    constant,
    convert,
    logical,
    number,
    rounded,
    select,
)


def histogram(call: ArrayCall) -> tuple[ArrayValue, ArrayValue]:
    """The sums of weights in each bin, and the edges of the bins.

    Elements that are in no bin go to one more, behind the others.  Which bin an element is in is found as NumPy finds
    it, by its distance from the first edge, which is then held against the edges.

    Raises:
        UnsupportedSourceError: the range is no pair of numbers, or the weights are none.
    """
    frame, node = call.frame, call.node
    bins = call.extent(call.argument("bins"))
    text = f"the number {size_text(frame.kernel, bins)} of bins is not positive"
    require(frame, node, Compare(">", bins, ZERO), text, (f"{text}: ", bins), "use one bin at least")
    array = call.array("a")
    if array.region is None:
        array = kept(frame, node, array)
        call = replace(call, receiver=array)
    low, high = _limits(call, array)
    dtype = low.dtype
    edges = _edges(call, low, high, bins)
    places = _places(call, array, (low, high), edges, bins)
    kind, value = "int64", None
    if call.given("weights"):
        value = call.array("weights")
        kind = value.dtype
        if kind == "bool" or value.ndim != array.ndim:
            raise call.refusal("these weights of np.histogram", "pass an array of numbers, of the array's shape")
    # NumPy adds up in double precision, whatever the weights are.
    region = allocate(frame, node, (add(bins, ONE),), "float64" if kind == "float32" else kind, "histogram")

    def cleared(iterators: tuple[Iterator, ...]) -> Sequence[Node]:
        return (perform(frame, node, assigned(frame, region, iterators, constant(0))),)

    def counted(iterators: tuple[Iterator, ...]) -> Sequence[Node]:
        place = element_of(frame.kernel, places, iterators)
        weight = constant(1) if value is None else value.at(iterators)
        return (perform(frame, node, increased(element_of(frame.kernel, region, (place,)), weight)),)

    emit(frame, node, over(frame, node, (add(bins, ONE),), cleared))
    emit(frame, node, over(frame, node, array.shape, counted))
    whole = in_memory(frame.kernel, region, (add(bins, ONE),))
    found = rearranged(frame.kernel, whole, (Axis(ZERO, 0),), (bins,))
    result = found if region.dtype == kind else cast_array(frame, node, found, kind)
    assert isinstance(result, ArrayValue) and edges.dtype == dtype
    return result, edges


def _limits(call: ArrayCall, array: ArrayValue) -> tuple[Value, Value]:
    """The first and the last edge, in variables of the type of the edges."""
    frame, node = call.frame, call.node
    if call.given("range"):
        pair = call.argument("range")
        if not isinstance(pair, ast.Tuple | ast.List) or len(pair.elts) != 2:
            raise call.refusal("the range of np.histogram", "write a tuple of two numbers: range=(low, high)")
        ends: list[Operand] = [computed(frame, each, call.evaluate(frame, each)) for each in pair.elts]
    else:
        of_array = replace(call, arguments={"a": call.arguments.get("a", call.node)}, read={"a": array})
        ends = [extremum(replace(of_array, name=f"np.{name}"), name) for name in ("min", "max")]
    if not all(isinstance(end, Value) for end in ends):
        raise call.refusal("the range of np.histogram", "write a tuple of two numbers: range=(low, high)")
    first, last = (number(end) for end in ends if isinstance(end, Value))
    kind = promotion.ScalarKind(array.dtype, False)
    for end in (first, last):
        kind = promotion.join(kind, promotion.kind_of(end))
    dtype = kind.dtype if kind.dtype in promotion.FLOATS else "float64"
    variables = []
    is_empty = compare("==", cast(first, dtype), cast(last, dtype))
    for end, sign, name in ((first, "-", "low"), (last, "+", "high")):
        variable = scalar(frame, node, dtype, name)
        moved = select(is_empty, binary(sign, cast(end, dtype), constant(0.5)), cast(end, dtype))
        emit(frame, node, (perform(frame, node, Assign(variable, convert(moved, dtype))),))
        variables.append(Value(variable))
    return variables[0], variables[1]


def _edges(call: ArrayCall, low: Value, high: Value, bins: Expression) -> ArrayValue:
    """The edges, as ``np.linspace`` gives them to the last bit: what lies on one belongs in the bin that NumPy has."""
    dtype, count = low.dtype, Value(bins, weak=True)
    step = binary("/", binary("-", high, low), cast(count, dtype))

    def at(subscripts: Subscripts) -> Value:
        place = Value(subscripts[0], weak=True)
        value = binary("+", rounded(binary("*", cast(place, dtype), rounded(step))), low)
        return select(compare("==", place, count), high, value)

    return kept(call.frame, call.node, ArrayValue((add(bins, ONE),), dtype, at), "edges")


def _places(
    call: ArrayCall, array: ArrayValue, limits: tuple[Value, Value], edges: ArrayValue, bins: Expression
) -> ArrayRegion:
    """The number of each element's bin; that of all bins for elements in none."""
    frame, node, (low, high) = call.frame, call.node, limits
    region = allocate(frame, node, array.shape, "int64", "bins")
    width, count = binary("-", high, low), Value(bins, weak=True)

    def body(iterators: tuple[Iterator, ...]) -> Sequence[Node]:
        element = cast(number(array.at(iterators)), low.dtype)
        bin_of = element_of(frame.kernel, region, iterators)
        place = Value(bin_of)
        distance = binary("*", binary("/", binary("-", element, low), width), cast(count, low.dtype))
        is_inside = logical("and", [compare(">=", element, low), compare("<=", element, high)])
        is_last = compare("==", place, binary("-", count, constant(1)))
        beyond = logical(
            "and", [promotion.negation(is_last), compare(">=", element, _at(edges, binary("+", place, constant(1))))]
        )
        steps: tuple[Operation, ...] = (
            Assign(bin_of, convert(cast(distance, "int64"), "int64")),
            _if(compare("==", place, count), bin_of, -1),
            _if(compare("<", element, _at(edges, place)), bin_of, -1),
            _if(beyond, bin_of, 1),
        )
        chosen = Branch(is_inside.expression, steps, ())
        return (perform(frame, node, Assign(bin_of, bins), chosen),)

    emit(frame, node, over(frame, node, array.shape, body))
    return region


def _at(edges: ArrayValue, place: Value) -> Value:
    return edges.at((place.expression,))


def _if(condition: Value, variable: Element, change: int) -> Operation:
    changed = binary("+", Value(variable), constant(change))
    return Branch(condition.expression, (Assign(variable, convert(changed, "int64")),))
