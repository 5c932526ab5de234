"""Values outside of a kernel that its compiled code depends on: whether they are still what they were."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import CellType
from typing import Any

import numpy as np

__all__ = ["ABSENT", "NUMBERS", "OutsideValues", "attribute_of", "contents_of"]

NUMBERS = (int, float, np.generic)
"""The types of constants."""

ABSENT = object()
"""The value of a name that means nothing."""


class OutsideValues:
    """Names of modules, variables of enclosing functions and attributes of objects, each with its value.

    Every call of a kernel looks at them, so that each costs some hundredths of a microsecond.
    """

    __slots__ = ("_attributes", "_cells", "_collections", "_names")

    def __init__(self) -> None:
        self._names: list[tuple[Mapping[str, Any], str, Any]] = []
        self._cells: list[tuple[CellType, str, Any]] = []
        self._attributes: list[tuple[Any, str, Any]] = []
        self._collections: list[tuple[str, Any, str]] = []

    def __bool__(self) -> bool:
        return bool(self._names or self._cells or self._attributes)

    def add_name(self, names: Mapping[str, Any], name: str) -> Any:
        """Note what a name of a module means.  Return its value."""
        value = names.get(name, ABSENT)
        self._names.append((names, name, value))
        return value

    def add_cell(self, cell: CellType, name: str) -> Any:
        """Note the value of a variable of an enclosing function; that value."""
        value = _contents(cell)
        self._cells.append((cell, name, value))
        return value

    def add_attribute(self, owner: Any, name: str) -> Any:
        """Note an attribute of an object.  Return its value."""
        value = attribute_of(owner, name)
        self._attributes.append((owner, name, value))
        return value

    def add_collection(self, name: str, value: Any) -> None:
        """Note what an array, a list or a tuple holds."""
        self._collections.append((name, value, contents_of(value)))

    def add_all(self, other: OutsideValues) -> None:
        """Note what another one has noted, too."""
        self._names += other._names
        self._cells += other._cells
        self._attributes += other._attributes
        self._collections += other._collections

    def changed(self) -> str | None:
        """The name of a value that is another one now, or may be, None where all are the same."""
        for names, name, value in self._names:
            found = names.get(name, ABSENT)
            if found is not value and _differs(found, value):
                return name
        for cell, name, value in self._cells:
            found = _contents(cell)
            if found is not value and _differs(found, value):
                return name
        for owner, name, value in self._attributes:
            try:  # as `attribute_of`, whose call takes as long as all else
                found = getattr(owner, name)
            except Exception:
                found = ABSENT
            if found is not value and _differs(found, value):
                return name
        for name, value, contents in self._collections:
            if contents_of(value) != contents:
                return name
        return None


def contents_of(value: Any) -> str:
    """Return what an array, a list or a tuple holds, as a text that is the same in every process."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    return repr(value)


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return ABSENT


def attribute_of(owner: Any, name: str) -> Any:
    """An attribute of an object, ``ABSENT`` where it has none or what computes it fails."""
    try:
        return getattr(owner, name)
    except Exception:  # properties are code of the user's
        return ABSENT


def _differs(found: Any, value: Any) -> bool:
    """Return whether two objects are not one number; 0.0 and -0.0 are two, and so are 1 and 1.0."""
    return type(found) is not type(value) or not isinstance(value, NUMBERS) or repr(found) != repr(value)
