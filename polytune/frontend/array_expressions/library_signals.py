"""Functions that are calls of the library: Fourier transforms, convolutions, order statistics, polynomials."""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.affine_arithmetic import ONE, add, integer, quotient, subtract
from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.data_subscripts import is_of_data
from polytune.frontend.array_expressions.elementwise import cast_array
from polytune.frontend.array_expressions.library import library_call
from polytune.frontend.array_expressions.linear_algebra import require_matrix
from polytune.frontend.array_expressions.shapes import agree
from polytune.frontend.array_expressions.sizes import extent, greater, lesser, require, shape_text
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Shape
from polytune.frontend.expression import Compare, Expression
from polytune.frontend.promotion import Value


def _complex(array: ArrayValue | Value) -> str:
    """The type of transforms of elements of a type."""
    return "complex64" if array.dtype in ("float32", "complex64") else "complex128"


def _transform(name: str, length: Callable[[ArrayCall, Expression], Expression], *, real: bool = False) -> None:
    """Register a transform along one axis.

    Args:
        name: the function of ``np.fft``.
        length: the extent of the result, of that of the array.
        real: whether the result is.
    """

    def handler(call: ArrayCall) -> Operand:
        array = call.array("a")
        if not array.ndim:
            raise call.refusal(f"{call.name} of a number", "pass an array")
        axis = call.axis("axis", array.ndim, -1) or 0
        norm = call.constant("norm")
        _not_empty(call, array.shape[axis])
        shape = (*array.shape[:axis], length(call, array.shape[axis]), *array.shape[axis + 1 :])
        dtype = promotion.part_type(_complex(array)) if real else _complex(array)
        text = f"numpy.fft.{name} * axis={axis} norm={norm!r}"
        return library_call(call.frame, call.node, text, [array], [(shape, dtype)])[0]

    compiles(getattr(np.fft, name), "a", "-n", "axis", "norm")(handler)


def _not_empty(call: ArrayCall, size: Expression) -> None:
    if is_of_data(call.frame, size):
        return  # NumPy decides it
    text = f"{call.name} of {shape_text(call.frame.kernel, (size,))} elements"
    require(call.frame, call.node, Compare(">=", size, ONE), text, (), "pass arrays with elements")


def _half(_: ArrayCall, size: Expression) -> Expression:
    return add(quotient(size, 2), ONE)


def _double(call: ArrayCall, size: Expression) -> Expression:
    return extent(call.frame, add(integer(-2), size, 2))


for _name in ("fft", "ifft"):
    _transform(_name, lambda _, size: size)
_transform("rfft", _half)
_transform("irfft", _double, real=True)


def _of_several_axes(name: str) -> None:
    def handler(call: ArrayCall) -> Operand:
        array, norm = call.array("a"), call.constant("norm")
        if array.ndim < 2:
            raise call.refusal(f"{call.name} of an array of {array.ndim} dimensions", "use np.fft.fft")
        for size in array.shape:
            _not_empty(call, size)
        text = f"numpy.fft.{name} * norm={norm!r}"
        return library_call(call.frame, call.node, text, [array], [(array.shape, _complex(array))])[0]

    compiles(getattr(np.fft, name), "a", "-s", "-axes", "norm")(handler)


for _name in ("fft2", "ifft2", "fftn", "ifftn"):
    _of_several_axes(_name)


def _shifted(name: str) -> None:
    def handler(call: ArrayCall) -> Operand:
        array, axes = call.array("x"), call.constant("axes")
        text = f"numpy.fft.{name} * axes={axes!r}".replace(", ", ",")
        return library_call(call.frame, call.node, text, [array], [(array.shape, array.dtype)])[0]

    compiles(getattr(np.fft, name), "x", "axes")(handler)


for _name in ("fftshift", "ifftshift"):
    _shifted(_name)


def _folded(call: ArrayCall, name: str, operands: tuple[str, str], mode: str) -> Operand:
    frame = call.frame
    left, right = (call.array(each) for each in operands)
    if left.ndim != 1 or right.ndim != 1:
        raise call.refusal(f"{call.name} of arrays that are no vectors", "pass arrays of one dimension")
    first, second = left.shape[0], right.shape[0]
    for size in (first, second):
        _not_empty(call, size)
    most, least = greater(frame, first, second), lesser(frame, first, second)
    shapes = {
        "full": add(subtract(first, ONE), second),
        "same": most,
        "valid": add(subtract(most, least), ONE),
    }
    if mode not in shapes:
        raise call.refusal(f"the mode {mode!r} of {call.name}", "use 'full', 'same' or 'valid'")
    dtype = np.promote_types(left.dtype, right.dtype).name
    text = f"numpy.{name} * mode={mode!r}"
    return library_call(frame, call.node, text, [left, right], [((extent(frame, shapes[mode]),), dtype)])[0]


