"""What an installed polytune has to do, in an environment that has nothing but what it requires.

Run from a folder that is no checkout: ``python smoke.py``.  It prints a line for each step with its seconds.
"""

import importlib.metadata
import logging
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

started = time.perf_counter()
import polytune  # noqa: E402

KERNELS = '''
import polytune


@polytune.kernel
def blur(steps: "int", image: "float64[:, ::1]", scratch: "float64[:, ::1]"):
    """Smooth an image."""
    for step in range(steps):
        for i in range(1, image.shape[0] - 1):
            for j in range(1, image.shape[1] - 1):
                scratch[i, j] = 0.25 * (image[i - 1, j] + image[i + 1, j] + image[i, j - 1] + image[i, j + 1])
        for i in range(1, image.shape[0] - 1):
            for j in range(1, image.shape[1] - 1):
                image[i, j] = scratch[i, j]
'''


def done(what: str) -> None:
    print(f"{time.perf_counter() - started:6.1f} s  {what}", flush=True)


def run(*command: str, folder: pathlib.Path) -> str:
    ran = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=folder, timeout=600)
    if ran.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def main() -> None:
    installed = importlib.metadata.version("polytune-compiler")
    place = pathlib.Path(polytune.__file__)
    assert "site-packages" in place.parts, f"{place} is not the installed package"
    assert installed == polytune.__version__
    assert (place.parent / "py.typed").exists()
    assert logging.getLogger("polytune").handlers, "the logger has no handler"
    done(f"polytune {installed} imported, Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        (folder / "kernels.py").write_text(KERNELS)
        sys.path.insert(0, made)
        from kernels import blur

        image = np.random.default_rng(0).random((120, 130))
        expected, actual = image.copy(), image.copy()
        blur.__wrapped__(2, expected, image.copy())
        blur(2, actual, image.copy())
        np.testing.assert_allclose(actual, expected, rtol=1e-12)
        done("a kernel computes what plain Python does")
        found = blur.tune(2, image, image.copy(), seconds=2, progress=False)
        done(f"tuned: {found}")
        assert "parallel" in blur.explain()
        try:
            blur(2, "image", image)
        except polytune.ArgumentError as error:
            assert "image" in str(error)
        else:
            sys.exit("a wrong call was not refused")
        for command in (["--version"], ["check", "kernels.py"], ["inspect", "kernels.py", "--show", "cpu"]):
            assert run("-m", "polytune", *command, folder=folder)
        run("-m", "polytune", "doctor", folder=folder)
        done("the commands run")
        run("-m", "polytune", "build", "kernels.py", "-o", "built", folder=folder)
        program = "import numpy as np, built; a = np.ones((9, 9)); built.blur(1, a, a.copy()); print(a.sum())"
        assert run("-c", program, folder=folder) == "81.0\n"
        done("a built package runs")
        assert "gemm" in run("-m", "polybench", "list", folder=folder)
        done("polybench is there")


if __name__ == "__main__":
    main()
