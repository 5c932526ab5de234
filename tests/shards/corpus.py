"""The corpus of applications on arrays of Dask in uneven chunks: right, or refused.

    python -m tests.shards.corpus [NAME...]

Kernels with small data are held against plain Python, the others against a call on the arrays in one piece, without
tuning.  Exit code 1: one was wrong.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any

import dask
import dask.array
import numpy as np

import polytune
from benchmarks.applications.case import Case, every_case
from polytune.errors import PolytuneError


def uneven(extent: int) -> tuple[int, ...]:
    """Three chunks, none as large as another."""
    first, second = extent // 3 + 1, extent // 2 - 1
    return (first, second, extent - first - second) if extent >= 6 else (extent,)


def divided(value: Any) -> Any:
    """An array in chunks; anything else as it is."""
    if type(value) is not np.ndarray or value.ndim == 0 or value.size == 0:
        return value
    return dask.array.from_array(value, chunks=tuple(map(uneven, value.shape)))


def hold(case: Case) -> str | None:
    """Hold a kernel of the corpus on chunks against itself on whole arrays.

    Returns:
        Why it was refused; None where its results are right.

    Raises:
        AssertionError: they are not.
    """
    make = case.small_arguments if case.small else case.arguments
    names = list(inspect.signature(case.function).parameters)
    given = [divided(value) for value in make()]
    if not any(isinstance(value, dask.array.Array) for value in given):
        return "it has no arrays"
    kernel: Any = polytune.kernel(case.function)
    try:
        with dask.config.set({"polytune.steps-per-exchange": 2}):
            returned = kernel(*given)
    except PolytuneError as error:
        return str(error)
    found = dask.compute(*(returned if isinstance(returned, tuple) else (returned,)), scheduler="synchronous")
    expected = make()
    if case.small:
        result = case.function(*expected)
    else:
        with polytune.tuning("off"):
            result = kernel(*expected)
    (sharded,) = kernel._modules._sharded.values()
    wanted = [expected[names.index(name)] for name in sharded.module.WRITTEN]
    wanted += [] if result is None else list(result) if isinstance(result, tuple) else [result]
    assert len(found) == len(wanted)
    for array, value in zip(found, map(np.asarray, wanted), strict=True):
        assert (np.shape(array), np.asarray(array).dtype) == (value.shape, value.dtype)
        tolerance = 1e-4 if value.dtype in (np.float32, np.complex64) else 1e-9
        np.testing.assert_allclose(array, value, rtol=tolerance, atol=tolerance * 1e-2)
    return None


def main(names: list[str]) -> int:
    """Hold kernels, all if none is named, and print what has come of each; the exit code."""
    cases, counts = every_case(), {"right": 0, "refused": 0, "wrong": 0}
    for name in names or cases:
        try:
            refusal = hold(cases[name])
            how = "right" if refusal is None else "refused"
        except Exception as error:
            refusal, how = repr(error), "wrong"
        counts[how] += 1
        print(f"{name}: {how}" + (f": {' / '.join(refusal.splitlines())}" if refusal else ""), flush=True)
    print(", ".join(f"{count} {how}" for how, count in counts.items()))
    return int(counts["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
