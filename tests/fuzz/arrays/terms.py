"""Terms of random expressions, each evaluated where it is to stand: so its shape and type are known."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.seeded.choices import Choices

Shape = tuple[int, ...]

_ELEMENTS = 1500
INDEX_ARRAYS = ("I", "J")


class Term(NamedTuple):
    """An expression and what it stands for."""

    text: str
    value: Any

    @property
    def shape(self) -> Shape:
        return np.shape(self.value)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.asarray(self.value).dtype

    @property
    def is_bool(self) -> bool:
        return self.dtype.kind == "b"

    @property
    def is_complex(self) -> bool:
        return self.dtype.kind == "c"


class Terms:
    """Writes constants, and elements and parts of arrays, for one place of a program.

    Args:
        choices: what decides.
        names: what names stand for there.
        iterators: those names that are variables of loops around.
    """

    def __init__(self, choices: Choices, names: dict[str, Any], iterators: Sequence[str]):
        self.choices, self.names = choices, names
        self.iterators = [name for name in iterators if isinstance(names.get(name), int)]
        self.arrays = [
            name
            for name, value in names.items()
            if isinstance(value, np.ndarray) and 1 <= value.ndim <= 3 and name not in INDEX_ARRAYS
        ]
        self.numbers = [
            name
            for name, value in names.items()
            if isinstance(value, int | float | complex | np.generic) and name not in self.iterators
        ]
        self.indices = [name for name in INDEX_ARRAYS if name in names]
        self.cuts: list[tuple[int, int, str]] = []
        self._globals = {"np": np, "math": math}

    def term(self, text: str | None) -> Term | None:
        """The expression with its value; None where NumPy raises an error, or gives what kernels cannot have."""
        if text is None:
            return None
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                value = eval(text, self._globals, self.names)
        except Exception:
            return None
        array = np.asarray(value)
        if array.dtype.kind not in "biufc" or array.dtype in (np.float16, np.longdouble, np.clongdouble):
            return None
        return None if array.ndim > 3 or array.size > _ELEMENTS else Term(text, value)

    # Subscripts

    def cut(self, extent: int, length: int) -> str | None:
        """A slice of so many of an axis' elements."""
        choices = self.choices
        if length > extent:
            return None
        if choices.chance(75):
            same = [text for of, to, text in self.cuts if (of, to) == (extent, length)]
            if same:
                return same[-1]
        forms: list[str] = []
        if length == extent:
            forms += [":"] * 14 + ["::-1", "0:", f":{extent + 3}", f"-{max(extent, 1)}:"]
        rest = extent - length
        if rest:
            start = choices.randint(0, rest)
            forms += [f"{start or ''}:{start + length}", f":{length}", f"{rest}:", f"{rest}:"]
            if start + length < extent:
                forms += [f"{start or ''}:{start + length - extent}"] * 3
            if length:
                forms += [f"-{length}:", f":-{rest}"]
            last = start + length - 1
            if length and start:
                forms.append(f"{last}:{start - 1}:-1")
        for step in (2, 3, -2, -3):
            if len(range(0, extent, abs(step))) == length:
                forms += [f"::{step}"] * 2
            if len(range(1, extent, abs(step))) == length and step > 0:
                forms.append(f"1::{step}")
        for name in self.sizes():
            size = self.names[name]
            if size == length:
                forms += [f":{name}"] * 2
            if length < extent and size == extent - rest - 1 and size >= 0:
                forms.append(f":{name} + 1")
            if size == extent and rest == 1:
                forms += [f":{name} - 1", f"1:{name}"]
            fractions = ((f"{name} % 3", size % 3), (f"{name} // 2", size // 2), (f"{name} // 3", size // 3))
            forms += [f": {text}" for text, value in fractions if value == length]
        for name in self.iterators:
            value = self.names[name]
            if 0 <= value <= extent:
                if value == length:
                    forms += [f":{name}"] * 4
                if value + 1 == length:
                    forms += [f": {name} + 1"] * 3
                if extent - value == length:
                    forms += [f"{name}:"] * 4
                if value + length <= extent and 1 <= length <= 3:
                    forms += [f"{name} : {name} + {length}"] * 2
        text = choices.pick(forms)
        self.cuts.append((extent, length, text))
        return text

    def sizes(self) -> list[str]:
        """The names of the sizes that are known here."""
        return [name for name in ("n", "m") if isinstance(self.names.get(name), int)]

    def index(self, extent: int, known: bool = False) -> str | None:
        """A subscript of one element of an axis; one that is known before the kernel runs, where that is asked for."""
        choices = self.choices
        if extent == 0:
            return None
        fitting = [name for name in self.iterators if 0 <= self.names[name] < extent]
        if fitting and choices.chance(75):
            name = choices.pick(fitting)
            form = choices.pick(
                (name,) * 30 + (f"{name} + 1", f"{name} - 1", f"-1 - {name}", f"({name} + 1) % {extent}")
            )
            return form
        if self.indices and not known and choices.chance(25):
            array = choices.pick(self.indices)
            place = self.index(len(self.names[array])) if choices.chance(70) else choices.pick(("0", "-1"))
            if place is not None and len(self.names[array]):
                return f"{array}[{place}]"
        found = [name for name in self.numbers if name.startswith("k")]
        if found and not known and choices.chance(40):
            return choices.pick(found)
        return choices.pick(("0", "0", "-1", str(choices.randrange(extent)), f"-{choices.randint(1, extent)}"))

    def part(self, name: str, shape: Shape) -> Term | None:
        """A part of an array, of exactly this shape."""
        choices = self.choices
        extents = self.names[name].shape
        if len(extents) < len(shape):
            return None
        axes = sorted(choices.sample(range(len(extents)), len(shape)))
        texts: list[str] = []
        # Of which elements a part is made has to be known before the kernel runs.
        known = bool(shape) and choices.chance(97)
        for axis, extent in enumerate(extents):
            text = self.cut(extent, shape[axes.index(axis)]) if axis in axes else self.index(extent, known)
            if text is None:
                return None
            texts.append(text)
        if all(text == ":" for text in texts):
            return self.term(choices.pick((name, name, name, name, f"{name}[:]", f"{name}[...]")))
        while texts[-1] == ":" and choices.chance(60):
            texts.pop()
        if texts[0] == ":" and len(texts) > 1 and len(texts) == len(extents) and choices.chance(25):
            texts[0] = "..."
        return self.term(f"{name}[{', '.join(texts)}]")

    def constant(self, like: np.dtype[Any] | None = None) -> str:
        """A number, as it is written, that goes with numbers of a type."""
        choices = self.choices
        if like is not None and like.kind == "c" and choices.chance(50):
            return choices.pick(("1j", "-0.5j", "(0.5 - 1j)", "(2 + 1j)"))
        if like is not None and like.kind in "iub" and choices.chance(85):
            return choices.pick(("1", "2", "3", "5") if like.kind == "u" else ("1", "2", "3", "-1", "-2"))
        return choices.pick(("0.5", "2.0", "-0.25", "1.5", "2", "1", "3"))
