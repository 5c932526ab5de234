"""Random statements with selected rows, subscripts that are tuples or grids, blocks, decimals, and random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.fuzz.arrays.drafts import Node
from tests.fuzz.arrays.expressions import Expressions

__all__ = ["drawn", "selected"]


def selected(write: Expressions, fresh: Callable[[str], str], targets: Sequence[str]) -> list[Node]:
    """A statement with a part of a matrix that is none of slices, and what it needs before it.

    Args:
        write: writes expressions.
        fresh: gives a new name.
        targets: the arrays that may be written.
    """
    choices = write.choices
    matrices = [name for name in write.arrays if write.names[name].ndim == 2 and write.names[name].dtype != bool]
    matrices = [name for name in matrices if min(write.names[name].shape) > 1]
    kind = choices.pick("mmmxttbr")
    if kind == "r" and write.arrays:
        name, decimals = choices.pick(write.arrays), choices.pick((0, 1, 2, -1))
        if write.names[name].dtype.kind != "f":
            return []
        return [f"{fresh('t')} = np.{choices.pick(('round', 'around'))}({name}, {decimals})"]
    if not matrices:
        return []
    name = choices.pick(matrices)
    rows, columns = write.names[name].shape
    if kind == "m":
        test = write.test((rows,), 0).text
        before: list[Node] = []
        part = f"{name}[{test}]"
        if choices.chance(50):
            own = fresh("e")
            before, part = [f"{own} = {part}"], own
        forms = (
            "{0}.sum(axis=0)",
            "({0} * 2).sum(axis=0)",
            "(({0} - 1) ** 2).sum()",
            "np.mean({0}, axis=0)",
            "len({0})",
        )
        form = choices.pick(forms)
        return [*before, f"{fresh('s' if form in (forms[2], forms[4]) else 't')} = {form.format(part)}"]
    if kind == "x":
        places = (
            [choices.randint(-rows, rows - 1) for _ in range(2)],
            [choices.randint(0, columns - 1) for _ in range(3)],
        )
        grid = f"np.ix_(np.array({places[0]}), np.array({places[1]}))"
        if name in targets and choices.chance(30):
            return [f"{name}[{grid}] = {write.constant(write.names[name].dtype)}"]
        return [f"{fresh('t')} = {name}[{grid}]"]
    if kind == "t":
        place = fresh("e")
        line = f"{place} = ({choices.randint(-rows, rows - 1)}, {choices.randint(0, columns - 1)})"
        if name in targets and choices.chance(50):
            return [line, f"{name}[{place}] {choices.pick(('=', '+='))} {write.constant(write.names[name].dtype)}"]
        return [line, f"{fresh('s')} = {name}[{place}] * 2"]
    return [f"{fresh('t')} = np.block([[{name}, {name}], [{name}, {name} + 1]])"]


def drawn(write: Expressions, fresh: Callable[[str], str], shape: tuple[int, ...], depth: int) -> list[Node]:
    """Random numbers of a generator whose seed is set before.

    Args:
        write: writes expressions.
        fresh: gives a new name.
        shape: that of an array.
        depth: how many compound statements are around.
    """
    choices = write.choices
    sizes = ", ".join(map(str, shape))
    seed = choices.randint(0, 99)
    if depth == 0 and choices.chance(40):
        generator = fresh("g")
        forms = (
            f"{fresh('t')} = {generator}.normal(0.5, 2.0, size=({sizes},))",
            f"{fresh('t')} = {generator}.random(({sizes},))",
            f"{fresh('s')} = {generator}.uniform(1.0, 3.0)",
            f"{fresh('t')} = {generator}.integers(0, 9, size=({sizes},))",
            f"{fresh('t')} = {generator}.permutation({shape[0]})",
        )
        lines = [choices.pick(forms) for _ in range(choices.pick((1, 2)))]
        return [f"{generator} = np.random.default_rng({seed})", *lines]
    forms = (
        f"{fresh('t')} = np.random.rand({sizes})",
        f"{fresh('t')} = np.random.normal(0.5, 2.0, ({sizes},))",
        f"{fresh('s')} = np.random.random()",
        f"{fresh('s')} = np.random.randint(1, 5)",
        f"{fresh('t')} = np.random.randint(0, 9, ({sizes},))",
        f"{fresh('t')} = np.random.permutation({shape[0]})",
    )
    return [f"np.random.seed({seed})", *(choices.pick(forms) for _ in range(choices.pick((1, 2))))]
