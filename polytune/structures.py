"""Arguments that are tuples, None, text, functions and generators of random numbers: what of them generated code takes,
and what it is made for."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from types import BuiltinFunctionType, FunctionType, NoneType
from typing import Any

import numpy as np

from polytune.errors import ArgumentError, UnsupportedSourceError
from polytune.records import dataclass
from polytune.signature import Drawing, Fixed, Items, Leaf, Signature, Structure

__all__ = ["FlatArguments", "functions_of", "has_structure", "misplaced", "taken_apart"]

_MOST_PARTS = 256
"""The most numbers and arrays in one call: code is made for each."""

_PLAIN = (np.ndarray, np.generic, int, float, complex)


@dataclass(frozen=True)
class FlatArguments:
    """The arguments of a call, taken apart.

    Attributes:
        names: of the numbers and arrays.
        values: these.
        structure: what each argument of the function is made of, by its name.
    """

    names: tuple[str, ...]
    values: tuple[Any, ...]
    structure: tuple[tuple[str, Structure], ...]


def has_structure(values: Sequence[Any]) -> bool:
    """Return whether one of some arguments may be a tuple, None, a text, a function or a generator."""
    return any(not isinstance(value, _PLAIN) and _kind(value) is not None for value in values)


def _kind(value: Any) -> type | None:
    """The kind of thing that an argument is, of those that are no part of their own."""
    if value is None:
        return NoneType
    for kind in (str, tuple, np.random.Generator):
        if isinstance(value, kind):
            return kind
    return FunctionType if _function(value) is not None else None


def _function(value: Any) -> Callable[..., Any] | None:
    """The function that a value is: a plain one, also of one that a decorator has changed, or one of a library."""
    if isinstance(value, FunctionType | BuiltinFunctionType | np.ufunc):
        return value
    inner = None if isinstance(value, type) else getattr(value, "__wrapped__", None)
    return inner if isinstance(inner, FunctionType) else None


def taken_apart(
    names: Sequence[str],
    values: Sequence[Any],
    taken: Collection[str],
    known: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> FlatArguments:
    """The arguments of a call, with the items of tuples in place of these, and without constants.

    Args:
        names: the function's parameters.
        values: one for each.
        taken: names that an item must not get.
        known: gives, for a function, one that does the same and was passed before.

    Raises:
        ArgumentError: there are more items than code should be made for.
    """
    parts: dict[str, Any] = {}
    used = {*names, *taken}

    def structure_of(name: str, value: Any) -> Structure:
        match None if isinstance(value, _PLAIN) else _kind(value):
            case kind if kind is tuple:
                inner = tuple(structure_of(_unique(f"{name}_{k}", used), item) for k, item in enumerate(value))
                return Items(inner, tuple(getattr(value, "_fields", ())))
            case kind if kind is FunctionType:
                function = _function(value)
                assert function is not None
                return Fixed(known(function))
            case kind if kind is np.random.Generator:
                from polytune.runtime.draws.states import address_of

                parts[name] = address_of(value)
                return Drawing(name)
            case kind if kind is not None:
                return Fixed(value)
        parts[name] = value
        return Leaf(name)

    structure = tuple((name, structure_of(name, value)) for name, value in zip(names, values, strict=True))
    if len(parts) > max(_MOST_PARTS, len(names)):
        raise ArgumentError(
            f"the arguments hold {len(parts)} numbers and arrays, and code is made for each that stands in a tuple: "
            f"pass arrays in place of tuples of more than {_MOST_PARTS} items"
        )
    return FlatArguments(tuple(parts), tuple(parts.values()), structure)


def _unique(name: str, used: set[str]) -> str:
    while name in used:
        name += "_"
    used.add(name)
    return name


def functions_of(signature: Signature) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions among the arguments of a call, and where they stand."""
    waiting = list(signature.structure)
    while waiting:
        name, structure = waiting.pop(0)
        if isinstance(structure, Items):
            waiting += [(f"{name}[{k}]", item) for k, item in enumerate(structure.items)]
        elif isinstance(structure, Fixed) and callable(structure.value):
            yield name, structure.value


def misplaced(signature: Signature, refusal: UnsupportedSourceError) -> ArgumentError | None:
    """Return what is wrong with a call that passes a tuple, None or a text where an array or a number is meant; None
    where something else stands in the way.

    Args:
        signature: of the call.
        refusal: of the kernel, for such a call.
    """
    meant = {name for name, part in signature.structure if isinstance(part, Leaf | Drawing) or _is_function(part)}
    odd = {name: part for name, part in signature.structure if name not in meant}
    # Of ``image.shape[0]``, ``image[i]`` and ``len(image)`` it is the argument that cannot be used so.
    used = [re.match(r"(?:len\()?(\w*)", each.location.segment) for each in refusal.obstacles]
    names = [found[1] if found else "" for found in used]
    if not all(name in odd for name in names):
        return None
    name = names[0]
    part = odd[name]
    given = repr(part.value) if isinstance(part, Fixed) else "a tuple"
    return ArgumentError(
        f"argument {name!r} is {given}, with which the kernel cannot be compiled; pass a NumPy array or a number, if "
        f"that is meant:\n{refusal.obstacles[0]}"
    )


def _is_function(part: Structure) -> bool:
    return isinstance(part, Fixed) and callable(part.value)
