"""Vectors as Numba source: calls of ``polytune.runtime.intrinsics.vectors``."""

from __future__ import annotations

from typing import Protocol

from polytune.codegen.loops import Store
from polytune.codegen.python_expressions import expression_text
from polytune.codegen.vectors.expressions import (
    AnyMask,
    Apart,
    Between,
    Lanes,
    LaneSelect,
    Misalignment,
    Shifted,
    Splat,
    Total,
    Variable,
    VectorExpression,
)
from polytune.frontend.expression import Element
from polytune.frontend.generated_names import MARK


class StoredPlace(Protocol):
    """The ways in which code at some place refers to memory."""

    def text(self, node: Element | VectorExpression, /) -> str:
        """An element, or a node of vectors."""

    def array(self, element: Element, /) -> str:
        """The view of an element's array."""

    def subscripts(self, element: Element, /) -> list[str]:
        """The subscripts of an element."""


def vector_text(node: VectorExpression, place: StoredPlace) -> str:
    """The text of a node of ``polytune.codegen.vectors.expressions``."""
    match node:
        case Variable(name):
            return name
        case Lanes(element, lanes, mask, apart):
            where = f"{_index(element, place)}{_steps(apart)}{_masked(mask)}"
            return f"{MARK}load{_kind(apart, mask)}({place.array(element)}, {lanes}, {where})"
        case Splat(value, lanes):
            return f"{MARK}splat({expression_text(value, place.text)}, {lanes})"
        case Between(first, last, lanes):
            return f"{MARK}between({expression_text(first, place.text)}, {expression_text(last, place.text)}, {lanes})"
        case AnyMask(masks):
            return " | ".join(masks)
        case LaneSelect(mask, value, otherwise):
            parts = (expression_text(part, place.text) for part in (value, otherwise))
            which = mask if isinstance(mask, str) else expression_text(mask, place.text)
            return f"{MARK}select({which}, {', '.join(parts)})"
        case Shifted(before, value, distance):
            parts = (expression_text(part, place.text) for part in (before, value))
            return f"{MARK}shifted({', '.join(parts)}, {distance})"
        case Total(value):
            return f"{MARK}lane_sum({expression_text(value, place.text)})"
        case Misalignment(element, lanes):
            return f"{MARK}misalignment({place.array(element)}, {lanes}, {_index(element, place)})"
        case _:
            raise AssertionError(f"no node of vectors: {node!r}")


def store_text(node: Store, place: StoredPlace) -> str:
    """The statement that stores a vector or a scalar."""
    value = expression_text(node.value, place.text)
    if not node.is_vector:
        return f"{place.text(node.element)} = {value}"
    where = f"{_index(node.element, place)}{_steps(node.apart)}"
    kind = _kind(node.apart, node.mask)
    return f"{MARK}store{kind}({place.array(node.element)}, {where}, {value}{_masked(node.mask)})"


def prefetch_text(element: Element, place: StoredPlace) -> str:
    """The statement that brings what is near an element into the first cache."""
    return f"{MARK}prefetch({place.array(element)}, {_index(element, place)})"


def _index(element: Element, place: StoredPlace) -> str:
    subscripts = place.subscripts(element)
    return f"({subscripts[0]},)" if len(subscripts) == 1 else f"({', '.join(subscripts)})"


def _masked(mask: str | None) -> str:
    return "" if mask is None else f", {mask}"


def _steps(apart: Apart | None) -> str:
    return "" if apart is None else f", {apart.axis}, {apart.step}"


def _kind(apart: Apart | None, mask: str | None) -> str:
    """Return what the operations for lanes that are apart, and those that take a mask, have at the end of their
    names."""
    return f"{'' if apart is None else '_apart'}{'' if mask is None else '_masked'}"
