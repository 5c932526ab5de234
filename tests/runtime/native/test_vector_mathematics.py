"""Mathematical functions of several lanes: near the scalar ones everywhere, and theirs where a kernel is strict."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from llvmlite import binding

from polytune.runtime.native.machine_code import host
from polytune.runtime.native.translation import address_of
from polytune.runtime.native.vector_mathematics import library, with_vector_forms
from polytune.runtime.teams.entries import caller
from tests.runtime.native.bodies import function_of

FAST = {"reassoc", "contract", "nsz"}
EVERYWHERE = (
    "exp",
    "exp2",
    "expm1",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "atan",
    "erf",
    "erfc",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
)
POSITIVE = ("log", "log2", "log10", "log1p", "acosh")
BELOW_ONE = ("asin", "acos", "atanh")
SPECIAL = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e300, -1e300, 5e-324, 1.0, -1.0, 709.0, -745.0]
LAST_PLACES = 4
"""The error that glibc states for the results, in units in the last place."""


def numbers(name: str, dtype: type) -> np.ndarray:
    """Numbers that a function is made for, and special ones."""
    found = np.random.default_rng(5).uniform(-1, 1, 1003)
    if name in EVERYWHERE:
        found *= 20
    elif name in POSITIVE:
        found = 1 + 50 * np.abs(found)
    found[100 : 100 + len(SPECIAL)] = SPECIAL
    with np.errstate(over="ignore"):
        return found.astype(dtype)


def results(name: str, values: np.ndarray, fastmath: set[str] | bool) -> np.ndarray:
    """What a function makes of numbers, in a loop over all of them."""
    array, cast = ("a", "") if values.dtype == np.float64 else ("s", "np.float32")
    module = "np" if name == "cbrt" else "math"
    body = f"for k in range(n):\n    {array}[k] = {cast}({module}.{name}({array}[k]))"
    function = function_of(body, fastmath=fastmath)
    found, unused = values.copy(), np.zeros(1)
    addresses = [(found if name == array else unused).ctypes.data for name in ("a", "i", "u", "s", "b")]
    words = np.array([*addresses, len(found), 0], np.int64)
    caller(address_of(function), 1)(words.ctypes.data)
    return found


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", EVERYWHERE + POSITIVE + BELOW_ONE)
def test_results_are_those_of_the_scalar_function(name: str, dtype: type) -> None:
    values = numbers(name, dtype)
    exact, found = results(name, values, False), results(name, values, FAST)
    finite = np.isfinite(exact)
    np.testing.assert_array_equal(found[~finite], exact[~finite])
    distance = np.abs(found[finite].astype(np.float64) - exact[finite].astype(np.float64))
    # float32 is computed as float32, whose scalar functions are not exact either.
    assert (distance <= (LAST_PLACES + 1) * np.spacing(np.abs(exact[finite])).astype(np.float64)).all()


def test_strict_results_are_pythons() -> None:
    values = np.random.default_rng(6).uniform(-20, 20, 501)
    assert results("exp", values, False).tolist() == [math.exp(value) for value in values]


@pytest.mark.skipif(not library(), reason="this system has no library of vector forms")
def test_calls_say_what_vector_forms_there_are() -> None:
    features = host().split()[2]
    text = (
        'declare double @"llvm.exp.f64"(double %".1")\n\n'
        'declare double @"sqrt"(double %".1")\n\n'
        'define void @"f"()\n{\n  %".1" = call reassoc double @"llvm.exp.f64"(double %".0")\n}\n'
    )
    changed = with_vector_forms(text, features)
    assert 'call reassoc double @"llvm.exp.f64"(double %".0") #1000' in changed
    assert changed.count('declare double @"llvm.exp.f64"') == 1 and 'declare double @"sqrt"' in changed
    assert "_ZGV_LLVM_N2v_llvm.exp.f64(_ZGVbN2v_exp)" in changed
    assert with_vector_forms(text, "-avx2") == text


def test_powers() -> None:
    function = function_of("for k in range(n):\n    a[k] = library_pow(a[k], x) + a[k] ** 1.25", fastmath=FAST)
    values = np.random.default_rng(7).uniform(0, 9, 77)
    found, unused = values.copy(), np.zeros(1)
    words = np.array([found.ctypes.data, *[unused.ctypes.data] * 4, len(found), 0], np.int64)
    words[6:].view(np.float64)[0] = 2.5
    caller(address_of(function), 1)(words.ctypes.data)
    np.testing.assert_allclose(found, values**2.5 + values**1.25, rtol=5e-15)


@pytest.mark.parametrize("name", ["atan2", "hypot"])
def test_functions_of_two_numbers(name: str) -> None:
    function = function_of(f"for k in range(n):\n    a[k] = math.{name}(a[k], x)", fastmath=FAST)
    values = np.random.default_rng(8).uniform(-9, 9, 77)
    values[:6] = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e300]
    found, unused = values.copy(), np.zeros(1)
    words = np.array([found.ctypes.data, *[unused.ctypes.data] * 4, len(found), 0], np.int64)
    words[6:].view(np.float64)[0] = -2.5
    caller(address_of(function), 1)(words.ctypes.data)
    expected = [getattr(math, name)(value, -2.5) for value in values]
    np.testing.assert_allclose(found, expected, rtol=5 * np.finfo(float).eps)


@pytest.mark.skipif(not library(), reason="this system has no library of vector forms")
@pytest.mark.parametrize(("body", "form"), [("a[k] = a[k - 1] * {}", "@llvm.exp.f64"), ("a[k] = {}", "@_ZGV")])
def test_calls_in_chains_are_written_out_and_others_are_vectors(
    body: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    optimised: list[str] = []
    emit = binding.TargetMachine.emit_object

    def seen(machine: binding.TargetMachine, module: binding.ModuleRef) -> bytes:
        optimised.append(str(module))
        return emit(machine, module)

    monkeypatch.setattr(binding.TargetMachine, "emit_object", seen)
    function = function_of(f"for k in range(1, n):\n    {body.format('math.exp(x * i[k])')}", fastmath=FAST)
    values, other = np.ones(77), np.random.default_rng(9).integers(-1, 2, 77)
    words = np.array([values.ctypes.data, other.ctypes.data, 0, 0, 0, len(values), 0], np.int64)
    words[6:].view(np.float64)[0] = 0.5
    caller(address_of(function), 1)(words.ctypes.data)
    factors = np.exp(0.5 * other[1:])
    expected = np.cumprod(factors) if "k - 1" in body else factors
    np.testing.assert_allclose(values[1:], expected, rtol=1e-13)
    assert len(re.findall(rf" call [^@\n]*{form}", optimised[-1])) > (1 if "k - 1" in body else 0)
