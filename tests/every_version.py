"""Versions of generated code against the source they come from.

Registers are small, so that small problems have whole vectors; the generated code is interpreted
(``tests.fuzz.interpreted``), and what it computes is compared with what plain Python makes of the same function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from polytune import Kernel
from polytune.codegen.transform import Target
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from tests.fuzz.interpreted import Interpreter

SMALL = Target(vector_bytes=16, vector_registers=16)
"""Two float64, or four float32, in each of 16 registers."""

_MOST_TILED = 4  # loops of a band


def stages_of(
    function: Callable, arguments: Sequence[Any], *, strict: bool = False, devices: bool = False, target: Target = SMALL
) -> Stages:
    """A function on its way to generated code, for arguments of these types and layouts."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return Stages(function, signature_of(names, tuple(arguments)), strict, devices=devices, target=target)  # type: ignore[arg-type]


def with_vectors(stages: Stages) -> list[str]:
    """The names of the versions whose vectors the generated text has, rather than a compiler's."""
    return [program.name for program in stages.programs if program.has_vectors]


def copied(arguments: Sequence[Any]) -> list[Any]:
    """Arrays with the same elements in the same order in memory; numbers as they are."""
    return [value.copy(order="K") if isinstance(value, np.ndarray) else value for value in arguments]


def check_compiled(function: Callable, arguments: Sequence[Any]) -> None:
    """Whether the machine code of every version computes what the source does, but for rounding."""
    expected = copied(arguments)
    function(*expected)
    kernel = Kernel(function)
    space = kernel.space(*arguments)
    for version in space["version"].values:
        given = copied(arguments)
        kernel.run(space.configuration(version=version), *given)
        for found, wanted in zip(given, expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


def tile_sizes(sizes: Sequence[int]) -> dict[str, int]:
    """These sizes for the loops of a tile from the outside inwards, and again from the first one."""
    return {f"tile_{member}": sizes[member % len(sizes)] for member in range(_MOST_TILED)}


def check_versions(
    function: Callable,
    stages: Stages,
    initial: Sequence[Any],
    *,
    versions: Iterable[str] | None = None,
    tiles: Iterable[Sequence[int]] = ((2,), (64,)),
) -> None:
    """Whether versions compute what the source does, element by element; NaN equals NaN, and 0.0 equals -0.0.

    Args:
        function: the source.
        stages: what was made of it.
        initial: arguments, which stay as they are.
        versions: names of versions; by default all.
        tiles: sizes of tiles to try, as ``tile_sizes`` takes them.
    """
    expected = copied(initial)
    function(*expected)
    interpreter = Interpreter(stages.source)
    names = [program.name for program in stages.programs] if versions is None else list(versions)
    assert names
    for name in names:
        for seed, sizes in enumerate(tiles):
            values = copied(initial)
            interpreter.run({"version": name, "threads": 2, **tile_sizes(sizes)}, values, seed)
            for wanted, got in zip(expected, values, strict=True):
                np.testing.assert_array_equal(got, wanted, f"{name} {sizes}")
