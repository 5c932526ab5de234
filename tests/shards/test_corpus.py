"""Some kernels of the corpus of applications on arrays of Dask; ``python -m tests.shards.corpus`` holds all of them."""

from __future__ import annotations

import pytest

from benchmarks.applications.case import every_case
from tests.shards.corpus import hold

RIGHT = ("gravity", "moving_average", "haar_step", "edit_distance_rows", "ising_sweep")
REFUSED = {
    "kmer_counts": "subscripts of counts depend on data",
    "ridge_regressions": "numpy.linalg.solve works on whole arrays",
    "max_drawdown": "cannot be cut at the borders of chunks",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_kernels_are_right_on_chunks(name):
    assert hold(every_case()[name]) is None


@pytest.mark.parametrize("name", REFUSED)
def test_kernels_are_refused_with_the_reason(name):
    refusal = hold(every_case()[name])
    assert refusal is not None and REFUSED[name] in refusal
