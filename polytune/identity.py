"""The identity of a kernel: what it is found again by, in the cache of modules and in histories."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Collection
from functools import cached_property
from itertools import chain
from types import FunctionType
from typing import Any

from polytune.forking import renew_lock_at_fork
from polytune.normal_form import normal_text
from polytune.runtime.modules.outside import OutsideValues
from polytune.signature import Signature
from polytune.structures import functions_of
from polytune.surroundings import Surroundings, surroundings_of, surroundings_of_value

__all__ = ["KernelIdentity"]


class KernelIdentity:
    """The text of a kernel's source and of all that it uses from outside of it.

    Args:
        function: the kernel's function.
        strict: whether sums keep their source order.
        fastmath: the flags that ``fastmath`` gives.

    Attributes:
        values: what calls look at, to see whether the text still holds; None before the first description.
    """

    def __init__(self, function: FunctionType, *, strict: bool, fastmath: Collection[str] = ()):
        self.values: OutsideValues | None = None
        self._function, self._strict, self._fastmath = function, strict, fastmath
        self._surroundings = Surroundings()
        self._passed: dict[Callable[..., Any], Surroundings] = {}
        self._known: dict[Any, Callable[..., Any]] = {}
        self._lock = threading.Lock()
        renew_lock_at_fork(self)

    @cached_property
    def _text(self) -> str:
        return normal_text(self._function)

    def described(self, signature: Signature | None = None) -> tuple[str, ...]:
        """The kernel and what it uses from outside, and the functions among the arguments of a call, as text."""
        if self.values is None:
            self._surroundings = surroundings_of(self._function)
            self.values = self._surroundings.values
        passed: list[str] = []
        for name, function in functions_of(signature) if signature is not None else ():
            if function not in self._passed:
                self._passed[function] = around = surroundings_of_value(name, function)
                self.values.add_all(around.values)
            passed.append(f"{name}: {self._passed[function].text}")
        return (self._text, self._surroundings.text, *passed)

    def source_functions(self, signature: Signature | None = None) -> list[FunctionType]:
        """The kernel's function and all that it calls, as last described; those among the arguments of a call included,
        where their types are given."""
        given = functions_of(signature) if signature is not None else ()
        passed = [self._passed[function].functions for _, function in given]
        return list(dict.fromkeys(chain(self._surroundings.functions, *passed)))

    def name_in_history(self, name: str, signature: Signature) -> str:
        """Return a name with a hash of what the kernel says, for arguments of some types."""
        parts = (*self.described(signature), str(signature), str(self._strict), *sorted(self._fastmath))
        return f"{name} {hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:16]}"

    def forget(self) -> None:
        """Have what is outside described anew, as it has changed."""
        self.values = None

    def is_changed(self) -> bool:
        """Describe all anew; return whether that says something else than before."""
        before, self._surroundings = self._surroundings, surroundings_of(self._function)
        self.values = self._surroundings.values
        is_same = self._surroundings.text == before.text
        around, self._passed = self._passed, {}
        for function, known in around.items():
            self._passed[function] = again = surroundings_of_value("", function)
            self.values.add_all(again.values)
            is_same = is_same and again.text == known.text
        return not is_same

    def known_function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that was an argument before and does the same: one that is defined anew for each call is one
        function."""
        if not isinstance(function, FunctionType):
            return function
        try:
            cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
            key = function.__code__, id(function.__globals__), tuple((type(value), value) for value in cells)
            with self._lock:
                return self._known.setdefault((*key, function.__defaults__), function)
        except (TypeError, ValueError):  # an array, or a variable without a value
            return function
