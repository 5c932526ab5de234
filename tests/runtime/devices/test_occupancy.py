"""Theoretical occupancy on a Hopper GPU, by the numbers of NVIDIA's occupancy calculator."""

from __future__ import annotations

import pytest

from polytune.runtime.devices.cubin import occupancy

KIB = 1024


@pytest.mark.parametrize(
    ("threads", "registers", "shared_memory", "warps"),
    [
        (256, 32, 0, 64),  # all that there is
        (256, 33, 0, 48),  # 40 registers a thread are given: 48 warps' worth
        (256, 64, 0, 32),
        (256, 65, 0, 24),  # 72 a thread: 28 warps' worth, 3 blocks of 8
        (128, 128, 0, 16),
        (128, 255, 0, 8),
        (1024, 64, 0, 32),
        (1024, 65, 0, 0),  # 28 warps' worth, and a block has 32
        (32, 16, 0, 32),  # 32 blocks at most
        (64, 16, 0, 64),
        (96, 16, 0, 63),  # 21 blocks of 3 warps
        (33, 16, 0, 64),  # a second warp of one thread
        (256, 32, 48 * KIB, 32),  # 49 KiB a block with what is reserved: 4 blocks
        (128, 32, 27 * KIB, 32),  # 28 KiB: 8 blocks
        (128, 32, 27 * KIB + 1, 32),
        (128, 32, 28 * KIB, 28),  # 29 KiB: 7 blocks
        (256, 256, 0, 0),
        (1025, 32, 0, 0),
    ],
)
def test_occupancy(threads, registers, shared_memory, warps):
    assert occupancy(threads, registers, shared_memory) == warps / 64
