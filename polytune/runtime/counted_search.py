"""The search of a kernel, with the counters of the kernel where it goes by counters."""

from __future__ import annotations

from collections.abc import Callable

from polytune.runtime.prediction import Prediction
from polytune.tuner import Search
from polytune.tuner.hierarchy.methods import methods_of

__all__ = ["with_counters"]


def with_counters(search: Search | None, prediction: Callable[[], Prediction]) -> Search | None:
    """The search with the counters of a kernel wherever it goes by counters and has no model of its own.

    Args:
        search: as people write it.
        prediction: makes the model of the versions' times, where it is needed.
    """
    methods = methods_of(search)
    needing = [name for name, method in methods.items() if method.name == "profile" and "model" not in method.settings]
    if not needing:
        return search
    from polytune.runtime.counters import KernelCounters  # few kernels need it, and all would load it

    model = KernelCounters(prediction())
    return {name: method.with_defaults(model=model) if name in needing else method for name, method in methods.items()}
