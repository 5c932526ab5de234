"""Tools for those who study searches: recorded spaces, which are searched in place of a measurement, comparisons of
searches on them, and searches that need what only a recording has.

It stands on `polytune.tuner` alone.  `load` reads a recording in any of the formats in use, `simulate` runs searches on
one, `polytune.lab.statistics` and `polytune.lab.score` say which of them is better.
"""

from polytune.lab.loading import load
from polytune.lab.recording import RecordedSpace
from polytune.lab.results import Results
from polytune.lab.run import Run
from polytune.lab.simulation import simulate

__all__ = ["RecordedSpace", "Results", "Run", "load", "simulate"]