@compiles(np.convolve, "a", "v", "mode")
def _convolve(call: ArrayCall) -> Operand:
    return _folded(call, "convolve", ("a", "v"), call.constant("mode", "full"))


@compiles(np.correlate, "a", "v", "mode")
def _correlate(call: ArrayCall) -> Operand:
    return _folded(call, "correlate", ("a", "v"), call.constant("mode", "valid"))


_OF_ELEMENTS = ("percentile", "quantile")
"""The statistics that are elements, or between two of them, so that there have to be some."""


def _statistic(
    call: ArrayCall,
    name: str,
    options: str = "",
    *,
    keeps_integers: bool = False,
    parts: int = 0,
    part: Value | ArrayValue | None = None,
) -> Operand:
    """A function of all elements, or of those along an axis.

    Args:
        call: the call.
        name: the function's name.
        options: further arguments of it.
        keeps_integers: whether integers have a result of their type.
        parts: the number of parts, each of which has a result of double precision, along the first dimension.
        part: the only part, where it is a number that is known while the kernel runs, or several of those, each of
            which has a result along the first dimension.
    """
    array = call.array("a")
    if array.dtype in promotion.COMPLEX:
        raise call.refusal(f"{call.name} of complex numbers", "they have no order: pass their magnitudes, np.abs(A)")
    axis = call.axis("axis", array.ndim)
    gone = range(array.ndim) if axis is None else (axis,)
    for place in gone if name in _OF_ELEMENTS else ():  # of nothing the others are NaN
        _not_empty(call, array.shape[place])
    shape: Shape = tuple(size for place, size in enumerate(array.shape) if place not in gone)
    if call.constant("keepdims", False):
        shape, options = tuple(ONE if p in gone else n for p, n in enumerate(array.shape)), f"{options} keepdims=True"
    dtype = array.dtype if keeps_integers or promotion.is_inexact(array.dtype) else "float64"
    if part is not None and not keeps_integers:
        dtype = part.dtype
    if isinstance(part, ArrayValue):
        shape = (*part.shape, *shape)
    if parts:
        shape, dtype = (integer(parts), *shape), dtype if keeps_integers else "float64"
    text = f"numpy.{name} *{'' if part is None else ' *'}{options} axis={axis}"
    given: list[ArrayValue | Value] = [array] if part is None else [array, part]
    return library_call(call.frame, call.node, text, given, [(shape, dtype)])[0]


@compiles(np.median, "a", "axis", "=keepdims")
def _median(call: ArrayCall) -> Operand:
    return _statistic(call, "median")


@compiles(np.percentile, "a", "q", "axis", "=keepdims")
def _percentile(call: ArrayCall) -> Operand:
    return _of_parts(call, "percentile")


@compiles(np.quantile, "a", "q", "axis", "=keepdims")
def _quantile(call: ArrayCall) -> Operand:
    return _of_parts(call, "quantile")


def _of_parts(call: ArrayCall, name: str) -> Operand:
    if not isinstance(call.argument("q"), ast.Tuple | ast.List):
        part = call.value("q")
        if isinstance(part, ArrayValue) or part.constant is None:
            return _of_known_later(call, name, part)
    parts = call.constant("q")
    several = parts if isinstance(parts, tuple) else (parts,)
    if not several or any(not isinstance(part, int | float) or isinstance(part, bool) for part in several):
        raise call.refusal(f"the parts {parts} in {call.name}", "pass constant numbers")
    text = repr(parts).replace(" ", "")
    number = len(several) if isinstance(parts, tuple) else 0
    # The least and the greatest element are elements.
    keeps = name == "quantile" and all(isinstance(part, int) for part in several)
    return _statistic(call, name, f" q={text}", keeps_integers=keeps, parts=number)


def _of_known_later(call: ArrayCall, name: str, part: ArrayValue | Value) -> Operand:
    """A quantile that is only known while the kernel runs, or several, in the type that NumPy has for it."""
    dtype = call.array("a").dtype
    known = _PARTS.get(dtype, ("float64", "int64"))
    is_weak = isinstance(part, Value) and part.weak
    is_matrix = isinstance(part, ArrayValue) and part.ndim > 1
    if is_matrix or not known or not (is_weak or part.dtype in known):
        kind = f"{part.ndim} dimensions" if isinstance(part, ArrayValue) and is_matrix else part.dtype
        raise call.refusal(
            f"the parts {call.frame.source.segment(call.argument('q'))} in {call.name}, of {kind}, and {dtype}",
            "pass constant numbers, or one number at a time, float(q)",
        )
    keeps = name == "quantile" and part.dtype in promotion.INTEGERS
    is_single = dtype == "float32" and (is_weak or part.dtype == "float32")
    kind = "int64" if keeps else "float32" if is_single else "float64"
    given = promotion.cast(part, kind) if isinstance(part, Value) else cast_array(call.frame, call.node, part, kind)
    return _statistic(call, name, keeps_integers=keeps, part=given)


