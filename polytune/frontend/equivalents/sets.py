"""Arrays as sets of numbers."""

from __future__ import annotations

import numpy as np

from polytune.frontend.equivalents.registry import stands_for


@stands_for(np.union1d)
def union1d(ar1, ar2):
    return np.unique(np.concatenate((ar1.ravel(), ar2.ravel())))


@stands_for(np.intersect1d)
def intersect1d(ar1, ar2):
    first = np.unique(ar1)
    second = np.unique(ar2)
    return first[np.isin(first, second)]


@stands_for(np.setdiff1d)
def setdiff1d(ar1, ar2):
    first = np.unique(ar1)
    second = np.unique(ar2)
    return first[~np.isin(first, second)]


@stands_for(np.setxor1d)
def setxor1d(ar1, ar2):
    first = np.unique(ar1)
    second = np.unique(ar2)
    only_first = first[~np.isin(first, second)]
    only_second = second[~np.isin(second, first)]
    return np.sort(np.concatenate((only_first, only_second)))
