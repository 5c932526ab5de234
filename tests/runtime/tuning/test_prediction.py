"""The version and the sizes that are expected to be the fastest, before anything of a call has been measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polytune
from benchmarks.applications.case import cases
from polybench.registry import benchmark
from polytune.runtime.machine import machine
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.tuning.prediction import Prediction
from polytune.runtime.tuning.work import Account
from polytune.tuner import Configuration
from tests.codegen.accounts import CACHES, REGISTERS, account_of, generated_of, means_of_columns, product, product_of


@pytest.fixture(autouse=True)
def with_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have predictions for the registers that the code is written for."""
    here = replace(machine(), vector_bytes=REGISTERS[0])
    monkeypatch.setattr("polytune.runtime.tuning.prediction.machine", lambda: here)


def expected_of(generated: GeneratedKernel, parameters: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> Prediction:
    """What is expected on a processor with these caches."""
    prediction = Prediction(generated.module, generated.space, parameters, 1)
    monkeypatch.setattr(prediction, "_caches", CACHES)
    return prediction


def pairs(table):
    for i in range(table.shape[0] - 1, -1, -1):
        for j in range(i + 1, table.shape[0]):
            for k in range(i, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])


def test_lanes_that_are_stored_by_a_mask_are_waited_for():
    """Tiles that are narrower than a vector are loaded by a mask again and again, as they were stored just before."""
    generated, parameters = generated_of(pairs, np.ones((500, 500), np.int32))
    version = next(each for each in generated.module.VERSIONS if each.name == "tiled_early")
    seconds = []
    prediction = Prediction(generated.module, generated.space, parameters, 1)
    lanes = REGISTERS[0] // 4
    for size in (lanes // 2, 2 * lanes):
        sizes = dict.fromkeys(version.sizes, 32) | {"tile_1": size}
        seconds.append(prediction.seconds(generated.space.configuration(version=version.name, threads=1, **sizes)))
    narrow, wide = seconds
    assert narrow > wide


def relaxed(A, steps):
    for _ in range(steps):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = (A[i - 1, j] + A[i, j - 1] + A[i, j] + A[i, j + 1] + A[i + 1, j]) / 5.0


def test_scans_wait_where_their_rows_begin():
    """Each row of a tile begins with the element before it, which has just been stored, and the sums of a vector."""
    generated, parameters = generated_of(relaxed, np.ones((600, 600)), 20)
    version = next(each for each in generated.module.VERSIONS if each.name == "tiled_scanned")
    prediction = Prediction(generated.module, generated.space, parameters, 1)

    def waiting(rows: int) -> float:
        sizes = dict.fromkeys(version.sizes, 32) | {f"tile_{len(version.sizes) - 1}": rows}
        times = prediction.times(generated.space.configuration(version=version.name, threads=1, **sizes))
        assert times is not None
        return times["waits"]

    elements = 20 * 598 * 598
    assert 5 * elements / 32 < waiting(32) < 20 * elements / 32
    assert waiting(256) < waiting(32) / 4


def simulated(A, v, x):
    for t in range(x.shape[1] - 1):
        for i in range(A.shape[0]):
            x[i, t + 1] = v[i, t]
            for j in range(A.shape[0]):
                x[i, t + 1] += A[i, j] * x[j, t]


def test_tiles_are_as_many_as_they_are_where_vectors_are_mostly_empty():
    """Blocks of rows and vectors that a tile does not fill count for more arithmetic than there is, and are no reason
    to expect fewer tiles."""
    generated, parameters = generated_of(simulated, np.ones((6, 6)), np.ones((6, 999)), np.ones((6, 1000)))
    prediction = Prediction(generated.module, generated.space, parameters, 1)
    version = next(each for each in generated.module.VERSIONS if each.name == "transposed_registers")
    expected = []
    for size in (1, 512):
        sizes = dict.fromkeys(version.sizes, 512) | {"tile_0": size}
        expected.append(prediction.times(generated.space.configuration(version=version.name, threads=1, **sizes)))
    narrow, wide = expected
    assert narrow["tiles"] > 2 * wide["tiles"]
    assert narrow["regions"] == wide["regions"]


@pytest.mark.parametrize("size, is_packed", [(12, False), (400, True), (2000, True)])
def test_rows_of_the_right_matrix_are_copied_first_where_they_are_long(size, is_packed):
    """They lie in a page each, and then to read them in their places takes longer than to copy them."""
    matrix = np.empty((size, size))
    generated, parameters = generated_of(product, matrix, matrix.copy(), matrix.copy())
    prediction = Prediction(generated.module, generated.space, parameters, 1)
    names = [version.name for version in generated.module.VERSIONS]
    packed = next(name for name in names if name.endswith("packed"))
    direct = packed.replace("packed", "registers")
    seconds = {
        version.name: prediction.seconds(
            generated.space.configuration(version=version.name, threads=1, **version.sizes)
        )
        for version in generated.module.VERSIONS
        if version.name in (packed, direct)
    }
    assert (seconds[packed] < seconds[direct]) == is_packed
    assert names.index(packed) < names.index(direct)


def test_tiles_of_a_product_with_few_rows_have_long_rows(monkeypatch):
    """The other matrix is used once: in long rows it comes as fast as memory gives it."""
    prediction = expected_of(*product_of(8, 9000, 8000), monkeypatch)
    first = prediction.ranked(lambda _: 0.1)[0]
    sizes = sorted(value for name, value in first.items() if name.startswith("tile"))
    assert sizes[0] <= 32 and sizes[-1] >= 512
    version = next(each for each in prediction._versions.values() if each.name == first["version"])
    assert prediction.seconds(first) < 0.8 * prediction.seconds({**first, **version.sizes})


def dilated(image, out):
    for i in range(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            most = image[i, j]
            for a in range(-1, 2):
                for b in range(-1, 2):
                    most = max(most, image[i + a, j + b])
            out[i, j] = most


SKEWED = [(16, 32, 32, 4096), (32, 2048, 32, 4096), (32, 32, 2048, 4096), (8, 32, 32, 4096), (8, 2048, 16, 4096)]


@pytest.mark.parametrize("name", ["tiled", "tiled_unrolled", "tiled_jammed"])
def test_tiles_of_all_sizes_hold_the_same_work(name, monkeypatch):
    """Tiles of a skewed band are a box with many times as many points as there are instances; they are walked in its
    middle, of which some sizes leave a tenth of what others do."""
    port = benchmark("heat-3d")
    generated, _ = generated_of(port.kernel.__wrapped__, *port.initialise(tsteps=2, n=10))
    assert generated.module.PARAMETERS == ("tsteps", "n")
    prediction = expected_of(generated, (500, 120), monkeypatch)
    version = next(each for each in generated.module.VERSIONS if each.name == name)
    expected = [
        prediction.seconds({"version": name, **dict(zip(version.sizes, sizes, strict=True))}) for sizes in SKEWED
    ]
    assert max(expected) < 1.7 * min(expected)


def test_neighbours_in_several_rows_at_a_time_come_in_long_rows(monkeypatch):
    """A row is loaded once for four of the image, and processors fetch it ahead from the third cache."""
    generated, _ = generated_of(dilated, np.ones((4, 4)), np.ones((4, 4)))
    prediction = expected_of(generated, (512,) * len(generated.module.PARAMETERS), monkeypatch)
    first = prediction.ranked(lambda _: 0.1)[0]
    assert first["version"] == "tiled_jammed" and first["tile_1"] >= 512
    rows = {**first, "tile_0": 32, "tile_1": 512}
    assert prediction.seconds(rows) < 0.8 * prediction.seconds({**rows, "tile_1": 32})


def test_products_that_no_cache_holds_copy_rows(monkeypatch):
    prediction = expected_of(*product_of(3000, 3000, 3000), monkeypatch)
    assert "packed" in prediction.ranked(lambda _: 0.1)[0]["version"]


def decomposed(a):
    for i in range(a.shape[0]):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] = a[i, j] / a[j, j]
        for j in range(i, a.shape[0]):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j]


