"""Random programs of array expressions, each a function of a seed.

A program is written statement by statement.  Each expression is evaluated where it is to stand, so that its shape is
known, and a statement that NumPy does not run is left out; so NumPy runs all that is left, but for the few programs
that are broken at the end.  Not all of it is in the language: what is refused is counted.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz.arrays.drafts import Draft, Place
from tests.fuzz.arrays.expressions import INTEGERS
from tests.fuzz.arrays.statements import StatementWriter
from tests.fuzz.samples import Sample, first_made
from tests.fuzz.seeded.arguments import Data, array_setup
from tests.fuzz.seeded.choices import Choices, Element

_FLOATS = ("float64", "float64", "float64", "float32")
_TYPES = (
    *(("float64",),) * 14,
    *(("float64", "int64"),) * 3,
    *(("float32",),) * 2,
    ("float32", "float64"),
    ("float32", "int32"),
    ("int64",),
    ("float32", "int8"),
    ("float32", "uint8"),
    ("float32", "int8", "uint8"),
    ("complex128",),
    ("complex128", "float64"),
    ("complex64",),
    ("complex64", "float32", "int8"),
)
_ANY = (*INTEGERS, *INTEGERS, *INTEGERS, *_FLOATS, "bool", "bool", "bool")
_ELEMENTS = 600


def sample_of(seed: int) -> Sample:
    """The program of a seed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy's, about means of nothing
        return first_made(lambda attempt: _Author(Choices(f"arrays {seed}/{attempt}")).sample())


@dataclass(frozen=True)
class Numbers(Data):
    """What arrays of every type are filled with.

    Attributes:
        wide: integers of 8 and 16 bits have all values that there are.
    """

    wide: bool = False

    def values(self, element: Element, shape: tuple[int, ...], seed: int) -> str:
        dtype = np.dtype(element.dtype)
        seeded = f"np.random.default_rng({seed})"
        if dtype.kind == "b":
            return f"{seeded}.integers(0, 2, {shape}).astype(np.bool_)"
        if dtype.kind in "iu":
            low, high = (0, 6) if dtype.kind == "u" else (-4, 5)
            if self.wide and dtype.itemsize <= 2 and dtype.kind in "iu":
                limits = np.iinfo(dtype)
                low, high = int(limits.min), int(limits.max) + 1
            return f"{seeded}.integers({low}, {high}, {shape}).astype(np.{dtype})"
        if dtype.kind == "c":
            other = f"np.random.default_rng({seed + 50})"
            if self.exact:
                real, imaginary = (f"{each}.integers(-8, 9, {shape})" for each in (seeded, other))
                return f"(0.25 * {real} + 0.25j * {imaginary}).astype(np.{dtype})"
            real, imaginary = (f"{each}.uniform(-2.0, 2.0, {shape})" for each in (seeded, other))
            return f"({real} + 1j * {imaginary}).astype(np.{dtype})"
        return super().values(element, shape, seed)


