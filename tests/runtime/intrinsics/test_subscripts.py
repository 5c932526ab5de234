"""The test of index arrays: by NumPy and by a team, which find the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from polytune.errors import SourceLocation, SubscriptError
from polytune.runtime.intrinsics import subscripts
from polytune.runtime.intrinsics.subscripts import is_outside_by_blocks, is_outside_by_team, require_range

REPORT = SourceLocation("file.py", 1), ("A",), ("A[i]",)
BLOCK = subscripts.BLOCK
FINDERS = [is_outside_by_blocks, is_outside_by_team]


@pytest.mark.parametrize("find", FINDERS)
@pytest.mark.parametrize("dtype", ["int64", "int32"])
@pytest.mark.parametrize("count", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_one_number_out_of_range_is_found_wherever_it_is(find: Callable[..., bool], dtype: str, count: int) -> None:
    numbers = np.random.default_rng(count).integers(-50, 50, count).astype(dtype)
    assert not find(numbers, 50)
    for place in {0, count // 2, count - 1} if count else ():
        for value, is_outside in ((50, True), (-51, True), (49, False), (-50, False), (np.iinfo(dtype).min, True)):
            changed = numbers.copy()
            changed[place] = value
            assert find(changed, 50) is is_outside
    assert find(numbers, 0) is (count > 0)


@pytest.mark.parametrize("find", FINDERS)
def test_arrays_of_two_dimensions(find: Callable[..., bool]) -> None:
    numbers = np.zeros((300, 400), np.int64)
    assert not find(numbers, 1)
    numbers[299, 399] = 1
    assert find(numbers, 1)


@pytest.mark.parametrize("fewest", [1, 1 << 40])
@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        lambda a: a[::2],
        lambda a: a[::-1],
        lambda a: a.reshape(20, 50).T,
        lambda a: a.astype(np.uint8),
        lambda a: a.astype(np.int16),
        lambda a: np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(np.int64),
    ],
    ids=["whole", "every second", "backwards", "transposed", "bytes", "shorts", "unaligned"],
)
def test_what_is_required_of_all_kinds_of_arrays(
    view: Callable[[np.ndarray], np.ndarray], fewest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscripts, "_FEWEST_FOR_TEAM", fewest)
    numbers = np.arange(1000) % 100
    require_range(view(numbers), 100, REPORT)
    with pytest.raises(SubscriptError, match="a subscript of 'A' was out of range"):
        require_range(view(numbers), 98, REPORT)
