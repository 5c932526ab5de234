"""The number of steps after which a random search has met a configuration that performs well (section 3)."""

from __future__ import annotations

import math

from polytune.errors import SearchError

__all__ = ["THRESHOLD", "check_share", "expected_steps", "steps_to_find"]

THRESHOLD = 0.9
"""The share of the optimum's performance from which on a configuration performs well, as in the paper."""


def steps_to_find(portion: float, probability: float = 0.9) -> int:
    """The steps after which a random search has met a well-performing configuration with a given probability.

    This is n_conf of the paper's formula 2, the logarithm of 1 - probability to the base 1 - portion, rounded up; draws
    are taken to be independent, as in spaces that are large beside the steps.

    Args:
        portion: how much of the space performs well, above 0 and at most 1.
        probability: from 0 to below 1.

    Raises:
        SearchError: a number is out of its bounds.

    >>> steps_to_find(0.01, 0.9)
    230
    """
    check_share("portion", portion)
    if not 0 <= probability < 1:
        raise SearchError(f"a probability of {probability} cannot be reached by a number of steps: give one below 1")
    if portion == 1:
        return 1
    return max(math.ceil(math.log1p(-probability) / math.log1p(-portion)), 1)


def expected_steps(rows: int, good: int) -> float:
    """The steps after which a random search without replacement meets a well-performing configuration, on average.

    Args:
        rows: how many configurations there are.
        good: how many of them perform well; infinitely many steps are needed where none does.
    """
    return (rows + 1) / (good + 1) if good else math.inf


def check_share(name: str, value: float) -> None:
    """See to it that a number is a share.

    Raises:
        SearchError: it is not above 0 and at most 1.
    """
    if not 0 < value <= 1:
        raise SearchError(f"the {name} must be above 0 and at most 1, not {value}")
