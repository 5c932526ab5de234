"""Calls with arrays of Dask that are refused, and what the errors say."""

import dask
import dask.array
import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, UnsupportedSourceError
from tests.shards.test_calls import divided, either, heat, product, triangle


@polytune.kernel(strict=True)
def recurrence(x, y):
    for i in range(1, len(x)):
        x[i] = 0.5 * x[i - 1] + y[i]


@polytune.kernel
def picked(x, index, out):
    for i in range(len(out)):
        out[i] = x[index[i]]


def refused(kernel, *arguments):
    with pytest.raises((ArgumentError, UnsupportedSourceError)) as caught:
        kernel(*arguments)
    with pytest.raises(type(caught.value)):
        kernel.shards(*arguments)
    return str(caught.value)


def test_what_cannot_be_cut_is_refused_with_what_the_loops_carry():
    x = dask.array.ones(20, chunks=5)
    message = refused(recurrence, x, x)
    assert "of the loop in line" in message and "reads x that line" in message and ".compute()" in message


def test_results_that_depend_on_data_are_refused_or_numbers():
    x = np.random.default_rng(14).random(50)
    try:
        assert np.isclose(either(divided(x)).compute(), x.sum())
    except UnsupportedSourceError as error:
        assert "returned depends on data" in str(error)


@polytune.kernel
def ring(x, y):
    n = len(x)
    for i in range(n):
        y[i] = x[(2 * i) % n] + x[i]


def test_subscripts_that_no_sums_are_refused_with_the_reason():
    x = dask.array.ones(20, chunks=5)
    message = refused(ring, x, x)
    assert "subscripts of x are remainders, quotients or products" in message and "depend on data" not in message


def test_subscripts_that_depend_on_data_are_refused():
    x, index = dask.array.ones(20, chunks=5), dask.array.zeros(20, chunks=5, dtype=np.int64)
    assert "index" in refused(picked, x, index, x)


def test_chunks_that_are_not_known_or_empty_are_refused():
    x = np.arange(20.0)
    unknown = dask.array.from_array(x, chunks=5)
    assert "compute_chunk_sizes" in refused(recurrence, unknown[unknown > 3], unknown)
    assert "empty" in refused(recurrence, dask.array.from_array(x, chunks=((5, 0, 15),)), unknown)
    assert "without dimensions" in refused(recurrence, unknown.sum(), unknown)


def test_shapes_and_types_that_do_not_fit_are_refused():
    A, C = dask.array.ones((20, 10), chunks=5), dask.array.ones((20, 10), chunks=5)
    assert "goes past the end of axis 0" in refused(product, 1.0, C, A, dask.array.ones((9, 10), chunks=5))
    assert "float128" in refused(product, 1.0, C, A.astype(np.longdouble), A)
    assert "from_array" in refused(product, 1.0, np.ones((20, 10)), A, dask.array.ones((10, 10), chunks=5))


def test_chunks_that_are_not_what_the_array_says_are_refused():
    x = dask.array.ones((12, 12), chunks=6)
    lying = x.map_blocks(lambda block: block.astype(np.float32), dtype=np.float64)
    with pytest.raises(ArgumentError, match="float32"):
        triangle(lying, x).compute()


def test_a_call_of_too_many_tasks_is_refused(monkeypatch):
    monkeypatch.setattr("polytune.shards.tasks.MOST_TASKS", 100)
    A = dask.array.ones((24, 24), chunks=6)
    with dask.config.set({"polytune.steps-per-exchange": 1}):
        assert "larger chunks" in refused(heat, 50, A, A)


def test_without_chunks_there_is_no_cut_to_be_shown():
    x = np.ones((8, 8))
    with pytest.raises(ArgumentError, match=r"none of the arguments is one; pass dask\.array\.from_array"):
        triangle.shards(x, x)


def test_the_number_of_steps_at_once_is_a_number():
    A = dask.array.ones((24, 24), chunks=6)
    with dask.config.set({"polytune.steps-per-exchange": "many"}):
        assert "steps-per-exchange" in refused(heat, 5, A, A)
