"""Conclusions from measurements on one device, or of one input, for tuning on another.

The methods are those of J. Oľha, J. Hozzová, J. Fousek and J. Filipovič, "Exploiting historical data: pruning
autotuning spaces and estimating the number of tuning steps", Concurrency and Computation: Practice and Experience
32(21), 2020: how many configurations perform well and so how long a search takes, how much each parameter has to do
with the time, and which parameters need not be searched elsewhere.
"""

from polytune.lab.historical.convergence import Convergence, convergence
from polytune.lab.historical.correlation import paired_slowdowns, rank_correlation
from polytune.lab.historical.families import Family, families
from polytune.lab.historical.information import mutual_information
from polytune.lab.historical.portions import expected_steps, portion, steps_to_find
from polytune.lab.historical.pruning import CUTOFF, METHODS, Pruning, Retention, check_pruning, prune, pruned, retention

__all__ = [
    "CUTOFF",
    "METHODS",
    "Convergence",
    "Family",
    "Pruning",
    "Retention",
    "check_pruning",
    "convergence",
    "expected_steps",
    "families",
    "mutual_information",
    "paired_slowdowns",
    "portion",
    "prune",
    "pruned",
    "rank_correlation",
    "retention",
    "steps_to_find",
]
