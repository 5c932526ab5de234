"""Parts of arrays, and arrays with something taken out or put in."""

from __future__ import annotations

import numpy as np

from polytune.frontend.equivalents.registry import stands_for


@stands_for(np.extract)
def extract(condition, arr):
    return arr.ravel()[condition.ravel() != 0]


@stands_for(np.trim_zeros)
def trim_zeros(filt):
    first = 0
    while first < len(filt) and filt[first] == 0:
        first += 1
    last = len(filt)
    while last > first and filt[last - 1] == 0:
        last -= 1
    return filt[first:last].copy()


@stands_for(np.ediff1d)
def ediff1d(ary):
    flat = ary.ravel()
    return flat[1:] - flat[:-1]


def place_of(obj, size):
    """A place counted from the front of so many."""
    if obj < -size or obj >= size:
        raise IndexError("the index is out of bounds")
    return obj + size if obj < 0 else obj


@stands_for(np.delete)
def delete(arr, obj, axis=None):
    if axis is None or arr.ndim == 1:
        flat = arr.ravel()
        if np.ndim(obj) > 0:
            stays = np.ones(len(flat), dtype=np.bool_)
            for place in obj:
                stays[place] = False
            return flat[stays]
        place = place_of(obj, len(flat))
        out = np.empty(len(flat) - 1, dtype=flat.dtype)
        out[:place] = flat[:place]
        out[place:] = flat[place + 1 :]
        return out
    if axis == 0 or axis == -arr.ndim:
        row = place_of(obj, arr.shape[0])
        return np.concatenate((arr[:row], arr[row + 1 :]), axis=0)
    column = place_of(obj, arr.shape[1])
    return np.concatenate((arr[:, :column], arr[:, column + 1 :]), axis=1)


@stands_for(np.insert)
def insert(arr, obj, values):
    flat = arr.ravel()
    place = place_of(obj, len(flat) + 1) if obj >= 0 else place_of(obj, len(flat))
    out = np.empty(len(flat) + 1, dtype=flat.dtype)
    out[:place] = flat[:place]
    out[place] = values
    out[place + 1 :] = flat[place:]
    return out


@stands_for(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(x, window_shape):
    return x[np.arange(len(x) - window_shape + 1)[:, None] + np.arange(window_shape)]


@stands_for(np.apply_along_axis)
def apply_along_axis(func1d, axis, arr):
    if axis == 0 or axis == -2:
        return np.array([func1d(arr[:, j]) for j in range(arr.shape[1])])
    return np.array([func1d(arr[i]) for i in range(arr.shape[0])])


@stands_for(np.choose)
def choose(a, choices):
    if np.any((a < 0) | (a >= len(choices))):
        raise ValueError("invalid entry in choice array")
    out = np.where(a == 0, choices[0], choices[0])
    for place in range(len(choices)):
        out = np.where(a == place, choices[place], out)
    return out


@stands_for(np.piecewise)
def piecewise(x, condlist, funclist):
    out = np.zeros(x.shape, dtype=x.dtype)
    if len(funclist) > len(condlist):
        default = funclist[-1]
        out[...] = default(x) if callable(default) else default
    for condition, value in zip(condlist, funclist[: len(condlist)], strict=True):
        if callable(value):
            out[condition] = value(x[condition])
        else:
            out[condition] = value
    return out
