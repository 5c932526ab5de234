"""The searches that recordings can be searched with: the tuner's, and those that only recordings have a use for.

The latter are files of this package, one a search, which is called as the search is.
"""

from __future__ import annotations

from polytune.tuner.searchers import SEARCHES as TUNING_SEARCHES
from polytune.tuner.searchers import Catalogue

__all__ = ["SEARCHES"]

SEARCHES = Catalogue((*TUNING_SEARCHES.packages, __name__))
"""All of them by name, with the place of each."""
