"""A sample of the tests of OpenCL, on Intel's driver for processors where PoCL cannot run.

Each part is a process of its own, so that a driver that crashes or hangs fails one test and ends nothing else.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests import intel_driver

PARTS = {
    "devices": ["tests/runtime/devices", "-k", "opencl and not intel"],
    "shared kernels": ["tests/runtime/partitioned/test_kernels.py", "-k", "residents or had_to_move or moving"],
    "examples": ["tests/examples/test_devices.py", "-k", "shares_its_work"],
    "kernels": [
        "tests/polybench/test_device_versions.py",
        "-k",
        "opencl_text and (gemm or atax or jacobi-1d or nussinov or trisolv)",
    ],
}
SECONDS = 300


@pytest.mark.parametrize("part", PARTS)
def test_a_sample_passes_on_intels_driver(part, request, tmp_path):
    reason = intel_driver.why_not(wanted=bool(request.config.getoption("--intel-opencl")))
    if reason:
        pytest.skip(reason)
    driver = intel_driver.library()
    assert driver is not None
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *PARTS[part]]
    surroundings = intel_driver.environment(driver, tmp_path)
    surroundings.pop("PYTEST_ADDOPTS", None)
    ran = subprocess.run(
        command, env=surroundings, cwd=intel_driver.ROOT, capture_output=True, text=True, timeout=SECONDS
    )
    told = ran.stdout[-4000:] + ran.stderr[-2000:]
    assert ran.returncode == 0, f"exit status {ran.returncode}: {' '.join(command)}\n{told}"
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert passed and int(passed[1]) > 0 and " skipped" not in ran.stdout.splitlines()[-1], told


def test_a_driver_that_crashes_or_is_none_is_not_used(tmp_path, monkeypatch):
    not_a_driver = tmp_path / "libintelocl.so"
    not_a_driver.write_bytes(b"no library")
    assert intel_driver.usable_devices(intel_driver.environment(not_a_driver, tmp_path)) == ""
    monkeypatch.setattr(intel_driver, "_LIST", "import os, signal\nprint('usable: x', flush=True)\nos.abort()")
    assert intel_driver.usable_devices(intel_driver.environment(not_a_driver, tmp_path)) == ""


_ON_TWO = """
import numpy as np
from polytune import kernel
from tests.runtime.devices.test_intel_driver import product
rng = np.random.default_rng(0)
A, B = rng.random((60, 70)), rng.random((70, 50))
C = np.zeros((60, 50))
tuned = kernel(product)
platforms = dict(platform_0="opencl:0", platform_1="opencl:1", platform_2="cpu", platform_3="opencl:1")
chosen = tuned.space(C, A, B).configuration(version="partitioned", split=2, **platforms)
tuned.run(chosen, C, A, B)
print("difference:", abs(C - A @ B).max())
print(tuned.explain())
"""


def product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def test_one_driver_named_twice_is_two_devices_that_share_a_kernel(request, tmp_path):
    reason = intel_driver.why_not(wanted=bool(request.config.getoption("--intel-opencl")))
    if reason:
        pytest.skip(reason)
    driver = intel_driver.library()
    assert driver is not None
    surroundings = intel_driver.environment(driver, tmp_path)
    (tmp_path / "again.icd").write_text(f"{driver}\n")
    surroundings |= {"OCL_ICD_VENDORS": str(tmp_path), "POLYTUNE_DEVICES": "opencl:0,opencl:1"}
    command = [sys.executable, "-c", _ON_TWO]
    ran = subprocess.run(
        command, env=surroundings, cwd=intel_driver.ROOT, capture_output=True, text=True, timeout=SECONDS
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert float(re.search(r"difference: (\S+)", ran.stdout)[1]) < 1e-12
    for part, platform in enumerate(("opencl:0", "opencl:1", "cpu", "opencl:1")):
        assert f"partition {part} on {platform}: " in ran.stdout
