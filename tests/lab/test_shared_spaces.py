"""The recorded spaces of other projects, where they are at hand: everything in them is read."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polytune.lab import load, simulate

TABLES = {
    # file: configurations, failed, milliseconds of the fastest
    "convolution__RTX_2080_Ti": (6768, 1512, 0.900262403),
    "convolution_milo__A100": (4362, 161, 0.553600008),
    "dedispersion_milo__W6600": (11130, 0, 135.080819),
    "gemm__RTX_3090": (17956, 0, 5.657844),
    "pnpoly__RTX_3090": (4092, 318, 8.71424017),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(shared, name):
    recorded = load(shared / "kernel_tuner" / f"{name}.csv.gz")
    rows, failed, best = TABLES[name]
    assert (len(recorded), recorded.failed) == (rows, failed)
    assert recorded.optimum * 1e3 == pytest.approx(best)


def test_the_same_space_in_three_formats(shared):
    cache = load(shared / "kernel_tuner" / "convolution_milo__A100.cache.json.gz")
    t4 = load(
        shared / "t1t4" / "T4_convolution_milo__A100.json.gz",
        description=shared / "t1t4" / "T1_convolution_milo.json",
    )
    table = load(shared / "kernel_tuner" / "convolution_milo__A100.csv.gz")
    assert np.array_equal(cache.seconds, t4.seconds)
    assert cache.measurements == t4.measurements
    assert np.array_equal(cache.space.rows, table.space.rows)
    assert np.array_equal(np.isinf(cache.seconds), np.isinf(table.seconds))
    # The table has means, the others single times, of which the median counts.
    ran = np.isfinite(cache.seconds)
    means = np.array([np.mean(times) for times in cache.measurements if times])
    assert means == pytest.approx(table.seconds[ran], rel=1e-5)


def test_counters(shared):
    recorded = load(shared / "ktt" / "2080Ti-ktconv_output.csv.gz")
    assert len(recorded) == 5280
    assert len(recorded.counters) == 33 + 2 + 5
    assert recorded.space.names[-1] == "READ_ONLY"
    assert recorded.optimum == pytest.approx(706.112e-6)
    assert not any(np.isnan(values).any() for values in recorded.counters.values())
    small = load(shared / "ktt" / "2080-vectorAdd_output.csv")
    assert small.parameters == {"multiply_block_size": (32, 64, 128, 256)}


def test_ktt_json(shared):
    recorded = load(shared / "ktt" / "KTPnpolyOutput_3090.json.gz")
    assert (len(recorded), recorded.failed) == (4092, 274)
    assert recorded.device == "NVIDIA GeForce RTX 3090"


def test_a_table_with_another_time(shared):
    recorded = load(shared / "laplacian" / "search_space.csv.gz")
    assert len(recorded) == 23120
    assert recorded.optimum == pytest.approx(1.165e-10, rel=1e-3)


def test_random_search_finds_what_was_found_before(shared):
    """Kernel Tuner's random search, 100 evaluations, 20 runs: mean slowdown 1.319."""
    recorded = load(shared / "kernel_tuner" / "convolution_milo__A100.csv.gz")
    found = simulate(recorded, ["random"], [100], 200).slowdowns("random", 100)
    error_of_20 = np.std(found) / math.sqrt(20)
    assert np.mean(found) == pytest.approx(1.319, abs=4 * error_of_20)
