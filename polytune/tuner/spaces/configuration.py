"""One point of a search space."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from polytune import notebook
from polytune.errors import SpaceError
from polytune.tuner.spaces.condition import Value


class Configuration(Mapping[str, Value]):
    """The values of the active parameters, in the order of the space; immutable and hashable.

    It is a mapping: ``configuration["tile_0"]``, ``configuration.get("tile_2")``, ``dict(configuration)``.  A
    parameter that is inactive under the others' values is absent.  Spaces make configurations; the constructor
    checks nothing and keeps the dictionary that it is given.
    """

    __slots__ = ("_hash", "_values")

    def __init__(self, values: dict[str, Value]):
        self._values = values
        self._hash: int | None = None

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def get(self, name: str, default: Any = None) -> Any:
        """The parameter's value, or `default` where it is inactive."""
        return self._values.get(name, default)

    def __eq__(self, other: object) -> bool:
        if self is other:  # as in most calls, of which several comparisons are made in each
            return True
        if isinstance(other, Configuration):
            return self._values == other._values
        return NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._values.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"Configuration({', '.join(f'{name}={value!r}' for name, value in self._values.items())})"

    def _repr_html_(self) -> str:
        return notebook.table(list(self._values), [list(self._values.values())])

    def __deepcopy__(self, memo: object) -> Configuration:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Configuration, (dict(self._values),)

    def to_json(self) -> str:
        """One line of JSON, parameters in the order of the space."""
        return json.dumps(self._values, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Configuration:
        """The configuration that `to_json` wrote.

        Raises:
            SpaceError: the text is not a JSON object of strings, numbers and booleans.
        """
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SpaceError(f"not a configuration: {text[:200]!r} is not JSON ({error})") from None
        if not isinstance(values, dict) or not all(isinstance(v, (str, int, float)) for v in values.values()):
            raise SpaceError(f"not a configuration: {text[:200]!r} is not an object of strings, numbers and booleans")
        return cls(values)


def as_configuration(values: Mapping[str, Value]) -> Configuration:
    """The configuration that a caller names by any mapping; a configuration as it is, and nothing is checked."""
    return values if isinstance(values, Configuration) else Configuration(dict(values))
