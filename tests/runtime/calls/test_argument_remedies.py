"""What a refusal of an argument says to pass leads to what NumPy computes, in the array that the caller has."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError
from polytune.signature import DATA_TYPES


def kernel(function: Callable[..., Any]) -> polytune.Kernel:
    return polytune.kernel(function, budget=0, background=False)


@kernel
def increased(x):
    """2 x + 1."""
    for i in range(len(x)):
        x[i] = 2 * x[i] + 1


@kernel
def increased_fields(p, q):
    """2 x + 1 and 2 x."""
    for i in range(len(p)):
        p[i] = 2 * p[i] + 1
        q[i] = 2 * q[i]


@kernel
def scaled(a, x):
    for i in range(len(x)):
        x[i] = a * x[i]


@kernel
def scaled_first(a, x):
    """With an array of one element in place of a number."""
    for i in range(len(x)):
        x[i] = a[0] * x[i]
    a[0] = 2.0


@kernel
def shifted(x, y):
    for i in range(len(x)):
        x[i] = y[i] + 1.0


@kernel
def shifted_within(z):
    """``shifted`` of ``z[1:]`` and ``z[:-1]``."""
    for i in range(len(z) - 1):
        z[i + 1] = z[i] + 1.0


@kernel
def exchanged(x, y):
    for i in range(len(x)):
        x[i], y[i] = y[i], x[i] + 1.0


@kernel
def exchanged_within(z):
    """``exchanged`` of ``z[1:]`` and ``z[:-1]``."""
    for i in range(len(z) - 1):
        z[i + 1], z[i] = z[i], z[i + 1] + 1.0


def refusal(function: polytune.Kernel, *arguments: Any) -> str:
    with pytest.raises(ArgumentError) as caught:
        function(*arguments)
    return str(caught.value)


ONE = r"(?:[\w.]+|\w+\['\w+'\])(?:\([\w.]*\))?"
PASSED = re.compile(rf"pass (?:the parts )?({ONE})(?: and ([\w.]+imag))?")


def follow(message: str, x: Any, function: polytune.Kernel) -> None:
    """Do what a message says, word for word: names in it are those that it gives, and ``x``."""
    names: dict[str, Any] = {"x": x, "numpy": np}
    if made := re.search(r"converted = ([\w.]+\([\w.]+\))", message):
        names["converted"] = eval(made[1], names)
    passed = PASSED.search(message)
    assert passed is not None, message
    function(*(eval(text, names) for text in passed.groups() if text))
    if back := re.search(r"after the call write (.*?) where it is changed", message):
        exec(back[1], names)


REAL = sorted(
    {np.dtype(code) for code in "?bBhHiIlLqQefdg"}
    | {np.dtype(f">{code}") for code in ("i2", "i4", "i8", "f4", "f8", "u4")},
    key=lambda dtype: (dtype.kind, dtype.itemsize, dtype.str),
)


@pytest.mark.parametrize("dtype", [d for d in REAL if d.name not in DATA_TYPES or not d.isnative], ids=lambda d: d.str)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_arrays_of_real_numbers(dtype):
    x = np.array([0, 1, 5, 100, 3]).astype(dtype)
    message = refusal(increased, x)
    wanted = x.copy()
    increased.__wrapped__(wanted)
    follow(message, x, increased)
    assert x.dtype == dtype
    np.testing.assert_array_equal(x, wanted)


def test_objects():
    x = np.array([1, 2.5, 3], object)
    follow(refusal(increased, x), x, increased)
    assert x.tolist() == [3, 6, 7]
    assert "if its elements are numbers" in refusal(increased, x)


@pytest.mark.parametrize("code", [">c8", ">c16", "G"])
def test_complex_arrays(code):
    x = np.array([1 + 2j, -3.5j, 4]).astype(code)
    wanted = 2 * x + 1
    follow(refusal(increased, x), x, increased)
    np.testing.assert_array_equal(x, wanted)


def test_fields():
    x = np.zeros(4, [("a", "i1"), ("p", "f8"), ("q", "f8")])
    x["p"], x["q"] = [1, 2, 3, 4], [5, 6, 7, 8]
    message = refusal(increased, x)
    assert "pass its fields one by one, x['a'], x['p'], x['q'], views of x" in message
    increased_fields(x["p"], x["q"])
    assert (x["p"].tolist(), x["q"].tolist()) == ([3, 5, 7, 9], [10, 12, 14, 16])


@pytest.mark.parametrize("dtype", ["timedelta64[s]", "datetime64[D]"])
def test_times(dtype):
    x = np.array([1, 2, 3]).astype(dtype)
    follow(refusal(increased, x), x, increased)
    assert x.view(np.int64).tolist() == [3, 5, 7]


def test_text_and_raw_bytes_are_nothing_to_compute_with():
    for x in (np.array(["a"]), np.array([b"a"]), np.zeros(2, "V8")):
        assert "pass numbers in its place" in refusal(increased, x)


@pytest.mark.parametrize("a", [np.longdouble(1.5), np.longdouble(-0.5)])
def test_scalars(a):
    x = np.array([1.0, 2.0])
    message = refusal(scaled, a, x)
    scaled(eval(re.search(r"pass (\w+\(a\))", message)[1], {"a": a}), x)
    assert x.tolist() == [a * 1.0, a * 2.0]


def test_a_time_that_is_one_number():
    a, x = np.timedelta64(3, "s"), np.array([1.0, 2.0])
    message = refusal(scaled, a, x)
    scaled(eval(re.search(r"pass (int\(.*?\)\)),", message)[1], {"a": a, "numpy": np}), x)
    assert x.tolist() == [3.0, 6.0]


def test_complex_numbers():
    a, x = np.clongdouble(2 - 1j), np.ones(2, complex)
    assert "pass complex(a)" in refusal(scaled, a, x)
    scaled(complex(a), x)
    assert x.tolist() == [a, a]


def test_fields_of_one_number():
    a = np.zeros(1, [("p", "f8"), ("q", "i4")])[0]
    assert "pass its fields one by one: a['p'], a['q']" in refusal(scaled, a, np.ones(2))
    x = np.ones(2)
    scaled(a["p"], x)
    assert x.tolist() == [0, 0]


def test_an_integer_that_is_too_large():
    x = np.ones(2)
    assert "pass float(a)" in refusal(scaled, 2**70, x)
    scaled(float(2**70), x)
    assert x[0] == 2**70


def test_lists_and_other_containers():
    for values in ([1, 2], [1.5, 2]):
        message = refusal(increased, values)
        converted = eval(re.search(r"converted = (numpy\.array\(.*?\)),", message)[1], {"x": values, "numpy": np})
        increased(converted)
        assert converted.tolist() == [2 * value + 1 for value in values]
    assert "argument 'x' is a tuple, with which the kernel cannot be compiled; pass a NumPy array" in refusal(
        increased, (1.5, 2)
    )
    assert "argument 'x' is None, with which the kernel cannot be compiled; pass a NumPy array" in refusal(
        increased, None
    )
    assert "pass a NumPy array, an int, a float or a complex" in refusal(increased, {1.0})


def test_masked_arrays():
    x = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
    assert "pass x.filled(y), a plain array" in refusal(increased, x)
    plain = x.filled(0.0)
    increased(plain)
    assert plain.tolist() == [3, 1, 7]


def test_other_arrays_of_arrays_kind():
    x = np.ones((2, 2)).view(np.matrix)[0]
    assert "pass numpy.asarray(x), a plain array in the same memory" in refusal(shifted, np.ones(2), x).replace(
        "(y)", "(x)"
    )
    plain = np.asarray(x)[0]
    increased(plain)
    assert x.tolist() == [[3, 3]]


def test_arrays_without_dimensions():
    a, x = np.array(3.0), np.array([1.0, 2.0])
    message = refusal(scaled, a, x)
    scaled(a[()], x)
    assert x.tolist() == [3, 6]
    assert "pass a[()], its value, or, where the kernel writes to it, a.reshape(1)" in message
    scaled_first(a.reshape(1), x)
    assert (x.tolist(), float(a)) == ([9, 18], 2.0)


def test_read_only_arrays():
    x = np.array([1.0, 2.0])
    x.flags.writeable = False
    assert "pass own = x.copy() and read the results from own" in refusal(increased, x)
    own = x.copy()
    increased(own)
    assert own.tolist() == [3, 5]


def test_elements_in_one_place():
    x = np.lib.stride_tricks.as_strided(np.array([1.0]), (3,), (0,))
    assert "pass own = x.copy(), in which each has a place of its own" in refusal(increased, x)
    own = x.copy()
    increased(own)
    assert own.tolist() == [3, 3, 3]


def test_overlapping_arrays():
    z = np.array([1.0, 5.0, 7.0, 2.0])
    message = refusal(shifted, z[1:], z[:-1])
    assert "pass y.copy() to compute with what is there before the call; else give the kernel the one array" in message
    before, within = z.copy(), z.copy()
    shifted(before[1:], before[:-1].copy())
    assert before.tolist() == [1, *(z[:-1] + 1)]
    shifted_within(within)
    plain = z.copy()
    shifted.__wrapped__(plain[1:], plain[:-1])
    assert within.tolist() == plain.tolist()


def test_overlapping_arrays_that_are_both_written():
    z = np.array([1.0, 5.0, 7.0, 2.0])
    message = refusal(exchanged, z[1:], z[:-1])
    assert "copy" not in message
    assert "give the kernel the one array that both are parts of" in message
    plain = z.copy()
    exchanged.__wrapped__(plain[1:], plain[:-1])
    exchanged_within(z)
    assert z.tolist() == plain.tolist()


@kernel
def differences(x, y, far: int):
    for i in range(x.shape[0]):
        x[i] = y[i - far]


@kernel
def neighbours(x, y):
    for i in range(x.shape[0]):
        x[i] = y[i + 1]


@kernel
def neighbours_that_there_are(x, y):
    for i in range(x.shape[0] - 1):
        x[i] = y[i + 1]


def test_subscripts_further_below_zero_than_there_are_elements():
    x, y = np.zeros(4), np.arange(4.0)
    message = refusal(differences, x, y, 5)
    assert "y[i - far] goes further below 0 than axis 0 has elements, for shape (4,), far = 5" in message
    assert "pass a larger array" in message
    differences(x, np.arange(5.0), 5)
    assert x.tolist() == [0, 1, 2, 3]


def test_subscripts_past_the_end():
    x, y = np.zeros(4), np.arange(4.0)
    assert "pass a larger array, or let the loops end sooner" in refusal(neighbours, x, y)
    neighbours(x, np.arange(5.0))
    assert x.tolist() == [1, 2, 3, 4]
    neighbours_that_there_are(x, y)
    assert x.tolist() == [1, 2, 3, 4]


@kernel
def with_a_dictionary(x, y, z):
    for i in range(len(x)):
        x[i] = {0: y[i], 1: z}[0]


def test_all_obstacles_are_told_at_once():
    message = refusal(with_a_dictionary, np.zeros(3, np.longdouble), np.zeros(3, ">c16"), np.longdouble(1))
    assert [line for line in message.splitlines() if line.startswith("argument")] == [
        line for line in message.splitlines() if re.match(r"argument '[xyz]': ", line)
    ]
    assert len(re.findall(r"^argument '[xyz]': ", message, re.MULTILINE)) == 3
    assert "and, where the types are right:\n" in message
    assert re.search(r"test_argument_remedies\.py:\d+: \{0: y\[i\], 1: z\} is subscripted\n", message)
    assert "^^^^^" in message


def test_a_source_that_is_accepted_is_not_mentioned():
    assert "\n" not in refusal(increased, np.zeros(3, np.longdouble))
