"""Medians, speedups, shares of the limits, and what they come to over all kernels."""

import json

import pytest

from benchmarks.cpu.pictures import draw
from benchmarks.cpu.roofline import Work
from benchmarks.cpu.summary import conclusion, markdown, seconds_table, summary, table, to_json
from benchmarks.program import duration, geometric_mean, print_json, spread
from benchmarks.timing import Sample


def cells(table, row=0):
    """The cells of a line, by column."""
    return {str(column.header): list(column.cells)[row] for column in table.columns}


def test_speedup_is_the_ratio_of_the_medians(make_comparison):
    comparison = make_comparison("gemm", polytune=(1.0, 2.0, 30.0), numba=(8.0, 7.0, 9.0), gcc=(4.0,))
    assert comparison.peers == ("numba", "gcc")
    assert comparison.speedup_over("numba") == 4.0
    assert comparison.speedup_over("gcc") == 2.0
    assert comparison.compile_seconds == 0.75


def test_shares_of_the_limits(make_comparison):
    # 8 million operations take 1 ms at 8 GFLOP/s, 8 million bytes 1.6 ms at 5 GB/s: memory is what bounds it.
    comparison = make_comparison("atax", polytune=(0.004,))
    assert comparison.operations_per_second == pytest.approx(2e9)
    assert comparison.share_of_product == pytest.approx(0.25)
    assert comparison.share_of_bandwidth == pytest.approx(0.5)
    assert comparison.share_of_roofline == pytest.approx(0.4)


def test_arithmetic_bounds_what_reads_little(make_comparison):
    comparison = make_comparison("gemm", polytune=(0.002,), work=Work(8_000_000, 8_000, "float64"))
    assert comparison.share_of_roofline == comparison.share_of_product == pytest.approx(0.5)
    single = make_comparison("deriche", polytune=(0.002,), work=Work(8_000_000, 8_000, "float32"))
    assert single.share_of_product == pytest.approx(0.25)


def test_integers_have_no_limit_of_arithmetic(make_comparison):
    comparison = make_comparison("nussinov", polytune=(0.004,), work=Work(10**9, 8_000_000, "int32"))
    assert comparison.share_of_product is None
    assert comparison.share_of_roofline == pytest.approx(0.4)
    assert cells(table([comparison]))["of BLAS"] == ""


def test_the_best_compiler_is_as_far_ahead_of_gcc_as_the_table_says(make_comparison):
    comparisons = [
        make_comparison("gemm", polytune=(1.0,), **{"gcc-plain": (8.0,)}),
        make_comparison("atax", polytune=(1.0,), **{"gcc-plain": (8.0,)}),
        make_comparison("mvt", polytune=(1.0,), numba=(8.0,)),
    ]
    best = {"gemm": 4.0, "mvt": 2.0}
    assert comparisons[0].speedup_over_best(4.0) == 2.0
    shown = table(comparisons, best)
    assert [cells(shown, row)["against the best compiler"] for row in range(3)] == ["2.00", "", ""]
    assert "against the best compiler" not in cells(table(comparisons))
    assert summary(comparisons, best)["over"]["the best compiler"]["kernels"] == 1
    assert "speedup over the best compiler: geometric mean 2.00 of 1, least 2.00" in conclusion(comparisons, {}, best)


def test_summary(make_comparison):
    comparisons = [
        make_comparison("gemm", polytune=(1.0,), numba=(8.0,), serial=(3.0,)),
        make_comparison("atax", polytune=(1.0,), numba=(0.5,)),
    ]
    found = summary(comparisons)
    assert found["over"]["numba"] == {
        "geometric_mean": pytest.approx(2.0),
        "minimum": 0.5,
        "slower": ["atax"],
        "kernels": 2,
    }
    assert found["over"]["serial"]["kernels"] == 1
    assert found["limits"] == {"dgemm": 8e9, "sgemm": 16e9, "triad": 3e9, "read": 4e9, "streams": 5e9}
    assert found["compiler_seconds_maximum"] == 0.75
    text = conclusion(comparisons, {"dace": "dace is not installed"})
    assert "speedup over numba: geometric mean 2.00 of 2, least 0.50; slower: atax" in text
    assert "no dace: dace is not installed" in text
    assert "dgemm 8 GFLOP/s, sgemm 16 GFLOP/s, triad 3 GB/s, read 4 GB/s, streams 5 GB/s" in text


