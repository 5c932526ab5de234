"""Compilers of C, which are given the source order of a kernel as polytune prints it.

The sizes are constants in it, as PolyBench/C has them: some compilers do much better when they know them.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cpu.c_library import CLibrary, integers, run_tool, shared_library
from benchmarks.cpu.contender import Contender, PeerError, Problem
from polytune.codegen.c_source import CFunction, c_function
from polytune.show import c_text_of

FAST = ("-O3", "-march=native", "-ffast-math")
"""The options that a user of a C compiler would ask for."""

_POLLY = ("-mllvm", "-polly", "-mllvm", "-polly-parallel", "-mllvm", "-polly-vectorizer=stripmine")
_TEST = "void f(long n, double *x) { for (long i = 0; i < n; i++) x[i] = 2 * x[i]; }\n"


def clang() -> str | None:
    """The newest clang there is."""
    numbered = [name for number in range(30, 10, -1) if (name := shutil.which(f"clang-{number}"))]
    return next(iter(numbered), shutil.which("clang"))


@functools.cache
def polly() -> tuple[str, ...] | None:
    """A clang with the options that load Polly where it is a plugin; None where no clang has it."""
    names = [shutil.which(f"clang-{number}") for number in range(30, 10, -1)]
    for compiler in filter(None, [*names, shutil.which("clang")]):
        found = subprocess.run([compiler, "-print-file-name=../../LLVMPolly.so"], capture_output=True, text=True)
        version = re.search(r"-(\d+)$", compiler)
        beside = [Path(found.stdout.strip())]
        beside += [Path(f"/usr/lib/llvm-{version[1]}/lib/LLVMPolly.so")] if version else []
        plugins = [f"-f{kind}plugin={path}" for path in beside if path.is_file() for kind in ("", "pass-")]
        for options in ([], plugins):
            if _accepts(compiler, [*options, *_POLLY]):
                return (compiler, *options)
    return None


def _accepts(compiler: str, options: Sequence[str]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "test.c")
        source.write_text(_TEST)
        try:
            run_tool([compiler, *options, "-O3", "-c", str(source), "-o", f"{folder}/test.o"], Path(folder))
        except PeerError:
            return False
    return True


@dataclass(frozen=True)
class PlainCompiler:
    """A C compiler by itself.

    Attributes:
        name: what it is called by.
        program: ``gcc`` or ``clang``.
        restrict: whether it is told that arrays do not overlap; PolyBench/C does not say so unless it is asked to.
    """

    name: str
    program: str
    restrict: bool = True
    fixes_sizes: bool = True

    def missing(self) -> str | None:
        return None if self.command() else f"there is no {self.program} on the path"

    def command(self) -> str | None:
        return clang() if self.program == "clang" else shutil.which(self.program)

    def variants(self, problem: Problem) -> Iterator[Contender]:
        source, function = _written(problem, restrict=self.restrict)
        command = self.command()
        assert command is not None
        library = shared_library(source, [command], FAST, [])
        yield CLibrary(library, function, problem.benchmark.argument_names)


@dataclass(frozen=True)
class Polly:
    """LLVM's polyhedral optimiser, with its parallel code."""

    name: str = "polly"
    fixes_sizes: bool = True

    def missing(self) -> str | None:
        return None if polly() else "no clang on the path has Polly"

    def variants(self, problem: Problem) -> Iterator[Contender]:
        source, function = _written(problem)
        command = polly()
        assert command is not None
        # The plugins are for compiling alone, and Polly's parallel code calls GNU's OpenMP.
        library = shared_library(source, [command[0]], [*command[1:], *FAST, *_POLLY], [_openmp_library()])
        yield CLibrary(library, function, problem.benchmark.argument_names)


@functools.cache
def _openmp_library() -> str:
    """GNU's OpenMP as a file, where a compiler of another maker does not search for it."""
    compiler = shutil.which("gcc")
    if compiler is not None:
        found = subprocess.run([compiler, "-print-file-name=libgomp.so"], capture_output=True, text=True)
        if Path(found.stdout.strip()).is_file():
            return found.stdout.strip()
    return "-lgomp"


@dataclass(frozen=True)
class SourceToSource:
    """A polyhedral compiler from C to C with OpenMP, whose output GCC compiles: Pluto and PPCG.

    Attributes:
        name: what it is called by.
        program: its command.
        options: what it is asked for.
    """

    name: str
    program: str
    options: tuple[str, ...]
    fixes_sizes: bool = True

    def missing(self) -> str | None:
        absent = [program for program in (self.program, "gcc") if shutil.which(program) is None]
        return f"there is no {absent[0]} on the path" if absent else None

    def variants(self, problem: Problem) -> Iterator[Contender]:
        source, function = _written(problem, marked=True)
        transformed = source.with_name(f"{source.stem}_{self.name}.c")
        run_tool([self.program, *self.options, str(source), "-o", str(transformed)], source.parent)
        library = shared_library(transformed, ["gcc", "-fopenmp"], FAST, [])
        yield CLibrary(library, function, problem.benchmark.argument_names)


def _written(problem: Problem, *, marked: bool = False, restrict: bool = True) -> tuple[Path, CFunction]:
    """The file that the compiler is given, and what is in it."""
    scop, names = problem.stages.scop, problem.benchmark.argument_names
    constants = integers(c_function(scop), dict(zip(names, problem.arguments, strict=True)))
    function = c_function(scop, marked=marked, constants=constants, restrict=restrict)
    path = problem.folder / f"{scop.name}.c"
    path.write_text(c_text_of(function))
    return path, function
