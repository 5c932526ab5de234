"""The functions that kernels call give what compiled CPU code gives."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

from polytune.codegen.python_expressions import expression_text
from polytune.frontend.expression import Argument, Binary, Call, Unary
from polytune.frontend.scalars.functions import CALLS
from polytune.runtime.devices.arithmetic_text import FLOAT_CALLS
from polytune.runtime.intrinsics import arithmetic
from tests.runtime.devices.kernels import compiled, run

TYPES = {"i32": "int32", "i64": "int64", "f32": "float32", "f64": "float64"}
BINARY = {"floordiv": "//", "mod": "%", "pow": "**", "min": "min", "max": "max"}
WRAPPING = {"add": "+", "subtract": "-", "multiply": "*"}
NUMPY_CALLS = {"minimum": 2, "maximum": 2, "fmin": 2, "fmax": 2, "sign": 1}

FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    -2.5,
    3.0,
    7.25,
    -7.0,
    100.125,
    1e-3,
    -1e10,
    3e30,
    np.inf,
    -np.inf,
    np.nan,
]
INTEGERS = [0, 1, -1, 2, -2, 3, -3, 7, -8, 31, 100, -12345, 70000]


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of telling numbers of a type."""
    values = FLOATS
    if dtype.startswith("int"):
        limits = np.iinfo(dtype)
        values = [*INTEGERS, limits.min, limits.min + 1, limits.max]
    a, b = (part.ravel() for part in np.meshgrid(np.array(values, dtype), np.array(values, dtype)))
    # A power with this exponent is an error in compiled CPU code.
    possible = b != np.iinfo(np.int64).min if dtype == "int64" else np.ones(b.size, bool)
    return a[possible], b[possible]


