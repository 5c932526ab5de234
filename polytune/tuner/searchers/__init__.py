"""Search methods, one a file, all behind `polytune.tuner.searcher.Searcher`.

`EpsilonGreedy` and `NelderMead` search arms and real spaces, for `HierarchicalTuner`.  The others, in `SEARCHES`,
search a `FiniteSpace` and are made by name with `make_search`; a file is loaded when its search is made, so that only
those that need scikit-learn, optuna and the like load them.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from polytune.errors import SearchError
from polytune.tuner.searchers.epsilon_greedy import EpsilonGreedy
from polytune.tuner.searchers.finite_searcher import FiniteSearcher
from polytune.tuner.searchers.nelder_mead import NelderMead
from polytune.tuner.spaces.finite import FiniteSpace

__all__ = ["SEARCHES", "EpsilonGreedy", "FiniteSearcher", "NelderMead", "make_search", "search_class"]

SEARCHES: Mapping[str, str] = MappingProxyType(
    {
        "full": "full.Full",
        "random": "random_sampling.RandomSampling",
        "latin_hypercube": "latin_hypercube.LatinHypercube",
        "greedy": "greedy.Greedy",
        "greedy_restart": "greedy.GreedyWithRestart",
        "epsilon_greedy": "finite_epsilon_greedy.FiniteEpsilonGreedy",
        "nelder_mead": "finite_nelder_mead.FiniteNelderMead",
        "annealing": "annealing.Annealing",
        "genetic": "genetic.Genetic",
        "particle_swarm": "particle_swarm.ParticleSwarm",
        "random_forest": "random_forest.RandomForest",
        "gaussian_process": "gaussian_process.GaussianProcess",
        "tpe": "tpe.TPE",
        "linear_model": "linear_model.LinearModel",
        "dlmt": "dlmt.DLMT",
        "profile": "profile.ProfileBased",
        "portfolio": "portfolio.Portfolio",
    }
)
"""The searches of a finite space by name: the module of this package and the class in it."""


def search_class(name: str) -> type[FiniteSearcher]:
    """The class of a search.

    Raises:
        SearchError: there is no search of that name.
        MissingLibraryError: it needs a library that is not installed.
    """
    if name not in SEARCHES:
        close = difflib.get_close_matches(name, SEARCHES, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else f"; the searches are {', '.join(SEARCHES)}"
        raise SearchError(f"there is no search {name!r}{hint}")
    module, _, member = SEARCHES[name].rpartition(".")
    return getattr(importlib.import_module(f"{__name__}.{module}"), member)


def make_search(
    name: str, space: FiniteSpace, rng: np.random.Generator, *, budget: int | None = None, **settings: Any
) -> FiniteSearcher:
    """A search by name.

    Args:
        name: one of `SEARCHES`.
        space: what to search.
        rng: where its random choices come from.
        budget: how many evaluations there will be, where that is known.
        settings: of the method, as its class describes them.

    Raises:
        SearchError: there is no such search, or it has no such setting.
        MissingLibraryError: it needs a library that is not installed.
    """
    kind = search_class(name)
    known = [p.name for p in inspect.signature(kind).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for setting in settings:
        if setting not in known:
            mine = [other for other in known if other != "budget"]
            raise SearchError(
                f"the search {name!r} has no setting {setting!r}; "
                + (f"it has {', '.join(mine)}" if mine else "it has none")
            )
    return kind(space, rng, budget=budget, **settings)
