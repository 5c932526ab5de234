"""One process of ``benchmarks.npbench``: a form of a kernel that is called again and again.

``python -m benchmarks.npbench.run_form DIRECTORY KERNEL FORM SIZE SECONDS FILE`` calls it once, and then until so many
seconds have passed.  It prints a line of JSON with the seconds of the calls, or with what it was refused for, and
writes what the first call has returned and left in its arguments to ``FILE``.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.npbench.folder import BenchKernel, read_folder

LATE = 20
"""The number of last calls that stand for a late one."""

BUILDS = "POLYTUNE_NPBENCH_BUILDS"
"""The environment variable that names the folder in which compiled forms of peers are kept."""

FEWEST = 3
"""The least number of calls of a kernel."""


def compiled(kernel: BenchKernel, form: str) -> Callable[..., Any]:
    """The function of a form, as a user of its framework has it."""
    match form.partition("_")[0]:
        case "polytune":
            import polytune

            return polytune.kernel(kernel.load("numpy"))
        case "pythran":
            return _pythran(kernel)
        case "jax":
            return _jax(kernel)
        case "numba" if os.environ.get(BUILDS):
            _keep_numba()
    return kernel.load(form)


def _keep_numba() -> None:
    """Have Numba keep on disk what it compiles, also of functions that do not ask for it."""
    import numba

    def keeping(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(*arguments: Any, **options: Any) -> Any:
            return make(*arguments, **{**options, "cache": True})

        return made

    numba.jit, numba.njit = keeping(numba.jit), keeping(numba.njit)


def _pythran(kernel: BenchKernel) -> Callable[..., Any]:
    """Compiled with OpenMP for this processor; the time for it is part of the first call."""
    import importlib.util
    import tempfile

    import pythran

    def compile_and_load() -> Callable[..., Any]:
        name = kernel.file("pythran").stem
        kept = os.environ.get(BUILDS)
        target = Path(kept, "pythran", f"{name}.so") if kept else Path(tempfile.mkdtemp(), f"{name}.so")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            flags = ["-O3", "-fopenmp", "-march=native", "-ffast-math", "-DUSE_XSIMD"]
            pythran.compile_pythranfile(str(kernel.file("pythran")), str(target), extra_compile_args=flags)
        spec = importlib.util.spec_from_file_location(name, str(target))
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        function: Callable[..., Any] = getattr(module, kernel.function)
        return function

    found: list[Callable[..., Any]] = []

    def call(*arguments: Any) -> Any:
        if not found:
            found.append(compile_and_load())
        return found[0](*arguments)

    return call


def _jax(kernel: BenchKernel) -> Callable[..., Any]:
    """The kernel on the processor, in double precision; a call ends when its results are there."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platform_name", "cpu")
    function = kernel.load("jax")

    def call(*arguments: Any) -> Any:
        return jax.block_until_ready(function(*arguments))

    return call


def outputs(kernel: BenchKernel, arguments: dict[str, Any], result: Any) -> list[np.ndarray]:
    """The results of a call, and the arguments that hold results; JAX returns these, too.

    Where a description names none and nothing is returned, all arrays are results.
    """
    returned = [] if result is None else list(result) if isinstance(result, tuple | list) else [result]
    found = [*returned, *(arguments[name] for name in kernel.outputs)]
    return [np.array(value) for value in found or (v for v in arguments.values() if isinstance(v, np.ndarray))]


def main(root: Path, name: str, form: str, size: str, seconds: float, file: str) -> None:
    """Run the program."""
    sys.path.insert(0, str(root))
    kernel = read_folder(root)[name]
    initial = kernel.arguments(size)
    function = compiled(kernel, form)
    times: list[float] = []
    first: list[np.ndarray] | None = None
    began = time.perf_counter()
    while len(times) < FEWEST or time.perf_counter() - began < seconds:
        arguments = copy.deepcopy(initial)
        values = list(arguments.values())
        start = time.perf_counter()
        result = function(*values)
        times.append(time.perf_counter() - start)
        if first is None:
            first = outputs(kernel, arguments, result)
            began = time.perf_counter()
    np.savez(file, *(first or ()))
    late = float(np.median(times[1:][-LATE:]))
    print(json.dumps({"first": times[0], "late": late, "calls": len(times)}))


if __name__ == "__main__":
    folder, which, wanted, of_size, limit, target = sys.argv[1:]
    try:
        main(Path(folder), which, wanted, of_size, float(limit), target)
    except Exception as error:
        from polytune.errors import ArgumentError, DefectError, UnsupportedSourceError

        if isinstance(error, UnsupportedSourceError | ArgumentError) and not isinstance(error, DefectError):
            print(json.dumps({"refused": str(error).splitlines()[0]}))
            sys.exit(0)
        raise
