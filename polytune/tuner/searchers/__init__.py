"""Search methods, one a file, all behind `polytune.tuner.searcher.Searcher`.

`EpsilonGreedy` and `NelderMead` search arms and real spaces, for `HierarchicalTuner`.  The others, in `SEARCHES`,
search a `FiniteSpace` and are made by name with `make_search`; those of other packages are found by entry points.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polytune.tuner.searchers.catalogue import Catalogue
from polytune.tuner.searchers.epsilon_greedy import EpsilonGreedy
from polytune.tuner.searchers.finite_searcher import FiniteSearcher
from polytune.tuner.searchers.method import Method
from polytune.tuner.searchers.nelder_mead import NelderMead
from polytune.tuner.spaces.finite import FiniteSpace

__all__ = [
    "SEARCHES",
    "Catalogue",
    "EpsilonGreedy",
    "FiniteSearcher",
    "Method",
    "NelderMead",
    "make_search",
    "search_class",
]

SEARCHES = Catalogue((f"{__name__}.finite",))
"""The searches of a finite space by name, with the place of each: polytune's own, and those of other packages."""


def search_class(name: str) -> type[FiniteSearcher]:
    """The class of a search; see `Catalogue.kind`."""
    return SEARCHES.kind(name)


def make_search(
    name: str | Method, space: FiniteSpace, rng: np.random.Generator, *, budget: int | None = None, **settings: Any
) -> FiniteSearcher:
    """A search by name, one of `SEARCHES`; see `Catalogue.make`.

    Args:
        name: one of `SEARCHES`, with settings where it is written with some.
        space: what to search.
        rng: where its random choices come from.
        budget: how many evaluations there will be; None where that is not known.
        settings: of the method, as its class describes them.
    """
    return SEARCHES.make(name, space, rng, budget=budget, **settings)
