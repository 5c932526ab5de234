"""``polytune warmup``: compiling before a program runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

KERNELS = """
import polytune

@polytune.kernel
def scaled(x: "float64[::1]", factor: float):
    for i in range(x.shape[0]):
        x[i] = factor * x[i]

@polytune.kernel
def shifted(x: "float32[::1]", y: "float32[::1]"):
    for i in range(1, x.shape[0]):
        y[i] = x[i - 1]
"""

PROGRAM = """
import numpy, kernels
from polytune.runtime.native import translation
A = numpy.ones(7)
kernels.scaled.background = False
translation.object_code = None  # nothing is left to be compiled
kernels.scaled(A, 3.0)
assert A.sum() == 21
generated = kernels.scaled.generated(A, 3.0)
version = generated.space.default()["version"]
function = {each.name: each for each in generated.module.VERSIONS}[version].function
print(translation.is_at_hand(function), sum(function.stats.cache_misses.values()))
"""


@pytest.mark.slow
def test_a_program_finds_what_was_compiled_before(run, tmp_path, monkeypatch):
    (tmp_path / "kernels.py").write_text(KERNELS)
    cache = tmp_path / "cache"
    environment = {**os.environ, "POLYTUNE_CACHE_DIR": str(cache), "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    command = [sys.executable, "-m", "polytune", "warmup", str(tmp_path / "kernels.py"), "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)["kernels"]
    assert [each["kernel"] for each in told] == ["scaled", "shifted"]
    assert all(each["versions"] and each["seconds"] > 0 for each in told)
    program = [sys.executable, "-c", PROGRAM]
    ran = subprocess.run(program, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["True", "0"]


def test_every_version_can_be_wanted(run, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "kernels.py").write_text(KERNELS)
    one = json.loads(run("warmup", f"{tmp_path}/kernels.py:scaled", "--json").out)["kernels"][0]["versions"]
    every = json.loads(run("warmup", f"{tmp_path}/kernels.py:scaled", "--all", "--json").out)["kernels"][0]["versions"]
    assert set(one) < set(every) and "source" in every


def test_a_kernel_outside_the_language_is_refused_with_its_line(run, tmp_path):
    (tmp_path / "kernels.py").write_text("import polytune\n\n@polytune.kernel\ndef f(x):\n    x[0] = {0: 1.0}[0]\n")
    ran = run("warmup", str(tmp_path / "kernels.py"))
    assert ran.code == 1 and "kernels.py:5" in ran.err and "Traceback" not in ran.err


def test_what_cannot_be_kept_is_no_success(tmp_path):
    (tmp_path / "kernels.py").write_text(KERNELS)
    environment = {**os.environ, "POLYTUNE_CACHE_DIR": str(tmp_path / "kernels.py"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "polytune", "warmup", f"{tmp_path / 'kernels.py'}:scaled"]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert ran.returncode == 1 and not ran.stdout
    assert f"what was compiled is not kept, as the disk cache {tmp_path / 'kernels.py'} cannot be used" in ran.stderr
