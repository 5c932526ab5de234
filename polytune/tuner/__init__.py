"""Autotuning of any callable: search spaces with conditional parameters, ask/tell searches, tuning while running.

It needs NumPy only and knows nothing of kernels.  `tune` tunes a function in one go; `OnlineTuner` tunes one that an
application keeps calling; `HierarchicalTuner` is the search under both.  `make_search` makes any of the `SEARCHES` of a
`FiniteSpace`, to be asked and told; subclasses of `FiniteSearcher` that other packages have are found by entry points.
"""

from polytune.tuner.budget import Budget
from polytune.tuner.hierarchy.hierarchical import HierarchicalTuner
from polytune.tuner.hierarchy.methods import Search, check_nodes, check_search
from polytune.tuner.ledger import Statistics
from polytune.tuner.memory import Key, Memory
from polytune.tuner.models.analysis import DesignStep, VarianceRow
from polytune.tuner.offline import Result, Trial, tune
from polytune.tuner.online import OnlineTuner
from polytune.tuner.searcher import Searcher
from polytune.tuner.searchers import SEARCHES, EpsilonGreedy, FiniteSearcher, Method, NelderMead, make_search
from polytune.tuner.spaces.condition import Condition, Is
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.constraint import Constraint
from polytune.tuner.spaces.finite import FiniteSpace
from polytune.tuner.spaces.graph import SpaceGraph
from polytune.tuner.spaces.parameters import Integer, Nominal, Ordinal, Ratio
from polytune.tuner.spaces.space import Space
from polytune.tuner.trials import OnlineTrial

__all__ = [
    "SEARCHES",
    "Budget",
    "Condition",
    "Configuration",
    "Constraint",
    "DesignStep",
    "EpsilonGreedy",
    "FiniteSearcher",
    "FiniteSpace",
    "HierarchicalTuner",
    "Integer",
    "Is",
    "Key",
    "Memory",
    "Method",
    "NelderMead",
    "Nominal",
    "OnlineTrial",
    "OnlineTuner",
    "Ordinal",
    "Ratio",
    "Result",
    "Search",
    "Searcher",
    "Space",
    "SpaceGraph",
    "Statistics",
    "Trial",
    "VarianceRow",
    "check_nodes",
    "check_search",
    "make_search",
    "tune",
]
