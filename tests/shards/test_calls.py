"""Kernels called with arrays of Dask give what they give for the arrays in one piece."""

import dask
import dask.array
import numpy as np
import pytest

import polytune

CHUNKS = {11: (4, 7), 12: (5, 1, 6), 17: (9, 8), 23: (10, 2, 11), 24: (7, 7, 10), 50: (11, 30, 9)}
"""The chunks of axes of an extent: uneven ones, and one of a single row where that may matter."""


@pytest.fixture(autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


def divided(value):
    if not isinstance(value, np.ndarray):
        return value
    return dask.array.from_array(value, chunks=tuple(CHUNKS.get(extent, (extent,)) for extent in value.shape))


def check(kernel, *arguments, exact=True):
    """Hold a call with chunks against plain Python on the arrays in one piece.

    Returns:
        What the call has returned.
    """
    expected = [value.copy() if isinstance(value, np.ndarray) else value for value in arguments]
    result = kernel.__wrapped__(*expected)
    given = [divided(value) for value in arguments]
    returned = kernel(*given)
    written = [
        now for before, now in zip(arguments, expected, strict=True) if not np.array_equal(before, now, equal_nan=True)
    ]
    wanted = [*written, *([] if result is None else result if isinstance(result, tuple) else [result])]
    arrays = returned if isinstance(returned, tuple) else (returned,)
    assert len(arrays) == len(wanted)
    for array, value in zip(arrays, wanted, strict=True):
        assert isinstance(array, dask.array.Array)
        assert (array.shape, array.dtype) == (np.shape(value), np.asarray(value).dtype)
        computed = array.compute()
        assert np.array_equal(computed, value) if exact else np.allclose(computed, value, rtol=1e-12)
    for before, now in zip(arguments, given, strict=True):
        if isinstance(before, np.ndarray):
            assert np.array_equal(before, now.compute()), "an argument has been changed"
    return returned


@polytune.kernel(strict=True)
def shifted(A, B, C, out):
    for i in range(2, out.shape[0] - 1):
        for j in range(3, out.shape[1]):
            out[i, j] = A[i - 2, j] + A[i + 1, j - 3] * B[2 * i, j] - C[j]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_halos_are_asymmetric_strided_and_of_several_arrays(dtype):
    rng = np.random.default_rng(1)
    A, B, C, out = ((rng.random(shape) * 100).astype(dtype) for shape in [(23, 17), (50, 17), (17,), (23, 17)])
    check(shifted, A, B, C, out)


@polytune.kernel(strict=True)
def product(alpha, C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


def test_products_have_whole_rows_and_columns():
    rng = np.random.default_rng(2)
    C = check(product, 2.5, rng.random((23, 17)), rng.random((23, 24)), rng.random((24, 17)))
    assert C.chunks == (CHUNKS[23], CHUNKS[17])


@polytune.kernel(strict=True)
def two_products(A, B, C):
    between = np.zeros((A.shape[0], B.shape[1]))
    out = np.empty((A.shape[0], C.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                between[i, j] += A[i, k] * B[k, j]
    for i in range(A.shape[0]):
        for j in range(C.shape[1]):
            out[i, j] = 1.0
            for k in range(B.shape[1]):
                out[i, j] += between[i, k] * C[k, j]
    return out


def test_arrays_that_are_made_inside_pass_from_region_to_region():
    rng = np.random.default_rng(3)
    check(two_products, rng.random((23, 17)), rng.random((17, 12)), rng.random((12, 24)))


@polytune.kernel(strict=True)
def heat(steps, A, B):
    for _ in range(steps):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                B[i, j] = 0.25 * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1])
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = B[i, j]


@pytest.mark.parametrize("steps", [0, 1, 5])
@pytest.mark.parametrize("at_once", [1, 2, 3, None])
def test_loops_over_time(steps, at_once):
    rng = np.random.default_rng(4)
    A, B = rng.random((23, 12)), rng.random((23, 12))
    expected = A.copy(), B.copy()
    heat.__wrapped__(steps, *expected)
    with dask.config.set({"polytune.steps-per-exchange": at_once}):
        given = divided(A), dask.array.from_array(B, chunks=(6, 4))
        if steps == 5 and at_once is not None:
            # Blocks of steps are shards by the chunks of one array; single ones for each of the two regions.
            assert heat.shards(steps, *given).shards == (5 * (12 + 9) if at_once == 1 else 12 * -(-5 // at_once))
        computed = dask.compute(*heat(steps, *given))
    assert all(np.array_equal(here, there) for here, there in zip(computed, expected, strict=True))


@polytune.kernel(strict=True)
def upwind(steps, u, v, wide):
    """Halos of one side alone, of arrays with other extents, and one that is made inside."""
    old = np.zeros(u.shape[0] + 2)
    for _ in range(steps):
        for i in range(u.shape[0]):
            old[i] = u[i] + wide[i]
        for i in range(3, u.shape[0]):
            u[i] = old[i] - 0.25 * old[i - 3] + v[i - 1]
        for i in range(2, u.shape[0] - 1):
            wide[i + 2] = 0.5 * u[i] + 0.125 * v[i + 1]


@pytest.mark.parametrize("at_once", [1, 2, 4, 6])
def test_blocks_of_steps_have_halos_of_composed_steps(at_once):
    rng = np.random.default_rng(15)
    u, v, wide = rng.random(50), rng.random(50), rng.random(54)
    with dask.config.set({"polytune.steps-per-exchange": at_once}):
        plan = upwind.shards(6, *(dask.array.from_array(each, chunks=10) for each in (u, v, wide)))
        assert ("steps at once" in str(plan)) == (at_once > 1)
        expected = u.copy(), wide.copy()
        upwind.__wrapped__(6, expected[0], v, expected[1])
        computed = dask.compute(*upwind(6, *map(divided, (u, v, wide))))
    assert all(np.array_equal(here, there) for here, there in zip(computed, expected, strict=True))


@polytune.kernel(strict=True)
def mirrored(x, y, z):
    n = len(x)
    for i in range(n):
        y[i] = x[n - 1 - i]
        y[2 * n - 1 - i] = x[i]
        z[2 * i] = x[i]


@polytune.kernel(strict=True)
def triangle(A, out):
    for i in range(out.shape[0]):
        for j in range(i + 1):
            out[i, j] = A[j, i] + 1.0


@pytest.mark.parametrize("rows", [11, 24])
def test_what_shards_write_may_interleave(rows):
    rng = np.random.default_rng(5)
    check(mirrored, rng.random(rows), rng.random(2 * rows), rng.random(2 * rows))


def test_triangles_are_written_and_nothing_beside_them():
    rng = np.random.default_rng(6)
    check(triangle, rng.random((24, 24)), rng.random((24, 24)))


@polytune.kernel(strict=True)
def brightened(image, limit, out):
    for i in range(1, image.shape[0]):
        for j in range(image.shape[1]):
            out[i, j] = min(image[i, j] // 2 + image[i - 1, j] // 2, limit)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16])
def test_types_that_no_device_has(dtype):
    rng = np.random.default_rng(16)
    image, out = (rng.integers(0, 120, (23, 17)).astype(dtype) for _ in range(2))
    check(brightened, image, 90, out)


@polytune.kernel(strict=True)
def solved(steps, u, matrix):
    """A sweep in parallel, then a serial one that works in an array of its own."""
    n = len(u)
    c = np.empty(n)
    d = np.empty(n)
    for _ in range(steps):
        for i in range(n):
            d[i] = 0.0
        for i in range(n):
            for j in range(n):
                d[i] += matrix[i, j] * u[j]
        c[0] = 0.25
        for i in range(1, n):
            c[i] = 1.0 / (4.0 - c[i - 1])
            d[i] = (d[i] + d[i - 1]) * c[i]
        u[n - 1] = d[n - 1]
        for i in range(n - 2, -1, -1):
            u[i] = d[i] + c[i] * u[i + 1]


def test_serial_regions_have_memory_of_their_own():
    rng = np.random.default_rng(17)
    check(solved, 3, rng.random(24), rng.random((24, 24)))


@polytune.kernel
def moments(A, x):
    total = 0.0
    rows = np.zeros(A.shape[0])
    columns = np.zeros(A.shape[1])
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            total += A[i, j]
            rows[i] += A[i, j] * x[j]
            columns[j] += A[i, j]
    return total, rows, columns


def test_sums_are_trees_and_numbers_are_returned():
    rng = np.random.default_rng(7)
    A = rng.random((50, 24))
    check(moments, A, rng.random(24), exact=False)


@polytune.kernel
def mean_of(x, weight):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    return total * weight / len(x), len(x)


def test_numbers_are_computed_of_sums_by_tasks():
    x = np.random.default_rng(13).random(50)
    mean, count = mean_of(divided(x), 2.0)
    assert isinstance(mean, dask.array.Array) and mean.shape == ()
    assert np.isclose(mean.compute(), 2.0 * x.mean(), rtol=1e-14)
    assert count.compute() == 50


@polytune.kernel
def either(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    if total > 3.0:
        return total
    return 0.0


@polytune.kernel
def largest(x):
    found = x[0]
    for i in range(1, len(x)):
        found = max(found, x[i])
    return found


def test_many_partial_results_are_combined():
    x = np.random.default_rng(8).random(200)
    plan = largest.shards(dask.array.from_array(x, chunks=7))
    assert plan.shards >= 200 // 7
    assert largest(dask.array.from_array(x, chunks=7)).compute() == x.max()


def test_arrays_of_numpy_may_stand_beside_those_of_dask():
    rng = np.random.default_rng(9)
    A, B, C, out = rng.random((23, 17)), rng.random((50, 17)), rng.random(17), rng.random((23, 17))
    expected = out.copy()
    shifted.__wrapped__(A, B, C, expected)
    found = shifted(divided(A), np.asfortranarray(B), C, out=divided(out))
    assert np.array_equal(found.compute(), expected)


def test_chunks_in_any_layout():
    rng = np.random.default_rng(10)
    A, B, C, out = rng.random((23, 17)), rng.random((50, 17)), rng.random(17), rng.random((23, 17))
    expected = out.copy()
    shifted.__wrapped__(A, B, C, expected)
    turned = divided(np.ascontiguousarray(A.T).T).map_blocks(np.asfortranarray)
    assert np.array_equal(shifted(turned, divided(B)[::1], divided(C), divided(out)).compute(), expected)


def test_the_same_array_may_be_read_and_written():
    """As arrays of Dask never change, each call writes to arrays of its own."""
    A = np.random.default_rng(11).random((24, 24))
    expected = A.copy()
    triangle.__wrapped__(A, expected)
    given = divided(A)
    assert np.array_equal(triangle(given, given).compute(), expected)


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_calls_follow_one_another(scheduler):
    rng = np.random.default_rng(12)
    A, B = rng.random((23, 12)), rng.random((23, 12))
    expected = A.copy(), B.copy()
    heat.__wrapped__(6, *expected)
    found = divided(A), divided(B)
    for _ in range(3):
        found = heat(2, *found)
    computed = dask.compute(*found, scheduler=scheduler)
    assert all(np.array_equal(here, there) for here, there in zip(computed, expected, strict=True))


@polytune.kernel(strict=True)
def counted(x, y):
    if len(x) == 0:
        return 0.0
    total = 0.0
    for i in range(len(x)):
        y[i] = 2.0 * x[i]
    for i in range(len(x)):
        total += y[i]
    return total


def test_what_is_returned_may_depend_on_sizes():
    check(counted, np.arange(50.0), np.zeros(50))


def test_the_cut_is_shown():
    A = dask.array.ones((24, 12), chunks=((7, 7, 10), (5, 7)))
    with dask.config.set({"polytune.steps-per-exchange": 1}):
        plan = heat.shards(3, A, A)
    assert plan.shards == 3 * 2 * 6
    assert "A: float64 (24, 12), in chunks (7, 7, 10) x (5, 7)" in str(plan)
    assert "3 along axis 0" in str(plan) and "2 along axis 1" in str(plan)
    assert plan._repr_html_().count("<svg") == 2


def test_what_is_little_of_a_chunk_is_cut_out_in_one_task(monkeypatch):
    A = dask.array.from_array(np.random.default_rng(18).random((40, 40)), chunks=8)
    expected = A.compute(), A.compute()
    heat.__wrapped__(6, *expected)

    def called():
        """What the call gives, and how many tasks there are of each kind."""
        after = heat(6, A, A)
        names = [key[0].rpartition("-")[0] for key in dict(after[0].dask) if isinstance(key, tuple)]
        return after, {name: names.count(name) for name in names}

    with dask.config.set({"polytune.steps-per-exchange": 2}):
        after, together = called()
        monkeypatch.setattr("polytune.shards.simplification.SECONDS_PER_TASK", 0.0)
        apart, separate = called()
    assert together["heat-region-0-1"] == separate["heat-region-0-1"] == 3 * 25
    borders = [found["heat-border-A"] + found.get("heat-border-B", 0) for found in (together, separate)]
    assert borders[0] <= 3 * 25 * 2  # one for each exchange, chunk and array
    assert borders[1] >= 3 * (4 * 3 + 12 * 5 + 9 * 8)  # one for each of its neighbours
    # Of B a block of steps needs nothing but what is at its border: only the last gives the chunk in the middle.
    assert together["heat-A"] == together["heat-B"] < 3 * 25
    for found in (after, apart):
        assert all(np.array_equal(*each) for each in zip(dask.compute(*found), expected, strict=True))


@polytune.kernel
def neighbours_on_a_ring(x, y):
    n = len(x)
    for i in range(n):
        y[i] = x[(i + 1) % n] - 2.0 * x[i] + x[(i - 1) % n]


@pytest.mark.parametrize("n", [11, 17])
def test_neighbours_on_a_ring_are_in_other_chunks(n):
    check(neighbours_on_a_ring, np.random.default_rng(n).random(n), np.zeros(n))
