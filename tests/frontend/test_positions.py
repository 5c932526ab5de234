"""Arguments that are given by position: the compiled functions of NumPy have theirs where NumPy has them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import numpy as np

import polytune.pipeline  # noqa: F401  (it registers all functions)
from polytune.frontend.array_expressions import calls

UNLIKE_THEIR_SIGNATURES = {np.arange, np.pad}
"""Functions that take what their signatures have by name alone, ``np.arange(0, 5, 1, np.float32)``, or in
``**kwargs``."""


def _positions() -> Iterator[tuple[object, list[str], list[str]]]:
    for table in (calls._HANDLERS, calls._OF_SEVERAL):
        for function, (parameters, _) in table.items():
            if isinstance(function, np.ufunc):
                continue  # which have no arguments by position but arrays
            try:
                found = inspect.signature(function).parameters.values()
            except (ValueError, TypeError):
                continue
            theirs = [each.name for each in found if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
            ours = [each.lstrip("-") for each in parameters if not each.startswith("=")]
            yield function, ours, theirs


def test_arguments_are_where_numpy_has_them() -> None:
    compared = 0
    for function, ours, theirs in _positions():
        if function in UNLIKE_THEIR_SIGNATURES or not theirs or "*" in "".join(ours):
            continue
        assert ours[1:] == theirs[1 : len(ours)], f"{function}: {ours} in place of {theirs}"
        compared += len(ours) > 2
    assert compared > 40
