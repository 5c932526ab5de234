"""A device that is the processor itself, on cores of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.gpu.own_cores import cores_of_device

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system does not bind threads to cores"
)

SHARED_OUT = """
import os
from benchmarks.gpu.own_cores import cores_of_device

everything = os.sched_getaffinity(0)
with cores_of_device(1):
    device = os.sched_getaffinity(0)
rest = os.sched_getaffinity(0)
assert len(device) == 1 and not device & rest and device | rest == everything
from polytune.runtime.machine import machine
assert machine().cores <= len(rest)
"""


def test_cores_are_shared_out():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core cannot be shared out")
    done = subprocess.run([sys.executable, "-c", SHARED_OUT], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_no_core_of_its_own_changes_nothing():
    before = os.sched_getaffinity(0)
    with cores_of_device(0):
        assert os.sched_getaffinity(0) == before
    assert os.sched_getaffinity(0) == before


def test_a_core_has_to_be_left(capsys):
    before = os.sched_getaffinity(0)
    with pytest.raises(SystemExit), cores_of_device(len(before)):
        pass
    assert f"at most {len(before) - 1} can be a device's" in capsys.readouterr().err
    assert os.sched_getaffinity(0) == before
