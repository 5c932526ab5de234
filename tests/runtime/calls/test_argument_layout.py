"""The comparison of arguments with a layout, by the headers of Python's and NumPy's objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from polytune.runtime.calls.argument_layout import DIFFERS, FITS, MAY_OVERLAP, ArgumentLayout, can_compare, fingerprint
from polytune.runtime.teams.context import STATE_LENGTH

PLACES = {0: 8 * STATE_LENGTH, 1: 8 * STATE_LENGTH + 8, 2: 8 * STATE_LENGTH + 16}


def context() -> np.ndarray:
    return np.full(STATE_LENGTH + 3, -1, np.int64)


def test_headers_are_where_they_are_taken_to_be():
    assert can_compare()


def test_addresses_and_floats_are_written_where_they_belong():
    first, second = np.arange(12.0).reshape(3, 4), np.ones(5, np.int32)
    layout = ArgumentLayout((first, second, 1.5), PLACES, {0})
    found = context()
    others = first[::1].copy(), second.copy(), -0.0
    assert layout.fit(others, found.ctypes.data) == FITS
    assert found[STATE_LENGTH] == others[0].ctypes.data and found[STATE_LENGTH + 1] == others[1].ctypes.data
    assert np.signbit(found[STATE_LENGTH + 2 :].view(np.float64)[0])
    assert found[0] == 0, "the state of the team is as new"


def test_nothing_is_written_where_arguments_differ():
    array = np.arange(12.0).reshape(3, 4)
    layout = ArgumentLayout((array, array.copy(), 1.5), PLACES, {0})
    small, other = np.arange(9.0).reshape(3, 3), array.copy()
    read_only = array.copy()
    read_only.flags.writeable = False
    unlike: list[tuple[Any, ...]] = [
        (array, other),
        (array, other, 1.5, 1.5),
        (array, other, 1),
        (array, other, np.float64(1.5)),
        (array, small, 1.5),
        (array.T, other, 1.5),
        (read_only, other, 1.5),
        (array.astype(np.int64), other, 1.5),
        (array[0], other, 1.5),
        (array[:, ::-1], other, 1.5),
        (1.5, other, array),
        (None, other, 1.5),
    ]
    for arguments in unlike:
        found = context()
        assert layout.fit(arguments, found.ctypes.data) == DIFFERS
        assert (found == -1).all()


def test_arrays_may_overlap_where_their_bytes_reach_into_each_other():
    memory = np.zeros((8, 8))
    whole = memory[:, 0], memory[:, 1], 0.0
    apart = ArgumentLayout((np.zeros((8, 8))[:, 0], np.zeros((8, 8))[:, 1], 0.0), PLACES, {1})
    room = context()
    found = room.ctypes.data
    assert apart.fit(whole, found) == MAY_OVERLAP
    assert apart.fit((memory[:, 0], np.zeros((8, 8))[:, 0], 0.0), found) == FITS
    rows = ArgumentLayout((memory[0], memory[1], 0.0), PLACES, {0})
    for first in range(8):
        for second in range(8):
            expected = MAY_OVERLAP if first == second else FITS
            assert rows.fit((memory[first], memory[second], 0.0), found) == expected
    read = ArgumentLayout((memory[0], memory[1], 0.0), PLACES, set())
    assert read.fit((memory[0], memory[0], 0.0), found) == FITS, "neither is written"
    backwards = ArgumentLayout((memory[0, ::-1], memory[0, ::-1], 0.0), PLACES, {0})
    assert backwards.fit((memory[0, ::-1], memory[1, ::-1], 0.0), found) == FITS
    line = memory.reshape(-1)
    assert backwards.fit((line[7::-1], line[14:6:-1], 0.0), found) == MAY_OVERLAP
    empty = ArgumentLayout((line[:0], line[:0], 0.0), PLACES, {0})
    assert empty.fit((line[:0], line[:0], 0.0), found) == FITS


def test_fingerprints_tell_types_and_headers_apart():
    array = np.arange(12.0).reshape(3, 4)
    read_only = array.copy()
    read_only.flags.writeable = False
    kinds: list[tuple[Any, ...]] = [
        (array, 1.5),
        (array, 1),
        (1.5, array),
        (array.T, 1.5),
        (array[:2], 1.5),
        (array[:, ::2], 1.5),
        (array.reshape(4, 3), 1.5),
        (array.astype(np.float32), 1.5),
        (read_only, 1.5),
        (array, None),
        (array,),
        (),
    ]
    assert len({fingerprint(kind) for kind in kinds}) == len(kinds)
    assert fingerprint((array, 1.5)) == fingerprint((np.ones((3, 4)), 2.5))
