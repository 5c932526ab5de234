"""The order of the points in a tile, and what is known of the steps of a band."""

from __future__ import annotations

from typing import Any

import islpy as isl
import numpy as np
import pytest

from polytune.schedule.tiles import interchange
from polytune.schedule.tiles.interchange import accumulation_order, point_order, reuse_order, steps_of
from tests.every_version import stages_of


def product(A: Any, B: Any, C: Any) -> None:
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def transposed(A: Any, B: Any, C: Any) -> None:
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[j, i] = A[j, i] + B[j, i]


def band_of(function: Any) -> tuple[isl.ScheduleNode, Any]:
    stages = stages_of(function, [np.ones((4, 4)) for _ in range(3)])
    tiled = next(each for each in stages.candidates if each.name == "tiled")
    return tiled.schedule.get_root().child(0), stages.scop


def test_contiguous_members_are_innermost() -> None:
    assert point_order(*band_of(product)) == (0, 2, 1)
    assert point_order(*band_of(transposed)) == (1, 0)
    assert accumulation_order(*band_of(product)) == (0, 1, 2)
    assert accumulation_order(*band_of(transposed)) is None


@pytest.mark.parametrize("function", [product, transposed])
def test_steps_are_computed_once(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    node, scop = band_of(function)
    scop.of_bands.clear()
    orders = [find(node, scop) for find in (point_order, accumulation_order, reuse_order)]
    assert len(scop.of_bands) == 1
    again, _ = band_of(function)
    monkeypatch.setattr(interchange, "advance", None)
    monkeypatch.setattr(interchange, "jumps", lambda *given: pytest.fail("asked again"))
    assert steps_of(again, scop) is steps_of(node, scop)
    assert [find(again, scop) for find in (point_order, accumulation_order)] == orders[:2]


def test_steps_of_other_bands_are_others() -> None:
    node, scop = band_of(product)
    inner = node.band_split(1).child(0)
    assert steps_of(inner, scop) is not steps_of(node, scop)
    assert steps_of(node.band_split(1), scop) is not steps_of(node, scop)
    assert point_order(inner, scop) == (1, 0)
