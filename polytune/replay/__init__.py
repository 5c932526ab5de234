"""Recorded search spaces: reading them, searching them in place of a measurement, comparing searches on them.

It stands on `polytune.tuner` alone.  `load` reads a recording in any of the formats in use, `simulate` runs searches on
one, `polytune.replay.statistics` and `polytune.replay.score` say which of them is better.
"""

from polytune.replay.loading import load
from polytune.replay.recording import RecordedSpace
from polytune.replay.results import Results
from polytune.replay.run import Run
from polytune.replay.simulation import simulate

__all__ = ["RecordedSpace", "Results", "Run", "load", "simulate"]
