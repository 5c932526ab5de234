"""The embedding example runs from the sources to the application, which sees nothing of the compiler."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "embed"

WITHOUT_COMPILER = """
import runpy, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("islpy", "sympy"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
package_folder, application, output = sys.argv[1:]
sys.path.insert(0, package_folder)
sys.argv = ["application.py", output]
runpy.run_path(application, run_name="__main__")
"""


@pytest.fixture(scope="module")
def package_folder(tmp_path_factory) -> Path:
    """The folder in which ``polytune build`` has written the package ``heat_kernels``."""
    folder = tmp_path_factory.mktemp("embed")
    command = [
        sys.executable,
        "-m",
        "polytune",
        "build",
        str(EXAMPLE / "kernels.py"),
        "-o",
        str(folder / "heat_kernels"),
    ]
    built = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert built.returncode == 0, built.stderr
    return folder


def run_application(package_folder: Path, output: Path) -> str:
    arguments = [package_folder, EXAMPLE / "application.py", output]
    command = [sys.executable, "-c", WITHOUT_COMPILER, *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def expected() -> tuple[int, np.ndarray]:
    """What the application computes, by NumPy's slices: the number of steps and the final temperatures."""
    plate = np.full((64, 64), 20.0)
    plate[0, :] = 100.0
    steps = 0
    while plate[32, 32] < 30.0:
        for _ in range(200):
            around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
            plate[1:-1, 1:-1] += 0.2 * (around - 4 * plate[1:-1, 1:-1])
            steps += 1
    return steps, plate


def test_application_computes_what_numpy_does(package_folder, tmp_path):
    printed = run_application(package_folder, tmp_path / "plate.npy")
    steps, plate = expected()
    match = re.fullmatch(r"warm after (\d+) steps, mean temperature ([\d.]+)\n", printed)
    assert match, printed
    assert int(match[1]) == steps
    assert float(match[2]) == pytest.approx(plate.mean(), abs=1e-6)
    np.testing.assert_allclose(np.load(tmp_path / "plate.npy"), plate, rtol=1e-12)


def test_generated_package_names_no_compiler(package_folder):
    sources = sorted((package_folder / "heat_kernels").rglob("*.py"))
    assert sources
    for source in sources:
        text = source.read_text()
        for module in ("islpy", "sympy", "polytune.frontend", "polytune.schedule", "polytune.codegen"):
            assert not re.search(rf"^\s*(import|from) {re.escape(module)}\b", text, re.MULTILINE), (source, module)