def on_device(device, short: str, calls: dict[str, int], a: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    """The values of functions of one or two arguments, by name, from one kernel."""
    lines = [
        f"    to[{place} * n + i] = pt_{name}_{short}({', '.join(('a[i]', 'b[i]')[:arity])});"
        for place, (name, arity) in enumerate(calls.items())
    ]
    array = f"PT_GLOBAL {short} *"
    text = f"PT_KERNEL(32, 1, 1) evaluate(i64 n, {array}a, {array}b, {array}to)\n{{\n"
    text += (
        "    const i64 i = (i64)PT_BLOCK_X * 32 + PT_THREAD_X;\n    if (i >= n) return;\n" + "\n".join(lines) + "\n}\n"
    )
    results = np.zeros((len(calls), a.size), a.dtype)
    kernel = compiled(device, text, "evaluate")
    run(device, kernel, (-(-a.size // 32), 1, 1), (32, 1, 1), [np.int64(a.size), a, b, results])
    return dict(zip(calls, results, strict=True))


def on_processor(expressions: dict, a: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    """The values of expressions of ``x`` and ``y``, computed by Numba as generated code is."""
    lines = [
        f"        to[{k}, i] = {expression_text(node).replace('$', '')}" for k, node in enumerate(expressions.values())
    ]
    text = "def evaluate(a, b, to):\n    for i in range(a.size):\n        x, y = a[i], b[i]\n" + "\n".join(lines)
    names = {"np": np, "math": math, **{name: getattr(arithmetic, name) for name in arithmetic.__all__}}
    exec(text, names)
    results = np.zeros((len(expressions), a.size), a.dtype)
    numba.njit(error_model="numpy")(names["evaluate"])(a, b, results)
    return dict(zip(expressions, results, strict=True))


@pytest.fixture(scope="module")
def expected():
    """Return what the processor gives for every operation, by type."""
    found = {}
    for short, dtype in TYPES.items():
        x, y = Argument("x", dtype), Argument("y", dtype)
        nodes = {name: Binary(symbol, x, y, dtype) for name, symbol in BINARY.items()}
        nodes["abs"] = Unary("abs", x, dtype)
        if dtype.startswith("int"):
            nodes |= {name: Binary(symbol, x, y, dtype) for name, symbol in WRAPPING.items()}
            nodes["negate"] = Unary("-", x, dtype)
        else:
            nodes |= {name: Call(name, (x, y)[:arity], dtype) for name, arity in NUMPY_CALLS.items()}
        found[short] = on_processor(nodes, *pairs(dtype))
    return found


@pytest.mark.parametrize("short", TYPES)
def test_operations(device, expected, short):
    a, b = pairs(TYPES[short])
    calls = {name: 1 if name in ("abs", "negate", "sign") else 2 for name in expected[short]}
    for name, values in on_device(device, short, calls, a, b).items():
        wanted = expected[short][name]
        if name == "pow" and short.startswith("f"):
            np.testing.assert_allclose(values, wanted, rtol=8 * np.finfo(wanted.dtype).eps, err_msg=name)
            continue
        if name == "pow" and short == "i64":
            # Compiled CPU code takes larger exponents for floats, and so -1 to the power of an odd one for 1.
            exact = np.abs(b) < 2**53
            values, wanted = values[exact], wanted[exact]
        np.testing.assert_array_equal(values, wanted, err_msg=name)
        if short.startswith("f") and name not in NUMPY_CALLS:  # which zero NumPy's extrema give is left open
            zeros = wanted == 0
            np.testing.assert_array_equal(np.signbit(values[zeros]), np.signbit(wanted[zeros]), err_msg=name)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("short", ["i32", "i64"])
def test_divisions_of_integers_are_those_of_numpy(device, expected, short):
    a, b = pairs(TYPES[short])
    for name, values in on_device(device, short, {"floordiv": 2, "mod": 2}, a, b).items():
        wanted = {"floordiv": np.floor_divide, "mod": np.mod}[name](a, b)
        np.testing.assert_array_equal(values, wanted, err_msg=name)
        np.testing.assert_array_equal(expected[short][name], wanted, err_msg=f"{name} on the processor")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("short", ["f32", "f64"])
def test_functions_of_the_library(device, short):
    rng = np.random.default_rng(3)
    special_a, special_b = pairs(TYPES[short])
    a = np.concatenate([special_a, (rng.random(500) * 8 - 4).astype(TYPES[short])])
    b = np.concatenate([special_b, (rng.random(500) * 8 - 4).astype(TYPES[short])])
    renamed = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "pow": "power", "atan2": "arctan2"}
    renamed |= {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
    exact = {"sqrt", "floor", "ceil", "trunc", "copysign", "fmod"}
    eps = np.finfo(TYPES[short]).eps
    for name, values in on_device(device, short, FLOAT_CALLS, a, b).items():
        if name in ("erf", "erfc", "gamma", "lgamma"):
            few = (a > 1e-3) & (a < 3.9)  # elsewhere Python raises errors
            wanted = [getattr(math, name)(x) for x in map(float, a[few])]
            np.testing.assert_allclose(values[few], wanted, rtol=64 * eps, atol=64 * eps, err_msg=name)
            continue
        wanted = getattr(np, renamed.get(name, name))(*(a, b)[: FLOAT_CALLS[name]])
        if name in exact:
            np.testing.assert_array_equal(values, wanted, err_msg=name)
            continue
        # Sines of numbers so large that a float's neighbour is further than a period say little.
        fair = (np.abs(a) < 1e6) | ~np.isfinite(a) if name in ("sin", "cos", "tan") else slice(None)
        np.testing.assert_allclose(values[fair], wanted[fair], rtol=8 * eps, atol=2 * eps, err_msg=name)


def test_every_function_of_the_language_is_there():
    assert set(CALLS) == set(FLOAT_CALLS) | set(NUMPY_CALLS)


def test_index_arithmetic(device):
    """Floor division by a positive number, and the extrema of i64."""
    text = """
    PT_KERNEL(16, 1, 1) divide(PT_GLOBAL i64 *to)
    {
        const i64 a = PT_THREAD_X - 8 - 5000000000;
        to[PT_THREAD_X * 4 + 0] = pt_quotient(a, 5);
        to[PT_THREAD_X * 4 + 1] = pt_remainder(a, 5);
        to[PT_THREAD_X * 4 + 2] = pt_least(a, -5000000000);
        to[PT_THREAD_X * 4 + 3] = pt_greatest(a, -5000000000);
    }
    """
    to = np.zeros((16, 4), np.int64)
    run(device, compiled(device, text.replace("    PT_KERNEL", "PT_KERNEL"), "divide"), (1, 1, 1), (16, 1, 1), [to])
    a = np.arange(-8, 8) - 5000000000
    np.testing.assert_array_equal(to.T, [a // 5, a % 5, np.minimum(a, -5000000000), np.maximum(a, -5000000000)])


@pytest.mark.parametrize("short", TYPES)
def test_powers_by_multiplication(device, short):
    dtype = TYPES[short]
    is_float = short.startswith("f")
    a = np.array([0.5, 1.25, -0.75, 3.0, -2.0, 1.0, 0.0, -7.0] if is_float else [0, 1, -1, 2, 3, -7, 10, 12345], dtype)
    exponents = (0, 1, 2, 3, 7, 12, 64, -1, -6) if is_float else (0, 1, 2, 3, 7, 12, 64)
    lines = [f"    to[{place} * 8 + i] = pt_power_{short}(from[i], {n});" for place, n in enumerate(exponents)]
    array = f"PT_GLOBAL {short} *"
    text = f"PT_KERNEL(8, 1, 1) powers({array}from, {array}to)\n{{\n    const i32 i = PT_THREAD_X;\n"
    to = np.zeros((len(exponents), 8), dtype)
    run(device, compiled(device, text + "\n".join(lines) + "\n}\n", "powers"), (1, 1, 1), (8, 1, 1), [a, to])
    with np.errstate(all="ignore"):
        wanted = [a**n for n in exponents]
    np.testing.assert_allclose(to, wanted, rtol=64 * np.finfo(dtype).eps if is_float else 0)


def test_infinity_and_nan(device):
    text = """
PT_KERNEL(1, 1, 1) constants(PT_GLOBAL f32 *a, PT_GLOBAL f64 *b)
{ a[0] = PT_INFINITY_f32; a[1] = -PT_NAN_f32; b[0] = -PT_INFINITY_f64; b[1] = PT_NAN_f64; }
"""
    a, b = np.zeros(2, np.float32), np.zeros(2)
    run(device, compiled(device, text, "constants"), (1, 1, 1), (1, 1, 1), [a, b])
    np.testing.assert_array_equal([a, b], [[np.inf, np.nan], [-np.inf, np.nan]])


@pytest.mark.parametrize("short", TYPES)
def test_atomic_addition(device, short):
    """Sums of whole numbers are exact in any order."""
    text = f"""
PT_KERNEL(64, 1, 1) total(i32 n, PT_GLOBAL const {short} *from, PT_GLOBAL {short} *to)
{{
    const i32 i = PT_BLOCK_X * 64 + PT_THREAD_X;
    if (i < n) pt_atomic_add_{short}(&to[i % 2], from[i]);
}}
"""
    values = np.arange(1000).astype(TYPES[short])
    to = np.array([3, 4], TYPES[short])
    run(device, compiled(device, text, "total"), (16, 1, 1), (64, 1, 1), [np.int32(1000), values, to])
    np.testing.assert_array_equal(to, [3 + values[::2].sum(), 4 + values[1::2].sum()])


def test_products_and_sums_round_twice_unless_contracted(device):
    """(1 + e)(1 - e) - 1 is -e**2, which is lost where the product is rounded first."""
    text = """
PT_KERNEL(1, 1, 1) rest(PT_GLOBAL const f64 *from, PT_GLOBAL f64 *to) { to[0] = from[0] * from[1] + from[2]; }
"""
    numbers, to = np.array([1 + 2**-30, 1 - 2**-30, -1.0]), np.full(1, np.nan)
    run(device, compiled(device, text, "rest"), (1, 1, 1), (1, 1, 1), [numbers, to])
    assert to[0] == 0.0
    run(device, compiled(device, text, "rest", contract=True), (1, 1, 1), (1, 1, 1), [numbers, to])
    assert to[0] in (0.0, -(2.0**-60))
