"""Programs of many statements, and the processor time of their first call: ``python -m benchmarks.long_programs``.

Exit code 0: done; 1: a result was wrong; 2: the command line makes no sense.
"""

from __future__ import annotations

import inspect
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Column, Table

from benchmarks import program
from polytune.cli.target import import_file

app = program.application("long-programs", "Compile programs of many statements.")

Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Shape:
    """A kind of long program.

    Attributes:
        text: the source of a function of so many statements.
        arrays: its arguments, from a source of random numbers.
    """

    text: Callable[[int], str]
    arrays: Callable[[np.random.Generator, int], Arrays]


def _sweeps(statements: int) -> str:
    """Stencil sweeps one after the other, from one array to the other and back."""
    lines = ["def sweeps(A, B):"]
    for number in range(statements):
        source, target = ("A", "B") if number % 2 == 0 else ("B", "A")
        around = " + ".join(f"{source}[{place}]" for place in ("i - 1, j", "i + 1, j", "i, j - 1", "i, j + 1"))
        lines += [
            "    for i in range(1, A.shape[0] - 1):",
            "        for j in range(1, A.shape[1] - 1):",
            f"            {target}[i, j] = 0.25 * ({around}) + {number}.0",
        ]
    return "\n".join(lines)


_LINKS = ("np.sqrt(np.abs({0})) + x", "{0} * y - 0.5", "np.maximum({0}, x)", "({0} + y) * 0.5")


def _chain(statements: int) -> str:
    """Array expressions, each of the result of the one before."""
    lines = ["import numpy as np", "def chain(x, y):", "    t0 = x + y"]
    for number in range(1, statements):
        lines.append(f"    t{number} = {_LINKS[number % len(_LINKS)].format(f't{number - 1}')}")
    return "\n".join([*lines, f"    return t{statements - 1}"])


def _nests(statements: int) -> str:
    """Small loops over different arrays, each read by two of them."""
    arrays = statements // 2 + 1
    lines = [f"def nests({', '.join(f'A{number}' for number in range(arrays))}):"]
    for number in range(statements):
        one, other = number % (arrays - 1), number % (arrays - 1) + 1
        lines += [
            f"    for i in range(A{one}.shape[0]):",
            f"        A{one}[i] = A{one}[i] * 0.5 + A{other}[i] + {number}.0",
        ]
    return "\n".join(lines)


_KINDS = (
    ("A[1:-1] = 0.5 * (B[:-2] + B[2:]) + {0}.0",),
    ("s = np.sum(A * B) / A.size", "B += s * {0}.0 / 100.0"),
    ("C[:] = A @ B / A.shape[0]",),
    ("B[:] = np.where(A > {0}.0 / 100.0, C, B)",),
    ("for i in range(1, x.shape[0]):", "    x[i] = 0.5 * x[i - 1] + A[i, 0]"),
    ("for i in range(k.shape[0]):", "    if x[k[i]] > 0.5:", "        x[k[i]] -= 0.25 * A[0, i]"),
    ("A -= A.mean(axis=0)",),
    ("x[:] = np.maximum(x, C[{0} % 7])",),
    ("for i in range(A.shape[0]):", "    for j in range(i):", "        C[i, j] = C[j, i] + {0}.0"),
    ("A[:, ::2] *= np.sqrt(np.abs(C[:, ::2])) + x[::2] * 0.01",),
)
"""Statements of many kinds: stencils, sums, products, choices, recurrences, indirection, means, views, triangles."""


def _mixed(statements: int) -> str:
    """Statements of all kinds, one after the other, each of what others have computed."""
    lines = ["import numpy as np", "def mixed(A, B, C, x, k):"]
    for number in range(statements):
        lines += [f"    {line.format(number)}" for line in _KINDS[number % len(_KINDS)]]
    return "\n".join(lines)


def _mixed_arrays(rng: np.random.Generator, _: int) -> Arrays:
    return (*(rng.random((20, 20)) for _ in range(3)), rng.random(20), rng.integers(0, 20, 20))


SHAPES = {
    "mixed": Shape(_mixed, _mixed_arrays),
    "sweeps": Shape(_sweeps, lambda rng, _: (rng.random((60, 70)), rng.random((60, 70)))),
    "chain": Shape(_chain, lambda rng, _: (rng.random(1000), rng.random(1000))),
    "nests": Shape(_nests, lambda rng, statements: tuple(rng.random(100) for _ in range(statements // 2 + 1))),
}


def long_program(shape: str, statements: int, folder: Path) -> tuple[Callable[..., Any], Arrays]:
    """A function of so many statements, written to a file in a folder, and arguments for it."""
    path = folder / f"{shape}_of_{statements}.py"
    path.write_text(SHAPES[shape].text(statements) + "\n")
    return getattr(import_file(path), shape), SHAPES[shape].arrays(np.random.default_rng(1), statements)


def first_call(function: Callable[..., Any], arrays: Arrays) -> float:
    """The processor seconds of a kernel's first call, with nothing cached.

    Raises:
        AssertionError: its results are not those of plain Python.
    """
    import polytune

    wanted = tuple(array.copy() for array in arrays)
    right = function(*wanted)
    begin = time.process_time()
    result = polytune.kernel(function)(*arrays)
    seconds = time.process_time() - begin
    if right is not None:
        np.testing.assert_allclose(result, right)
    for name, found, expected in zip(inspect.signature(function).parameters, arrays, wanted, strict=True):
        np.testing.assert_allclose(found, expected, err_msg=name)
    return seconds


@app.command()
def long_programs(
    statements: Annotated[int, typer.Option(min=4, help="How many statements each has.")] = 100,
    threads: program.Threads = None,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """Compile a program of each shape, with an empty cache, and run it beside plain Python."""
    program.limit_threads(threads)
    found = {}
    with tempfile.TemporaryDirectory(prefix="polytune-benchmark-") as folder:
        os.environ["POLYTUNE_CACHE_DIR"] = folder
        for shape in SHAPES:
            function, arrays = long_program(shape, statements, Path(folder))
            found[shape] = first_call(function, arrays)
    if as_json:
        program.print_json({**program.surroundings(), "statements": statements, "first_call": found})
        return
    table = Table(Column(f"{statements} statements"), Column("first call, processor time", justify="right"))
    for shape, seconds in found.items():
        table.add_row(shape, program.duration(seconds))
    program.results.print(table)


if __name__ == "__main__":
    program.run(app, "python -m benchmarks.long_programs")
