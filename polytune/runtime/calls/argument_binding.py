"""Arguments of calls, positional and by name, as the values of a function's parameters."""

from __future__ import annotations

import inspect
from typing import Any

from polytune.errors import SignatureError

__all__ = ["ArgumentBinding"]


class ArgumentBinding:
    """The parameters of a function, to which calls bind their arguments.

    Args:
        title: what the function is called in messages.
        signature: its parameters.

    Attributes:
        names: the names of the parameters, in their order.
    """

    def __init__(self, title: str, signature: inspect.Signature):
        self.names = tuple(signature.parameters)
        self._title, self._signature = title, signature
        kinds = {name: parameter.kind for name, parameter in signature.parameters.items()}
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        self._by_position = sum(kind in positional for kind in kinds.values())
        self._by_name = frozenset(name for name, kind in kinds.items() if kind in named)
        self._defaults = {
            name: parameter.default
            for name, parameter in signature.parameters.items()
            if parameter.default is not inspect.Parameter.empty
        }

    def bind_quickly(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...] | None:
        """Return the values of all parameters, as `bind` has them, in less time; None where they do not fit."""
        if len(arguments) > self._by_position or not keywords.keys() <= self._by_name:
            return None
        rest = self.names[len(arguments) :]
        if not keywords.keys() <= set(rest):
            return None
        try:
            values = [keywords[name] if name in keywords else self._defaults[name] for name in rest]
        except KeyError:
            return None
        return *arguments, *values

    def bind(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """Return the values of all parameters, in their order.

        Raises:
            SignatureError: they do not fit.
        """
        try:
            bound = self._signature.bind(*arguments, **keywords)
        except TypeError as error:
            no_method = "; a kernel is bound to no object: make it a function of the arrays that it uses"
            hint = no_method if self.names[:1] == ("self",) else ""
            raise SignatureError(f"{self._title}{self._signature}: {error}{hint}") from None
        bound.apply_defaults()
        return tuple(bound.arguments[name] for name in self.names)
