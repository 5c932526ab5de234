"""What is expected of the threads that share work out, held against a team that does it."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.tuning.prediction import Prediction
from polytune.runtime.tuning.work import Account, Kind, RegionAccount
from polytune.tuner import Configuration

CACHES = (32 << 10, 1 << 20, 8 << 20)


def busiest_of(extent: int, size: int, workers: int) -> float:
    """The part of a loop's iterations that lasts the longest, in a team of which each worker takes the pieces of its
    own share, one after the other, and then those of others."""
    pieces = [min(size, extent - start) for start in range(0, extent, size)]
    shares = [list(share) for share in np.array_split(pieces, workers)]
    ends = [0] * workers
    while any(shares):
        worker = min(range(workers), key=lambda each: ends[each])
        turn = [(worker + further) % workers for further in range(workers)]
        ends[worker] += shares[next(each for each in turn if shares[each])].pop(0)
    return max(ends) / extent


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_busiest_worker_has_what_a_team_leaves_it(workers: int) -> None:
    rng = np.random.default_rng(workers)
    for _ in range(300):
        extent, size = int(rng.integers(1, 600)), int(rng.integers(1, 700))
        account = Account(64, CACHES)
        for _ in account.tiles("parallel", 1, 0, ((0, extent, size),)):
            pass
        (region,) = account.regions
        assert region.part_of_busiest(workers) == pytest.approx(busiest_of(extent, size, workers)), (extent, size)


def test_pieces_of_unknown_sizes_count_as_equal() -> None:
    region = RegionAccount([0.0] * len(Kind), 5.0, 1, is_serial=False)
    assert [region.part_of_busiest(workers) for workers in (1, 2, 5, 8)] == pytest.approx([1.0, 3 / 5, 1 / 5, 1 / 5])


def lengths(a, x):
    for i in range(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            total += a[i, j] * a[i, j]
        x[i] = np.sqrt(total)


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> GeneratedKernel:
    """A kernel of which a call may have two threads, on whatever machine."""
    found = polytune.Kernel(lengths).generated(np.ones((8, 8)), np.ones(8))
    monkeypatch.setattr(found.module, "current_threads", lambda: 2)
    return found


def first_choice(generated: GeneratedKernel, rows: int, columns: int) -> Configuration:
    prediction = Prediction(generated.module, generated.module.space(), (rows, columns), 2)
    return prediction.ranked(lambda _: 0.0)[0]


@pytest.mark.parametrize("rows", [3, 5, 10, 30, 34, 100, 257, 600, 1100, 5000, 9000])
def test_first_choice_leaves_both_threads_about_as_much(generated: GeneratedKernel, rows: int) -> None:
    chosen = first_choice(generated, rows, 2_000_000)
    assert chosen["threads"] == 2
    assert busiest_of(rows, chosen["tile_0"], 2) <= max(0.54, -(-rows // 2) / rows), chosen


def test_one_large_piece_and_a_small_one_are_as_slow_as_they_are(generated: GeneratedKernel) -> None:
    prediction = Prediction(generated.module, generated.module.space(), (600, 5000), 2)
    values = {"version": "parallel", "threads": 2}
    large, even, one = (prediction.seconds({**values, "tile_0": size}) for size in (512, 300, 600))
    assert large is not None and even is not None and one is not None
    assert large / even == pytest.approx(512 / 300, rel=0.1) and one / even == pytest.approx(2, rel=0.1)


def standardised(x):
    mean = x.mean(axis=(0, 2, 3), keepdims=True)
    variance = x.var(axis=(0, 2, 3), keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5)


@pytest.mark.parametrize("channels", [3, 6, 10, 14])
@pytest.mark.parametrize("images", [7, 8, 16])
def test_pieces_are_even_in_loops_of_different_lengths(
    images: int, channels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = polytune.Kernel(standardised).generated(np.ones((3, 3, 3, 3)))
    monkeypatch.setattr(found.module, "current_threads", lambda: 2)
    sizes = {"x_0": images, "x_1": channels, "x_2": 60, "x_3": 60}
    parameters = [sizes[name] for name in found.module.PARAMETERS]
    prediction = Prediction(found.module, found.module.space(), parameters, 2)
    chosen = prediction.ranked(lambda _: 0.0)[0]

    def busiest(size: int) -> float:
        """What the busier thread has of two passes over channels, and of one over images in pieces of the same size."""
        return (2 * busiest_of(channels, size, 2) + busiest_of(images, size, 2)) / 3

    assert chosen["threads"] == 2
    if "tile_1" in chosen:  # images are cut along their rows, too
        assert busiest_of(channels, chosen["tile_0"], 2) <= max(0.54, -(-channels // 2) / channels), chosen
    else:
        assert busiest(chosen["tile_0"]) <= max(0.55, min(map(busiest, range(1, 17)))), chosen