def test_tiles_stand_for_a_triangle_by_their_shares(monkeypatch):
    """Few tiles lie on its diagonals, where vectors are cut, though the one in the middle does."""
    n = 400
    generated, _ = generated_of(decomposed, np.eye(4))
    prediction = expected_of(generated, (n,) * len(generated.module.PARAMETERS), monkeypatch)
    assert "registers" in prediction.ranked(lambda _: 0.1)[0]["version"]
    version = next(each for each in generated.module.VERSIONS if each.name == "tiled")
    assert version.work is not None
    for size in (16, 32, 48):
        account = Account(REGISTERS[0], CACHES)
        version.work(account, *prediction._parameters, *dict.fromkeys(version.sizes, size).values())
        parts = account.arithmetic / (2 * n**3 / 3)
        assert parts == pytest.approx(1, rel=0.1), size


def iterated(x, out):
    for i in range(x.shape[0]):
        value = x[i]
        for _ in range(50):
            value = 3.7 * value * (1.0 - value)
        out[i] = value


def test_one_size_for_all_tiles_is_taken_where_it_is_better(monkeypatch):
    """Rows of vectors in registers begin anew in each tile; of a factorisation no tile is cut into thin slices."""
    prediction = expected_of(*generated_of(iterated, np.ones(20000), np.zeros(20000)), monkeypatch)
    first = prediction.ranked(lambda _: 0.1)[0]
    assert min(first["tile_0"], 20000) >= 512
    generated, _ = generated_of(decomposed, np.eye(4))
    prediction = expected_of(generated, (400,) * len(generated.module.PARAMETERS), monkeypatch)
    for each in prediction.ranked(lambda _: 0.1)[:3]:
        sizes = {name: value for name, value in each.items() if name.startswith("tile")}
        own = next(version.sizes for version in generated.module.VERSIONS if version.name == each["version"])
        assert len(set(sizes.values())) <= 1 or sizes.items() <= own.items(), each


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(cases()))
def test_every_version_of_every_kernel_tells_what_it_does(name):
    case = cases()[name]
    arguments = case.arguments()
    generated, parameters = generated_of(case.function, *arguments)
    prediction = Prediction(generated.module, generated.space, parameters, 1)
    missed = 0
    for version in generated.module.VERSIONS:
        for sizes in (parameters, tuple(min(each, 3) for each in parameters), (0,) * len(parameters)):
            found = account_of(generated, version.name, *sizes)
            assert found.arithmetic >= 0 and all(np.isfinite(found.counts))
        seconds = prediction.seconds(generated.space.configuration(version=version.name, **version.sizes))
        assert seconds is not None and seconds >= 0, version.name
        missed += seconds == np.inf
    assert missed <= 1, "of the middle of few loops nothing can be told"
    for sizes in (parameters, tuple(min(each, 3) for each in parameters), (0,) * len(parameters)):
        ranked = Prediction(generated.module, generated.space, sizes, 1).ranked(lambda configuration: 0.0)
        assert {each["version"] for each in ranked} == {version.name for version in generated.module.VERSIONS}
        assert all(generated.space.contains(each) for each in ranked)


