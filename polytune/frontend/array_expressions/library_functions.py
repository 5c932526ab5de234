"""Functions of NumPy's that are calls of the library: decompositions and solvers, sorting and searching."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.affine_arithmetic import minimum
from polytune.frontend.array_expressions.calls import ArrayCall, compiles, compiles_several
from polytune.frontend.array_expressions.library import Wanted, library_call
from polytune.frontend.array_expressions.rearrangements import reshaped
from polytune.frontend.array_expressions.shapes import broadcast
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Shape
from polytune.frontend.promotion import Value
from polytune.frontend.syntax.sorted_lists import is_of_elements

_MATRIX = "pass an array of two dimensions or more"


def _real(*arrays: ArrayValue | Value) -> str:
    """The type of the real numbers that linear algebra gives: of singular values, say."""
    return "float32" if all(array.dtype in ("float32", "complex64") for array in arrays) else "float64"


def _number(*arrays: ArrayValue | Value) -> str:
    """The type in which linear algebra is done."""
    if not any(array.dtype in promotion.COMPLEX for array in arrays):
        return _real(*arrays)
    return "complex64" if _real(*arrays) == "float32" else "complex128"


def _matrix(call: ArrayCall, name: str, *, stacked: bool = True) -> ArrayValue:
    """An argument that is a matrix, or a stack of them."""
    array = call.array(name)
    if array.ndim < 2 or (array.ndim > 2 and not stacked):
        what = "a matrix" if not stacked else "a matrix or a stack of matrices"
        raise call.refusal(f"{call.name} of an array of {array.ndim} dimensions, which is not {what}", _MATRIX)
    return array


def _called(
    call: ArrayCall, function: str, arguments: Sequence[ArrayValue | Value], *results: Wanted
) -> list[ArrayValue | Value]:
    return library_call(call.frame, call.node, function, arguments, results)


def _one_result(
    function: str, shape: Callable[[Shape], Shape], dtype: str | None = None, *, stacked: bool = True
) -> Callable[[ArrayCall], Operand]:
    """Return what compiles a function of one matrix with one result, whose shape follows from the matrix's."""

    def handler(call: ArrayCall) -> Operand:
        matrix = _matrix(call, "a", stacked=stacked)
        return _called(call, f"{function} *", [matrix], (shape(matrix.shape), dtype or _number(matrix)))[0]

    return handler


for _function, _shape, _dtype, _stacked in (
    (np.linalg.inv, lambda shape: shape, None, True),
    (np.linalg.cholesky, lambda shape: shape, None, True),
    (np.linalg.det, lambda shape: shape[:-2], None, True),
    (np.linalg.pinv, lambda shape: (*shape[:-2], shape[-1], shape[-2]), None, True),
    (np.linalg.matrix_rank, lambda shape: shape[:-2], "int64", True),
):
    compiles(_function, "a")(_one_result(f"numpy.linalg.{_function.__name__}", _shape, _dtype, stacked=_stacked))


@compiles(np.linalg.eigvalsh, "a", "UPLO")
def _eigvalsh(call: ArrayCall) -> Operand:
    matrix, side = _matrix(call, "a"), call.constant("UPLO", "L")
    return _called(call, f"numpy.linalg.eigvalsh * UPLO={side!r}", [matrix], (matrix.shape[:-1], _real(matrix)))[0]


@compiles_several(np.linalg.eigh, "a", "UPLO")
def _eigh(call: ArrayCall) -> list[ArrayValue | Value]:
    matrix, side = _matrix(call, "a"), call.constant("UPLO", "L")
    results = (matrix.shape[:-1], _real(matrix)), (matrix.shape, _number(matrix))
    return _called(call, f"numpy.linalg.eigh * UPLO={side!r}", [matrix], *results)


@compiles_several(np.linalg.slogdet, "a")
def _slogdet(call: ArrayCall) -> list[ArrayValue | Value]:
    matrix = _matrix(call, "a")
    results = (matrix.shape[:-2], _number(matrix)), (matrix.shape[:-2], _real(matrix))
    return _called(call, "numpy.linalg.slogdet *", [matrix], *results)


def norm_of_order(call: ArrayCall) -> Operand:
    """``np.linalg.norm`` of an order, or along an axis, or two."""
    array, order = call.array("x"), call.constant("ord")
    axes = call.constant("axis")
    axes = tuple(range(array.ndim)) if axes is None else axes if isinstance(axes, tuple) else (axes,)
    is_plain = all(isinstance(axis, int) and -array.ndim <= axis < array.ndim for axis in axes)
    if not is_plain or len(axes) not in (1, 2) or call.given("keepdims"):
        raise call.refusal(f"{call.name} along these axes", "name one or two dimensions that there are")
    counted = {axis % array.ndim for axis in axes}
    shape = tuple(extent for place, extent in enumerate(array.shape) if place not in counted)
    named = f"({','.join(map(str, axes))},)" if len(axes) > 1 else str(axes[0])
    order_text = f"float('{order}')" if isinstance(order, float) and order in (math.inf, -math.inf) else repr(order)
    text = f"numpy.linalg.norm * ord={order_text} axis={named}"
    return _called(call, text, [array], (shape, _real(array)))[0]


