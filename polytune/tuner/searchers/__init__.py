"""Search methods, one a file, all behind `polytune.tuner.searcher.Searcher`."""

from polytune.tuner.searchers.epsilon_greedy import EpsilonGreedy
from polytune.tuner.searchers.nelder_mead import NelderMead

__all__ = ["EpsilonGreedy", "NelderMead"]
