"""What was learned for another size of the same kernel, as a place to start from."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from polytune.tuner.memory import Key, Memory, RememberedMeasurement
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.space import Space

__all__ = ["distance", "starts_of_similar"]

_SIZE = re.compile(r"(\w+)=(-?\d+)")
_MOST_STARTS = 3
_FARTHEST = math.log(64)  # beyond, what was best says little


def distance(first: str, second: str) -> float:
    """How far two classes of inputs are apart: the Euclidean distance of the logarithms of their sizes.

    Args:
        first, second: texts with sizes in the form ``name=number``, as kernels are remembered under.

    Returns:
        Infinity where anything but the numbers differs.
    """
    if _SIZE.sub(r"\1=", first) != _SIZE.sub(r"\1=", second):
        return math.inf
    sizes = [[abs(int(number)) for _, number in _SIZE.findall(text)] for text in (first, second)]
    return math.dist(*([math.log1p(size) for size in listed] for listed in sizes))


def starts_of_similar(store: Memory, key: Key, space: Space) -> Sequence[Configuration]:
    """The best configurations of the nearest size remembered for the kernel on this machine, the best first."""
    found: dict[str, list[RememberedMeasurement]] = {}
    for record in store.all(key.kernel, None, key.machine):
        if record.status == "ok" and record.median_seconds is not None and space.contains(record.configuration):
            found.setdefault(record.shape, []).append(record)
    nearest = min(found, key=lambda shape: distance(shape, key.shape), default=None)
    if nearest is None or distance(nearest, key.shape) > _FARTHEST:
        return ()
    ranked = sorted(found[nearest], key=lambda record: record.median_seconds or 0.0)
    return [space.configuration(**record.configuration) for record in ranked[:_MOST_STARTS]]
