"""Every kernel of the suite on arrays of Dask in uneven chunks: right bit for bit, or refused with a reason."""

import dask
import dask.array
import numpy as np
import pytest

from polybench.benchmark import copy_arguments
from polybench.data import odd_sizes, perturbed
from polybench.datasets import Dataset
from polybench.registry import benchmark, names

SLOW = {"adi", "deriche", "floyd-warshall", "heat-3d", "ludcmp", "seidel-2d"}
"""isl works on these for seconds."""


def uneven(extent):
    first, second = extent // 3 + 1, extent // 2 - 1
    return (first, second, extent - first - second) if extent >= 6 else (extent,)


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in names()])
def test_a_kernel_on_uneven_chunks(name):
    found = benchmark(name)
    sizes = found.sizes(Dataset.MINI)
    few = {each: min(value, 5) if each == "tsteps" else value for each, value in sizes.items()}
    initial = perturbed(found, found.initialise(**odd_sizes(few)), np.random.default_rng(0))
    expected = copy_arguments(initial)
    with np.errstate(invalid="ignore"):
        found.kernel.__wrapped__(*expected)
    given = [
        dask.array.from_array(value, chunks=tuple(map(uneven, value.shape))) if isinstance(value, np.ndarray) else value
        for value in initial
    ]
    with dask.config.set({"polytune.steps-per-exchange": 2}):
        assert found.kernel.strict.shards(*given).shards > 3
        returned = found.kernel.strict(*given)
    computed = dask.compute(*(returned if isinstance(returned, tuple) else (returned,)), scheduler="synchronous")
    # Temporary arrays that are arguments are written, too, but are no outputs of the suite.
    named = dict(zip(found.argument_names, expected, strict=True))
    written = [each for each in found.argument_names if each in _written(found, initial, expected)]
    assert set(found.outputs) <= set(written) and len(computed) == len(written)
    for each, array in zip(written, computed, strict=True):
        unit = np.spacing(np.abs(named[each]).max()) if found.strict_ulps else 0
        assert np.all(np.abs(array - named[each]) <= found.strict_ulps * unit), each


def _written(found, initial, expected):
    return {
        name
        for name, before, after in zip(found.argument_names, initial, expected, strict=True)
        if not np.array_equal(before, after)
    }
