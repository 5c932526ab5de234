"""Memory of local arrays: used again, never by two at once, bounded, at cache lines, zeroed where that is asked for."""

import threading

import numpy as np
import pytest

import polytune
from polytune.runtime.local_arrays import SMALLEST, LocalArrays, local_arrays

ELEMENTS = SMALLEST // 8


@pytest.fixture
def memory():
    return LocalArrays(limit=4 * SMALLEST + 4096)


def test_memory_that_was_given_back_is_used_again(memory):
    first = memory.array((2, ELEMENTS), "float64")
    address = first.ctypes.data
    memory.give_back([first])
    second = memory.array((ELEMENTS, 2), "float64")
    assert second.ctypes.data == address and memory.kept == 0
    assert second.shape == (ELEMENTS, 2) and second.flags.c_contiguous and second.flags.writeable


def test_two_arrays_in_use_share_nothing(memory):
    memory.give_back([memory.array((ELEMENTS,), "float64") for _ in range(2)])
    first, second, third = (memory.array((ELEMENTS,), "float64") for _ in range(3))
    for one, other in [(first, second), (second, third), (first, third)]:
        assert not np.shares_memory(one, other)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_zeroed_memory_is_zeroed_however_it_was_left(memory, dtype):
    for _ in range(2):
        array = memory.array((3, SMALLEST // 4), dtype, zeroed=True)
        assert array.dtype == dtype and not array.any()
        array.fill(7)
        memory.give_back([array])


def test_no_more_is_kept_than_the_limit_and_the_oldest_goes_first(memory):
    arrays = [memory.array((ELEMENTS,), "float64") for _ in range(6)]
    addresses = [array.ctypes.data for array in arrays]
    memory.give_back(arrays)
    assert memory.kept <= 4 * SMALLEST + 4096
    again = {memory.array((ELEMENTS,), "float64").ctypes.data for _ in range(4)}
    assert again == set(addresses[2:])


def test_a_block_serves_no_array_that_is_much_smaller(memory):
    memory.give_back([memory.array((4 * ELEMENTS,), "float64")])
    memory.array((ELEMENTS,), "float64")
    assert memory.kept >= 4 * SMALLEST


@pytest.mark.parametrize("shape", [(0,), (0, 2 * ELEMENTS), (1,), (ELEMENTS - 1,)])
def test_small_arrays_are_left_to_the_allocator(memory, shape):
    array = memory.array(shape, "float64")
    assert array.shape == shape
    memory.give_back([array])
    assert memory.kept == 0


@pytest.mark.parametrize("zeroed", [False, True])
@pytest.mark.parametrize("shape", [(512,), (3, 1000), (ELEMENTS - 1,), (ELEMENTS,), (7, ELEMENTS)])
def test_arrays_begin_where_a_cache_line_does(memory, shape, zeroed):
    arrays = [memory.array(shape, "float64", zeroed=zeroed) for _ in range(4)]
    for number, array in enumerate(arrays):
        assert array.shape == shape and array.flags.c_contiguous and array.ctypes.data % 64 == 0
        assert not zeroed or not array.any()
        array.fill(number)
    assert all((array == number).all() for number, array in enumerate(arrays))


def test_threads_never_hold_the_same_memory(memory):
    failures = []

    def work(number: int) -> None:
        for _ in range(200):
            array = memory.array((ELEMENTS,), "int64")
            array[::512] = number
            if (array[::512] != number).any():
                failures.append(number)
            memory.give_back([array])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@polytune.kernel
def twice_through_a_local_array(source, target):
    (n,) = source.shape
    between = np.empty_like(source)
    counted = np.zeros_like(source)
    for i in range(n):
        between[i] = source[i] + 1.0
    for i in range(n):
        counted[i] += between[n - 1 - i]
    for i in range(n):
        target[i] = counted[i] * 2.0


def test_calls_of_a_kernel_use_the_memory_of_the_call_before():
    source = np.arange(5 * ELEMENTS, dtype=np.float64)
    target = np.empty_like(source)
    for _ in range(3):
        twice_through_a_local_array(source, target)
        np.testing.assert_array_equal(target, (source[::-1] + 1.0) * 2.0)
        source += 1.0
    before = local_arrays.kept
    assert before >= 2 * source.nbytes
    twice_through_a_local_array(source, target)
    assert local_arrays.kept == before
