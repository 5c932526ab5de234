"""The example of devices runs with PoCL, and says so where there is no device."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from polytune.runtime.devices import backends

ROOT = Path(__file__).parents[2]
RUN = "import runpy; runpy.run_path('examples/devices.py', run_name='__main__')"
"""Runs the example with the project's own folder on the import path."""


def run_example(devices: str) -> str:
    environment = {**os.environ, "POLYTUNE_DEVICES": devices}
    ran = subprocess.run(
        [sys.executable, "-c", RUN], capture_output=True, text=True, cwd=ROOT, timeout=300, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.slow
def test_example_shares_its_work_with_a_device():
    usable = [found.identity for found in backends.listed("opencl").found if not found.reason]
    if not usable:
        pytest.skip(backends.listed("opencl").obstacle)
    first, second = run_example(usable[0]).splitlines()
    difference = re.fullmatch(rf"shared between the processor and {usable[0]}: differs by (.*)", first)
    assert difference and float(difference[1]) < 1e-14
    spread = re.fullmatch(r"smoothed ten times: standard deviation (.*) before, (.*) after", second)
    assert spread and float(spread[2]) < 0.3 * float(spread[1])


PREAMBLE = """
import numpy as np, polytune

A, B, C = (np.random.default_rng(seed).random((40, 40)) for seed in range(3))
expected = C.copy()
"""


@pytest.mark.slow
def test_what_the_documentation_shows_runs(tmp_path):
    usable = [found.identity for found in backends.listed("opencl").found if not found.reason]
    if not usable:
        pytest.skip(backends.listed("opencl").obstacle)
    readme, page = ((ROOT / name).read_text() for name in ("README.md", "docs/devices.md"))
    kernel = re.search(r"^@polytune.kernel\n.*?\n\n", readme, re.DOTALL | re.MULTILINE)
    choice, loop, written = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert kernel
    program = tmp_path / "documented.py"
    check = "expected = 1.2 * expected + 1.5 * A @ B\nassert np.allclose(C, expected)\n"
    choice = choice.replace("cuda:0", usable[0])
    loop = loop.replace("range(1000)", "range(1)")
    program.write_text(
        "\n".join([PREAMBLE, kernel[0], choice, check, loop, check, written, "print(abs(C).max() < 1e9)"])
    )
    environment = {**os.environ, "POLYTUNE_DEVICES": usable[0]}
    ran = subprocess.run(
        [sys.executable, program],
        capture_output=True,
        text=True,
        timeout=300,
        env={**environment, "PYTHONPATH": str(ROOT)},
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.endswith("True\n")


def test_example_without_a_device():
    assert run_example("none") == "no device is in use; `polytune doctor` says why\n"
