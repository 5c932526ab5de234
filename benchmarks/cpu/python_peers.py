"""The alternatives of a Python user: NumPy's formulas, and other compilers of Python, where they are installed."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from benchmarks.cpu.c_library import run_tool
from benchmarks.cpu.contender import Contender, PeerError, Problem
from benchmarks.cpu.numba_source import NumbaSource
from benchmarks.cpu.parallel_loops import outermost_parallel, source_loops
from polybench.registry import benchmark
from polytune.frontend.syntax.source import inlinable
from polytune.signature import ArrayType

_PRANGE = re.compile(r"(?m)^( *)(for .* in )prange\(")
_PYTHRAN = (sys.executable, "-m", "pythran.run", "-O3", "-march=native", "-ffast-math", "-fopenmp")


@dataclass(frozen=True)
class Reference:
    """The formula that the benchmark is checked with."""

    kernel: str

    def load(self) -> Callable[..., Any]:
        return benchmark(self.kernel).reference


@dataclass(frozen=True)
class NumPy:
    """NumPy, as the benchmarks' references use it: products of matrices are BLAS's."""

    name: str = "numpy"
    fixes_sizes: bool = False

    def missing(self) -> str | None:
        return None

    def variants(self, problem: Problem) -> Iterator[Contender]:
        yield Reference(problem.benchmark.name)


@dataclass(frozen=True)
class ModuleFile:
    """A function of a module in a file."""

    path: Path
    function: str

    def load(self) -> Callable[..., Any]:
        return getattr(_imported(self.path), self.function)


@dataclass(frozen=True)
class Pythran:
    """The loops compiled by Pythran, with OpenMP on those that may run in parallel, else without."""

    name: str = "pythran"
    fixes_sizes: bool = False

    def missing(self) -> str | None:
        return None if importlib.util.find_spec("pythran") else "pythran is not installed"

    def variants(self, problem: Problem) -> Iterator[Contender]:
        function = problem.benchmark.kernel.__wrapped__
        lines = frozenset(loop.line for loop in outermost_parallel(source_loops(problem.stages)))
        types = ", ".join(_pythran_type(kind) for _, kind in problem.stages.signature.arguments)
        # Directives that Pythran does not take, or that make the result wrong, are left out in a second attempt.
        for number, parallel in enumerate(dict.fromkeys((lines, frozenset[int]()))):
            module = f"{function.__name__}_pythran_{number}"
            text = _PRANGE.sub(r"\1#omp parallel for\n\1\2range(", _module_text(function, parallel))
            source = problem.folder / f"{module}.py"
            source.write_text(f"# pythran export {function.__name__}({types})\n{text}")
            library = problem.folder / f"{module}{_suffix()}"
            try:
                run_tool([*_PYTHRAN, str(source), "-o", str(library)], problem.folder)
            except PeerError:
                if number or not lines:
                    raise
                continue
            yield ModuleFile(library, function.__name__)


@dataclass(frozen=True)
class DaCe:
    """The loops compiled by DaCe, with its automatic optimisations, or where these fail, without."""

    name: str = "dace"
    fixes_sizes: bool = False

    def missing(self) -> str | None:
        return None if importlib.util.find_spec("dace") else "dace is not installed"

    def variants(self, problem: Problem) -> Iterator[Contender]:
        function = problem.benchmark.kernel.__wrapped__
        name, text = function.__name__, _module_text(function, frozenset())
        for optimised in (True, False):
            source = problem.folder / f"{name}_dace_{'optimised' if optimised else 'plain'}.py"
            source.write_text(f"import dace\n{text}\n{name} = dace.program(auto_optimize={optimised})({name})\n")
            yield ModuleFile(source, name)


def _module_text(function: FunctionType, lines: frozenset[int]) -> str:
    """A module with a function and all that it needs: modules, constants and functions that it calls."""
    outside = inspect.getclosurevars(function)
    parts = []
    for name, value in {**outside.globals, **outside.nonlocals}.items():
        helper = inlinable(value)
        if isinstance(value, ModuleType):
            parts.append(f"import {value.__name__} as {name}")
        elif helper is not None:
            parts.append(_module_text(helper, frozenset()))
        elif isinstance(value, (bool, int, float)):
            parts.append(f"{name} = {value!r}")
        else:
            raise PeerError(f"{function.__name__} uses {name}, a {type(value).__name__} from outside")
    return "\n".join([*parts, ast.unparse(ast.parse(NumbaSource(function, lines).text))]) + "\n"


def _pythran_type(kind: Any) -> str:
    if isinstance(kind, ArrayType):
        return f"{kind.dtype}[{', '.join([':'] * kind.ndim)}]"
    return {"int64": "int", "float64": "float"}.get(kind.dtype, kind.dtype) if kind.weak else kind.dtype


def _suffix() -> str:
    from importlib.machinery import EXTENSION_SUFFIXES

    return EXTENSION_SUFFIXES[0]


def _imported(path: Path) -> ModuleType:
    name = path.name.partition(".")[0]
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module
