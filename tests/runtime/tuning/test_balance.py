"""What the model of the first choice expects of tiles that not all threads have as many of."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polytune
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.tuning.prediction import Prediction
from polytune.runtime.tuning.work import Account

CACHES = (32 << 10, 1 << 20, 8 << 20)


def forces(x, f):
    for i in range(x.shape[0]):
        f[i] = 0.0
        for j in range(x.shape[0]):
            f[i] += np.sqrt(1.0 + (x[j] - x[i]) * (x[j] - x[i]))


def relaxed(u, v, steps):
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = v[i, j]


def busiest_of(extent: int, size: int, threads: int) -> float:
    """The part of the busiest of workers that have a share of tiles each, and take others' when they have done it."""
    tiles = [min(size, extent - start) for start in range(0, extent, size)]
    done = [0] * threads
    for tile in tiles:
        done[int(np.argmin(done))] += tile
    return max(done) / extent


@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize(
    ("extent", "size"), [(600, 512), (600, 300), (600, 301), (600, 32), (600, 4096), (7, 1), (1, 5)]
)
def test_the_busiest_thread_has_whole_tiles(extent, size, threads):
    account = Account(64, CACHES)
    for _ in account.tiles("parallel", 1, 0, ((3, 3 + extent, size),)):
        pass
    (region,) = account.regions
    assert region.part_of_busiest(1) == 1.0
    wanted = busiest_of(extent, size, threads)
    assert wanted - 1e-12 <= region.part_of_busiest(threads) <= min(1.0, wanted + size / extent)


def test_tiles_that_are_longer_than_a_loop_count_as_whole():
    account = Account(64, CACHES)
    for _ in account.tiles("parallel", 2, 0, ((0, 20, 10), (0, 20, 512), (0, 500, 32))):
        pass
    assert account.regions[0].part_of_busiest(2) == 0.5


def test_of_a_wavefront_all_tiles_of_a_diagonal_count():
    """Of 20 steps of time in tiles of 16, each diagonal has a tile of 16 and one of 4."""
    found = []
    for size in (16, 10):
        account = Account(64, CACHES)
        for _ in account.tiles("wavefront", 2, 0, ((0, 20, size), (0, 1280, 64))):
            pass
        found.append(account.regions[0].part_of_busiest(2))
    assert found[0] == pytest.approx(16 / 20) and found[1] == pytest.approx(10 / 20, abs=0.05)


def expected_of(generated: GeneratedKernel, monkeypatch: pytest.MonkeyPatch, **sizes: int) -> Prediction:
    """What is expected of two threads of a processor with these caches."""
    parameters = [sizes[name] for name in generated.module.PARAMETERS]
    prediction = Prediction(generated.module, generated.space, parameters, 2)
    monkeypatch.setattr(prediction, "_caches", CACHES)
    return prediction


def test_a_first_choice_leaves_no_thread_without_work(monkeypatch):
    generated = polytune.Kernel(forces).generated(np.ones(8), np.ones(8))
    prediction = expected_of(generated, monkeypatch, x_0=600)
    first = prediction.ranked(lambda _: 0.1)[0]
    assert first["threads"] == 2
    assert all(region.is_serial or region.part_of_busiest(2) < 0.6 for region in prediction._account_of(first).regions)


@pytest.mark.parametrize("extent", [120, 298, 300])
def test_first_choices_are_cut_into_pieces_of_one_size(extent, monkeypatch):
    generated = polytune.Kernel(forces).generated(np.ones(8), np.ones(8))
    prediction = expected_of(generated, monkeypatch, x_0=extent)
    for start in (32, 64):
        pieces = prediction._with_equal_pieces(
            generated.space.configuration(version="parallel", threads=2, tile_0=start)
        )
        assert busiest_of(extent, pieces["tile_0"], 2) < 0.505
        assert math.ceil(extent / start) <= math.ceil(extent / pieces["tile_0"]) <= math.ceil(extent / start) + 1


@pytest.mark.parametrize("extent", [2100, 300_000, 299_999, 1_000_001])
def test_long_pieces_are_whole_turns_of_vectors_and_leave_no_thread_without_work(extent, monkeypatch):
    def polynomial(x, out):
        for i in range(x.shape[0]):
            out[i] = (0.3 * x[i] - 1.1) * x[i] + 0.7

    generated = polytune.Kernel(polynomial).generated(np.ones(8), np.ones(8))
    prediction = expected_of(generated, monkeypatch, x_0=extent)
    for size in prediction._even_sizes(extent):
        assert size < 1024 or (size % 32 == 0 and size <= 4096)
        assert busiest_of(extent, size, 2) < 0.5 + 0.03


def test_few_steps_of_time_are_cut_for_all_threads(monkeypatch):
    u = np.ones((8, 8))
    prediction = expected_of(
        polytune.Kernel(relaxed).generated(u, u.copy(), 2), monkeypatch, u_0=700, u_1=700, steps=20
    )
    tiled = next(each for each in prediction.ranked(lambda _: 0.1) if each["version"] == "tiled")
    assert tiled["threads"] == 2 and tiled["tile_0"] <= 10
    assert prediction._account_of(tiled).regions[0].part_of_busiest(2) < 0.6
    others = {name: size for name, size in prediction._versions["tiled"].sizes.items() if name != "tile_0"}
    assert {name: tiled[name] for name in others} == others


def test_first_choices_among_tiles_of_few_steps_are_right():
    u = np.random.default_rng(0).uniform(size=(70, 90))
    theirs = u.copy(), u.copy()
    kernel = polytune.kernel(relaxed)
    relaxed(*theirs, 5)
    space = kernel.space(u, u.copy(), 5)
    for version in ("tiled", "tiled_unrolled"):
        for first in (1, 2, 3):
            mine = u.copy(), u.copy()
            kernel.run(space.configuration(version=version, tile_0=first, tile_1=32, tile_2=512), *mine, 5)
            np.testing.assert_allclose(mine, theirs, rtol=1e-12)