@compiles(np.linalg.cond, "x", "p")
def _cond(call: ArrayCall) -> Operand:
    matrix, order = _matrix(call, "x"), call.constant("p")
    text = f"float('{order}')" if isinstance(order, float) and math.isinf(order) else repr(order)
    return _called(call, f"numpy.linalg.cond * p={text}", [matrix], (matrix.shape[:-2], _real(matrix)))[0]


@compiles(np.linalg.solve, "a", "b")
def _solve(call: ArrayCall) -> Operand:
    matrix, right = _matrix(call, "a", stacked=False), call.array("b")
    if right.ndim not in (1, 2):
        raise call.refusal("np.linalg.solve for a right side that is no vector and no matrix", "solve in a loop")
    return _called(call, "numpy.linalg.solve *", [matrix, right], (right.shape, _number(matrix, right)))[0]


@compiles_several(np.linalg.lstsq, "a", "b", "rcond")
def _lstsq(call: ArrayCall) -> list[ArrayValue | Value | None]:
    matrix, right = _matrix(call, "a", stacked=False), call.array("b")
    if right.ndim not in (1, 2):
        raise call.refusal("np.linalg.lstsq for a right side that is no vector and no matrix", "solve in a loop")
    limit = call.constant("rcond")
    rows, columns = matrix.shape
    least, real = minimum(rows, columns), _real(matrix, right)
    results = ((columns, *right.shape[1:]), _number(matrix, right)), ((), "int32"), ((least,), real)
    function = f"numpy.linalg.lstsq * rcond={limit!r}"
    solution, rank, values = _called(call, f"{function} results=(0,2,3)", [matrix, right], *results)
    return [solution, None, rank, values]


@compiles_several(np.linalg.svd, "a", "full_matrices", "compute_uv")
def _svd(call: ArrayCall) -> list[ArrayValue | Value]:
    matrix = _matrix(call, "a", stacked=False)
    dtype, real = _number(matrix), _real(matrix)
    (rows, columns), least = matrix.shape, minimum(*matrix.shape)
    if not call.constant("compute_uv", True):
        return _called(call, "numpy.linalg.svd * compute_uv=False", [matrix], ((least,), real))
    full = bool(call.constant("full_matrices", True))
    left, right = (rows, columns) if full else (least, least)
    results = ((rows, left), dtype), ((least,), real), ((right, columns), dtype)
    return _called(call, f"numpy.linalg.svd * full_matrices={full}", [matrix], *results)


@compiles_several(np.linalg.qr, "a", "mode")
def _qr(call: ArrayCall) -> list[ArrayValue | Value]:
    matrix, mode = _matrix(call, "a", stacked=False), call.constant("mode", "reduced")
    dtype = _number(matrix)
    rows, columns = matrix.shape
    inner = rows if mode == "complete" else minimum(rows, columns)
    if mode == "r":
        return _called(call, "numpy.linalg.qr * mode='r'", [matrix], ((inner, columns), dtype))
    if mode not in ("reduced", "complete"):
        raise call.refusal(f"the mode {mode!r} of np.linalg.qr", "use 'reduced', 'complete' or 'r'")
    results = ((rows, inner), dtype), ((inner, columns), dtype)
    return _called(call, f"numpy.linalg.qr * mode={mode!r}", [matrix], *results)


# Of real numbers the results are real, or the call raises an error, see ``runtime/intrinsics/eigenvalues.py``.


@compiles(np.linalg.eigvals, "a")
def _eigvals(call: ArrayCall) -> Operand:
    matrix = _matrix(call, "a")
    return _called(call, "numpy.linalg.eigvals *", [matrix], (matrix.shape[:-1], _number(matrix)))[0]


@compiles_several(np.linalg.eig, "a")
def _eig(call: ArrayCall) -> list[ArrayValue | Value]:
    matrix = _matrix(call, "a")
    dtype = _number(matrix)
    return _called(call, "numpy.linalg.eig *", [matrix], (matrix.shape[:-1], dtype), (matrix.shape, dtype))


# Sorting and searching


def _along(call: ArrayCall) -> tuple[ArrayValue, int]:
    """The array, and the axis along which its elements are ordered; for the axis None all of them, as one row."""
    array = call.array("a")
    if not array.ndim:
        raise call.refusal(f"{call.name} of a number", "pass an array")
    if "axis" in call.arguments and not call.given("axis"):
        return reshaped(call, array, [None]), 0
    return array, call.axis("axis", array.ndim, -1) or 0


