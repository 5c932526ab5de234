"""The lines of caches that versions say that they go through: held against what a call really reads and writes."""

from __future__ import annotations

import numpy as np
import pytest

from polytune.runtime.tuning.work import Account, Kind
from tests.codegen.accounts import CACHES, account_of, generated_of, means_of_columns, product, product_of


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


def test_lines_come_from_memory_once_for_each_pass():
    """Blocks of rows and of columns share them, however they are written out; what a worker packs them into is its
    own."""
    generated, parameters = product_of(8, 9000, 8000)
    lines = 9000 * 8000 * 4 / 64
    for version in generated.module.VERSIONS:
        if version.name.endswith(("registers", "packed", "jammed")):
            counts = account_of(generated, version.name, *parameters).counts
            assert 0.95 * lines < counts[Kind.LINES_4] + counts[Kind.APART_4] < 1.3 * lines, version.name


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
