"""The mutual information of each parameter with the time, of a recording."""

from __future__ import annotations

from polytune.lab.recording import RecordedSpace
from polytune.tuner.historical import pruning
from polytune.tuner.historical.pruning import BINS

__all__ = ["BINS", "mutual_information"]


def mutual_information(recorded: RecordedSpace, bins: int = BINS) -> dict[str, float]:
    """The mutual information of each parameter with the time, in bits, of the configurations that ran.

    Args:
        recorded: the space, or a sample of it.
        bins: how many classes of times there are, see `polytune.tuner.historical.pruning`.

    Raises:
        SearchError: there are less than two classes.
    """
    return pruning.mutual_information(recorded.space, recorded.seconds, bins)
