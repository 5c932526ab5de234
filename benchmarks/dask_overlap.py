"""Heat by Dask's ``map_overlap`` and Numba, as people write it without polytune, for `benchmarks.dask` to compare with.

It is a module of its own, so that workers import it by its name, and compile the loop once.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

__all__ = ["overlapped"]


def overlapped(A: Any, sweeps: int, depth: int) -> Any:
    """Heat by ``map_overlap``.

    Args:
        A: the array of Dask.
        sweeps: how many steps of heat.
        depth: how many of them there are for each exchange.
    """
    for done in range(0, sweeps, depth):
        count = min(depth, sweeps - done)
        A = A.map_overlap(partial(sweep, sweeps=count), depth=count, boundary="none", meta=np.empty((0, 0)))
    return A


def sweep(block: np.ndarray, sweeps: int) -> np.ndarray:
    """So many steps of heat on a block, its borders left as they are."""
    return np.asarray(_compiled()(block, sweeps))


@cache
def _compiled() -> Any:
    from numba import njit

    return njit(nogil=True)(_sweeps)


def _sweeps(block, sweeps):  # type: ignore[no-untyped-def]
    now, then = block.copy(), block.copy()
    for _ in range(sweeps):
        for i in range(1, now.shape[0] - 1):
            for j in range(1, now.shape[1] - 1):
                around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
                then[i, j] = now[i, j] + 0.1 * (around - 4.0 * now[i, j])
        now, then = then, now
    return now
