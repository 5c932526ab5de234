"""The suite's table."""

import importlib
import itertools
from collections import Counter

import pytest

from polybench.datasets import CATALOGUE, Dataset
from polybench.registry import UnknownKernelError, benchmark, check_name, names


def test_thirty_kernels_in_their_categories():
    assert Counter(entry.category for entry in CATALOGUE.values()) == {
        "datamining": 2,
        "kernels": 6,
        "blas": 7,
        "solvers": 6,
        "medley": 3,
        "stencils": 6,
    }
    assert len(names()) == len(set(names())) == 30


@pytest.mark.parametrize("name", names())
def test_every_line_is_complete(name):
    entry = CATALOGUE[name]
    assert len(entry.values) == len(Dataset) == 5
    assert all(len(values) == len(entry.parameters) for values in entry.values)
    # Only the matrices of atax and bicg are smaller at EXTRALARGE than at LARGE.
    ordered = entry.values[:4] if name in ("atax", "bicg") else entry.values
    assert all(a < b for column in zip(*ordered, strict=True) for a, b in itertools.pairwise(column))


@pytest.mark.parametrize(
    ("name", "dataset", "sizes"),
    [
        ("correlation", Dataset.LARGE, {"m": 1200, "n": 1400}),
        ("2mm", Dataset.EXTRALARGE, {"ni": 1600, "nj": 1800, "nk": 2200, "nl": 2400}),
        ("3mm", Dataset.MINI, {"ni": 16, "nj": 18, "nk": 20, "nl": 22, "nm": 24}),
        ("atax", Dataset.EXTRALARGE, {"m": 1800, "n": 2200}),
        ("doitgen", Dataset.SMALL, {"nq": 20, "nr": 25, "np": 30}),
        ("gemm", Dataset.MEDIUM, {"ni": 200, "nj": 220, "nk": 240}),
        ("gesummv", Dataset.LARGE, {"n": 1300}),
        ("gramschmidt", Dataset.MINI, {"m": 20, "n": 30}),
        ("deriche", Dataset.LARGE, {"w": 4096, "h": 2160}),
        ("floyd-warshall", Dataset.EXTRALARGE, {"n": 5600}),
        ("nussinov", Dataset.EXTRALARGE, {"n": 5500}),
        ("adi", Dataset.LARGE, {"tsteps": 500, "n": 1000}),
        ("fdtd-2d", Dataset.SMALL, {"tmax": 40, "nx": 60, "ny": 80}),
        ("heat-3d", Dataset.MEDIUM, {"tsteps": 100, "n": 40}),
        ("seidel-2d", Dataset.LARGE, {"tsteps": 500, "n": 2000}),
    ],
)
def test_sizes_are_the_suites(name, dataset, sizes):
    assert CATALOGUE[name].sizes(dataset) == sizes


@pytest.mark.parametrize("name", names())
def test_every_kernel_has_its_module(name):
    found = benchmark(name)
    assert found.name == name
    assert found is importlib.import_module(f"polybench.kernels.{CATALOGUE[name].module}").BENCHMARK
    assert found.category == CATALOGUE[name].category


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("gem", "gemm"), ("jacobi2d", "jacobi-2d"), ("floyd_warshall", "floyd-warshall"), ("Cholesky", "cholesky")],
)
def test_an_unknown_name_suggests_a_known_one(wrong, right):
    with pytest.raises(UnknownKernelError, match=f"did you mean '{right}'"):
        check_name(wrong)


def test_a_name_like_no_other_says_how_to_find_the_names():
    with pytest.raises(UnknownKernelError, match="python -m polybench list"):
        benchmark("zzzzzz")
