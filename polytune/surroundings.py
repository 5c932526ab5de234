"""The things outside of a kernel's source that its meaning depends on: constants, and functions that it calls."""

from __future__ import annotations

import builtins
import dis
from dataclasses import field
from types import CodeType, FunctionType, ModuleType, NoneType
from typing import Any

import numpy as np

from polytune.normal_form import normal_text
from polytune.records import dataclass
from polytune.runtime.modules.outside import ABSENT, NUMBERS, OutsideValues, attribute_of, contents_of

_BUILTIN = vars(builtins)
_MOST_ELEMENTS = 4096  # what has more is no constant array of a kernel


@dataclass
class Surroundings:
    """All that a function's names mean outside of it.

    Attributes:
        text: a description that is the same in every process; what is described otherwise compiles to something else.
        values: what calls look at, to see whether it still holds.
        functions: the function itself, then those that it calls, in an order that is the same in every process.
    """

    parts: list[str] = field(default_factory=list)
    values: OutsideValues = field(default_factory=OutsideValues)
    functions: list[FunctionType] = field(default_factory=list)
    _seen: set[int] = field(default_factory=set)

    @property
    def text(self) -> str:
        return "\n".join(self.parts)

    def add(self, function: FunctionType) -> None:
        """Add what a function's names mean, and the functions that it calls."""
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        self.functions.append(function)
        names, attributes = _loaded(function)
        for name in names:
            if name in function.__globals__ or name not in _BUILTIN:
                self._describe(name, self.values.add_name(function.__globals__, name), attributes)
        code = function.__code__
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._describe(name, self.values.add_cell(cell, name), attributes)

    def _describe(self, name: str, value: Any, attributes: list[str]) -> None:
        """Describe a value, and its attributes of these names."""
        inner = getattr(value, "__wrapped__", value)
        if type(value).__module__ == "numba.stencils.stencil":
            inner = value.kernel_ir.func_id.func
            self.parts.append(f"{name} is a stencil with {value.options}")
        if isinstance(inner, FunctionType):
            given = [*(inner.__defaults__ or ()), *(inner.__kwdefaults__ or {}).values()]
            defaults = [each if isinstance(each, NUMBERS) else type(each) for each in given]
            self.parts.append(f"{name} {defaults}: {normal_text(inner)}")
            for position, each in enumerate(given):
                if not isinstance(each, NUMBERS):
                    self._describe(f"{name} default {position}", each, _loaded(inner)[1])
            self.add(inner)
        elif isinstance(value, ModuleType):
            self.parts.append(f"{name} is module {value.__name__}")
            if value.__name__.partition(".")[0] not in ("math", "numpy"):
                self._describe_members(name, value, attributes)
        elif isinstance(value, (*NUMBERS, str, NoneType)):
            self.parts.append(f"{name} = {value!r}")
        elif _is_collection(value):
            self.parts.append(f"{name} holds {contents_of(value)}")
            self.values.add_collection(name, value)
        elif value is ABSENT:
            self.parts.append(f"{name} is not defined")
        else:
            self.parts.append(f"{name} is {value!r}" if isinstance(value, type) else f"{name} is a {type(value)!r}")
            kind = value if isinstance(value, type) else type(value)
            if kind.__module__.partition(".")[0] not in ("builtins", "math", "numpy"):
                self._describe_members(name, value, attributes)

    def _describe_members(self, name: str, owner: Any, attributes: list[str]) -> None:
        """Describe the attributes of an object that are numbers, or the same object each time one asks."""
        if id(owner) in self._seen:
            return
        self._seen.add(id(owner))
        for attribute in attributes:
            value = attribute_of(owner, attribute)
            if value is not ABSENT and (isinstance(value, NUMBERS) or value is attribute_of(owner, attribute)):
                self._describe(f"{name}.{attribute}", self.values.add_attribute(owner, attribute), attributes)


def _is_collection(value: Any) -> bool:
    """Return whether a value may be a constant array of a kernel: an array, or a list or tuple of numbers and of
    such."""
    if isinstance(value, np.ndarray):
        return value.size <= _MOST_ELEMENTS
    if not isinstance(value, list | tuple) or len(value) > _MOST_ELEMENTS:
        return False
    return all(isinstance(item, (*NUMBERS, str, NoneType)) or _is_collection(item) for item in value)


def surroundings_of(function: FunctionType) -> Surroundings:
    """Return what a function's meaning depends on outside of its source."""
    found = Surroundings()
    found.add(function)
    return found


def surroundings_of_value(name: str, value: Any) -> Surroundings:
    """Return what the meaning of a function that is an argument depends on: its source, and what is outside of that.

    Args:
        name: what it is called.
        value: the function, or one of a library.
    """
    found = Surroundings()
    inner = getattr(value, "__wrapped__", value)
    if isinstance(inner, FunctionType):
        found._describe(name, inner, [])
    else:
        found.parts.append(f"{name} is {value!r} of {getattr(value, '__module__', None)}")
    return found


def _loaded(function: FunctionType) -> tuple[list[str], list[str]]:
    """The global names and the attributes that a function's code loads."""
    names: set[str] = set()
    attributes: set[str] = set()
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        waiting += [each for each in code.co_consts if isinstance(each, CodeType)]  # of nested functions
        for instruction in dis.get_instructions(code):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                names.add(instruction.argval)
            elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                attributes.add(instruction.argval)
    return sorted(names), sorted(attributes)
