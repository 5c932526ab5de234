"""The values of expressions beside numbers: an array with a symbolic shape, or sums that are still to be computed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from polytune.errors import SourceLocation
from polytune.frontend.expression import Expression
from polytune.frontend.promotion import Value
from polytune.records import dataclass

Shape = tuple[Expression, ...]
"""Extents, outermost first: affine, of type int64, never negative."""

Subscripts = Sequence[Expression]
"""One affine expression for each dimension."""


@dataclass(frozen=True)
class Axis:
    """A subscript of an array, as a function of the subscripts of a part of it.

    It is ``offset``, plus ``stride`` times the part's subscript ``dimension`` unless that is None.  A stride that is
    no constant is an integer that stays what it is while the part has a meaning.
    """

    offset: Expression
    dimension: int | None = None
    stride: int | Expression = 1


@dataclass(frozen=True)
class ArrayRegion:
    """A rectangular part of an array that can be assigned to, with strides, in any order of its dimensions.

    Attributes:
        array: the array's name in the SCoP.
        dtype: the type of its elements in memory.
        axes: the array's subscripts.
        location: where in the source it stands.
    """

    array: str
    dtype: str
    axes: tuple[Axis, ...]
    location: SourceLocation


@dataclass(frozen=True)
class ArrayValue:
    """An array, or the result of operations on arrays.

    Attributes:
        shape: its extents.
        dtype: the type of its elements, ``"bool"`` included.
        at: the value of an element.
        region: where the elements are, if they are in memory.
        is_new: whether an operation has made the array for nobody else, so that a name can have it without a copy.
        view_of: the array of which NumPy shows a part here, where this is a copy: a name for it would be another array.
        copied: then, the part of the array that NumPy shows, and the copy of it.
        is_costly: whether computing an element twice costs more than keeping it.
    """

    shape: Shape
    dtype: str
    at: Callable[[Subscripts], Value]
    region: ArrayRegion | None = None
    is_new: bool = False
    is_costly: bool = False
    view_of: str | None = None
    copied: tuple[ArrayValue, ArrayValue] | None = None

    @property
    def ndim(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class Term:
    """A term that is added up: ``value``, a function of the subscripts of the result and of those over ``extents``."""

    extents: Shape
    value: Callable[[Subscripts, Subscripts], Value]
    is_negative: bool = False


@dataclass(frozen=True)
class Sum:
    """An array, or a number where the shape is empty, each of whose elements is the sum of ``start`` and the terms.

    It is not computed yet, so that what it is assigned to may be where its terms are added up.

    Attributes:
        finish: what becomes of each sum, a function of its subscripts and of its value; None where it is the result.
    """

    shape: Shape
    dtype: str
    terms: tuple[Term, ...]
    start: ArrayValue | Value | None = None
    finish: Callable[[Subscripts, Value], Value] | None = None


@dataclass(frozen=True)
class Selection:
    """The elements of an array that a mask selects, of which nobody knows how many there are before it runs.

    Attributes:
        values: the whole array.
        mask: truth values, of the shape of ``values`` or of neighbouring dimensions of it.
        key: what is equal for selections by the same mask from the same dimensions.
        extract: makes an array of them, with one dimension in place of those of the mask.
        is_named: whether names mean all that it is made of, so that nothing changes the arrays and masks.
        place: then, of what one name means, the frame where it got that meaning.
        first: the dimension of ``values`` that the mask's first one is.
    """

    values: ArrayValue
    mask: ArrayValue
    key: Hashable
    extract: Callable[[Any, ast.AST, Selection], ArrayValue]
    is_named: bool = False
    place: Any = None
    first: int = 0

    @property
    def last(self) -> int:
        """The dimension behind those of the mask."""
        return self.first + self.mask.ndim

    @property
    def is_of_elements(self) -> bool:
        """Return whether the mask has a truth value for each element, and not for rows of them."""
        return self.mask.ndim == self.values.ndim

    def whole_mask(self) -> ArrayValue:
        """The truth values of all elements."""
        if self.is_of_elements:
            return self.mask
        at = self.mask.at
        return ArrayValue(self.shape, "bool", lambda subscripts: at(subscripts[self.first : self.last]))

    @property
    def shape(self) -> Shape:
        """The shape of what is selected from."""
        return self.values.shape

    @property
    def dtype(self) -> str:
        return self.values.dtype


Operand = Value | ArrayValue | Sum | Selection
