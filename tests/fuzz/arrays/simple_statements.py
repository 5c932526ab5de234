"""Random statements on whole arrays and their elements: assignments, and loops over index arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.arrays.drafts import Block, Node, Place
from tests.fuzz.arrays.expressions import Expressions
from tests.fuzz.arrays.lists import listed
from tests.fuzz.arrays.selections import drawn, selected
from tests.fuzz.arrays.sweeps import sweeps
from tests.fuzz.arrays.terms import Term
from tests.fuzz.seeded.choices import Choices

__all__ = ["SimpleStatements", "bare"]

_COPIES = ("+{0}", "{0}.copy()", "np.array({0})", "np.nan_to_num({0})", "{0}.astype({0}.dtype)")
"""New arrays with the elements of others, which look as if they were these."""

_THEMSELVES = ("{0}.conj()", "np.asarray({0})", "{0}.astype({0}.dtype, copy=False)", "np.array({0}, copy=None)")
"""Other names for arrays, which look as if they were new."""


class SimpleStatements:
    """Writes statements with no others inside.

    Args:
        choices: what decides.
        written: the arguments that may be written.
        elementwise: how many of a hundred statements in loops are on single elements.

    Attributes:
        made: how many names there are.
    """

    def __init__(self, choices: Choices, written: tuple[str, ...], elementwise: int):
        self.choices, self.written, self.elementwise = choices, written, elementwise
        self.made = 0

    def simple(self, write: Expressions, place: Place) -> list[Node]:
        """One statement, with what it needs before it; nothing where none was found."""
        choices = self.choices
        if place.iterators and choices.chance(self.elementwise):
            return self._element(write)
        kind = choices.pick("ssssssssaaaaaaallllllvvnnnnnkkkuxxxoccwggyyyrpp" + "d" * bool(write.indices) * 8)
        match kind:
            case "s":
                return self._store(write, "=")
            case "a":
                return self._store(write, choices.pick(("+=", "+=", "-=", "*=", "*=", "/=", "//=", "%=")))
            case "l":
                return self._local(write, place)
            case "v":
                return self._view(write)
            case "n":
                return self._number(write)
            case "k":
                return self._masked(write)
            case "u":
                return self._by_out(write)
            case "x":
                return self._exchange(write)
            case "o":
                return self._overlapping(write)
            case "c":
                return self._several_targets(write)
            case "w":
                return self._whole(write)
            case "d":
                return self._indirect(write)
        return self._of_theme(kind, write, place)

    def _of_theme(self, kind: str, write: Expressions, place: Place) -> list[Node]:
        """A statement of a kind that has a file of its own."""
        match kind:
            case "g":
                return listed(write, self.fresh, self._targets(write))
            case "y":
                return selected(write, self.fresh, self._targets(write))
            case "p" if place.depth == 0 or self.choices.chance(20):
                return sweeps(write, self.fresh, self._targets(write))
            case "r":
                shape = self.shape_like(write)
                return drawn(write, self.fresh, shape, place.depth) if shape else []
        return []

    def _targets(self, write: Expressions) -> list[str]:
        local = [name for name in write.arrays if name[0] in "tvr"]
        return [name for name in self.written if name in write.names] * 2 + local

    def _part_of_target(self, write: Expressions, rank: int | None = None) -> Term | None:
        """A part of an array that may be written."""
        choices = self.choices
        names = self._targets(write)
        if not names:
            return None
        name = choices.pick(names)
        extents = write.names[name].shape
        kept = len(extents) if choices.chance(70) else choices.randint(0, len(extents))
        if rank is not None:
            if rank > len(extents):
                return None
            kept = rank
        axes = sorted(choices.sample(range(len(extents)), kept))
        shape = []
        for axis in axes:
            extent = extents[axis]
            less = choices.pick((0, 0, 0, 1, 1, 2, 3)) if choices.chance(85) else extent // 2
            shape.append(max(0, extent - less))
        found = write.part(name, tuple(shape))
        if found is not None and found.text == name and rank != 0:
            found = Term(f"{name}[{choices.pick((':', ':', '...'))}]", found.value)
        return found

    def _store(self, write: Expressions, symbol: str) -> list[Node]:
        target = self._part_of_target(write)
        if target is None:
            return []
        value = real(write.array(target.shape, self.choices.pick((0, 1, 1, 2, 2))), target)
        dtype = target.dtype
        if symbol == "=" and dtype.kind in "iub" and value.dtype.kind == "f":
            if dtype.kind != "i":
                return []
            value = Term(f"np.clip({value.text}, -9, 9)", value.value)
            if not np.isfinite(np.asarray(value.value)).all():
                return []
        if dtype.kind == "b" and (symbol != "=" or not value.is_bool):
            return []
        if symbol in ("//=", "%="):
            value = Term(self.choices.pick(("2", "3")), 2)
        if symbol == "=" and _is_copied_wrongly(target, value):
            return []
        return [f"{target.text} {symbol} {bare(value.text)}"]

    def _whole(self, write: Expressions) -> list[Node]:
        names = [name for name in self._targets(write) if name[0] != "v"]
        if not names:
            return []
        name = self.choices.pick(names)
        value = real(write.array(write.names[name].shape, 1), Term(name, write.names[name]))
        symbol = self.choices.pick(("+=", "-=", "*="))
        return [] if write.names[name].dtype == bool else [f"{name} {symbol} {bare(value.text)}"]

    def shape_like(self, write: Expressions) -> tuple[int, ...] | None:
        """A shape that arrays have here, or parts of them."""
        choices = self.choices
        if not write.arrays:
            return None
        shape: tuple[int, ...] = write.names[choices.pick(write.arrays)].shape
        if choices.chance(35):
            shape = tuple(max(0, extent - choices.pick((0, 1, 2))) for extent in shape)
        return shape[1:] if len(shape) > 1 and choices.chance(25) else shape

    def _local(self, write: Expressions, place: Place) -> list[Node]:
        choices = self.choices
        shape = self.shape_like(write)
        if shape is None:
            return []
        numeric = [name for name in write.arrays if write.names[name].dtype != bool]
        if numeric and choices.chance(8):
            return [f"{self.fresh('t')} = {choices.pick(_COPIES).format(choices.pick(numeric))}"]
        value = write.array(shape, choices.pick((1, 1, 2)))
        if value.shape == ():
            return []
        locals_ = [name for name in write.arrays if name[0] == "t" and write.names[name].shape == value.shape]
        locals_ = [name for name in locals_ if write.names[name].dtype == value.dtype]
        name = choices.pick(locals_) if locals_ and choices.chance(5 if place.depth else 25) else self.fresh("t")
        return [f"{name} = {bare(value.text)}"]

    def fresh(self, kind: str) -> str:
        """A new name, of which the first letter tells what it stands for."""
        self.made += 1
        return f"{kind}{self.made}"

    def _view(self, write: Expressions) -> list[Node]:
        choices = self.choices
        if not write.arrays:
            return []
        name = choices.pick(write.arrays)
        if write.names[name].dtype != bool and choices.chance(10):
            return [f"{self.fresh('v')} = {choices.pick(_THEMSELVES).format(name)}"]
        extents = write.names[name].shape
        rank = choices.randint(1, len(extents))
        axes = sorted(choices.sample(range(len(extents)), rank))
        part = write.part(name, tuple(max(0, extents[axis] - choices.pick((0, 0, 1, 2))) for axis in axes))
        if part is None:
            return []
        text = part.text
        if rank > 1 and choices.chance(25):
            text = choices.pick((f"{text}.T", f"np.transpose({text})", f"np.swapaxes({text}, 0, 1)"))
        return [f"{self.fresh('v')} = {text}"]

    def _number(self, write: Expressions) -> list[Node]:
        choices = self.choices
        known = [name for name in write.numbers if name[0] == "s"]
        if known and choices.chance(60):
            name = choices.pick(known)
            value = write.number()
            form = choices.pick(("+=", "+=", "-=", "max", "min", "="))
            if not _has_type(write.names[name], value):
                return []
            if form in ("max", "min"):
                return [f"{name} = {form}({name}, {bare(value.text)})"]
            return [f"{name} {form} {bare(value.text)}"]
        if choices.chance(15):
            vectors = [name for name in write.arrays if write.names[name].ndim == 1 and write.names[name].dtype != bool]
            vectors = [name for name in vectors if write.names[name].dtype.kind != "c"]
            if vectors:
                argument = write.part(choices.pick(vectors), write.names[choices.pick(vectors)].shape)
                if argument is not None:
                    return [f"{self.fresh('k')} = np.{choices.pick(('argmin', 'argmax'))}({argument.text})"]
        value = write.number() if choices.chance(60) else write.term(choices.pick(("0.0", "0", "1.0", "-np.inf")))
        assert value is not None
        return [] if value.is_bool else [f"{self.fresh('s')} = {bare(value.text)}"]

    def _masked(self, write: Expressions) -> list[Node]:
        choices = self.choices
        names = self._targets(write)
        if not names:
            return []
        name = choices.pick(names)
        array = write.names[name]
        test = write.test(array.shape, 1)
        if np.shares_memory(test.value, array):
            return []  # NumPy overwrites the mask while it goes through it.
        lines: list[Node] = []
        text = bare(test.text)
        if choices.chance(25):
            mask = self.fresh("m")
            lines, text = [f"{mask} = {text}"], mask
        if array.dtype == bool:
            return [*lines, f"{name}[{text}] = {choices.pick(('True', 'False'))}"]
        others = [other for other in write.arrays if write.names[other].shape == array.shape]
        is_complex = array.dtype.kind == "c"
        others = [other for other in others if is_complex or write.names[other].dtype.kind != "c"]
        form = choices.pick("cccaaoor")
        if form == "r" and write.names[name].size:
            function = choices.pick(("np.sum", "np.mean", "np.sum" if is_complex else "np.max"))
            return [*lines, f"{self.fresh('s')} = {function}({name}[{text}])"]
        if form == "o" and others:
            other = choices.pick(others)
            return [*lines, f"{name}[{text}] = {other}[{text}] {choices.pick('+-*')} {write.constant(array.dtype)}"]
        symbol = choices.pick(("+=", "*=", "-=")) if form == "a" else "="
        return [*lines, f"{name}[{text}] {symbol} {write.constant(array.dtype)}"]

    def _by_out(self, write: Expressions) -> list[Node]:
        choices = self.choices
        names = self._targets(write)
        if not names:
            return []
        name = choices.pick(names)
        shape = write.names[name].shape
        left, right = write.array(shape, 0), write.array(shape, 1)
        function = choices.pick(("add", "multiply", "subtract", "maximum", "minimum"))
        if function in ("maximum", "minimum") and (left.is_complex or right.is_complex):
            return []
        return [f"np.{function}({left.text}, {bare(right.text)}, out={name})"]

    def _exchange(self, write: Expressions) -> list[Node]:
        """Two parts at once; views on the right side show what the first assignment has changed."""
        first = self._part_of_target(write)
        if first is None:
            return []
        write.cuts.clear()
        name = first.text.partition("[")[0] if self.choices.chance(70) else self.choices.pick(self._targets(write))
        second = write.part(name, first.shape)
        if second is None or first.text == second.text or first.is_complex != second.is_complex:
            return []
        if _is_copied_wrongly(first, second) or _is_copied_wrongly(second, first):
            return []
        if self.choices.chance(60):
            return [f"{first.text}, {second.text} = {second.text}, {first.text}"]
        value = real(write.array(first.shape, 1), second)
        if second.dtype.kind != "f" and value.dtype.kind == "f":
            return []
        return [f"{first.text}, {second.text} = {second.text}, {value.text}"]

    def _overlapping(self, write: Expressions) -> list[Node]:
        """An array assigned from shifted or turned parts of itself."""
        choices = self.choices
        target = self._part_of_target(write)
        if target is None or not target.shape:
            return []
        name = target.text.partition("[")[0]
        write.cuts.clear()
        parts = [write.part(name, target.shape), write.part(name, target.shape)]
        known = [part for part in parts if part is not None]
        texts = [part.text for part in known]
        if not texts or target.is_bool or any(_is_copied_wrongly(target, part) for part in known):
            return []
        symbol, operator = choices.pick(("=", "=", "+=", "-=")), choices.pick("+-*")
        return [f"{target.text} {symbol} {f' {operator} '.join(texts)}"]

    def _several_targets(self, write: Expressions) -> list[Node]:
        target = self._part_of_target(write)
        names = self._targets(write)
        other = write.part(self.choices.pick(names), target.shape) if target is not None else None
        if target is None or other is None or target.is_bool or other.is_bool:
            return []
        value = real(real(write.array(target.shape, 1), target), other)
        if any(_is_copied_wrongly(one, two) for one in (target, other) for two in (target, other, value)):
            return []
        if "f" not in (target.dtype.kind, other.dtype.kind) and value.dtype.kind == "f":
            return []
        first = self.fresh("t") if self.choices.chance(30) and value.shape == target.shape != () else other.text
        return [f"{first} = {target.text} = {bare(value.text)}"]

    def _element(self, write: Expressions) -> list[Node]:
        """One element."""
        choices = self.choices
        target = self._part_of_target(write, rank=0)
        if target is None or target.shape:
            return []
        value = real(write.array((), choices.pick((1, 1, 2))), target)
        if target.dtype.kind in "iu" and value.dtype.kind == "f":
            if target.dtype.kind == "u":
                return []
            value = Term(f"int(max(min({value.text}, 9), -9))", value.value)
        if target.is_bool and not value.is_bool:
            return []
        if choices.chance(30) and not target.is_bool and value.dtype.kind == target.dtype.kind:
            return [f"{target.text} {choices.pick(('+=', '-=', '*='))} {bare(value.text)}"]
        return [f"{target.text} = {bare(value.text)}"]

    def _indirect(self, write: Expressions) -> list[Node]:
        """Elements by the numbers in an index array."""
        choices = self.choices
        index = choices.pick(write.indices)
        name = self.fresh("p")
        vectors = [each for each in self._targets(write) if write.names[each].ndim == 1]
        if not vectors:
            return []
        target = choices.pick(vectors)
        vectors = [each for each in vectors if write.names[each].dtype.kind == write.names[target].dtype.kind]
        form = choices.pick("uuug" if write.names[target].dtype.kind == "c" else "uuugm")
        source = choices.pick(vectors)
        count = len(write.names[index])
        value = "1"
        if write.names[source].ndim == 1 and len(write.names[source]) >= count and choices.chance(60):
            value = f"{source}[{name}]"
        if write.names[target].dtype == bool:
            return []
        if form == "g" and len(write.names[target]) >= count:
            line = f"{target}[{name}] = {choices.pick(vectors)}[{index}[{name}]] {choices.pick('+-*')} {value}"
        elif form == "m":
            function = choices.pick(("max", "min"))
            line = f"{target}[{index}[{name}]] = {function}({target}[{index}[{name}]], {value})"
        else:
            line = f"{target}[{index}[{name}]] {choices.pick(('+=', '+=', '-=', '='))} {value}"
        return [
            Block(
                f"for {name} in range({choices.pick((f'len({index})', f'{index}.shape[0]', f'{index}.size'))}):", [line]
            )
        ]


def _has_type(value: Any, new: Term) -> bool:
    """Whether a variable that has a value has the type of another one for both: a variable of a kernel has one type."""
    found = np.result_type(value, new.value)
    return found == new.dtype and (not isinstance(value, np.generic) or found == value.dtype)


def _is_copied_wrongly(target: Term, value: Term) -> bool:
    """Whether NumPy itself may copy elements that it has overwritten: it trusts in one direction or the other where
    vectors overlap, and with different steps neither is right (``A[6:16] = A[::2]``, seen in 2.4)."""
    first, second = target.value, value.value
    return (
        isinstance(first, np.ndarray)
        and isinstance(second, np.ndarray)
        and first.ndim == second.ndim == 1
        and first.strides != second.strides
        and np.shares_memory(first, second)
    )


def real(value: Term, target: Term) -> Term:
    """What can be stored where a target is: the real part of complex numbers where its elements are real."""
    if not value.is_complex or target.is_complex:
        return value
    return Term(f"({value.text}).real", np.real(value.value))


def bare(text: str) -> str:
    """Without the parentheses around it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and position < len(text) - 1:
            return text
    return text[1:-1]
