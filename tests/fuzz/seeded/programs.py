"""Random programs, each a function of a seed: unlike those of ``tests.fuzz.strategy`` they are written as text, with
subscripts and bounds of every kind that the language has, and with everything that can be an argument.

A program is written first, with an offset added to each subscript.  Then it is run on arrays without elements
(``tests.fuzz.reach``), which shows what it touches: the offsets become what moves all of that into arrays, and shapes
become what has room for it.  A few programs are left outside.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tests.fuzz.reach import Reached, Shape, TooManyInstances, reach
from tests.fuzz.samples import Sample, first_made
from tests.fuzz.seeded.arguments import Data, array_setup
from tests.fuzz.seeded.choices import Choices, Element, Scope
from tests.fuzz.seeded.indices import IndexWriter
from tests.fuzz.seeded.statements import StatementWriter, indented
from tests.fuzz.seeded.values import WEAK_FLOAT, WEAK_INTEGER, ValueWriter

TYPES = (
    *(("float64",),) * 6,
    *(("float64", "int64"),) * 2,
    *(("float32",),) * 2,
    ("float32", "float64"),
    ("float32", "int32"),
    ("float64", "int32"),
    ("int64",),
    ("int32",),
)
ODD_NAMES = (
    "workers",
    "worker",
    "claim",
    "context",
    "task",
    "total",
    "tile_0",
    "c0",
    "view",
    "version",
    "threads",
    "T0",
    "check",
    "numba",
)
"""Names that generated code might want for itself."""

_TOLERANCE = {"float64": 1e-9, "float32": 1e-3}
_OFFSET = re.compile(r" \+ OFFSET_(\w+)_(\d)")
_LARGEST_EXTENT = 200


@dataclass(frozen=True)
class Scale:
    """How large a program is: about the most statements, the depth of its loops, the elements that it touches."""

    statements: int
    depth: int
    accesses: int


SCALES = (
    *(Scale(2, 2, 250),) * 27,
    *(Scale(3, 3, 400),) * 8,
    *(Scale(5, 3, 800),) * 4,
    Scale(10, 4, 2000),
)


def sample_of(seed: int) -> Sample:
    """The program of a seed."""
    return first_made(lambda attempt: _Author(Choices(f"{seed}/{attempt}")).sample())


class _Author:
    """Writes one program."""

    def __init__(self, choices: Choices):
        self.choices = choices
        self.types = choices.pick(TYPES)
        self.floating = next((kind for kind in self.types if kind.startswith("float")), "int64")
        self.strict = choices.chance(45)
        special = choices.chance(14) and self.floating != "int64"
        # Where they may round although sums may be reassociated, results are held against bounds on errors; programs
        # for which there are none are made strict.
        rounds = self.strict or (not special and choices.chance(50))
        self.data = Data(exact=not rounds, special=special)
        ranks = [choices.pick((1, 1, 2, 2, 2, 3)) for _ in range(choices.pick((1, 1, 2, 2, 3, 4)))]
        self.arrays = tuple(
            Element(name, choices.pick(self.types), rank) for name, rank in zip("ABCD", ranks, strict=False)
        )
        inputs = choices.pick((0, 0, 0, 1, 2))
        self.written = self.arrays[: max(1, len(self.arrays) - inputs)]
        self.sizes = {name: self._size() for name in ("n", "m")}
        self.numbers = self._numbers()
        self.scale = choices.pick(SCALES)
        # isl takes long over large programs in which nothing is plain.
        plainness = choices.pick((30, 60, 60, 85) if self.scale.statements < 5 else (60, 85, 85, 95))
        indices = IndexWriter(choices, tuple(self.sizes), plainness)
        self.values = ValueWriter(choices, indices, self.arrays, self.floating, self._kinds(), self.data.exact)
        self.statements = StatementWriter(
            choices, indices, self.values, self.written, self.scale.statements, self.scale.depth, choices.chance(45)
        )

    def _size(self) -> int:
        choices = self.choices
        if choices.chance(10):
            return choices.pick((0, 1))
        return choices.randint(2, 9) if choices.chance(75) else choices.randint(10, 33)

    def _numbers(self) -> dict[str, str]:
        """Scalar arguments, by name their Python text."""
        choices = self.choices
        found: dict[str, str] = {}
        if self.floating != "int64" and choices.chance(45):
            found["alpha"] = choices.pick(("0.5", "-0.25", "1.5", "2"))
        if self.floating != "int64" and choices.chance(12):
            found["gamma"] = f"np.{choices.pick(('float32', 'float64'))}({choices.pick(('0.5', '1.5'))})"
        if choices.chance(8):
            found["q"] = choices.pick(("3", "-2", "np.int32(3)", "np.int64(-1)"))
        return found

    def _kinds(self) -> tuple[tuple[str, str], ...]:
        """The scalar arguments that values may use, with their types."""
        kinds: list[tuple[str, str]] = []
        for name, text in self.numbers.items():
            if text.startswith("np."):
                kinds.append((name, text[3 : text.index("(")]))
            else:
                kinds.append((name, WEAK_FLOAT if "." in text else WEAK_INTEGER))
        if self.floating != "int64":
            kinds.append(("beta", WEAK_FLOAT))
        return tuple(kinds)

    def _assignable(self) -> Scope:
        """The scalar arguments that the program may assign to, as variables of Python may be."""
        kinds = [(name, "float64" if kind == WEAK_FLOAT else kind) for name, kind in self._kinds() if name != "beta"]
        fitting = [each for each in kinds if each[1] == self.floating]
        return Scope(scalars=tuple(fitting) if fitting and self.choices.chance(40) else ())

    # Text

    def sample(self) -> Sample | None:
        choices = self.choices
        helpers = self._helpers()
        lines, scope = self.statements.block(
            self._assignable(), choices.pick((1, 1, 2, 2, 3) if self.scale.statements > 2 else (1, 1, 2))
        )
        if choices.chance(2):
            lines += self._assigned_in_a_loop()
        result = choices.pick(scope.scalars)[0] if scope.scalars and choices.chance(50) else None
        if result is not None:
            lines.append(f"return {result}")
        body = "\n".join(lines)
        buffers = tuple(Element(name, self.floating, 1) for name in sorted(set(re.findall(r"\bT\d+\b", body))))
        used = [array for array in self.arrays if re.search(rf"\b{array.name}\b", body)]
        if not used:
            return None
        prologue, sizes = self._sizes(used, body)
        fits = self._fit(helpers, body, used, buffers)
        if fits is None:
            return None
        offsets, shapes, written = fits
        for name, (array, axis) in sizes.items():
            # The size is an extent, where it has room enough.
            if shapes[array.name][axis] > self.sizes[name]:
                prologue = [line for line in prologue if not line.startswith(f"{name} =")]
            else:
                shapes[array.name][axis] = self.sizes[name]
        bound = {line.split(" =")[0] for line in prologue}
        if not bound and "shape" not in body and choices.chance(25):
            _equalise(used, shapes)
        if choices.chance(3):
            self._break(shapes, offsets)
        local: list[str] = []
        for buffer in buffers:
            make = choices.pick(("np.zeros", "np.empty"))
            local.append(f"{buffer.name} = {make}({max(1, shapes[buffer.name][0])}, dtype=np.{buffer.dtype})")
        text = "\n".join(indented([*prologue, *local, *body.splitlines()]))
        text = _OFFSET.sub(lambda found: _shift(offsets, found[1], int(found[2])), text)
        parameters = [name for name in self.sizes if name not in bound and re.search(rf"\b{name}\b", text)]
        parameters += [array.name for array in used]
        parameters += [name for name in self.numbers if re.search(rf"\b{name}\b", text)]
        choices.shuffle(parameters)
        return self._finished(
            helpers, text, parameters, used, {name: tuple(shape) for name, shape in shapes.items()}, written
        )

    def _finished(
        self,
        helpers: str,
        text: str,
        parameters: list[str],
        used: list[Element],
        shapes: dict[str, tuple[int, ...]],
        written: set[str],
    ) -> Sample:
        choices = self.choices
        strict = self.strict
        data, tolerance = self.data, 0.0
        discrete = re.search(r"\bif\b|\bwhile\b|int", text) or any(array.is_integer for array in used)
        if not strict and not discrete and not data.special and choices.chance(8):
            data, tolerance = Data(False, False), max(_TOLERANCE[array.dtype] for array in used)
        setup = []
        for name in parameters:
            if name in self.sizes:
                size = str(self.sizes[name])
                setup.append((name, f"np.{choices.pick(('int32', 'int64'))}({size})" if choices.chance(6) else size))
            elif name in self.numbers:
                setup.append((name, self.numbers[name]))
        setup += array_setup(choices, data, tuple(used), shapes, written)
        header = ", ".join(parameters)
        given = list(parameters)
        call = header
        if re.search(r"\bbeta\b", text):
            header += f", beta={choices.pick(('0.5', '-0.75', '1.0'))}"
            if choices.chance(50):
                call += choices.pick(
                    (", beta=2.5", ", 0.25", ", beta=np.float64(0.5)" if self.floating == "float64" else ", beta=0.125")
                )
        elif choices.chance(10):
            at = choices.randrange(len(given) + 1)
            by_name = given[at:]
            choices.shuffle(by_name)
            call = ", ".join([*given[:at], *(f"{name}={name}" for name in by_name)])
        source = f"{helpers}def kernel({header}):\n{text}\n"
        found = Sample(source, tuple(setup), call, strict, tolerance)
        return self._renamed(found, parameters) if choices.chance(3) else found

    def _renamed(self, sample: Sample, parameters: list[str]) -> Sample:
        """With names that generated code might want for itself."""
        choices = self.choices
        names = {
            name: odd
            for name, odd in zip(parameters, choices.sample(ODD_NAMES, len(ODD_NAMES)), strict=False)
            if choices.chance(60)
        }
        if not names:
            return sample
        pattern = re.compile(rf"\b({'|'.join(names)})\b(?!=)|\b({'|'.join(names)})(?==)")

        def rename(text: str) -> str:
            return pattern.sub(lambda found: names[found[1] or found[2]], text)

        setup = tuple((names.get(name, name), rename(text)) for name, text in sample.setup)
        return Sample(rename(sample.source), setup, rename(sample.call), sample.strict, sample.tolerance)

    def _helpers(self) -> str:
        """Functions that the kernel calls, and constants of the module."""
        choices = self.choices
        if self.floating == "int64" or not choices.chance(14):
            return ""
        self.values.helpers = ("blend",)
        blend = choices.pick(
            (
                "    return u * 0.5 + v\n",
                "    w = u - v\n    return w * FACTOR\n",
                "    return u if u < v else v\n",
                "    return max(u, v) - u\n",
            )
        )
        text = f"FACTOR = 0.25\n\n\ndef blend(u, v):\n{blend}\n\n"
        if any(array.rank == 1 and not array.is_integer for array in self.written):
            self.statements.procedures = ("bump",)
            bump = choices.pick(
                (
                    "    X[p] += v\n",
                    "    for step in range(2):\n        X[p + step] = X[p + step] * 0.5 + v\n",
                    "    X[p] = X[p + 1] - v\n",
                )
            )
            text += f"def bump(X, p, v):\n{bump}\n\n"
        return text

    def _assigned_in_a_loop(self) -> list[str]:
        """A variable that has no value behind a loop without iterations."""
        array = self.choices.pick(self.written)
        target = self.values.place(array, ["0"] * array.rank)
        value = self.values.named(self.values.value(array.is_integer, Scope(("i",)), 0), array.dtype)
        return [
            f"for i in range({self.choices.pick(tuple(self.sizes))}):",
            f"    last = {value.text}",
            f"{target} = last",
        ]

    def _sizes(self, used: list[Element], body: str) -> tuple[list[str], dict[str, tuple[Element, int]]]:
        """Lines that take sizes from shapes, and for each size the array and axis it is to be taken from."""
        choices = self.choices
        lines: list[str] = []
        origins: dict[str, tuple[Element, int]] = {}
        for name in self.sizes:
            if re.search(rf"\b{name}\b", body) and choices.chance(25):
                array = choices.pick(used)
                axis = choices.randrange(array.rank)
                if (array, axis) not in origins.values():
                    origins[name] = array, axis
                    lines.append(
                        f"{name} = {array.name}.shape[{axis}]"
                        if axis or choices.chance(60)
                        else f"{name} = len({array.name})"
                    )
        return lines, origins

    # Shapes

    def _fit(
        self, helpers: str, body: str, used: list[Element], buffers: tuple[Element, ...]
    ) -> tuple[dict[str, list[int]], dict[str, list[int]], set[str]] | None:
        """Offsets and shapes with which all is in range, by name, and the arrays that are written.

        Sizes are lowered until the program is small enough; None where it stays too large.
        """
        elements = (*used, *buffers)
        parameters = [*self.sizes, *self.numbers, "beta", *(element.name for element in elements)]
        source = f"{helpers}def kernel({', '.join(parameters)}):\n" + "\n".join(indented(body.splitlines()))
        offsets = {element.name: [0] * element.rank for element in elements}
        start = self.choices.pick((3, 5, 8))
        shapes = {element.name: [start] * element.rank for element in elements}
        padding = {
            element.name: [self.choices.pick((0, 0, 0, 1, 3)) for _ in range(element.rank)] for element in elements
        }
        for _ in range(12):
            values: dict[str, Any] = {**self.sizes, **dict.fromkeys((*self.numbers, "beta"), 0.5)}
            values.update({element.name: Shape(tuple(shapes[element.name])) for element in elements})
            constants = {
                f"OFFSET_{name}_{axis}": offset for name, those in offsets.items() for axis, offset in enumerate(those)
            }
            try:
                reached = reach(source, values, constants, self.scale.accesses)
            except TooManyInstances:
                largest = max(self.sizes, key=lambda name: self.sizes[name])
                if self.sizes[largest] <= 2:
                    return None
                self.sizes[largest] = min(self.sizes[largest] - 1, self.sizes[largest] * 3 // 4)
                continue
            reached = {name: array for name, array in reached.items() if name in shapes}
            if not any(array.written for array in reached.values()) and self.choices.chance(80):
                return None
            if self._fitted(reached, offsets, shapes, padding, "shape" in body):
                return offsets, shapes, {name for name, array in reached.items() if array.written}
        return None

    def _fitted(
        self,
        reached: dict[str, Reached],
        offsets: dict[str, list[int]],
        shapes: dict[str, list[int]],
        padding: dict[str, list[int]],
        uses_shapes: bool,
    ) -> bool:
        """Whether all is in range; else offsets and shapes are made to fit."""
        fits = True
        for name, array in reached.items():
            for axis, (low, high) in enumerate(array.ranges or [(0, -1)] * array.ndim):
                if low < 0:
                    offsets[name][axis] -= low
                    high -= low
                    fits = False
                # Where extents are sizes too, they only grow.
                padded = high + 1 + padding[name][axis]
                wanted = max(shapes[name][axis], high + 1) if uses_shapes else padded
                if wanted != shapes[name][axis]:
                    shapes[name][axis] = wanted
                    fits = fits and not uses_shapes
                if wanted > _LARGEST_EXTENT:
                    return False
        return fits

    def _break(self, shapes: dict[str, list[int]], offsets: dict[str, list[int]]) -> None:
        """Move something out of range."""
        name = self.choices.pick(sorted(shapes))
        axis = self.choices.randrange(len(shapes[name]))
        if self.choices.chance(50):
            shapes[name][axis] = max(0, shapes[name][axis] - self.choices.pick((1, 2)))
        else:
            offsets[name][axis] -= 1


def _equalise(used: list[Element], shapes: dict[str, list[int]]) -> None:
    """Give two arrays of one type the same shape, so that they may become views of one."""
    for position, first in enumerate(used):
        for second in used[position + 1 :]:
            if (first.dtype, first.rank) == (second.dtype, second.rank):
                pairs = zip(shapes[first.name], shapes[second.name], strict=True)
                shapes[first.name] = [max(pair) for pair in pairs]
                shapes[second.name] = list(shapes[first.name])
                return


def _shift(offsets: dict[str, list[int]], name: str, axis: int) -> str:
    offset = offsets[name][axis]
    return "" if offset == 0 else f" {'-' if offset < 0 else '+'} {abs(offset)}"
