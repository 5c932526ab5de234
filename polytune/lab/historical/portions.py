"""The portion of a recorded space that performs well (section 3)."""

from __future__ import annotations

import numpy as np

from polytune.lab.recording import RecordedSpace
from polytune.tuner.historical.pruning import THRESHOLD, check_share, expected_steps, steps_to_find

__all__ = ["THRESHOLD", "check_share", "expected_steps", "portion", "steps_to_find", "well_performing"]


def well_performing(recorded: RecordedSpace, threshold: float = THRESHOLD) -> np.ndarray:
    """The rows that reach a share of the performance of the fastest one.

    Args:
        recorded: the space.
        threshold: the share, above 0 and at most 1.

    Returns:
        (n,) bool.
    """
    check_share("threshold", threshold)
    good: np.ndarray = recorded.slowdowns * threshold <= 1.0 + 1e-12
    return good


def portion(recorded: RecordedSpace, threshold: float = THRESHOLD) -> float:
    """The portion of the rows, failed ones included, that perform well: p_b of the paper's formula 1."""
    return float(well_performing(recorded, threshold).mean())