@compiles(np.sort, "a", "axis", "kind")
def _sort(call: ArrayCall) -> Operand:
    (array, axis), kind = _along(call), call.constant("kind")
    function = f"numpy.sort * axis={axis} kind={kind!r}"
    return _called(call, function, [array], (array.shape, array.dtype))[0]


@compiles(builtins.sorted, "iterable", "=key", "=reverse")
def _sorted(call: ArrayCall) -> Operand:
    """The elements in order; of those that are equal the first one stays first, also backwards."""
    array, is_backwards = call.vector("iterable"), call.constant("reverse", False)
    if call.given("key") or not isinstance(is_backwards, bool):
        raise call.refusal("sorted(...) by a key", "sort by the key itself: A[np.argsort(keys, kind='stable')]")
    if not is_of_elements(call.node):
        raise call.refusal("the list that sorted(...) makes", "give it a name of its own, or use np.sort(A)")
    first_last = call.of(np.flip, array) if is_backwards else array
    function = "numpy.sort * axis=0 kind='stable'"
    assert isinstance(first_last, ArrayValue)
    (found,) = _called(call, function, [first_last], (array.shape, array.dtype))
    return call.of(np.flip, found) if is_backwards else found


@compiles(np.argsort, "a", "axis", "kind")
def _argsort(call: ArrayCall) -> Operand:
    (array, axis), kind = _along(call), call.constant("kind")
    function = f"numpy.argsort * axis={axis} kind={kind!r}"
    return _called(call, function, [array], (array.shape, "int64"))[0]


def _parted(call: ArrayCall, function: str, dtype: str | None = None) -> Operand:
    """The result of a function that parts elements at the place of one of them, in the shape of the array, and in its
    type if no other one is given."""
    (array, axis), place = _along(call), call.value("kth")
    if isinstance(place, ArrayValue):
        raise call.refusal(f"np.{function} for several places", "pass one number")
    return _called(
        call, f"numpy.{function} a=@0 kth=@1 axis={axis}", [array, place], (array.shape, dtype or array.dtype)
    )[0]


@compiles(np.partition, "a", "kth", "axis")
def _partition(call: ArrayCall) -> Operand:
    return _parted(call, "partition")


@compiles(np.argpartition, "a", "kth", "axis")
def _argpartition(call: ArrayCall) -> Operand:
    return _parted(call, "argpartition", "int64")


@compiles(np.searchsorted, "a", "v", "side")
def _searchsorted(call: ArrayCall) -> Operand:
    array, wanted, side = call.vector("a"), call.value("v"), call.constant("side", "left")
    shape = wanted.shape if isinstance(wanted, ArrayValue) else ()
    return _called(call, f"numpy.searchsorted * side={side!r}", [array, wanted], (shape, "int64"))[0]


@compiles(np.interp, "x", "xp", "fp")
def _interp(call: ArrayCall) -> Operand:
    wanted = call.value("x")
    shape = wanted.shape if isinstance(wanted, ArrayValue) else ()
    arguments = [wanted, call.vector("xp"), call.vector("fp")]
    dtype = "complex128" if arguments[-1].dtype in promotion.COMPLEX else "float64"
    return _called(call, "numpy.interp *", arguments, (shape, dtype))[0]


# Functions of elements that the library alone has


@compiles(np.i0, "x")
def _i0(call: ArrayCall) -> Operand:
    """The modified Bessel function of order 0; it is of no type but ``float64``."""
    argument = call.value("x")
    shape = argument.shape if isinstance(argument, ArrayValue) else ()
    return _called(call, "numpy.i0 *", [argument], (shape, "float64"))[0]


def _by_element(function: np.ufunc) -> None:
    """Note that a ufunc is a call of the library, in the type that NumPy says."""

    def handler(call: ArrayCall) -> Operand:
        operands = [call.value(f"x{place + 1}") for place in range(function.nin)]
        kinds: list[Any] = [
            (bool if each.dtype == "bool" else int if each.is_integer else float)
            if isinstance(each, Value) and each.weak
            else np.dtype(each.dtype)
            for each in operands
        ]
        try:
            dtype = function.resolve_dtypes((*kinds, None))[-1].name
        except TypeError:
            texts = " and ".join(each.dtype for each in operands)
            raise call.refusal(f"{call.name} of {texts}", "convert them to types that NumPy has it for") from None
        shapes = [each.shape if isinstance(each, ArrayValue) else () for each in operands]
        shape = broadcast(call.frame, call.node, shapes)
        return _called(call, f"numpy.{function.__name__} *", operands, (shape, dtype))[0]

    compiles(function, *(f"x{place + 1}" for place in range(function.nin)))(handler)


for _name in ("gcd", "lcm", "ldexp", "nextafter", "spacing", "bitwise_count"):
    _by_element(getattr(np, _name))
