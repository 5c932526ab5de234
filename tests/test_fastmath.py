"""The option ``fastmath``: LLVM's flags of arithmetic, and the checks that do without them."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.deferred.packing import pack, unpack
from polytune.errors import ArgumentError, PolytuneError, SubscriptError
from polytune.fastmath import FLAGS, flags_of
from polytune.frontend.analyse import lower_function
from polytune.normal_form import NormalForm, normal_location
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from polytune.runtime.native import machine_code


def marched(x, y, far, out):
    """Quotients by what stays the same, which ``arcp`` makes products of, and an end that depends on data."""
    for i in range(x.shape[0]):
        t = 0.0
        for _ in range(40):
            d = x[i] / far + y[i] / (1.0 + t) / far
            if d < 1e-3:
                break
            t += d / far
        out[i] = t


def filtered(x, b, a, out):
    """A recurrence of the second order, with a quotient."""
    for k in range(x.shape[0]):
        z0 = z1 = 0.0
        for i in range(x.shape[1]):
            new = (b[0] * x[k, i] + z0) / a[0]
            z0 = b[1] * x[k, i] - a[1] * new + z1
            z1 = b[2] * x[k, i] - a[2] * new
            out[k, i] = new


def powers_and_functions(x):
    return (x**3 / 7.0 + np.sqrt(x) * np.exp(-x)).sum(), x.max(), x.min(), np.argmax(x), np.mean(x / 3.0)


def looked_up(table, x, scale, out):
    """Subscripts that are computed from floats, in the subscript itself and before it."""
    for i in range(x.shape[0]):
        k = int(x[i] / scale)
        out[i] = table[int(x[i] * 2.0 / scale)] + table[k] / scale


def looked_up_by_extremum(table, x, out):
    """A subscript that follows from comparisons of floats."""
    best = 0
    for i in range(x.shape[0]):
        if x[i] > x[best] or x[i] != x[i]:
            best = i
    out[0] = table[best]


def counted(x, scale, bins):
    for i in range(x.shape[0]):
        bins[math.floor(x[i] / scale)] += 1


def infinite_subscript(table, out):
    for i in range(out.shape[0]):
        out[i] = table[int(np.inf * (i + 1.0))] + table[int(np.nan + i)]


_RANDOM = np.random.default_rng(3)
_X, _Y = _RANDOM.uniform(0.5, 4.0, 257), _RANDOM.uniform(0.5, 4.0, 257)

CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "marched": (marched, (_X, _Y, 10.0, np.zeros(257))),
    "marched, float32": (marched, (_X.astype("f4"), _Y.astype("f4"), np.float32(10.0), np.zeros(257, "f4"))),
    "filtered": (
        filtered,
        (_RANDOM.normal(size=(5, 90)), np.array([0.2, 0.4, 0.2]), np.array([1.5, -0.3, 0.1]), np.zeros((5, 90))),
    ),
    "functions": (powers_and_functions, (_X,)),
    "no elements": (marched, (np.zeros(0), np.zeros(0), 10.0, np.zeros(0))),
    "looked up": (looked_up, (np.arange(40.0), _X * 4, 1.5, np.zeros(257))),
    "negative subscripts": (looked_up, (np.arange(40.0), _X * -4, 1.5, np.zeros(257))),
    "counted": (counted, (_X, 0.25, np.zeros(40, np.int64))),
}


def copied(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(each.copy() if isinstance(each, np.ndarray) else each for each in arguments)


def versions(kernel: Any, arguments: tuple[Any, ...]) -> list[dict[str, Any]]:
    """A configuration for each version."""
    space = kernel.space(*arguments)
    names = [version.name for version in kernel.generated(*arguments).module.VERSIONS]
    return [space.configuration(version=name) for name in names]


@pytest.mark.parametrize("fastmath", [True, {"arcp", "afn"}, {"nnan"}], ids=["all", "some", "nnan"])
@pytest.mark.parametrize(("function", "arguments"), CASES.values(), ids=CASES)
def test_every_version_is_near_to_python(function: Any, arguments: tuple[Any, ...], fastmath: Any) -> None:
    wanted = copied(arguments)
    returned = function(*wanted)
    kernel = polytune.kernel(fastmath=fastmath)(function)
    for configuration in versions(kernel, arguments):
        found = copied(arguments)
        result = kernel.run(configuration, *found)
        for got, right in (*zip(found, wanted, strict=True), (result, returned)):
            if right is not None:
                tolerance = 1e-4 if getattr(right, "dtype", None) == np.float32 else 1e-11
                np.testing.assert_allclose(got, right, rtol=tolerance, atol=tolerance, err_msg=str(configuration))


BAD = (np.nan, np.inf, -np.inf, 1e300, -1e18)


@pytest.mark.parametrize("number", BAD)
@pytest.mark.parametrize("where", ["an element", "a number", "all elements"])
def test_subscripts_are_checked_whatever_floats_they_come_from(number: float, where: str) -> None:
    kernel = polytune.kernel(fastmath=True)(looked_up)
    table, x = np.arange(40.0), _X.copy()
    x[[3, 200] if where == "an element" else slice(None)] = number if where != "a number" else 1.0
    # Of a number that is no quotient of an element, one that makes all subscripts NaN or too large.
    scale = 1.0 if where != "a number" else np.nan if np.isnan(number) else 1.0 / number if np.isfinite(number) else 0.0
    for configuration in versions(kernel, (table, x, scale, np.zeros(257))):
        with pytest.raises(SubscriptError, match="was out of range"):
            kernel.run(configuration, table, x, scale, np.zeros(257))


def test_subscripts_of_numbers_that_are_known_to_be_none() -> None:
    """What LLVM could fold, as under ``nnan`` and ``ninf`` there are no such numbers."""
    kernel = polytune.kernel(fastmath=True)(infinite_subscript)
    for configuration in versions(kernel, (np.arange(4.0), np.zeros(9))):
        with pytest.raises(SubscriptError, match="was out of range"):
            kernel.run(configuration, np.arange(4.0), np.zeros(9))


@pytest.mark.parametrize("native", ["1", "0"])
def test_what_numbers_are_drawn_with_is_checked(native: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy refuses what compiled code has to leave to it."""
    monkeypatch.setenv("POLYTUNE_NATIVE", native)

    @polytune.kernel(fastmath=True)
    def drawn(rng, low, high, scale, out):
        for i in range(out.shape[0]):
            out[i] = rng.uniform(low, high) + rng.normal(0.0, scale)

    for low, high, scale in ((0.0, np.inf, 1.0), (np.nan, 1.0, 1.0), (0.0, 1.0, -1.0), (-1e308, 1e308, 1.0)):
        with pytest.raises((ValueError, OverflowError)) as caught:
            drawn(np.random.default_rng(1), low, high, scale, np.zeros(3))
        with pytest.raises(caught.type):
            drawn.__wrapped__(np.random.default_rng(1), low, high, scale, np.zeros(3))
    found, wanted = np.zeros(50), np.zeros(50)
    drawn(np.random.default_rng(1), 0.0, 1.0, 2.0, found)
    drawn.__wrapped__(np.random.default_rng(1), 0.0, 1.0, 2.0, wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_nan_leads_to_no_element_outside() -> None:
    """Comparisons with NaN may come out either way, and what follows from them is tested."""
    kernel = polytune.kernel(fastmath=True)(looked_up_by_extremum)
    table, x, out = np.arange(1.0, 9.0), np.full(8, np.nan), np.zeros(1)
    for configuration in versions(kernel, (table, x, out)):
        kernel.run(configuration, table, x, out)
        assert out[0] in table
    with pytest.raises(ArgumentError):
        kernel(np.zeros(2), np.arange(8.0), out)


def test_arguments_and_sizes_are_checked() -> None:
    kernel = polytune.kernel(fastmath=True)(marched)
    with pytest.raises(ArgumentError, match="goes past the end of axis 0"):
        kernel(_X, _Y, 1.0, np.zeros(3))

    @polytune.kernel(fastmath=True)
    def zeros(n):
        return np.zeros(int(n * 2.0))

    assert zeros(2.0).shape == (4,)
    for number in (np.nan, np.inf):
        with pytest.raises(ArgumentError):
            zeros(number)


def stages_with(function: Any, arguments: tuple[Any, ...], fastmath: Any) -> Stages:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return Stages(function, signature_of(names, arguments), fastmath=flags_of(fastmath))


def flags_in(text: str) -> set[str]:
    found = re.search(r"fastmath=\{(.*?)\}", text)
    assert found is not None
    return set(re.findall(r'"(\w+)"', found[1]))


def test_flags_are_in_the_text() -> None:
    arguments = CASES["looked up"][1]
    plain = stages_with(looked_up, arguments, False).source
    assert flags_in(plain) == {"contract", "nsz"} and "frozen" not in plain
    some = stages_with(looked_up, arguments, {"arcp"}).source
    assert flags_in(some) == {"contract", "nsz", "arcp"}
    fast = stages_with(looked_up, arguments, True).source
    assert flags_in(fast) == set(FLAGS) and ", fastmath." in fast.splitlines()[2]
    compiled = fast.partition("\ndef parameters")[0]
    assert "np.int64(frozen(" in compiled and not re.search(r"np\.int64\((?!frozen|\d)", compiled)


def test_a_kernel_that_another_process_makes_has_its_flags() -> None:
    stages = replace(
        stages_with(looked_up, CASES["looked up"][1], True), places=partial(normal_location, [NormalForm(looked_up, 0)])
    )
    packed = pack(stages, lower_function(looked_up, stages.signature))
    assert packed is not None
    assert unpack(packed).fastmath == set(FLAGS)
    assert flags_in(unpack(packed).source) == set(FLAGS)


def test_flags_are_in_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    compiled = machine_code._compiled
    monkeypatch.setattr(
        machine_code, "_compiled", lambda text, *rest, **options: texts.append(text) or compiled(text, *rest, **options)
    )
    kernel = polytune.kernel(fastmath={"arcp", "nnan"})(looked_up)
    arguments = copied(CASES["looked up"][1])
    kernel.run(kernel.space(*arguments).configuration(version="source"), *arguments)
    text = next(text for text in texts if "freeze" in text)
    quotients = [set(re.findall(r"\w+", each)) for each in re.findall(r"fdiv ([a-z ]*)double", text)]
    assert {"arcp", "nnan", "contract", "nsz"} in quotients
    # What becomes an integer is computed without them.
    assert {"contract", "nsz"} in quotients
    frozen = re.findall(r"(%\S+) = freeze double", text)
    assert frozen
    assert set(re.findall(r"fptosi double (%\S+) to", text)) <= set(frozen)


def test_updates_of_sums_have_the_flags_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def added(x, out):
        for i in range(x.shape[0]):
            out[0] += x[i] / 3.0

    for fastmath, wanted in ((True, set(FLAGS)), ({"nnan"}, {"reassoc", "contract", "nnan"})):
        texts: list[str] = []
        compiled = machine_code._compiled
        with monkeypatch.context() as patch:
            patch.setattr(
                machine_code,
                "_compiled",
                lambda text, *rest, texts=texts, compiled=compiled, **options: (
                    texts.append(text) or compiled(text, *rest, **options)
                ),
            )
            kernel = polytune.kernel(fastmath=fastmath)(added)
            arguments = np.ones(9), np.zeros(1)
            kernel.run(kernel.space(*arguments).configuration(version="source"), *arguments)
        assert arguments[1] == pytest.approx(3.0)
        found = [set(each.split()) for text in texts for each in re.findall(r"fadd ([a-z ]*)double", text)]
        assert wanted in found


def test_modules_and_histories_are_apart() -> None:
    kernels = [
        polytune.kernel(marched),
        polytune.kernel(fastmath=True)(marched),
        polytune.kernel(fastmath={"arcp"})(marched),
        polytune.kernel(strict=True)(marched),
    ]
    arguments = CASES["marched"][1]
    signature = kernels[0].generated(*arguments).module.SIGNATURE
    assert len({kernel.generated(*arguments).module.__file__ for kernel in kernels}) == 4
    assert len({kernel.name_in_history(signature) for kernel in kernels}) == 4
    same = polytune.kernel(fastmath={"fast"})(marched)
    assert same.generated(*arguments).module.__file__ == kernels[1].generated(*arguments).module.__file__
    assert same.name_in_history(signature) == kernels[1].name_in_history(signature)


def test_a_kernel_says_that_it_has_flags() -> None:
    kernel = polytune.kernel(fastmath={"arcp", "afn"})(marched)
    assert kernel.fastmath == {"arcp", "afn"} and "(fastmath)" in repr(kernel)
    kernel(*copied(CASES["marched"][1]))
    assert ", fastmath: afn arcp" in kernel.explain()
    assert not kernel.strict.fastmath and kernel.strict.is_strict
    assert kernel.searched(seed=3).fastmath == kernel.fastmath
    assert polytune.kernel(fastmath=True)(marched).fastmath == set(FLAGS)
    assert polytune.kernel(fastmath=False)(marched).fastmath == set() == polytune.kernel(marched).fastmath


def test_flags_that_are_none_are_named() -> None:
    with pytest.raises(PolytuneError, match="fastmath has no flag 'fats', 'quick'; LLVM's flags are 'nnan', 'ninf'"):
        polytune.kernel(fastmath={"quick", "arcp", "fats"})
    for wrong in ("fast", 1, None):
        with pytest.raises(PolytuneError, match="fastmath is True, False or a set of names of flags"):
            polytune.kernel(fastmath=wrong)  # type: ignore[call-overload]
    with pytest.raises(PolytuneError, match="strict=True and fastmath exclude each other"):
        polytune.kernel(strict=True, fastmath=True)
    assert polytune.kernel(strict=True, fastmath=False)(marched).is_strict


_UNDER_NUMBA = """
import sys
import numpy as np, pytest
from tests import test_fastmath as tests
for function, arguments in tests.CASES.values():
    tests.test_every_version_is_near_to_python(function, arguments, True)
for number in tests.BAD:
    tests.test_subscripts_are_checked_whatever_floats_they_come_from(number, "an element")
tests.test_subscripts_of_numbers_that_are_known_to_be_none()
tests.test_nan_leads_to_no_element_outside()
"""


@pytest.mark.slow
def test_functions_that_numba_compiles() -> None:
    environment = {**os.environ, "POLYTUNE_NATIVE": "0"}
    subprocess.run([sys.executable, "-c", _UNDER_NUMBA], check=True, env=environment, timeout=600)
