"""The embedding example runs from the sources to the application, which sees nothing of the compiler."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from polytune.runtime.devices import backends

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "embed"

WITHOUT_COMPILER = """
import runpy, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("islpy", "sympy"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
package_folder, application, *rest = sys.argv[1:]
sys.path.insert(0, package_folder)
sys.argv = [application, *rest]
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


def run_without_compiler(package_folder: Path, program: Path, *arguments: Path, devices: str = "none") -> str:
    command = [sys.executable, "-c", WITHOUT_COMPILER, *map(str, (package_folder, program, *arguments))]
    environment = {**os.environ, "POLYTUNE_DEVICES": devices}
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, env=environment)
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


@pytest.mark.slow
def test_application_computes_what_numpy_does(package_folder, tmp_path):
    printed = run_without_compiler(package_folder, EXAMPLE / "application.py", tmp_path / "plate.npy")
    steps, plate = expected()
    match = re.fullmatch(r"warm after (\d+) steps, mean temperature ([\d.]+)\n", printed)
    assert match, printed
    assert int(match[1]) == steps
    assert float(match[2]) == pytest.approx(plate.mean(), abs=1e-6)
    np.testing.assert_allclose(np.load(tmp_path / "plate.npy"), plate, rtol=1e-12)


ON_DEVICE = """
import numpy as np, heat_kernels
from polytune.runtime.devices.discovery import devices

plate = np.random.default_rng(1).random((40, 50))
scratch = plate.copy()
expected, other = plate.copy(), plate.copy()
space = heat_kernels.diffuse.space(3, 0.1, plate, scratch)
choice = space.configuration(
    version="partitioned", split=1, ratio_0=0.4, platform_0=devices()[0].identity, platform_1="cpu"
)
heat_kernels.diffuse.run(choice, 3, 0.1, plate, scratch)
heat_kernels.diffuse.run(space.configuration(version="source"), 3, 0.1, expected, other)
assert np.allclose(plate, expected, rtol=1e-13), abs(plate - expected).max()
heat_kernels.diffuse(3, 0.1, plate, scratch)
print(heat_kernels.diffuse.explain())
"""


def test_package_shares_a_kernel_with_a_device(package_folder, tmp_path):
    if not any(not found.reason for found in backends.listed("opencl").found):
        pytest.skip(backends.listed("opencl").obstacle)
    program = tmp_path / "on_device.py"
    program.write_text(ON_DEVICE)
    printed = run_without_compiler(package_folder, program, devices="opencl")
    assert re.search(r"tuning for steps=3, n=40, m=50: .* after 1 call$", printed, re.MULTILINE)


def test_package_without_a_device_has_no_such_choice(package_folder, tmp_path):
    program = tmp_path / "choices.py"
    program.write_text(
        "import numpy as np, heat_kernels\n"
        "plate = np.ones((5, 5))\n"
        "print(heat_kernels.diffuse.space(1, 0.1, plate, plate.copy())['version'].values)\n"
    )
    assert "partitioned" not in run_without_compiler(package_folder, program)


def test_annotated_kernel_without_the_compiler_says_what_it_needs(package_folder, tmp_path):
    program = tmp_path / "annotated.py"
    program.write_text(
        "import numpy as np, polytune\n"
        "@polytune.kernel\n"
        "def double(x):\n"
        "    for i in range(x.shape[0]):\n"
        "        x[i] *= 2\n"
        "try:\n"
        "    double(np.ones(3))\n"
        "except polytune.PolytuneError as error:\n"
        "    print(error)\n"
    )
    printed = run_without_compiler(package_folder, program)
    assert re.match(r"compiling double needs islpy, which is not installed: .* polytune build", printed)


def test_generated_package_names_no_compiler(package_folder):
    sources = sorted((package_folder / "heat_kernels").rglob("*.py"))
    assert sources
    for source in sources:
        text = source.read_text()
        for module in ("islpy", "sympy", "polytune.frontend", "polytune.schedule", "polytune.codegen"):
            assert not re.search(rf"^\s*(import|from) {re.escape(module)}\b", text, re.MULTILINE), (source, module)


@pytest.fixture(scope="module")
def native_folder(tmp_path_factory) -> Path:
    """The folder with the library ``heat_kernels`` and the package around it."""
    if shutil.which("cc") is None or sys.platform == "win32":
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("native")
    kernels, package = str(EXAMPLE / "kernels.py"), str(folder / "heat_kernels")
    command = [
        sys.executable,
        "-m",
        "polytune",
        "build",
        kernels,
        "-o",
        package,
        "--native",
        "--level",
        "own",
        "--json",
    ]
    if platform.machine() not in ("x86_64", "AMD64"):
        command[-2] = "baseline"
    built = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert built.returncode == 0, built.stderr
    told = json.loads(built.stdout)
    assert told["kernels"] == ["diffuse", "total"] and told["without_c"] == {} and len(told["levels"]) == 1
    assert Path(told["library"]).exists() and Path(told["header"]).name == "heat_kernels.h"
    return folder


def is_as_numpy_says(printed: str) -> bool:
    steps, plate = expected()
    match = re.fullmatch(r"warm after (\d+) steps, mean temperature ([\d.]+)\n", printed)
    assert match, printed
    return int(match[1]) == steps and float(match[2]) == pytest.approx(plate.mean(), abs=1e-6)


def test_the_application_runs_on_a_library_without_polytune(native_folder):
    program = (
        "import runpy, sys\n"
        f"sys.path.insert(0, {str(native_folder)!r})\n"
        f"sys.argv = ['application']\nrunpy.run_path({str(EXAMPLE / 'application.py')!r}, run_name='__main__')\n"
        "assert not {'polytune', 'numba', 'llvmlite'} & set(sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert is_as_numpy_says(ran.stdout)


def test_the_application_in_c_is_built_as_it_says(native_folder):
    shutil.copy(EXAMPLE / "application.c", native_folder)
    line = next(line.strip() for line in (EXAMPLE / "application.c").read_text().splitlines() if " cc " in line)
    assert line in (EXAMPLE / "README.md").read_text()
    compiled = subprocess.run(line, shell=True, cwd=native_folder, capture_output=True, text=True, timeout=120)
    assert compiled.returncode == 0, compiled.stderr
    ran = subprocess.run(["./application"], cwd=native_folder, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert is_as_numpy_says(ran.stdout)
