"""Lists that grow, and arrays of sizes that depend on data, in compiled kernels: results, their types, and errors."""

# ruff: noqa: SIM108
# mypy: ignore-errors

from __future__ import annotations

import numpy as np
import pytest

import polytune
from polytune.errors import DataError, EmptyListError, SubscriptError
from tests.frontend import accepted_counts, accepted_lists
from tests.frontend.values import matrix, vector


def list_of_another_length_on_each_side(x):
    if len(x) > 3:
        out = [1]
    else:
        out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(i)
    return out


KERNELS = (
    (list_of_another_length_on_each_side, (vector(9),)),
    (list_of_another_length_on_each_side, (vector(2),)),
    (accepted_lists.lists_under_conditions, (vector(9),)),
    (accepted_lists.python_and_numpy_elements, (vector(9),)),
    (accepted_lists.list_of_tuples, (vector(9),)),
    (accepted_lists.flood, (matrix(4, 4),)),
    (accepted_lists.lists_of_functions, (vector(9),)),
    (accepted_lists.repeated_lists, (vector(9),)),
    (accepted_lists.arrays_of_repeated_lists, (vector(9), 3)),
    (accepted_lists.lists_of_comprehensions, (vector(9),)),
    (accepted_lists.comprehension_of_a_function, (vector(9),)),
    (accepted_lists.returned_list, (vector(5).astype(np.complex64),)),
    (accepted_counts.masks_of_rows, (matrix(6, 3), 0.3)),
    (accepted_counts.arrays_of_counted_sizes, (vector(6), 0.4)),
    (accepted_counts.selection_beside_parts_of_another_array, (vector(9), np.array([0.5, np.nan, 1.0]))),
    (accepted_counts.flat_elements, (np.asfortranarray(matrix(4, 3)),)),
)


def assert_same(found, wanted) -> None:
    """Numbers, arrays, lists and tuples of the same values and types; results may be NumPy's numbers for Python's."""
    if isinstance(wanted, list | tuple):
        assert type(found) is type(wanted)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other)
            assert not isinstance(wanted, list) or isinstance(other, tuple) or type(one) is type(other)
    else:
        assert np.asarray(found).dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("function", "arguments"), KERNELS, ids=[function.__name__ for function, _ in KERNELS])
def test_kernels_compute_what_python_computes(function, arguments, strict: bool) -> None:
    copies = [[each.copy() if isinstance(each, np.ndarray) else each for each in arguments] for _ in range(2)]
    wanted = function(*copies[0])
    found = polytune.kernel(strict=strict)(function)(*copies[1])
    assert_same(found, wanted)
    for left, right in zip(*copies, strict=True):
        np.testing.assert_array_equal(left, right)


@polytune.kernel
def third(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(x[i])
    return out[2], out[-3]


@polytune.kernel
def popped(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(i)
    return out.pop()


@polytune.kernel
def ones(k):
    return np.ones(k[0])


def test_what_a_list_does_not_have_is_an_error() -> None:
    assert third(np.ones(3)) == (1.0, 1.0)
    for kernel, x in ((third, np.ones(2)), (popped, -np.ones(3)), (popped, np.zeros(0))):
        with pytest.raises(IndexError):
            kernel.__wrapped__(x)
        with pytest.raises(EmptyListError if kernel is popped else SubscriptError) as found:
            kernel(x)
        assert isinstance(found.value, IndexError)
    assert popped(np.ones(3)) == 2


def test_more_elements_than_there_is_room_for_are_an_error() -> None:
    np.testing.assert_array_equal(ones(np.array([65536])), np.ones(65536))
    assert ones(np.array([0])).shape == (0,)
    with pytest.raises(DataError, match="more elements than there is room for"):
        ones(np.array([10**7]))
    with pytest.raises(DataError, match="negative"):
        ones(np.array([-1]))


def test_shapes_that_do_not_fit_are_an_error() -> None:
    @polytune.kernel
    def summed(x, y):
        a = x[x > 0]
        return a + y

    np.testing.assert_array_equal(summed(np.array([1.0, -1.0, 2.0]), np.array([1.0, 2.0])), [2.0, 4.0])
    with pytest.raises(ValueError, match="return a \\+ y"):
        summed(np.ones(3), np.ones(2))
