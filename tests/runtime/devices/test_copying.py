"""Copies by several threads."""

from __future__ import annotations

import numpy as np
import pytest

from polytune.runtime.devices import staged
from polytune.runtime.devices.staged import copy


@pytest.mark.parametrize("shape", [(7,), (1, 9), (9, 1), (5, 6, 7), (0, 3)])
@pytest.mark.parametrize("layout", [lambda a: a, lambda a: a.T, lambda a: a[::-1]])
def test_every_element_is_copied(monkeypatch, shape, layout):
    monkeypatch.setattr(staged, "_WORTH_SHARING", 1)
    source = layout(np.random.default_rng(0).random(shape))
    target = np.zeros(source.shape)
    copy(target, source)
    np.testing.assert_array_equal(target, source)
    strided = np.zeros([2 * extent for extent in source.shape])[(slice(None, None, 2),) * source.ndim]
    copy(strided, source)
    np.testing.assert_array_equal(strided, source)
