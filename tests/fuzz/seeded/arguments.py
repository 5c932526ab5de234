"""Random arrays and numbers as Python text: all layouts, views of larger arrays, aliases, NaN and infinities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.fuzz.seeded.choices import Choices, Element

LAYOUTS = ("C",) * 11 + ("F", "F", "strided", "strided", "reversed", "offset", "transposed", "every axis")
READ_ONLY = ("frozen", "frozen", "broadcast")


@dataclass(frozen=True)
class Data:
    """What arrays are filled with.

    Attributes:
        exact: floats are small multiples of 1/4, so that short sums and products have no rounding.
        special: some elements are NaN or infinite.
    """

    exact: bool
    special: bool

    def values(self, element: Element, shape: tuple[int, ...], seed: int) -> str:
        """An expression of an array of random elements, C-contiguous and without views."""
        seeded = f"np.random.default_rng({seed})"
        size = _text(shape)
        if element.is_integer:
            return f"{seeded}.integers(-4, 5, {size}).astype(np.{element.dtype})"
        if self.special:
            choices = "[0.5, -1.25, 2.0, 0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, -2.5]"
            rates = "[0.2, 0.2, 0.2, 0.05, 0.05, 0.15, 0.04, 0.03, 0.03, 0.05]"
            return f"{seeded}.choice({choices}, {size}, p={rates}).astype(np.{element.dtype})"
        if self.exact:
            return f"({seeded}.integers(-8, 9, {size}) / 4).astype(np.{element.dtype})"
        return f"{seeded}.uniform(-2.0, 2.0, {size}).astype(np.{element.dtype})"


def _text(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


def _slices(choices: Choices, texts: list[str]) -> str:
    return f"[{', '.join(texts)}]"


def array_text(choices: Choices, data: Data, element: Element, shape: tuple[int, ...], seed: int, layout: str) -> str:
    """An expression of an array argument of a given layout."""
    values = data.values(element, shape, seed)
    rank = element.rank
    if layout == "F":
        return f"np.asfortranarray({values})"
    if layout == "strided":
        axis = choices.randrange(rank)
        return (
            f"np.repeat({values}, 2, axis={axis}){_slices(choices, ['::2' if k == axis else ':' for k in range(rank)])}"
        )
    if layout == "reversed":
        axis = choices.randrange(rank)
        return f"np.flip({values}, {axis})" if choices.chance(70) else f"np.flip({values})"
    if layout == "offset":
        return f"np.pad({values}, 2){_slices(choices, ['2:-2'] * rank)}"
    if layout == "every axis":
        steps = [choices.pick((1, 2, 3, -1, -2)) for _ in range(rank)]
        larger = tuple(extent * abs(step) for extent, step in zip(shape, steps, strict=True))
        # So many elements at most as there are wanted, whichever way.
        return f"{data.values(element, larger, seed)}{_slices(choices, [f'::{step}' for step in steps])}"
    if layout == "transposed" and rank > 1:
        order = list(range(rank))
        while order == sorted(order):
            choices.shuffle(order)
        source = [0] * rank
        for axis, origin in enumerate(order):
            source[origin] = shape[axis]
        return f"np.transpose({data.values(element, tuple(source), seed)}, {tuple(order)})"
    if layout == "frozen" and 0 not in shape:
        return f"np.frombuffer({values}.tobytes(), np.{element.dtype}).reshape({_text(shape)})"
    if layout == "broadcast":
        thin = (1, *shape[1:])
        return f"np.broadcast_to({data.values(element, thin, seed)}, {_text(shape)})"
    return values


def array_setup(
    choices: Choices,
    data: Data,
    elements: tuple[Element, ...],
    shapes: Mapping[str, tuple[int, ...]],
    written: set[str],
) -> list[tuple[str, str]]:
    """A line for each array, and for the larger arrays that some are views of.

    A few are aliases: where neither is written polytune permits that, else it has to refuse, unless they are views of
    one array that have no element in common.
    """
    setup: list[tuple[str, str]] = []
    done: set[str] = set()
    alike = _alike(elements, shapes)
    if alike is not None and choices.chance(35):
        first, second = alike
        kind = choices.pick(("same", "interleaved", "overlapping")) if choices.chance(40) else "interleaved"
        if kind == "overlapping" and not choices.chance(40):
            kind = "interleaved"
        if kind == "same" and (first.name in written or second.name in written) and not choices.chance(20):
            kind = "interleaved"
        setup += _views(data, first, second, shapes[first.name], kind)
        done = {first.name, second.name}
    for seed, element in enumerate(elements):
        if element.name in done:
            continue
        layout = choices.pick(LAYOUTS)
        if (element.name not in written and choices.chance(30)) or choices.chance(0.7):
            layout = choices.pick(READ_ONLY)
        setup.append((element.name, array_text(choices, data, element, shapes[element.name], seed, layout)))
    return setup


def _alike(elements: tuple[Element, ...], shapes: Mapping[str, tuple[int, ...]]) -> tuple[Element, Element] | None:
    """Two arrays of the same type and shape."""
    for position, first in enumerate(elements):
        for second in elements[position + 1 :]:
            if first.dtype == second.dtype and shapes[first.name] == shapes[second.name]:
                return first, second
    return None


def _views(data: Data, first: Element, second: Element, shape: tuple[int, ...], kind: str) -> list[tuple[str, str]]:
    if kind == "same":
        return [(first.name, data.values(first, shape, 0)), (second.name, first.name)]
    if kind == "interleaved":
        base = (*shape[:-1], 2 * shape[-1])
        return [
            ("base", data.values(first, base, 0)),
            (first.name, "base[..., ::2]"),
            (second.name, "base[..., 1::2]"),
        ]
    base = (shape[0] + 1, *shape[1:])
    return [("base", data.values(first, base, 0)), (first.name, "base[:-1]"), (second.name, "base[1:]")]
