"""A search method with its settings, as people write it: ``genetic:population=30,mutation=0.2``."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polytune.errors import SearchError
from polytune.records import dataclass
from polytune.tuner.searchers.finite_searcher import FiniteSearcher

__all__ = ["Method", "MethodSetting", "checked", "settings_of"]

_WORDS: Mapping[str, Any] = {"true": True, "false": False, "none": None}
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a word", type(None): "none"}


@dataclass(frozen=True)
class MethodSetting:
    """One setting of a method.

    Attributes:
        name: the keyword.
        types: the types of its values, ``None``'s among them where the method chooses a value itself.
        default: what it is where nothing is said; ``inspect.Parameter.empty`` where it has to be given.
    """

    name: str
    types: tuple[type, ...]
    default: Any


class Method:
    """A search method by name, with the settings that differ from its own.

    >>> Method("genetic", population=30)
    Method('genetic:population=30')
    >>> Method.of("annealing:temperature=0.2,retries=5").settings
    {'temperature': 0.2, 'retries': 5}

    Args:
        name: one of `polytune.tuner.SEARCHES`, or a subclass of `FiniteSearcher` itself.
        settings: keyword arguments of the method.

    Attributes:
        name: what the method is called; of a class, its full name.
        kind: the class, where it was given itself.
        settings: the settings given.
    """

    __slots__ = ("kind", "name", "settings")

    def __init__(self, name: str | type[FiniteSearcher], /, **settings: Any):
        self.kind: type[FiniteSearcher] | None = None if isinstance(name, str) else name
        self.name: str = name if isinstance(name, str) else f"{name.__module__}.{name.__qualname__}"
        self.settings: Mapping[str, Any] = settings

    @classmethod
    def of(cls, written: str | Method | type[FiniteSearcher]) -> Method:
        """The method that a text, a class or a method itself stands for.

        Raises:
            SearchError: it is none of these, or the text is not of the form ``name:setting=value,setting=value``.
        """
        if isinstance(written, Method):
            return written
        if inspect.isclass(written) and issubclass(written, FiniteSearcher):
            return cls(written)
        if not isinstance(written, str):
            raise SearchError(
                f"{written!r} is no search: write its name, as 'genetic' or 'genetic:population=30', a "
                "polytune.tuner.Method, a subclass of polytune.tuner.FiniteSearcher, or one of these by node, as "
                "{'nominal': 'genetic'}"
            )
        name, colon, rest = written.partition(":")
        settings: dict[str, Any] = {}
        for part in rest.split(",") if colon else ():
            setting, equals, value = (word.strip() for word in part.partition("="))
            if not (equals and setting.isidentifier() and value):
                raise SearchError(
                    f"{written!r}: after the name of a search come settings as name=value with commas between, for "
                    "example genetic:population=30,mutation=0.2"
                )
            settings[setting] = _value(value)
        return cls(name.strip(), **settings)

    def __str__(self) -> str:
        settings = ",".join(f"{name}={_text(value)}" for name, value in self.settings.items())
        return f"{self.name}:{settings}" if settings else self.name

    def __repr__(self) -> str:
        return f"Method({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Method):
            return (self.name, self.kind, dict(self.settings)) == (other.name, other.kind, dict(other.settings))
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self.name, tuple(sorted(self.settings))))

    def with_defaults(self, **settings: Any) -> Method:
        """The method with these settings where it does not say anything else."""
        return Method(self.kind or self.name, **{**settings, **self.settings})


def settings_of(kind: Callable[..., Any]) -> list[MethodSetting]:
    """The settings of a method: the keyword-only parameters of its class, without the budget."""
    constructor = kind.__init__ if inspect.isclass(kind) else kind
    try:
        hints = typing.get_type_hints(constructor)
    except (NameError, TypeError):  # of other packages, which may import types for checkers alone
        hints = {}
    return [
        MethodSetting(parameter.name, _types(hints.get(parameter.name)), parameter.default)
        for parameter in inspect.signature(kind).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.name != "budget"
    ]


def checked(name: str, kind: Callable[..., Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, in the types that a method takes.

    Args:
        name: what the method is called.
        kind: its class.
        settings: what is to be set.

    Raises:
        SearchError: it has no such setting, or one of another type.
    """
    known = {setting.name: setting for setting in settings_of(kind)}
    return {setting: _converted(name, known, setting, value) for setting, value in settings.items()}


def _converted(name: str, known: Mapping[str, MethodSetting], setting: str, value: Any) -> Any:
    if setting not in known:
        mine = ", ".join(known)
        raise SearchError(f"the search {name!r} has no setting {setting!r}; it has {mine or 'none'}")
    types = known[setting].types
    if not types or (isinstance(value, types) and not (isinstance(value, bool) and bool not in types)):
        return value
    if float in types and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if str in types:
        return _text(value)
    wanted = " or ".join(_KINDS[each] for each in types)
    raise SearchError(f"the search {name!r} takes {wanted} for {setting}, not {value!r}")


def _types(hint: Any) -> tuple[type, ...]:
    """Return the plain types among those that a hint allows; nothing where it allows others too."""
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    members: Sequence[Any] = typing.get_args(hint) if union else (hint,)
    return tuple(members) if all(member in _KINDS for member in members) else ()


def _value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)
