"""Arrays that are views of larger ones full of poison, to see that nothing else is touched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Layout = Literal["dense", "padded", "strided", "reversed"]
LAYOUTS: tuple[Layout, ...] = ("dense", "padded", "strided", "reversed")

PAD = 3


def poison(dtype: np.dtype) -> int | float:
    """A value of a type that spoils whatever it goes into."""
    return np.nan if dtype.kind == "f" else int(np.iinfo(dtype).min) + 12345


@dataclass(frozen=True)
class Poisoned:
    """A view of a larger array.

    Attributes:
        view: the array to be used.
        around: the larger array.
        outside: which of its elements are not in the view.
    """

    view: np.ndarray
    around: np.ndarray
    outside: np.ndarray

    def check(self, what: str) -> None:
        """Assert that every element around the view still holds poison, bit for bit."""
        wanted = np.full_like(self.around, poison(self.around.dtype))
        changed = (_bits(self.around) != _bits(wanted)) & self.outside
        assert not changed.any(), f"{int(changed.sum())} elements outside of {what} were written"


def poisoned(values: np.ndarray, layout: Layout) -> Poisoned:
    """The values in an array with poison around, and where the layout is strided, between them.

    ``dense`` keeps the array contiguous in the order, C or Fortran, that it has; ``padded`` leaves gaps between rows,
    ``strided`` between all elements, and ``reversed`` has negative strides as well.
    """
    if layout == "dense":
        order: Literal["C", "F"] = "C" if values.flags.c_contiguous else "F"
        around = np.full(values.size + 2 * PAD, poison(values.dtype), values.dtype)
        window = slice(PAD, PAD + values.size)
        inside = np.zeros(around.shape, bool)
        inside[window] = True
        view = around[window].reshape(values.shape, order=order)
    else:
        step = 1 if layout == "padded" else 2
        shape = [step * extent + 2 * PAD for extent in values.shape]
        around = np.full(shape, poison(values.dtype), values.dtype)
        place = tuple(slice(PAD, PAD + step * extent, step) for extent in values.shape)
        inside = np.zeros(shape, bool)
        inside[place] = True
        view = around[place]
        if layout == "reversed":
            view = view[(slice(None, None, -1),) * view.ndim]
    view[...] = values
    assert np.shares_memory(view, around) or not view.size
    return Poisoned(view, around, ~inside)


def _bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(f"i{array.dtype.itemsize}").reshape(array.shape)