def test_source_order_that_has_no_arithmetic_is_no_measure():
    """Its loops have no iteration in which the statement runs; boxes of tiles seem to have some."""

    def kernel(n, m, a, b, c, d, least):
        for i in range(2, m - 1):
            for j in range(i // 2, n - 1, 3):
                if i == n - 1:
                    a[j, j] = max(c[j, i], min(least, d[j, j - 1]))
                elif i <= i + 1:
                    b[j] = min(b[j], a[j + 1, j] * 0.125)

    arrays = [np.ones(shape, np.int64) for shape in ((24, 24), 24, (6, 9), (6, 9))]
    generated, parameters = generated_of(kernel, 6, 9, *arrays, 0.5)
    ranked = Prediction(generated.module, generated.space, parameters, 1).ranked(lambda configuration: 0.0)
    assert len(ranked) == len(generated.module.VERSIONS)


def test_a_model_that_fails_ends_no_call(monkeypatch):
    kernel = polytune.kernel(product)
    monkeypatch.setattr(Prediction, "ranked", lambda *_: 1 / 0)
    a, b, c = (np.ones((4, 4)) for _ in range(3))
    kernel(a, b, c)
    assert np.array_equal(c, np.full((4, 4), 5.0))


def test_a_version_that_is_slow_to_compile_is_not_the_first_one_for_little_work():
    a = np.ones((20, 20))
    generated, parameters = generated_of(product, a, a.copy(), a.copy())
    prediction = Prediction(generated.module, generated.space, parameters, 1)
    best, *_ = prediction.ranked(lambda configuration: 0.0)

    def compilation(configuration: Configuration) -> float:
        return 5.0 if configuration["version"] == best["version"] else 0.1

    assert prediction.ranked(compilation)[0]["version"] != best["version"]


def outer_products_added(a, x, y):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] += x[i] * y[j]


def test_rows_are_not_cut_where_nothing_is_expected_of_it(monkeypatch):
    generated, _ = generated_of(outer_products_added, np.ones((8, 8)), np.ones(8), np.ones(8))
    monkeypatch.setattr(generated.module, "current_threads", lambda: 2)
    space = generated.module.space()
    prediction = Prediction(generated.module, space, (640, 700), 2)
    cut = space.configuration(version="tiled", threads=2, tile_0=32, tile_1=512)
    whole = space.configuration(version="parallel", threads=2, tile_0=32)
    assert prediction.seconds(cut) > 0.97 * prediction.seconds(whole)
    assert prediction.ranked(lambda _: 0.1)[0] == whole


def test_whole_rows_come_before_tiles_of_few_columns(monkeypatch):
    generated, _ = generated_of(means_of_columns, np.ones((8, 8)), np.ones(8))
    prediction = expected_of(generated, (3000, 200), monkeypatch)
    assert prediction.ranked(lambda _: 0.1)[0]["version"] == "summed"
