"""Each construct of generated functions, translated and run, against Python itself and against Numba."""

from __future__ import annotations

import numpy as np
import pytest
from llvmlite import binding

from polytune.runtime.native import machine_code
from polytune.runtime.native.kinds import NotNativeError
from polytune.runtime.native.lowering import lower
from polytune.runtime.native.source import parsed
from polytune.runtime.native.translation import address_of
from polytune.runtime.teams.entries import Entry, caller
from tests.runtime.native.bodies import BODIES, Arrays, function_of


@pytest.mark.parametrize("fastmath", [False, {"contract", "nsz"}], ids=["strict", "not strict"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_it_does_what_numba_does(body: str, fastmath: bool | set[str]) -> None:
    function = function_of(body, fastmath=fastmath)
    found = Arrays().run(caller(address_of(function), 1))
    with np.errstate(all="ignore"):
        expected = Arrays().run(function)
    for own, numbas in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, numbas, rtol=0 if not fastmath else 1e-15, atol=0)
        if not fastmath and own.dtype.kind == "f":
            numbers = ~np.isnan(own)
            assert (np.signbit(own) == np.signbit(numbas))[numbers].all()


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_it_does_the_same_where_it_is_not_optimised(body: str) -> None:
    function = function_of(body)
    found = Arrays().run(caller(address_of(function, optimise=False), 1))
    expected = Arrays().run(caller(address_of(function), 1))
    for own, optimised in zip(found, expected, strict=True):
        np.testing.assert_array_equal(own, optimised)


@pytest.mark.parametrize("name", ["division by what varies", "stores among loads of the same and other arrays"])
def test_very_long_functions_do_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    levels: list[int] = []
    make = machine_code._machine
    monkeypatch.setattr(machine_code, "_machine", lambda given, level: levels.append(level) or make(given, level))
    expected = Arrays().run(caller(address_of(function_of(BODIES[name])), 1))
    assert levels == [machine_code._FULLY]
    monkeypatch.setattr(machine_code, "_VERY_LONG", 0)
    found = Arrays().run(caller(address_of(function_of(BODIES[name])), 1))
    assert levels[-1] == machine_code._WELL
    for own, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(own, wanted)


def test_what_all_kernels_need_is_not_optimised(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first calls of each kernel wait for it where nothing is cached."""
    runs: list[object] = []
    run = binding.newpassmanagers.ModulePassManager.run
    monkeypatch.setattr(
        binding.newpassmanagers.ModulePassManager, "run", lambda own, *rest: (runs.append(own), run(own, *rest))
    )
    function = function_of("a[0] = a[1] + n")
    Entry(function, 1).ready()
    assert not runs
    address_of(function)
    assert runs


def test_the_sign_of_negative_zero_is_zero() -> None:
    """As NumPy's, and not Numba's."""
    function = function_of("a[0] = np.sign(a[3])")
    found = Arrays().run(caller(address_of(function), 1))[0]
    assert found[0] == 0.0
    assert not np.signbit(found[0])


def texts_emitted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of all modules that LLVM makes machine code of from now on, as it has optimised them."""
    texts: list[str] = []
    emit = binding.TargetMachine.emit_object

    def seen(machine: binding.TargetMachine, module: binding.ModuleRef) -> bytes:
        texts.append(str(module))
        return emit(machine, module)

    monkeypatch.setattr(binding.TargetMachine, "emit_object", seen)
    return texts


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_an_extremum_of_many_numbers_is_a_loop_of_vectors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = texts_emitted(monkeypatch)
    body = f"""
        t = 0.0
        for k in range(n):
            t = np.{name}(t, a[k])
        a[0] = t
    """
    found = Arrays().run(caller(address_of(function_of(body, fastmath={"contract", "nsz"})), 1))[0]
    assert np.isnan(found[0])
    assert any("x double>" in text for text in texts)


@pytest.mark.parametrize(
    ("update", "is_free"),
    [
        ("t = t + a[k]", True),
        ("t = a[k] * x + t", True),
        ("t = t - a[k]", True),
        ("t = t + (a[k] - t)", False),
        ("t = a[k] - t", False),
    ],
)
def test_updates_of_a_sum_may_come_in_any_order(update: str, is_free: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """They alone: then loops over single elements become loops of vectors."""
    texts = texts_emitted(monkeypatch)
    body = f"t = 0.0\nfor k in range(n):\n    {update}\na[0] = t"
    for fastmath in ({"contract", "nsz"}, False):
        address_of(function_of(body, fastmath=fastmath))
    free, strict = ("vector.reduce.fadd" in text for text in texts)
    assert free == is_free
    assert not strict


@pytest.mark.parametrize(
    ("test", "is_known"),
    [("(i[k] & 1) != 0", False), ("(i[k] ^ i[0]) < 7", False), ("i[k] < i[0]", True), ("b[k] & (a[k] > x)", True)],
)
def test_nobody_foresees_how_tests_of_bits_end(test: str, is_known: bool) -> None:
    """Where LLVM takes a branch for the shorter chain, a processor guesses wrong every other time."""
    chosen = function_of(f"m = 0\nfor k in range(n):\n    m = (m >> 1) ^ i[1] if {test} else m >> 1\ni[2] = m")
    branched = function_of(f"m = 0\nfor k in range(n):\n    if {test}:\n        m = m ^ i[1]\ni[2] = m")
    for function in chosen, branched:
        text = str(lower(parsed(function.py_func), function.py_func.__globals__, "tested"))
        assert ("!unpredictable" in text) != is_known
        # LLVM would take what both values have in common out of the selection, which then has to wait for the test.
        assert ("freeze" in text) == (function is chosen and not is_known)


REFUSED = {
    "a variable of two types": """
        t = 0
        for k in range(n):
            t = 0.5
    """,
    "an order of complex numbers": """
        if z[0] < z[1]:
            a[0] = 1.0
    """,
    "a function of complex numbers": "z[0] = np.sqrt(z[0])",
    "a part of a number": "a[0] = x.real",
    "extrema of two types": "a[0] = np.maximum(x, s[0])",
    "a call of something else": "a[0] = np.linalg.norm(a[0])",
    "numbers of which Numba's type depends on more": "a[0] = u[0] + n",
    "the elements of an array": """
        for k in a:
            pass
    """,
    "a truth value of a number": """
        if n:
            a[0] = 1.0
    """,
    "an array that stays": "own = np.empty(n, np.float64)",
    "an array of a branch that stays": """
        if n > 1:
            own = np.empty(n, np.float64)
        if n > 2:
            return
        keep_alive(own)
    """,
    "an array of an iteration that stays": """
        for k in range(n):
            own = np.empty(n, np.float64)
            if k == 2:
                break
            keep_alive(own)
    """,
    "an array of an iteration that the next one has": """
        for k in range(n):
            own = np.empty(n, np.float64)
        keep_alive(own)
    """,
    "an array that was given back": """
        own = np.empty(n, np.float64)
        keep_alive(own)
        a[0] = own[1]
    """,
    "an attribute": "a[0] = a.size",
    "a text": "t = 'x'",
    "two arrays under one name": """
        v = a
        v = attach(context, 1, "int64[::1]", "i", "a i")
    """,
    "what is not there": "a[0] = nothing",
    "assignments to several names": "p, q = 1, 2",
    "a slice": "a[0:2] = 1.0",
    "a library function that is not there": "a[0] = math.fsum(x)",
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_what_is_not_translated(body: str) -> None:
    with pytest.raises(NotNativeError):
        address_of(function_of(body))


def test_what_was_refused_once_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from polytune.runtime.native import translation

    function = function_of("t = 'x'")
    with pytest.raises(NotNativeError):
        address_of(function)
    monkeypatch.setattr(translation, "lower", None)
    with pytest.raises(NotNativeError):
        address_of(function)


def test_it_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    function = function_of("a[0] = 1.0")
    monkeypatch.setenv("POLYTUNE_NATIVE", "0")
    with pytest.raises(NotNativeError, match="POLYTUNE_NATIVE"):
        address_of(function)


@pytest.mark.parametrize(
    ("test", "is_one"),
    [
        ("i[k] < 0 or i[k] >= n", True),
        ("i[k] >= 0 and i[k] < n", True),
        ("k + i[0] < 0 or k + i[0] >= n - 1", True),
        ("i[k] < 0 or i[k] >= greatest(0, n - 1)", True),
        ("greatest(i[k], k) >= 0 and greatest(i[k], k) < least(n, 3)", True),
        ("i[k] < 0 or i[k] >= greatest(0, i[1])", False),
        ("i[k] < 0 or i[k] >= remainder(n, i[k])", False),
        ("i[k] < 0 and i[k] >= n", False),
        ("i[k] < 0 or i[0] >= n", False),
        ("i[k] < 0 or i[k] >= i[1]", False),
        ("a[k] < 0 or a[k] >= n", False),
        ("i[k] < 1 or i[k] >= n", False),
    ],
)
def test_a_range_is_tested_by_one_comparison(test: str, is_one: bool) -> None:
    function = function_of(f"for k in range(n):\n    if {test}:\n        a[k] = 1.0")
    text = str(lower(parsed(function.py_func), function.py_func.__globals__, "tested"))
    assert ("icmp ult" in text or "icmp uge" in text) == is_one
