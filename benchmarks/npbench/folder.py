"""The kernels of a checkout of NPBench: where they are, and what they are called with."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

TOLERANCE = 1e-5
"""The distance that results may have from NumPy's, as a part of their norm, where a kernel does not say it."""


class FolderError(Exception):
    """A folder is no checkout of NPBench, or a kernel in it cannot be read."""


@dataclass(frozen=True)
class BenchKernel:
    """A kernel as its description has it.

    Attributes:
        name: what the description is called.
        folder: where its forms are.
        module: how the files of its forms begin.
        function: the function of each form.
        sizes: the parameters by the name of a size.
        inputs: the arguments of the function.
        outputs: those of them that hold results.
        make: the function that makes arguments of parameters, or None, what it takes, and what it gives.
        tolerance: how far results may be from NumPy's, as a part of their norm.
    """

    name: str
    folder: Path
    module: str
    function: str
    sizes: dict[str, dict[str, Any]]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    make: tuple[str, tuple[str, ...], tuple[str, ...]] | None
    tolerance: float

    def file(self, form: str) -> Path:
        """The file of a form, as ``numpy`` or ``numba_np``."""
        return self.folder / f"{self.module}_{form}.py"

    def forms(self, framework: str) -> tuple[str, ...]:
        """The forms that are there of a framework, as ``numba_n`` and ``numba_np`` of ``numba``."""
        found = sorted(self.folder.glob(f"{self.module}_{framework}*.py"))
        names = (path.stem.removeprefix(f"{self.module}_") for path in found)
        return tuple(name for name in names if name == framework or name.startswith(f"{framework}_"))

    def arguments(self, size: str) -> dict[str, Any]:
        """The arguments of a call by name, the same each time.

        Raises:
            FolderError: there is no such size.
        """
        if size not in self.sizes:
            raise FolderError(f"{self.name} has no size {size!r}; it has {', '.join(self.sizes)}")
        values = dict(self.sizes[size])
        if self.make is not None:
            name, takes, gives = self.make
            made = getattr(load(self.folder / f"{self.module}.py"), name)(*(values[each] for each in takes))
            values.update(zip(gives, (made,) if len(gives) == 1 and not isinstance(made, tuple) else made, strict=True))
        return {name: values[name] for name in self.inputs}

    def load(self, form: str) -> Callable[..., Any]:
        """The function of a form."""
        function: Callable[..., Any] = getattr(load(self.file(form)), self.function)
        return function


def load(path: Path) -> ModuleType:
    """A file as a module, with the folder of the checkout among those that it imports from."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # compilers look for the source of functions there
    spec.loader.exec_module(module)
    return module


def read_folder(root: Path) -> dict[str, BenchKernel]:
    """The kernels of a checkout by name.

    Raises:
        FolderError: this is none.
    """
    described = sorted((root / "bench_info").glob("*.json"))
    if not described:
        raise FolderError(f"{root} is no checkout of NPBench: it has no bench_info/*.json")
    found = {}
    for path in described:
        try:
            found[path.stem] = _kernel(root, path)
        except (KeyError, TypeError, ValueError) as error:
            raise FolderError(f"{path} does not describe a kernel: {type(error).__name__}: {error}") from None
    return found


def _kernel(root: Path, path: Path) -> BenchKernel:
    said = json.loads(path.read_text())["benchmark"]
    init = said.get("init") or {}
    make = None
    if init.get("func_name"):
        make = init["func_name"], tuple(init["input_args"]), tuple(init["output_args"])
    return BenchKernel(
        path.stem,
        root / "npbench" / "benchmarks" / said["relative_path"],
        said["module_name"],
        said["func_name"],
        said["parameters"],
        tuple(said["input_args"]),
        tuple(said["output_args"]),
        make,
        float(said.get("norm_error", TOLERANCE)),
    )


def chosen(kernels: dict[str, BenchKernel], names: Sequence[str]) -> list[BenchKernel]:
    """The kernels of these names, or all of them.

    Raises:
        FolderError: there is none of a name.
    """
    for name in names:
        if name not in kernels:
            raise FolderError(f"there is no kernel {name!r}; there are {', '.join(kernels)}")
    return [kernels[name] for name in names or kernels]