class _Author:
    """Writes one program."""

    def __init__(self, choices: Choices):
        self.choices = choices
        self.strict = choices.chance(45)
        self.types = self._types()
        self.sizes = {name: self._size() for name in ("n", "m")}
        self.data = Numbers(choices.chance(60), choices.chance(10), choices.chance(30))
        ranks = [choices.pick((1, 1, 1, 2, 2, 2, 3)) for _ in range(choices.pick((1, 2, 2, 3, 3, 4)))]
        self.arrays = tuple(
            Element(name, choices.pick(self.types), rank) for name, rank in zip("ABCD", ranks, strict=False)
        )
        self.shapes = {array.name: self._shape(array.rank) for array in self.arrays}
        inputs = choices.pick((0, 0, 0, 1))
        self.written = tuple(array.name for array in self.arrays[: max(1, len(self.arrays) - inputs)])

    def _types(self) -> tuple[str, ...]:
        choices = self.choices
        if choices.chance(48):
            return choices.pick(_TYPES)
        kinds = [choices.pick(_ANY) for _ in range(choices.pick((1, 2, 2, 3)))]
        return tuple(kinds) if set(kinds) != {"bool"} else (*kinds, "int8")

    def _size(self) -> int:
        choices = self.choices
        if choices.chance(7):
            return choices.pick((0, 1))
        return choices.randint(2, 7) if choices.chance(80) else choices.randint(8, 33)

    def _shape(self, rank: int) -> tuple[int, ...]:
        choices = self.choices
        while True:
            pool = [self.sizes["n"]] * 5 + [self.sizes["m"]] * 3 + [self.sizes["n"] + 1, self.sizes["n"] + 2, 2]
            shape = tuple(choices.pick(pool) for _ in range(rank))
            if int(np.prod(shape)) <= _ELEMENTS:
                return shape
            self.sizes = {name: max(2, size * 2 // 3) for name, size in self.sizes.items()}

    def sample(self) -> Sample | None:
        choices = self.choices
        setup: list[tuple[str, str]] = []
        for name, size in self.sizes.items():
            if choices.chance(50):
                setup.append((name, str(size)))
        if choices.chance(30):
            setup.append(("alpha", choices.pick(("0.5", "1.5", "-0.25"))))
        if choices.chance(12):
            dtype = choices.pick((*INTEGERS, *_FLOATS, "complex64"))
            setup.append(("beta", f"np.{dtype}({choices.pick(('1', '2', '3'))})"))
        setup += array_setup(choices, self.data, self.arrays, self.shapes, set(self.written))
        if choices.chance(27):
            setup += self._indices()
        parameters = [name for name, _ in setup if name != "base"]
        choices.shuffle(parameters)
        draft = Draft(parameters, lambda: _evaluated(setup))
        if not draft.runs():
            return None
        writer = StatementWriter(choices, draft, self.written, choices.pick((0, 30, 60)))
        writer.fill(draft.body, choices.pick((1, 2, 2, 3, 3, 4, 5, 7)), Place())
        names = draft.look(draft.body)
        if not draft.body or names is None:
            return None
        if choices.chance(75):
            line = f"return {writer.result(writer.expressions(names, Place()))}"
            draft.body.append(line)
            if not draft.runs():
                draft.body.pop()
        if choices.chance(5):
            draft.body[:0] = self._preconditions()
        if choices.chance(6):
            setup = self._broken(setup)
        return self._finished(draft, setup)

    def _indices(self) -> list[tuple[str, str]]:
        """Arrays of subscripts: some from the end, some out of range."""
        choices = self.choices
        found: list[tuple[str, str]] = []
        for number, name in enumerate("IJ" if choices.chance(30) else "I"):
            extent = choices.pick([shape[0] for shape in self.shapes.values()])
            if extent == 0:
                return found
            length = choices.pick((self.sizes["n"], self.sizes["n"], self.sizes["m"], 3))
            dtype = choices.pick(("int64", "int64", "int64", "int32", "int8", "uint8", "uint32", "uint64"))
            low = -extent if dtype.startswith("i") and choices.chance(35) else 0
            values = f"np.random.default_rng({20 + number}).integers({low}, {extent}, {length}).astype(np.{dtype})"
            found.append((name, f"np.repeat({values}, 2)[::2]" if choices.chance(10) else values))
        return found

    def _preconditions(self) -> list[str | Any]:
        choices = self.choices
        array = choices.pick(self.arrays).name
        return choices.pick(
            (
                [f"assert {array}.shape[0] > {choices.pick((0, 2, 4))}"],
                [f"assert {array}.ndim == {choices.pick((1, 2))}, 'dimensions'"],
                [
                    f"if {array}.shape[0] < {choices.pick((1, 3))}:",
                    "    raise ValueError(f'{" + array + ".shape[0]} rows')",
                ],
            )
        )

    def _broken(self, setup: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Arguments with which some subscript or shape does not fit."""
        choices = self.choices
        position = choices.randrange(len(setup))
        name, text = setup[position]
        if name in ("n", "m"):
            text = str(choices.pick((int(text) + 1, int(text) + 2, -1)))
        elif name in ("I", "J"):
            text = f"np.where({text} == {text}.max(initial=0), {choices.pick((50, 100))}, {text})"
        elif name in self.shapes:
            text = f"({text})[{choices.pick(('1:', ':-1', '..., 1:', '..., :-1'))}]"
        return [*setup[:position], (name, text), *setup[position + 1 :]]

    def _finished(self, draft: Draft, setup: list[tuple[str, str]]) -> Sample:
        call = ", ".join(draft.parameters)
        return Sample(draft.source, tuple(setup), call, self.strict, 0.0, numpy=True)


def _evaluated(setup: list[tuple[str, str]]) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for name, text in setup:
        names[name] = eval(text, {"np": np}, names)
    return names
