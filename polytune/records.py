"""The ``dataclass`` of this package: that of the standard library, made in a quarter of the time.

The standard one compiles each method of a class (before Python 3.13 each by itself), which for the 300 classes of this
package took a tenth of a kernel's first call.  Here only ``__init__`` is compiled; the other methods are functions that
know the names of the fields.  ``dataclasses.fields``, ``replace`` and ``asdict``, and patterns in ``match``, take these
classes as they take the standard ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

_MADE_LATER: Any = object()
"""Stands for the default of a field with a factory."""

_PREFIX = "_polytune_"
"""The first letters of names that an ``__init__`` uses beside those of the fields."""


def _dataclass(
    cls: type | None = None,
    /,
    *,
    init: bool = True,
    repr: bool = True,
    eq: bool = True,
    frozen: bool = False,
    kw_only: bool = False,
) -> Any:
    """Make a class a dataclass; the arguments mean what they mean to ``dataclasses.dataclass``."""

    def made(cls: type) -> type:
        own = dict(cls.__dict__)
        methods: dict[str, Callable[..., Any]] = {}
        dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
        fields = dataclasses.fields(cls)
        if init:
            methods["__init__"] = _init(cls, fields, frozen=frozen)
        if repr:
            methods["__repr__"] = _repr([field.name for field in fields if field.repr])
        if eq:
            compared = _values([field.name for field in fields if field.compare])
            methods["__eq__"] = _eq(compared)
            has_own_hash = own.get("__hash__") is not None or ("__hash__" in own and "__eq__" not in own)
            if frozen and not has_own_hash:
                own.pop("__hash__", None)
                hashed = [field for field in fields if (field.compare if field.hash is None else field.hash)]
                methods["__hash__"] = _hash(_values([field.name for field in hashed]))
            elif not has_own_hash:
                cls.__hash__ = None  # type: ignore[assignment]
        if frozen:
            methods |= {"__setattr__": _frozen_setattr, "__delattr__": _frozen_delattr}
        for name, method in methods.items():
            if name not in own or name == "__init__":
                if method.__name__ == name:
                    method.__qualname__ = f"{cls.__qualname__}.{name}"
                setattr(cls, name, method)
        return cls

    return made if cls is None else made(cls)


def _init(cls: type, fields: tuple[dataclasses.Field[Any], ...], *, frozen: bool) -> Callable[..., None]:
    """``__init__``, which assigns arguments and defaults to the fields and calls ``__post_init__`` where there is
    one."""
    names: dict[str, Any] = {f"{_PREFIX}set": object.__setattr__, f"{_PREFIX}later": _MADE_LATER}
    parameters: list[str] = []
    named: list[str] = []
    body: list[str] = []
    for field in fields:
        name, default = field.name, f"{_PREFIX}default_{field.name}"
        value = name
        if field.default_factory is not dataclasses.MISSING:
            names[default] = field.default_factory
            value = f"{default}() if {name} is {_PREFIX}later else {name}" if field.init else f"{default}()"
            given = f"{name}={_PREFIX}later"
        elif field.default is not dataclasses.MISSING:
            names[default] = field.default
            given = f"{name}={default}"
            if not field.init:
                continue  # it is an attribute of the class
        else:
            given = name
            if not field.init:
                continue
        if field.init:
            (named if field.kw_only else parameters).append(given)
        body.append(f"{_PREFIX}set({_PREFIX}self, {name!r}, {value})" if frozen else f"{_PREFIX}self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append(f"{_PREFIX}self.__post_init__()")
    head = ", ".join([f"{_PREFIX}self", *parameters, *(["*", *named] if named else [])])
    source = f"def __init__({head}):\n " + "\n ".join(body or ["pass"])
    exec(source, names)
    made: Callable[..., None] = names["__init__"]
    made.__module__ = cls.__module__
    made.__annotations__ = {field.name: field.type for field in fields if field.init} | {"return": None}
    return made


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function from an instance to the values of fields."""
    if len(names) > 1:
        return attrgetter(*names)
    if names:
        value = attrgetter(names[0])
        return lambda instance: (value(instance),)
    return lambda instance: ()


def _repr(names: list[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def __repr__(self: Any) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({values})"

    return __repr__


def _eq(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, Any], bool]:
    def __eq__(self: Any, other: object) -> bool:
        if other.__class__ is self.__class__:
            return values(self) == values(other)
        return NotImplemented

    return __eq__


def _hash(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _frozen_setattr(self: Any, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _frozen_delattr(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass
