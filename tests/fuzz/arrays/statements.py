"""Random statements with others inside, and results, of which only those stay that NumPy runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.fuzz.arrays.drafts import Block, Draft, Node, Place
from tests.fuzz.arrays.expressions import Expressions
from tests.fuzz.arrays.simple_statements import SimpleStatements, bare
from tests.fuzz.seeded.choices import ITERATORS, Choices

__all__ = ["StatementWriter"]

_ATTEMPTS = 5
_LONGEST = 40
_WORK = 12_000
"""The most elements that a loop may go through."""


class StatementWriter(SimpleStatements):
    """Fills a draft with statements.

    Args:
        choices: what decides.
        draft: the program.
        written: the arguments that may be written.
        elementwise: how many of a hundred statements in loops are on single elements.

    Attributes:
        hidden: arrays that were given names inside of compound statements, as which array a name stands for has to be
            seen in the source.
    """

    def __init__(self, choices: Choices, draft: Draft, written: tuple[str, ...], elementwise: int):
        super().__init__(choices, written, elementwise)
        self.draft = draft
        self.hidden: set[str] = set()

    def fill(self, block: list[Node], number: int, place: Place) -> None:
        """Add about so many statements to a block."""
        for _ in range(number):
            for _ in range(_ATTEMPTS):
                names = self.draft.look(block)
                if names is None:
                    return
                if self._add(block, names, place):
                    break

    def expressions(self, names: dict[str, Any], place: Place) -> Expressions:
        """What writes expressions at a place where names stand for these values."""
        visible = {name: value for name, value in names.items() if name not in self.hidden}
        return Expressions(self.choices, visible, place.iterators)

    def _add(self, block: list[Node], names: dict[str, Any], place: Place) -> bool:
        """Add one statement; False where NumPy does not run it, and it is left out."""
        choices = self.choices
        write = self.expressions(names, place)
        before = len(block)
        compound = 30 if place.depth == 0 else 22 if place.depth == 1 else 8 if place.depth == 2 else 0
        if choices.chance(compound):
            number = self.made
            added = self._compound(block, write, place)
            if choices.chance(93):
                self.hidden |= {f"{kind}{made + 1}" for made in range(number, self.made) for kind in "tvmr"}
            return added
        if place.in_for and choices.chance(6):
            block.append(self._jump(write, place))
        else:
            number = self.made
            block += self.simple(write, place)
            self.hidden |= {f"e{made + 1}" for made in range(number, self.made)}
        if len(block) > before and self.draft.runs():
            return True
        del block[before:]
        return False

    def _jump(self, write: Expressions, place: Place) -> Node:
        choices = self.choices
        kind = choices.pick(("break", "continue", "continue", "return", "return"))
        if kind == "return":
            kind = f"return {self._of_iteration(write) or self.result(write)}"
        return Block(f"if {write.condition().text}:", [kind])

    def _of_iteration(self, write: Expressions) -> str | None:
        """An array whose size the variable of a loop gives."""
        choices = self.choices
        if not write.iterators or not write.arrays or choices.chance(40):
            return None
        name, iterator = choices.pick(write.arrays), choices.pick(write.iterators)
        forms = f"{name}[:{iterator}] * 2", f"{name}[{iterator}:] + 1", f"np.ones({iterator} + 1)"
        found = write.term(choices.pick(forms))
        return None if found is None else found.text

    # Compound statements

    def _compound(self, block: list[Node], write: Expressions, place: Place) -> bool:
        """A loop or a branch; False where nothing is in it."""
        choices = self.choices
        before = len(block)
        kind = choices.pick("ffffffffiiiiddewazr")
        if kind in "fdeaz":
            made = self._loop(kind, write, place)
            if made is None:
                return False
            loop, inner = made
            block.append(loop)
            if self.draft.runs():
                self.fill(loop.body, choices.pick((1, 1, 2, 3)), inner)
            found = loop.body
        elif kind == "w":
            counter = self.fresh("q")
            test = choices.pick(("", f" and {write.condition().text}"))
            loop = Block(f"while {counter} < {choices.pick((2, 3))}{test}:", first=[f"{counter} += 1"])
            block += [f"{counter} = 0", loop]
            if self.draft.runs():
                self.fill(loop.body, choices.pick((1, 2)), replace(place.inside, in_for=False))
            found = loop.body
        elif kind == "r":
            if place.depth:
                return False
            block.append(Block(f"if {write.condition().text}:", [f"return {self.result(write)}"]))
            found = block
        else:
            branch = Block(f"if {write.condition().text}:")
            block.append(branch)
            if self.draft.runs():
                self.fill(branch.body, choices.pick((1, 1, 2)), place.inside)
            found = branch.body
            if choices.chance(35):
                other = Block("else:")
                block.append(other)
                if self.draft.runs():
                    self.fill(other.body, 1, place.inside)
                found = [*found, *other.body]
        if found and self.draft.runs() and (found is block or self._is_short(found, write)):
            return True
        del block[before:]
        return False

    def _is_short(self, body: list[Node], write: Expressions) -> bool:
        """Whether what is run over and over is little enough to be interpreted in all versions."""
        largest = max((write.names[name].size for name in write.arrays), default=1)
        most = _WORK // max(largest, 1) + 1
        return self.draft.count(body, most) < most

    def _loop(self, kind: str, write: Expressions, place: Place) -> tuple[Block, Place] | None:
        choices = self.choices
        if len(place.iterators) >= 3:
            return None
        iterator = ITERATORS[len(place.iterators)]
        inner = Place((*place.iterators, iterator), place.depth + 1, in_for=True)
        names = [name for name in write.arrays if write.names[name].shape[0] <= _LONGEST]
        if kind == "f" or not names:
            return Block(f"for {iterator} in range({self._bounds(write)}):"), inner
        name = choices.pick(names)
        element = self.fresh("r")
        if kind == "d":
            return Block(f"for {element} in {name}:"), replace(inner, iterators=place.iterators)
        if kind == "e":
            return Block(f"for {iterator}, {element} in enumerate({name}):"), inner
        if kind == "z":
            other = choices.pick(names)
            return Block(f"for {element}, {self.fresh('r')} in zip({name}, {other}):"), replace(
                inner, iterators=place.iterators
            )
        number = self.fresh("c")
        return Block(f"for {number} in ({choices.pick(('1, 2', '0, 1', '0.5, 2.0, 1.0'))}):"), replace(
            inner, iterators=place.iterators
        )

    def _bounds(self, write: Expressions) -> str:
        choices = self.choices
        forms = ["3", "1, 4"]
        for name in ("n", "m"):
            if isinstance(write.names.get(name), int):
                forms += [name, name, f"1, {name}", f"{name} - 1", f"{name} - 1, -1, -1", f"0, {name}, 2"]
        for name in write.arrays:
            if write.names[name].shape[0] <= _LONGEST:
                forms += [f"{name}.shape[0]", f"len({name})", f"1, {name}.shape[0] - 1"]
        for name in write.iterators:
            forms += [name, f"{name} + 1", f"{name}, 4"]
        return choices.pick(forms)

    # Results

    def result(self, write: Expressions) -> str:
        """What is returned, as text."""
        choices = self.choices
        items = [self._item(write) for _ in range(choices.pick((1, 1, 1, 2, 3)))]
        return ", ".join(items)

    def _item(self, write: Expressions) -> str:
        choices = self.choices
        for _ in range(4):
            kind = choices.pick("aaalleessvti")
            local = [name for name in write.arrays if name[0] in "tv"]
            numbers = [name for name in write.numbers if name[0] in "sk"]
            if kind == "a" and write.arrays:
                return choices.pick(write.arrays)
            if kind == "l" and local:
                return choices.pick(local)
            if kind == "e":
                shape = self.shape_like(write)
                if shape is not None:
                    value = write.array(shape, 1)
                    if value.shape == shape:
                        return value.text
            if kind == "s" and numbers:
                return choices.pick(numbers)
            if kind == "i" and write.sizes():
                size = choices.pick(write.sizes())
                form = choices.pick((f"np.ones({size} % 3)", f"np.zeros({size} // 2)", f"np.eye({size} % 2, 2)"))
                if write.term(form) is not None:
                    return form
            if kind == "v":
                return bare(write.number().text)
            if kind == "t" and write.arrays:
                found = write.reduced()
                if found is not None:
                    return found.text
        return bare(write.number().text)
