"""Medians, speedups and what they come to over all kernels."""

import json

import pytest

from benchmarks.program import duration, geometric_mean, print_json, spread
from benchmarks.summary import conclusion, summary, table, to_json
from benchmarks.timing import Sample


def test_speedup_is_the_ratio_of_the_medians(make_comparison):
    comparison = make_comparison("gemm", polytune=(1.0, 2.0, 30.0), numba=(8.0, 7.0, 9.0), serial=(4.0,))
    assert comparison.speedup == 4.0
    assert comparison.speedup_over("serial") == 2.0
    assert comparison.compile_seconds == 0.75


def test_summary(make_comparison):
    comparisons = [
        make_comparison("gemm", polytune=(1.0,), numba=(8.0,)),
        make_comparison("atax", polytune=(1.0,), numba=(0.5,)),
    ]
    found = summary(comparisons)
    assert found["geometric_mean"] == pytest.approx(2.0)
    assert found["minimum"] == 0.5
    assert found["slower"] == ["atax"]
    assert found["compiler_seconds_maximum"] == 0.75
    text = conclusion(comparisons)
    assert "geometric mean 2.00, least 0.50 (atax)" in text
    assert "slower than Numba: atax" in text


def test_a_further_baseline_is_averaged_over_the_kernels_that_have_it(make_comparison):
    comparisons = [
        make_comparison("gemm", polytune=(1.0,), numba=(8.0,), serial=(3.0,)),
        make_comparison("atax", polytune=(1.0,), numba=(0.5,)),
    ]
    assert summary(comparisons)["geometric_mean_over"] == {"serial": pytest.approx(3.0)}
    assert [column.header for column in table(comparisons).columns][4] == "over serial"


def test_what_is_to_be_known_is_told(make_comparison):
    comparison = make_comparison("lu", agrees=False, notes=("no prange on loop i",), polytune=(1.0,), numba=(1.0,))
    text = conclusion([comparison])
    assert "lu: no prange on loop i" in text
    assert "lu: polytune and Numba differ by inf" in text


def test_json_has_everything_and_no_number_that_json_lacks(make_comparison, capsys):
    print_json(to_json(make_comparison("lu", agrees=False, converged=False, polytune=(1.0,), numba=(3.0,))))
    found = json.loads(capsys.readouterr().out)
    assert found["speedup"] == 3.0
    assert found["seconds"]["numba"]["median"] == 3.0
    assert found["configuration"]["version"] == "tiled"
    assert found["tuning"]["converged"] is False
    assert found["baseline"]["prange"] == ["i (line 3)"]
    assert found["compiler"] == {"seconds": 0.75, "stages": {"scop": 0.25, "candidates": 0.5}, "versions": 4}
    assert found["error"] is None
    assert found["agrees"] is False


def test_nothing_compared_is_summarised_too():
    assert summary([])["slower"] == []
    assert conclusion([])


def test_numbers_for_people():
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert [duration(seconds) for seconds in (12.0, 0.0125, 0.0000125)] == ["12 s", "12.5 ms", "12.5 µs"]
    assert spread(Sample((0.9, 1.0, 1.2))) == "1 s -5% +10%"
