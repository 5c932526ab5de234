"""Functions of arrays that leave out what is no number."""

from __future__ import annotations

import numpy as np

from polytune.frontend.equivalents.registry import stands_for


@stands_for(np.nanprod)
def nanprod(a, axis=None):
    return np.prod(np.where(np.isnan(a), 1, a), axis=axis)


@stands_for(np.nancumsum)
def nancumsum(a, axis=None):
    return np.cumsum(np.where(np.isnan(a), 0, a), axis=axis)


@stands_for(np.nancumprod)
def nancumprod(a, axis=None):
    return np.cumprod(np.where(np.isnan(a), 1, a), axis=axis)


@stands_for(np.nanargmax)
def nanargmax(a, axis=None):
    missing = np.isnan(a)
    if np.any(np.all(missing, axis=axis)):
        raise ValueError("All-NaN slice encountered")
    return np.argmax(np.where(missing, -np.inf, a), axis=axis)


@stands_for(np.nanargmin)
def nanargmin(a, axis=None):
    missing = np.isnan(a)
    if np.any(np.all(missing, axis=axis)):
        raise ValueError("All-NaN slice encountered")
    return np.argmin(np.where(missing, np.inf, a), axis=axis)


@stands_for(np.nanquantile)
def nanquantile(a, q):
    flat = a.ravel()
    return np.quantile(flat[~np.isnan(flat)], q)


@stands_for(np.nanpercentile)
def nanpercentile(a, q):
    flat = a.ravel()
    return np.percentile(flat[~np.isnan(flat)], q)


@stands_for(np.asarray_chkfinite)
def asarray_chkfinite(a):
    if not np.all(np.isfinite(a)):
        raise ValueError("array must not contain infs or NaNs")
    return a