def test_a_peer_has_a_column_for_the_kernels_that_it_can_run(make_comparison):
    comparisons = [
        make_comparison("gemm", polytune=(1.0,), numba=(8.0,), serial=(3.0,)),
        make_comparison("atax", polytune=(1.0,), numba=(0.5,)),
    ]
    assert [cells(table(comparisons), row)["over serial"] for row in (0, 1)] == ["3.00", ""]
    assert [cells(seconds_table(comparisons), row)["serial"] for row in (0, 1)] == ["3 s +0% +0%", ""]


def test_what_is_to_be_known_is_told(make_comparison):
    comparison = make_comparison("lu", agrees=False, notes=("no prange on loop i",), polytune=(1.0,), numba=(1.0,))
    text = conclusion([comparison])
    assert "lu: no prange on loop i" in text
    assert "lu: polytune differs from every other result by inf" in text


def test_json_has_everything_and_no_number_that_json_lacks(make_comparison, capsys):
    comparison = make_comparison(
        "lu", agrees=False, converged=False, polytune=(1.0,), numba=(3.0,), **{"gcc-plain": (6.0,)}
    )
    print_json(to_json(comparison, 2.0))
    found = json.loads(capsys.readouterr().out)
    assert found["speedup_over"] == {"numba": 3.0, "gcc-plain": 6.0}
    assert found["speedup_over_best"] == 3.0
    assert found["seconds"]["numba"]["median"] == 3.0
    assert found["work"] == {"operations": 8_000_000, "bytes": 8_000_000, "dtype": "float64"}
    assert found["limits"]["dgemm"]["rate"] == 8e9
    assert found["share_of_roofline"] == pytest.approx(0.0016)
    assert found["configuration"]["version"] == "tiled"
    assert found["tuning"]["converged"] is False
    assert found["numba"]["prange"] == ["i (line 3)"]
    assert found["compiler"] == {"seconds": 0.75, "stages": {"scop": 0.25, "candidates": 0.5}, "versions": 4}
    assert found["error"] is None
    assert found["agrees"] is False


def test_nothing_compared_is_summarised_too():
    assert summary([])["over"] == {}
    assert conclusion([])


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_figure(make_comparison, tmp_path, suffix):
    pytest.importorskip("matplotlib")
    comparisons = [
        make_comparison("gemm", polytune=(1.0,), numba=(8.0,), **{"gcc-plain": (3.0,)}),
        make_comparison("nussinov", polytune=(1.0,), numba=(0.5,), work=Work(10**9, 8_000_000, "int32")),
    ]
    file = tmp_path / f"cpu{suffix}"
    draw(comparisons, file, {"gemm": 2.0})
    content = file.read_bytes()
    if suffix == ".svg":
        for text in (b"gemm", b"nussinov", b"over the best compiler", b"dgemm and streams", b"dgemm and triad"):
            assert b"<!-- %s -->" % text in content
    else:
        assert content.startswith(b"\x89PNG")


def test_numbers_for_people():
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert [duration(seconds) for seconds in (12.0, 0.0125, 0.0000125)] == ["12 s", "12.5 ms", "12.5 µs"]
    assert spread(Sample((0.9, 1.0, 1.2))) == "1 s -5% +10%"


def test_a_table_for_a_page(make_comparison):
    times = {"numpy": (0.004,), "numba": (0.0125,), "gcc": (0.03,), "clang": (0.02,)}
    comparisons = [
        make_comparison("gemm", polytune=(0.001, 0.002, 0.009), **times),
        make_comparison("mvt", polytune=(1.0,)),
    ]
    where = {"machine": "a processor, 2 cores", "threads": 2, "packages": {"python": "3.11", "polytune": "0.2"}}
    lines = markdown(comparisons, "LARGE", where, "2026-11-23").splitlines()
    assert lines[2:4] == ["| gemm | 2 | 4 | 12.5 | 20 (clang) |", "| mvt | 1000 |  |  |  |"]
    assert "at LARGE" in lines[-1] and lines[-1].endswith(
        "2026-11-23, a processor, 2 cores, 2 threads; python 3.11, polytune 0.2."
    )
