"""Programs ready to run: Python source text with arguments of fitting shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz.dry_run import TooManyInstances, touched
from tests.fuzz.syntax import Array, Tree

INSTANCES = 2000
"""The most assignments and iterations that a program runs."""


@dataclass(frozen=True)
class ArrayArgument:
    """An array argument of a given shape and memory layout, filled by a seed."""

    array: Array
    shape: tuple[int, ...]
    seed: int

    def make(self, exact: bool) -> np.ndarray:
        """A fresh array, the same at every call; see :meth:`text`."""
        return eval(self.text(exact), {"np": np})

    def text(self, exact: bool) -> str:
        """The Python expression of the array.

        Exact floats are multiples of 1/4: short sums and products of them have no rounding, whatever their order.
        Others have all digits, so that every change of order shows.
        """
        dtype = self.array.dtype
        seeded = f"np.random.default_rng({self.seed})"
        if dtype.startswith("int"):
            values = f"{seeded}.integers(-4, 5, {self.shape}).astype(np.{dtype})"
        elif exact:
            values = f"({seeded}.integers(-8, 9, {self.shape}) / 4).astype(np.{dtype})"
        else:
            values = f"{seeded}.uniform(-2.0, 2.0, {self.shape}).astype(np.{dtype})"
        if self.array.layout == "F":
            return f"np.asfortranarray({values})"
        return f"np.repeat({values}, 2, axis=-1)[..., ::2]" if self.array.layout == "A" else values


@dataclass(frozen=True, repr=False)
class Program:
    """A kernel's source, its arguments in order (numbers as they are), and what it runs."""

    source: str
    names: tuple[str, ...]
    values: tuple[int | float | ArrayArgument, ...]
    instances: int
    tree: Tree

    def __repr__(self) -> str:
        return self.source

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What Hypothesis shows of a failing program."""
        printer.text(f"\n{self.source}")

    def arguments(self, exact: bool) -> list[int | float | np.ndarray]:
        """Fresh arguments, the same at every call."""
        return [value.make(exact) if isinstance(value, ArrayArgument) else value for value in self.values]

    def reproducer(self, exact: bool) -> str:
        """A script that makes the function and its arguments."""
        lines = ["import math", "import numpy as np", "import polytune", "", self.source]
        for name, value in zip(self.names, self.values, strict=True):
            lines.append(f"{name} = {value.text(exact) if isinstance(value, ArrayArgument) else repr(value)}")
        return "\n".join(lines)


def finished(tree: Tree) -> Program:
    """The tree as a program: parameters lowered until it is small, arrays sized, subscripts shifted into range."""
    parameters = dict(tree.parameters)
    while True:
        try:
            ranges = touched(tree, parameters, INSTANCES)
            break
        except TooManyInstances:
            largest = max(parameters, key=lambda name: parameters[name])
            parameters[largest] -= 1
    offsets: dict[str, tuple[int, ...]] = {}
    shapes: dict[str, list[int]] = {}
    for array in tree.arrays:
        subscripts = ranges.subscripts.get(array.name, [(0, 0)] * array.rank)
        offsets[array.name] = tuple(max(0, -low) for low, _ in subscripts)
        padding = tree.padding.get(array.name, (0,) * array.rank)
        shapes[array.name] = [
            max(0, high) + max(0, -low) + 1 + pad for (low, high), pad in zip(subscripts, padding, strict=True)
        ]
    prologue = []
    for array in tree.arrays:
        if array.local:
            prologue.append(f"{array.name} = np.{array.local}({tuple(shapes[array.name])}, dtype=np.{array.dtype})")
    bound = _bind_to_shapes(tree, parameters, ranges.subscripts, shapes) if tree.shape_parameters else {}
    prologue += [f"{name} = {array}.shape[{dimension}]" for name, (array, dimension) in bound.items()]
    names: list[str] = []
    values: list[int | float | ArrayArgument] = []
    for name, value in (*parameters.items(), *tree.scalars.items()):
        if name not in bound:
            names.append(name)
            values.append(value)
    for seed, array in enumerate(tree.arrays):
        if not array.local:
            names.append(array.name)
            values.append(ArrayArgument(array, tuple(shapes[array.name]), seed))
    body = [*prologue, *(line for node in tree.body for line in node.lines(offsets))]
    if tree.result is not None:
        body.append(f"return {tree.result}")
    source = "\n    ".join([f"def kernel({', '.join(names)}):", *body]) + "\n"
    return Program(source, tuple(names), tuple(values), ranges.instances, tree)


def _bind_to_shapes(
    tree: Tree,
    parameters: dict[str, int],
    subscripts: dict[str, list[tuple[int, int]]],
    shapes: dict[str, list[int]],
) -> dict[str, tuple[str, int]]:
    """Parameters that can be extents of arrays, each by an array and dimension, whose shape is set to fit."""
    bound: dict[str, tuple[str, int]] = {}
    for array in tree.arrays:
        for dimension in range(array.rank):
            low, high = subscripts.get(array.name, [(0, -1)] * array.rank)[dimension]
            free = [name for name in parameters if name not in bound and parameters[name] > high]
            if not array.local and low >= 0 and free:
                bound[free[0]] = (array.name, dimension)
                shapes[array.name][dimension] = parameters[free[0]]
    return bound
