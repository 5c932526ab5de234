"""Random statements with lists: those that grow, comprehensions, and lists of subscripts and of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tests.fuzz.arrays.drafts import Block, Node
from tests.fuzz.arrays.expressions import Expressions
from tests.fuzz.arrays.terms import Term

__all__ = ["listed"]


def listed(write: Expressions, fresh: Callable[[str], str], targets: Sequence[str]) -> list[Node]:
    """A statement with a list, with what it needs before it; nothing where none was found.

    Args:
        write: writes expressions for the place.
        fresh: gives new names, by their first letters.
        targets: the arrays that may be written.
    """
    if not write.arrays:
        return []
    match write.choices.pick("ggggcccssnn"):
        case "g":
            return _grown(write, fresh)
        case "c":
            return _comprehension(write, fresh)
        case "s":
            return _subscripts(write, fresh, targets)
    return _of_arrays(write, fresh)


def _grown(write: Expressions, fresh: Callable[[str], str]) -> list[Node]:
    """A list to which a loop appends numbers, and what is made of it."""
    choices = write.choices
    name = choices.pick(write.arrays)
    if write.names[name].shape[0] > 20:
        return []
    grown, element = fresh("g"), fresh("e")
    row = write.names[name][0] if len(write.names[name]) else write.names[name].dtype.type(0)
    inner = Expressions(choices, {**write.names, element: row}, write.iterators)
    value = _of_element(inner, element)
    if value is None or value.shape or value.is_bool:
        return []
    append: Node = f"{grown}.append({value.text})"
    if choices.chance(50):
        test = inner.comparison(value) if choices.chance(70) else inner.condition()
        append = Block(f"if {test.text}:", [append]) if test is not None else append
    body: list[Node] = [append]
    if choices.chance(15):
        body.append(Block(f"if len({grown}) > {choices.pick((2, 3))}:", [f"{grown}.pop()"]))
    lines: list[Node] = [f"{grown} = []" if choices.chance(80) else f"{grown} = [{value.dtype.type(1).item()!r}]"]
    lines.append(Block(f"for {element} in {name}:", body))
    form = choices.pick(("array", "array", "len", "sum", "last"))
    if form == "array" and value.dtype == np.float64:
        # Of no elements NumPy has an array of float64, whatever they would have been.
        lines.append(f"{fresh('t')} = np.array({grown})")
    elif form in ("len", "array"):
        lines.append(f"{fresh('s')} = len({grown})")
    elif form == "sum":
        lines.append(f"{fresh('s')} = sum({grown})")
    else:
        lines.append(Block(f"if {grown}:", [f"{grown}[-1] += {write.constant(value.dtype)}"]))
        lines.append(f"{fresh('s')} = len({grown})")
    return lines


def _of_element(inner: Expressions, element: str) -> Term | None:
    """A number that is computed of an element, or a row, of an array."""
    choices = inner.choices
    found = inner.term(element)
    if found is None:
        return None
    if found.shape:
        if 0 in found.shape or found.is_bool:
            return None
        found = inner.term(
            choices.pick((f"{element}.sum()", f"np.sum({element})", f"{element}{[0] * len(found.shape)}"))
        )
    if found is None or found.is_bool or choices.chance(40):
        return found
    return inner.binary(found, inner.number(0))


def _comprehension(write: Expressions, fresh: Callable[[str], str]) -> list[Node]:
    """An array of a list comprehension."""
    choices = write.choices
    name = choices.pick(write.arrays)
    if not len(write.names[name]) or len(write.names[name]) > 20:
        return []
    element = fresh("e")
    inner = Expressions(choices, {**write.names, element: write.names[name][0]}, write.iterators)
    value = _of_element(inner, element)
    if value is None or value.is_bool:
        return []
    function = choices.pick(("array", "array", "sum", "mean", "max"))
    if function == "max" and value.is_complex:
        return []
    text = f"np.{function}([{value.text} for {element} in {name}])"
    return [f"{fresh('t' if function == 'array' else 's')} = {text}"]


def _subscripts(write: Expressions, fresh: Callable[[str], str], targets: Sequence[str]) -> list[Node]:
    """Elements or rows by a list of subscripts."""
    choices = write.choices
    name = choices.pick(write.arrays)
    texts = [write.index(write.names[name].shape[0], known=True) for _ in range(choices.pick((1, 2, 2, 3)))]
    if None in texts:
        return []
    subscripts = f"[{', '.join(text for text in texts if text)}]"
    if name not in targets or choices.chance(50) or write.names[name].dtype == bool:
        return [f"{fresh('t')} = {name}[{subscripts}]"]
    symbol = choices.pick(("=", "+=", "*="))
    return [f"{name}[{subscripts}] {symbol} {write.constant(write.names[name].dtype)}"]


def _of_arrays(write: Expressions, fresh: Callable[[str], str]) -> list[Node]:
    """A list of arrays, or of numbers, as an argument of a function of NumPy."""
    choices = write.choices
    if choices.chance(50):
        numbers = [write.number(0) for _ in range(choices.pick((2, 3)))]
        if any(number.is_bool for number in numbers):
            return []
        function = choices.pick(("array", "sum", "max", "stack"))
        if function == "stack" or (function == "max" and any(number.is_complex for number in numbers)):
            function = "array"
        text = f"np.{function}([{', '.join(number.text for number in numbers)}])"
        return [f"{fresh('t' if function == 'array' else 's')} = {text}"]
    name = choices.pick(write.arrays)
    shape = write.names[name].shape
    if len(shape) > 2:
        return []
    first, second = write.array(shape, 1), write.array(shape, 1)
    if first.shape != shape or second.shape != shape:
        return []
    function = choices.pick(("np.array", "np.stack", "np.concatenate", "np.vstack"))
    return [f"{fresh('t')} = {function}([{first.text}, {second.text}])"]
