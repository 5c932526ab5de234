"""Builtin functions that call machine code: arguments, results, and who runs meanwhile."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

from polytune.errors import CacheWarning
from polytune.runtime.native.builtin_functions import builtin_function
from polytune.runtime.native.translation import kept_or_made
from polytune.runtime.teams.entries import entry_of
from polytune.runtime.teams.team import fetch_add, load_acquire


@njit
def weighted(first, second, third):
    return first + 10 * second + 100 * third


@njit
def written(place, value):
    fetch_add(place, 0, value)


@njit
def waited(place, most):
    turns = 0
    while load_acquire(place, 0) == 0 and turns < most:
        turns += 1
    return load_acquire(place, 0)


@pytest.mark.parametrize("is_short", [False, True])
def test_arguments_come_in_order_and_results_are_integers(is_short: bool) -> None:
    call = builtin_function(entry_of(weighted, 3), 3, returns=True, is_short=is_short)
    assert call(1, 2, 3) == 321
    assert call(-1, True, np.int32(0)) == 9
    assert call(-(2**63), 0, 0) == -(2**63) and call(2**63 - 1, 0, 0) == 2**63 - 1
    assert call(2**62, 2**62, 0) == -(2**62), "sums wrap round"


@pytest.mark.parametrize("is_short", [False, True])
def test_what_returns_nothing_is_called(is_short: bool) -> None:
    place = np.zeros(1, np.int64)
    call = builtin_function(entry_of(written, 2), 2, returns=False, is_short=is_short)
    call(place.ctypes.data, -7)
    assert place[0] == -7


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((1, 2), TypeError),
        ((1, 2, 3, 4), TypeError),
        ((), TypeError),
        ((1, "2", 3), TypeError),
        ((1, 2.0, 3), TypeError),
        ((2**63, 0, 0), OverflowError),
        ((0, 0, -(2**63) - 1), OverflowError),
        ((1, None, -1), TypeError),
    ],
)
def test_what_are_no_such_arguments_is_refused_and_nothing_called(arguments: tuple[Any, ...], error: type) -> None:
    call = builtin_function(0, 3, returns=True, is_short=False)  # there is no code to be called
    with pytest.raises(error):
        call(*arguments)
    with pytest.raises(TypeError):
        call(1, 2, third=3)


def test_nothing_of_the_arguments_is_kept() -> None:
    call = builtin_function(entry_of(weighted, 3), 3, returns=True, is_short=True)
    number = 2**40 + 1
    before = sys.getrefcount(number)
    for _ in range(100):
        call(number, number, 0)
        with pytest.raises(TypeError):
            call(number, number, "")
    assert sys.getrefcount(number) <= before + 1
    assert call.__self__ == entry_of(weighted, 3)  # type: ignore[attr-defined]


def test_other_threads_run_while_one_is_called_that_is_not_short() -> None:
    """The call comes to its end because another thread of Python does something."""
    place = np.zeros(1, np.int64)
    call = builtin_function(entry_of(waited, 2), 2, returns=True, is_short=False)
    has_begun = threading.Event()

    def help_out() -> None:
        has_begun.wait()
        place[0] = 5

    thread = threading.Thread(target=help_out)
    thread.start()
    has_begun.set()
    assert call(place.ctypes.data, 10**12) == 5
    thread.join()


def test_their_code_is_kept_and_is_the_same(tmp_path: Path) -> None:
    made: list[int] = []

    def make() -> bytes:
        made.append(1)
        return b"some code"

    for folder in (tmp_path, tmp_path, None):
        assert kept_or_made(folder, __file__, "code", make) == b"some code"
    assert len(made) == 2, "once for the disk, and where nothing is kept"
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.warns(CacheWarning):
        assert kept_or_made(tmp_path, __file__, "code", make) == b"some code"
    assert len(made) == 3, "what is damaged is made anew"