_PARTS = {"float32": ("float32", "float64"), "float16": (), "bool": ()}
"""The types of NumPy's numbers that say which quantile, for arrays of a type, where it is not all of 64 bits."""


@compiles(np.nanmedian, "a", "axis")
def _nanmedian(call: ArrayCall) -> Operand:
    return _statistic(call, "nanmedian")


@compiles(np.isin, "element", "test_elements", "=invert")
def _isin(call: ArrayCall) -> Operand:
    values, wanted = call.value("element"), call.array("test_elements")
    shape = values.shape if isinstance(values, ArrayValue) else ()
    text = f"numpy.isin * invert={bool(call.constant('invert', False))}"
    return library_call(call.frame, call.node, text, [values, wanted], [(shape, "bool")])[0]


@compiles(np.take_along_axis, "arr", "indices", "axis")
def _take_along_axis(call: ArrayCall) -> Operand:
    array, places = call.array("arr"), call.array("indices")
    axis = call.axis("axis", array.ndim, -1)
    if axis is None or places.ndim != array.ndim or places.dtype not in promotion.INTEGERS:
        raise call.refusal(
            f"{call.name} with {places.dtype} subscripts of {places.ndim} dimensions of an array of {array.ndim}",
            "name an axis, and pass integers with as many dimensions as the array has",
        )
    for place, (left, right) in enumerate(zip(array.shape, places.shape, strict=True)):
        if place != axis:
            agree(call.frame, call.node, left, right, (array.shape, places.shape), "an array and its subscripts,")
    text = f"numpy.take_along_axis * axis={axis}"
    return library_call(call.frame, call.node, text, [array, places], [(places.shape, array.dtype)])[0]


@compiles(np.digitize, "x", "bins", "right")
def _digitize(call: ArrayCall) -> Operand:
    values, bins, right = call.value("x"), call.vector("bins"), bool(call.constant("right", False))
    shape = values.shape if isinstance(values, ArrayValue) else ()
    text = f"numpy.digitize * right={right}"
    return library_call(call.frame, call.node, text, [values, bins], [(shape, "int64")])[0]


@compiles(np.polyval, "p", "x")
def _polyval(call: ArrayCall) -> Operand:
    coefficients, places = call.vector("p"), call.value("x")
    shape = places.shape if isinstance(places, ArrayValue) else ()
    dtype = np.promote_types(coefficients.dtype, places.dtype).name
    return library_call(call.frame, call.node, "numpy.polyval *", [coefficients, places], [(shape, dtype)])[0]


@compiles(np.polyfit, "x", "y", "deg")
def _polyfit(call: ArrayCall) -> Operand:
    places, values, degree = call.vector("x"), call.array("y"), call.constant("deg")
    if not isinstance(degree, int) or degree < 0:
        raise call.refusal(
            "np.polyfit to a degree that is only known while the kernel runs", "write a constant integer"
        )
    if values.ndim not in (1, 2) or places.dtype in promotion.COMPLEX:
        raise call.refusal("np.polyfit of arrays of these dimensions or types", "pass vectors of real numbers")
    agree(call.frame, call.node, places.shape[0], values.shape[0], (places.shape, values.shape))
    dtype = "complex128" if values.dtype in promotion.COMPLEX else "float64"
    shape = (integer(degree + 1), *values.shape[1:])
    text = f"numpy.polyfit x=@0 y=@1 deg={degree}"
    return library_call(call.frame, call.node, text, [places, values], [(shape, dtype)])[0]


@compiles(np.linalg.matrix_power, "a", "n")
def _matrix_power(call: ArrayCall) -> Operand:
    matrix, power = call.array("a"), call.constant("n")
    if matrix.ndim != 2 or not isinstance(power, int):
        raise call.refusal("np.linalg.matrix_power of an array that is no matrix", "loop over the matrices")
    dtype = matrix.dtype if power >= 0 or promotion.is_inexact(matrix.dtype) else "float64"
    text = f"numpy.linalg.matrix_power a=@0 n={power}"
    return library_call(call.frame, call.node, text, [matrix], [(matrix.shape, dtype)])[0]


@compiles(np.corrcoef, "x")
def _corrcoef(call: ArrayCall) -> Operand:
    matrix = call.array("x")
    if matrix.ndim != 2 or matrix.dtype in promotion.COMPLEX:
        raise call.refusal("np.corrcoef of an array that is no matrix of real numbers", "pass a matrix")
    require_matrix(call, matrix.shape[0])
    shape = (matrix.shape[0], matrix.shape[0])
    return library_call(call.frame, call.node, "numpy.corrcoef *", [matrix], [(shape, "float64")])[0]
