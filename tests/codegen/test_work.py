"""What versions say that they have to do: held against what a call really does."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from benchmarks.applications.case import cases
from polytune.runtime.machine import machine
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.tuning.prediction import Prediction
from polytune.runtime.tuning.rates import RATES
from polytune.runtime.tuning.work import Account, Kind
from polytune.tuner import Configuration

CACHES = (32 << 10, 1 << 20, 8 << 20)


def product(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def triangle(a, x):
    for i in range(a.shape[0]):
        for j in range(i):
            x[i] += a[i, j]


def account_of(generated: GeneratedKernel, name: str, *numbers: int) -> Account:
    """The account of a version for values of the parameters and its own sizes."""
    version = next(each for each in generated.module.VERSIONS if each.name == name)
    account = Account(64, CACHES)
    assert version.work is not None
    version.work(account, *numbers, *version.sizes.values())
    return account


def generated_of(function, *arguments) -> tuple[GeneratedKernel, tuple[int, ...]]:
    kernel = polytune.Kernel(function)
    values = kernel._accept(arguments, {}).values
    generated = kernel.generated(*arguments)
    return generated, generated.prepare(values, {}).parameters


def test_loops_count_by_their_iterations():
    a, b, c = np.ones((40, 50)), np.ones((50, 60)), np.zeros((40, 60))
    generated, parameters = generated_of(product, a, b, c)
    assert account_of(generated, "source", *parameters).arithmetic == 2 * 40 * 50 * 60
    for version in generated.module.VERSIONS:
        found = account_of(generated, version.name, *parameters)
        assert 0.3 < found.arithmetic / (2 * 40 * 50 * 60) < 3, version.name
        assert all(count >= 0 for count in found.counts)


def test_triangles_count_by_their_area():
    generated, parameters = generated_of(triangle, np.ones((100, 100)), np.zeros(100))
    assert account_of(generated, "source", *parameters).arithmetic == pytest.approx(100 * 99 / 2, rel=0.05)


def test_what_is_used_again_comes_from_the_cache_that_holds_it():
    """A row of the right matrix is used in the next iteration of j; all of it in that of i."""
    small, large = (np.ones((n, n)) for n in (32, 1500))
    for matrix, kept in ((small, True), (large, False)):
        generated, parameters = generated_of(product, matrix, matrix.copy(), matrix.copy())
        counts = account_of(generated, "source", *parameters).counts
        far = counts[Kind.APART_3] + counts[Kind.LINES_3]
        assert (far == 0) == kept


def grey(image, out):
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            out[i, j] = 0.3 * image[i, j, 0] + 0.6 * image[i, j, 1] + 0.1 * image[i, j, 2]


def halved(x, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = x[i, 2 * j] + x[i, 2 * j + 1]


def backwards(x, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = x[i, 79 - j]


def doubled(x, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = x[i, j // 2]


def doubled_twice(x, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = x[i // 2, j // 2]


@pytest.mark.parametrize(
    "function, shape, apart",
    [(doubled, (60, 40), 0.5), (grey, (60, 80, 3), 3), (halved, (60, 160), 2), (backwards, (60, 80), 1)],
)
def test_elements_that_lie_a_few_apart_share_lines(function, shape, apart):
    """The iterations of a row go through the lines of a row, and not to a line of its own each."""
    image, out = np.ones(shape), np.zeros((60, 80))
    generated, parameters = generated_of(function, image, out)
    version = next(each for each in generated.module.VERSIONS if each.name == "source")
    account = Account(64, (1 << 10, 2 << 10, 4 << 10))  # as small as the arrays of the test
    assert version.work is not None
    version.work(account, *parameters)
    lines = account.counts[Kind.LINES_4] + account.counts[Kind.APART_4]
    assert lines == pytest.approx(60 * 80 / 8 * (apart + 1), rel=0.02)
    assert account.counts[Kind.APART_2] == account.counts[Kind.APART_3] == 0


def steps_of_heat(a, b, steps):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = a[i, j - 1] + a[i, j + 1] + a[i - 1, j] + a[i + 1, j]
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = b[i, j]


def test_steps_of_time_in_a_tile_share_most_of_its_rows():
    """A tile of 8 steps of 32 by 32 points, whose rows move by a few from step to step, fits in 64 kB."""
    generated, parameters = generated_of(steps_of_heat, np.ones((600, 600)), np.ones((600, 600)), 64)
    version = next(each for each in generated.module.VERSIONS if each.name == "tiled")
    lines = []
    for steps in (1, 8):
        account = Account(64, (1 << 12, 1 << 16, 1 << 30))
        assert version.work is not None
        version.work(account, *parameters, steps, 32, 32)
        lines.append(account.counts[Kind.LINES_3])
    each_step, eight_steps = lines
    assert 0 < eight_steps < each_step / 3


def filtered(image, weights, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            total = 0.0
            for k in range(5):
                for m in range(5):
                    total += weights[k, m] * image[i + k, j + m]
            out[i, j] = total


def test_windows_of_neighbours_share_elements():
    """Rows of an image come once for all that the points around them read of them, and lie next to one another along
    the loop that is made vectors of, though there are loops inside that are written out."""
    generated, parameters = generated_of(filtered, np.ones((68, 516)), np.ones((5, 5)), np.zeros((64, 512)))
    for version in generated.module.VERSIONS:
        if not version.sizes:
            account = Account(64, (1 << 30, 1 << 30, 1 << 30))
            assert version.work is not None
            version.work(account, *parameters)
            assert account.counts[Kind.GATHERED] == 0, version.name
    source = next(each for each in generated.module.VERSIONS if each.name == "source")
    account = Account(64, (1 << 15, 1 << 17, 1 << 17))
    assert source.work is not None
    source.work(account, *parameters)
    lines = account.counts[Kind.LINES_4] + account.counts[Kind.APART_4]
    assert lines < 64 * (5 * 516 + 512 + 100) / 8, "each iteration of i reads five rows and writes one"


def cholesky_rows(a):
    for i in range(a.shape[0]):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]


def test_a_sum_that_may_be_among_its_own_elements_stays_in_memory():
    """Compilers keep it in no register, and add up nothing side by side."""
    n = 60
    generated, parameters = generated_of(cholesky_rows, np.ones((n, n)))
    counts = account_of(generated, "source", *parameters).counts
    assert counts[Kind.SUMS_IN_MEMORY] == pytest.approx(n**3 / 8, rel=0.1), "in the middle of the ranges"
    assert counts[Kind.VECTOR_OPERATIONS] == 0 and counts[Kind.WAITS] > 0
    generated, parameters = generated_of(product, *(np.ones((n, n)) for _ in range(3)))
    counts = account_of(generated, "source", *parameters).counts
    assert counts[Kind.SUMS_IN_MEMORY] == 0 and counts[Kind.VECTOR_OPERATIONS] > 0


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
    lanes = machine().vector_bytes // 4
    for size in (lanes // 2, 2 * lanes):
        sizes = dict.fromkeys(version.sizes, 32) | {"tile_1": size}
        seconds.append(prediction.seconds(generated.space.configuration(version=version.name, threads=1, **sizes)))
    narrow, wide = seconds
    assert narrow > wide


def smoothed(a, b):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = a[i, j - 1] + a[i, j + 1] + a[i - 1, j] + a[i + 1, j]


def test_what_is_left_of_rows_is_left_where_they_are_cut_too():
    """Rows of 38 are four vectors of 8 and 6 elements, in one piece and in tiles of 8."""
    generated, parameters = generated_of(smoothed, np.ones((40, 40)), np.ones((40, 40)))
    version = next(each for each in generated.module.VERSIONS if each.name == "tiled")
    counts = []
    for size in (8, 64):
        account = Account(64, CACHES)
        assert version.work is not None
        version.work(account, *parameters, 32, size)
        counts.append(account.counts)
    narrow, whole = counts
    assert narrow[Kind.VECTOR_OPERATIONS] == pytest.approx(whole[Kind.VECTOR_OPERATIONS], rel=0.01)
    assert narrow[Kind.LOOPS] > 4 * whole[Kind.LOOPS]


@pytest.mark.parametrize("level", [Kind.LINES_2, Kind.LINES_3])
def test_rows_that_are_written_out_side_by_side_have_lines_of_their_own(level):
    """As many come from a cache, whether a loop takes one row at a time or four."""
    generated, parameters = generated_of(doubled_twice, np.ones((64, 512)), np.zeros((128, 1024)))
    found = []
    for name in ("tiled", "tiled_jammed"):
        version = next(each for each in generated.module.VERSIONS if each.name == name)
        account = Account(64, (1 << 10, 1 << 11, 1 << 30))
        assert version.work is not None
        version.work(account, *parameters, *version.sizes.values())
        found.append(account.counts[level])
    tiled, jammed = found
    assert jammed == pytest.approx(tiled, rel=0.05) and tiled > 0


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


def product_of(rows: int, inner: int, columns: int) -> tuple[GeneratedKernel, tuple[int, ...]]:
    """The code of a product, and the parameters of matrices that need not be there."""
    generated, _ = generated_of(product, *(np.ones((4, 4), np.float32) for _ in range(3)))
    sizes = {"a_0": rows, "a_1": inner, "b_0": inner, "b_1": columns, "c_0": rows, "c_1": columns}
    return generated, tuple(sizes[name] for name in generated.module.PARAMETERS)


def expected_of(generated: GeneratedKernel, parameters: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> Prediction:
    """What is expected on a processor with these caches."""
    prediction = Prediction(generated.module, generated.space, parameters, 1)
    monkeypatch.setattr(prediction, "_caches", CACHES)
    return prediction


def test_lines_come_from_memory_once_for_each_pass():
    """Blocks of rows and of columns share them, however they are written out; what a worker packs them into is its
    own."""
    generated, parameters = product_of(8, 9000, 8000)
    lines = 9000 * 8000 * 4 / 64
    for version in generated.module.VERSIONS:
        if version.name.endswith(("registers", "packed", "jammed")):
            counts = account_of(generated, version.name, *parameters).counts
            assert 0.95 * lines < counts[Kind.LINES_4] + counts[Kind.APART_4] < 1.3 * lines, version.name


def test_tiles_of_a_product_with_few_rows_have_long_rows(monkeypatch):
    """The other matrix is used once: in long rows it comes as fast as memory gives it."""
    prediction = expected_of(*product_of(8, 9000, 8000), monkeypatch)
    first = prediction.ranked(lambda _: 0.1)[0]
    sizes = sorted(value for name, value in first.items() if name.startswith("tile"))
    assert sizes[0] <= 32 and sizes[-1] >= 512
    version = next(each for each in prediction._versions.values() if each.name == first["version"])
    assert prediction.seconds(first) < 0.8 * prediction.seconds({**first, **version.sizes})


def test_products_that_no_cache_holds_copy_rows(monkeypatch):
    prediction = expected_of(*product_of(3000, 3000, 3000), monkeypatch)
    assert "packed" in prediction.ranked(lambda _: 0.1)[0]["version"]


def solved(a, x, b):
    for i in range(a.shape[0]):
        x[i] = b[i]
        for j in range(i):
            x[i] -= a[i, j] * x[j]
        x[i] = x[i] / a[i, i]


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
        account = Account(64, CACHES)
        version.work(account, *prediction._parameters, *dict.fromkeys(version.sizes, size).values())
        parts = account.arithmetic / (2 * n**3 / 3)
        assert parts == pytest.approx(1, rel=0.1), size


def test_few_tiles_of_a_triangle_count_as_they_are():
    """Of two by two tiles one is empty, one whole and two are triangles."""
    generated, _ = generated_of(solved, np.eye(4), np.ones(4), np.ones(4))
    version = next(each for each in generated.module.VERSIONS if each.name == "tiled")
    account = Account(64, CACHES)
    n = 512
    assert version.work is not None
    version.work(account, *(n,) * len(generated.module.PARAMETERS), n // 2, n // 2)
    assert account.arithmetic == pytest.approx(n * n, rel=0.15)


def test_copies_of_rows_are_made_in_vectors():
    matrix = np.empty((384, 384))
    generated, parameters = generated_of(product, matrix, matrix.copy(), matrix.copy())
    name = next(version.name for version in generated.module.VERSIONS if version.name.endswith("packed"))
    counts = account_of(generated, name, *parameters).counts
    assert counts[Kind.VECTOR_ACCESSES] >= 2 * 384 * 384 / 8
    direct = account_of(generated, name.replace("packed", "registers"), *parameters).counts
    assert counts[Kind.ACCESSES] - direct[Kind.ACCESSES] < 384 * 384 / 4


def recurrent_rows(x, y):
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            y[i, j] = 0.9 * y[i, j - 1] + 0.1 * x[i, j]


def test_lanes_that_lie_apart_are_loaded_and_stored_one_by_one():
    """Rows side by side in vectors: each iteration loads an element of each and stores one, wherever these lie."""
    generated, parameters = generated_of(recurrent_rows, np.ones((64, 200)), np.ones((64, 200)))
    name = next(version.name for version in generated.module.VERSIONS if version.name.endswith("parallel_registers"))
    found = account_of(generated, name, *parameters)
    assert 2 * 64 * 199 <= found.counts[Kind.GATHERED] <= 3 * 64 * 199
    assert account_of(generated, "source", *parameters).counts[Kind.GATHERED] == 0


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


def means_of_columns(x, mean):
    for j in range(x.shape[1]):
        mean[j] = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            mean[j] += x[i, j] / x.shape[0]


@pytest.mark.parametrize("columns", [32, 200])
def test_vectors_that_are_written_out_have_lines_of_their_own(columns):
    """As many come from the third cache whether a loop takes elements or vectors; they are fetched ahead along whole
    rows, as these go on from one to the next, and not in tiles of 32 columns."""
    generated, _ = generated_of(means_of_columns, np.ones((8, 8)), np.ones(8))
    lines = 3000 * 200 * 8 / 64
    version = next(each for each in generated.module.VERSIONS if each.name == "tiled_registers")
    account = Account(64, CACHES)
    assert version.work is not None
    version.work(account, 3000, 200, columns, 512)
    assert account.counts[Kind.LINES_3] == pytest.approx(lines, rel=0.1)
    assert account.counts[Kind.UNFORESEEN_3] == pytest.approx(lines if columns == 32 else 0, rel=0.1)


def test_whole_rows_come_before_tiles_of_few_columns(monkeypatch):
    generated, _ = generated_of(means_of_columns, np.ones((8, 8)), np.ones(8))
    prediction = expected_of(generated, (3000, 200), monkeypatch)
    assert prediction.ranked(lambda _: 0.1)[0]["version"] == "summed"


def test_there_is_a_rate_for_everything_that_is_counted():
    assert set(RATES) == set(Kind) and all(rate > 0 for rate in RATES.values())


def relaxed(a, b, steps):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = b[i, j]


def behind(a):
    for i in range(a.shape[0]):
        for j in range(1, a.shape[1]):
            a[i, j] = 0.5 * a[i, j - 1]


def ahead(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1] - 1):
            a[i, j] = 0.5 * a[i, j + 1]


def written_before_it_is_read(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1] - 1):
            a[i, j] = 0.5 * b[i, j]
            b[i, j] = a[i, j + 1] - 1.0


def waits(function, *arguments) -> dict[str, float]:
    """Of each version, how many operations wait for one of the iteration before."""
    generated, parameters = generated_of(function, *arguments)
    return {
        each.name: account_of(generated, each.name, *parameters).counts[Kind.WAITS]
        for each in generated.module.VERSIONS
    }


def test_what_is_read_ahead_of_what_is_written_waits_for_nothing():
    square = np.ones((60, 60))
    assert not any(waits(relaxed, square, square.copy(), 4).values()), "though tiles of all steps write what they read"
    assert waits(ahead, square)["source"] == 0
    assert waits(behind, square)["source"] > 0
    assert waits(written_before_it_is_read, square, square.copy())["source"] > 0
