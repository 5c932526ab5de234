"""Functions of NumPy's that are written in the language of kernels, and those of elements that the library computes."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import polytune
from polytune.errors import UnsupportedSourceError
from polytune.frontend.equivalents.registry import _EQUIVALENTS
from tests.test_numpy_functions import module_of, same

OF_VECTORS = """
np.polyadd(x, y)
np.polyadd(x[:2], y)
np.polysub(x, y[1:])
np.polyder(x)
np.vander(x)
np.vander(x, 3)
np.vander(x, 4, increasing=True)
np.diagflat(x)
np.diagflat(x, -2)
np.diagflat(A, 1)
np.ediff1d(x)
np.ediff1d(A)
np.extract(x > 0, x)
np.extract(A > 1, A)
np.trim_zeros(x)
np.union1d(x, y)
np.union1d(A, x)
np.intersect1d(x, y)
np.setdiff1d(x, y)
np.setxor1d(x, y)
np.resize(x, 3)
np.resize(x, 11)
np.resize(A, (3, 5))
np.atleast_3d(x)
np.atleast_3d(A)
np.insert(x, 0, 5)
np.insert(x, -1, 5)
np.insert(x, len(x), 5)
np.delete(x, 0)
np.delete(x, -1)
np.delete(x, [0, 1])
np.delete(A, 1, axis=0)
np.delete(A, -1, axis=1)
np.matrix_transpose(A)
np.linalg.multi_dot([A, A.T, A])
np.lexsort((x, y))
np.lexsort((y, x, y))
np.lib.stride_tricks.sliding_window_view(x, 3)
np.apply_along_axis(np.max, 0, A)
np.apply_along_axis(np.sum, 1, A)
np.tril_indices_from(A)
np.triu_indices_from(A, 1)
np.diag_indices_from(A @ A.T)
np.diag_indices(len(x))
np.isreal(A)
np.isneginf(A)
np.isposinf(A)
np.isscalar(x[0])
np.isscalar(x)
np.iscomplexobj(x)
np.isrealobj(x)
np.indices(A.shape)
np.take(A, [1, -1])
A.take([1, 0], axis=1)
A.item(3)
A.item(1, 2)
A.nbytes + A.itemsize
np.partition(x, 2)[2] == x[np.argpartition(x, 2)[2]]
np.cumulative_sum(x)
np.linalg.cross(A[:, :3], A[:, 1:4])
np.choose(x.astype(np.int64) % 3, (x, y, 7))
np.choose(x.astype(np.int64) % 3, A[:, :1])
np.piecewise(x, [x < 2, x >= 3], [1, 2])
np.piecewise(x, [x < 2], [np.sin, 2])
np.histogram(x, bins=[0, 1, 1, 4])
np.histogram(x, np.arange(5), weights=y)[0]
np.histogram(A, bins=(1, 2, 3), density=True)
np.histogram(x, 3, (1, 4), True)
np.histogram2d(x, y)
np.histogram2d(x, y, bins=(4, 3), range=((0, 3), (1, 4)), weights=y)
np.histogram2d(x, y, bins=[2, np.arange(4.0)], density=True)
np.r_[x, 3, 2:9:3, y]
np.r_[A, A[:1]]
np.c_[x, y, 2 * x]
np.c_[x, x[:, None]]
x.nonzero()
A.nonzero()[1]
A[A.nonzero()].max()
""".strip().splitlines()


DTYPES = "float64", "float32", "int64", "uint8"


@pytest.mark.parametrize("strict", [False, True], ids=["reassociated", "strict"])
@pytest.mark.parametrize("turn", range(len(DTYPES)))
def test_functions_of_arrays(turn: int, strict: bool, tmp_path: Path) -> None:
    """Each function for one type of elements where sums may be reassociated, and for another one where not."""
    rng = np.random.default_rng(3)
    dtype = DTYPES[(turn + 2 * strict) % len(DTYPES)]
    x, y, A = (rng.integers(0, 5, shape).astype(dtype) for shape in (7, 7, (3, 4)))
    x[0] = x[-1] = 0
    expressions = [each for each in OF_VECTORS if has(each)]
    check(tmp_path, "x, y, A", expressions[turn :: len(DTYPES)], (x, y, A), strict=strict)


def has(expression: str) -> bool:
    """Return whether this version of NumPy has what an expression calls."""
    return "cumulative_sum" not in expression or hasattr(np, "cumulative_sum")


OF_FLOATS = """
np.polymul(x, y)
np.polyint(x)
np.poly(x)
np.unwrap(9 * x)
np.unwrap(9 * A)
np.nanprod(A)
np.nanprod(A, axis=0)
np.nancumsum(A)
np.nancumsum(A, axis=1)
np.nancumprod(A, axis=0)
np.nanargmax(A)
np.nanargmax(A, axis=1)
np.nanargmin(x)
np.nanquantile(A, 0.3)
np.nanpercentile(x, 75)
np.sort_complex(x + 1j * y)
np.iscomplex(x + 1j * (y > 1))
np.isreal(x + 1j * (y > 1))
np.iscomplexobj(1j * x)
np.nextafter(x, y)
np.spacing(x)
np.ldexp(x, (3 * y).astype(np.int64))
np.i0(x)
""".strip().splitlines()


@pytest.mark.parametrize("strict", [False, True], ids=["reassociated", "strict"])
def test_functions_of_floats(strict: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    x, y, A = rng.standard_normal(7), rng.standard_normal(7), rng.standard_normal((4, 5))
    A[1, 2] = A[3, 0] = np.nan
    y[:2] = 0.0
    check(tmp_path, "x, y, A", OF_FLOATS, (x, y, A), strict=strict)


OF_NUMBERS = """
np.bartlett(n)
np.hanning(n)
np.hamming(n)
np.blackman(n)
np.kaiser(n, 8.6)
np.fft.fftfreq(n, 0.5)
np.fft.rfftfreq(n)
np.logspace(0, 2, n)
np.logspace(0.5, -1.0, n, base=2.0)
np.geomspace(1.0, 100.0, n)
np.geomspace(-2.0, -7.0, n)
np.gcd(n, 12)
np.lcm(n, 12)
np.gcd(12 * k, n + k)
np.lcm(k, n)
np.bitwise_count(n * k)
np.ravel_multi_index((n // 2, 1), (n, 3))
""".strip().splitlines()


@pytest.mark.parametrize("n", [1, 2, 9, 24])
def test_functions_of_numbers(n: int, tmp_path: Path) -> None:
    check(tmp_path, "k, n", OF_NUMBERS, (np.arange(n + 1), n), strict=False)


OF_PYTHON = """
math.degrees(a), math.radians(a)
math.factorial(n), math.factorial(20)
math.perm(n, 3), math.perm(3, n)
math.comb(n, 3), math.comb(62, 31), math.comb(2, n)
math.isqrt(n), math.isqrt(2**62 + n), math.isqrt(3037000499**2 - 1)
math.prod((a, b, n)), math.prod(x)
math.dist((a, b), (b, n)), math.dist(x, x[::-1])
math.remainder(a, b), math.remainder(n, 2), math.remainder(5.0, 2.0)
math.remainder(7.0, 2.0), math.remainder(a, math.inf)
math.modf(a), math.modf(-a), math.modf(math.inf)
math.frexp(a), math.frexp(0.0), math.frexp(1e300), math.frexp(5e-324), math.frexp(-n)
math.ldexp(a, n), math.ldexp(a, -1074), math.ldexp(5e-324, 2000), math.ldexp(1.3, -1073), math.ldexp(0.0, n)
math.nextafter(a, b), math.nextafter(n, 0)
math.ulp(a), math.ulp(-1e300)
""".strip().splitlines()


@pytest.mark.parametrize("a", [0.7, -123.456, 1e-310])
def test_functions_of_python(a: float, tmp_path: Path) -> None:
    check(tmp_path, "a, b, n, x", OF_PYTHON, (a, 0.3, 7, np.arange(1.0, 4.0)), strict=True)


def test_nothing_is_what_functions_make_of_nothing(tmp_path: Path) -> None:
    expressions = ["np.ediff1d(x)", "np.trim_zeros(x)", "np.vander(x, 2)", "np.diagflat(x)", "np.union1d(x, x)"]
    expressions += ["np.extract(x > 0, x)", "np.unwrap(x)", "np.setxor1d(x, x)", "np.nancumsum(x)", "np.nanprod(x)"]
    check(tmp_path, "x", expressions, (np.zeros(0),), strict=False)


ERRORS = {
    "np.delete(x, 9)": IndexError,
    "np.insert(x, -9, 1.0)": IndexError,
    "np.nanargmax(x * np.nan)": ValueError,
    "np.nanargmin(x * np.nan)": ValueError,
    "np.asarray_chkfinite(x / 0.0)": ValueError,
    "np.choose((x + 4).astype(np.int64), (x, x))": ValueError,
    "np.histogram(x, x[::-1].cumsum() * -1)": ValueError,
}


@pytest.mark.parametrize("expression", ERRORS)
def test_errors_are_those_of_numpy(expression: str, tmp_path: Path) -> None:
    function = module_of(tmp_path, "x", [f"y = {expression}\n    return y"]).f0
    with np.errstate(all="ignore"), pytest.raises(ERRORS[expression]):
        function(np.ones(4))
    with pytest.raises(ERRORS[expression]):
        polytune.kernel(function)(np.ones(4))


def test_what_does_not_fit_is_said_of_the_call(tmp_path: Path) -> None:
    """Not of the source that is inlined, which the user has not written."""
    module = module_of(tmp_path, "x", ["return np.hanning(x)", "y = np.polyadd(x, x)\n    return y", "np.vander()"])
    for place, what in enumerate(("np.hanning with these arguments: ", "np.polyadd with these", "vander is called")):
        with pytest.raises(UnsupportedSourceError, match=what) as caught:
            polytune.kernel(getattr(module, f"f{place}"))(np.ones((2, 2)))
        assert caught.value.location.file == module.__file__
        assert len(caught.value.obstacles) == 1


def test_every_function_is_held_against_that_for_which_it_stands() -> None:
    """By its name in the expressions above, or in the tests of Python's own functions of numbers."""
    named = "\n".join((*OF_VECTORS, *OF_FLOATS, *OF_NUMBERS, *OF_PYTHON, *ERRORS))
    for function in _EQUIVALENTS:
        elsewhere = function in (math.gcd, math.lcm, math.isclose) or function.__name__ in ("row_stack", "dsplit")
        assert elsewhere or f"{function.__name__}(" in named


def test_stacks_and_parts(tmp_path: Path) -> None:
    check(tmp_path, "T", ["np.dsplit(T, 2)[1]"], (np.arange(24.0).reshape(2, 3, 4),), strict=False)
    if hasattr(np, "row_stack"):
        check(tmp_path, "x", ["np.row_stack((x, 2 * x))"], (np.arange(3.0),), strict=False)


def test_updates_at_several_subscripts_that_repeat(tmp_path: Path) -> None:
    rows, columns = np.array([0, 1, 1, 2, 1]), np.array([1, 0, 0, 2, 0])
    function = module_of(tmp_path, "A, i, j, w", ["np.add.at(A, (i, j), w)", "np.maximum.at(A, (i, j), w)"])
    for each in (function.f0, function.f1):
        arguments = np.zeros((3, 3)), rows, columns, np.arange(5.0)
        found = np.zeros((3, 3)), *arguments[1:]
        each(*arguments)
        polytune.kernel(each)(*found)
        np.testing.assert_array_equal(found[0], arguments[0])


def check(folder: Path, names: str, expressions: list[str], arguments: tuple, *, strict: bool) -> None:
    """Hold kernels of expressions against NumPy."""
    module = module_of(folder, names, [f"return {text}" for text in expressions])
    single = any(getattr(each, "dtype", None) == np.float32 for each in arguments)
    with warnings.catch_warnings(), np.errstate(all="ignore"), polytune.tuning("off"):
        warnings.simplefilter("ignore")
        for place, text in enumerate(expressions):
            function = getattr(module, f"f{place}")
            found, right = polytune.kernel(strict=strict)(function)(*arguments), function(*arguments)
            for mine, theirs in zip(*map(parts, (found, right)), strict=True):
                same(mine, theirs, 1e-5 if single else 1e-12, text)


def parts(result: object) -> tuple:
    return result if isinstance(result, tuple) else (result,)
