"""The command line, in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def run(*arguments, devices="none"):
    environment = {**os.environ, "POLYTUNE_DEVICES": devices}
    command = [sys.executable, "-m", "benchmarks.gpu", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, env=environment)


def run_smallest(identity, out, seconds):
    """Everything of gemm at the smallest size: the process, and what its report says."""
    sizes = ("--dataset", "MINI", "--check-dataset", "MINI", "--seconds", str(seconds))
    done = run("gemm", "--device", identity, *sizes, "--output", str(out))
    assert done.returncode == 0, done.stderr + done.stdout
    found = json.loads(out.read_text())
    # Whatever the machine is doing besides: a problem is either timed, or the report says that it was not.
    timed, missed = found.get("speed", {}), found["not_reached"]
    for label in ("gemm float64", "gemm float32"):
        assert (timed.get(label, {}).get("device_seconds", 0) > 0) != (f"speed of {label}" in missed)
    assert ("gemm" in found.get("correctness", {})) != ("correctness of gemm" in missed)
    return done, found


@pytest.mark.slow
def test_everything_at_the_smallest_size(opencl, tmp_path):
    # A machine that is busy with other things may take longer to compile than is left for checking what was compiled.
    for seconds in (12, 24, 48, 96):
        done, found = run_smallest(opencl.identity, tmp_path / "out.json", seconds)
        if "correctness of gemm" not in found["not_reached"]:
            break
    assert found["device"]["identity"] == opencl.identity
    gemm = found["correctness"]["gemm"]
    assert gemm["mapped"]
    assert gemm["right"] >= 1
    assert gemm["wrong"] == []
    assert all(entry["exact"] for entry in found["transfers"].values())
    assert found["limits"]["copy"] > 0
    assert "1 of 1 kernels have a device version" in done.stdout


def test_the_file_says_what_there_was_no_time_for(opencl, tmp_path):
    run_smallest(opencl.identity, tmp_path / "out.json", 1)


def test_there_is_no_such_device():
    done = run("gemm", "--device", "cuda:99")
    assert done.returncode == 2
    assert "there is no device cuda:99" in done.stderr


def test_an_unknown_kernel_is_bad_usage():
    done = run("gem")
    assert done.returncode == 2
    assert "did you mean 'gemm'" in done.stderr


def test_a_folder_that_is_not_there_is_found_out_at_once(tmp_path):
    done = run("gemm", "--output", str(tmp_path / "nowhere" / "out.json"))
    assert done.returncode == 2
    assert "there is no folder" in done.stderr
