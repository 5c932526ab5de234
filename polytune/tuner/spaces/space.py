"""The set of all configurations: parameters, the conditions under which they exist, and constraints on their values.

The space is a graph of subspaces (Pfaffe et al., ICS 2019, section 3.1.1): its *structural* parameters, the nominal
ones and those that a condition looks at, decide which parameters exist; once they are chosen, the other active
parameters span one box, cut by the constraints.  A configuration is found by walking from the root, parameter by
parameter in their order, past those whose condition does not hold.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from polytune import notebook
from polytune.errors import SpaceError
from polytune.records import dataclass
from polytune.tuner.spaces.condition import Value, plain_value
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.constraint import Constraint
from polytune.tuner.spaces.counting import assignments, count
from polytune.tuner.spaces.graph import SpaceGraph, decompose
from polytune.tuner.spaces.parameters import Nominal, Ordinal, Parameter, Ratio, is_active, parameter_from_json
from polytune.tuner.spaces.validation import check_conditions, check_constraints, check_kinds, check_names

_SAMPLING_ATTEMPTS = 100
_CHANGES_PER_PARAMETER = 20
_FEASIBILITY_LEVELS = 9


@dataclass(frozen=True, init=False, repr=False)
class Space:
    """A search space.

    Attributes:
        parameters: in an order in which every condition looks at earlier parameters only.
        constraints: what every configuration satisfies besides.

    Raises:
        SpaceError: names are not unique, a condition or a constraint looks at something unknown or later, can never
            hold, or the default configuration breaks a constraint.

    >>> from polytune.tuner import Integer, Is, Nominal, Space
    >>> space = Space([
    ...     Nominal("version", ("source_order", "tiled")),
    ...     Integer("tile", 8, 64, powers_of_two=True, when=Is("version", "tiled")),
    ... ])
    >>> space.default()
    Configuration(version='source_order')
    >>> space.size()
    5
    >>> space.configuration(version="tiled")
    Configuration(version='tiled', tile=32)
    """

    parameters: tuple[Parameter, ...]
    constraints: tuple[Constraint, ...] = ()

    def __init__(self, parameters: Iterable[Parameter], constraints: Iterable[Constraint] = ()):
        for given, what in ((parameters, "parameters"), (constraints, "constraints")):
            if isinstance(given, str) or not isinstance(given, Iterable):
                raise SpaceError(f"the {what} of a space must be a list of them, not {given!r}")
        object.__setattr__(self, "parameters", tuple(parameters))
        object.__setattr__(self, "constraints", tuple(constraints))
        check_kinds(self.parameters, self.constraints)
        check_names(self.parameters)
        check_conditions(self.parameters)
        check_constraints(self.parameters, self.constraints)
        broken = self._broken_constraint(self.default())
        if broken is not None:
            raise SpaceError(
                f"the default configuration {self.default()!r} breaks the constraint {broken}; give the parameters "
                "defaults that satisfy it"
            )

    def __deepcopy__(self, memo: object) -> Space:
        return self

    def __repr__(self) -> str:
        names = ", ".join(parameter.name for parameter in self.parameters)
        return f"<Space of {names}>"

    def __str__(self) -> str:
        lines = [f"{name}: {values}, {default} by default{when}" for name, values, default, when in self._described()]
        return "\n".join([*lines, *(f"where {constraint}" for constraint in self.constraints)])

    def _described(self) -> Iterator[tuple[str, str, str, str]]:
        """Texts about each parameter: its name, its values, its default, and when it exists."""
        for each in self.parameters:
            when = "" if each.when is None else f", when {each.when.describe()}"
            yield each.name, each.describe(), str(each.default), when

    def _repr_html_(self) -> str:
        rows = [(*said, when.removeprefix(", when ")) for *said, when in self._described()]
        shown = notebook.table(("parameter", "values", "default", "where"), rows)
        return shown + "".join(notebook.paragraph(f"where {constraint}") for constraint in self.constraints)

    def __getitem__(self, name: str) -> Parameter:
        """The parameter of that name.

        Raises:
            SpaceError: there is none.
        """
        if name not in self._by_name:
            raise SpaceError(f"there is no parameter {name!r}{self._suggestion(name)}")
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Parameter]:
        return {parameter.name: parameter for parameter in self.parameters}

    @cached_property
    def structural(self) -> tuple[Parameter, ...]:
        """The parameters that are enumerated: the nominal ones and those that some condition looks at."""
        looked_at = {name for p in self.parameters if p.when is not None for name in p.when.names()}
        return tuple(p for p in self.parameters if p.nominal or p.name in looked_at)

    @cached_property
    def numeric(self) -> tuple[Parameter, ...]:
        """The other parameters: those that a search by distance may handle."""
        structural = {parameter.name for parameter in self.structural}
        return tuple(p for p in self.parameters if p.name not in structural)

    @property
    def is_discrete(self) -> bool:
        """Return whether the space has finitely many configurations."""
        return all(parameter.discrete for parameter in self.parameters)

    def active_numeric(self, values: Mapping[str, Value]) -> tuple[Parameter, ...]:
        """The non-structural parameters that exist under the structural values given."""
        return tuple(parameter for parameter in self.numeric if is_active(parameter, values))

    def graph(self) -> SpaceGraph:
        """The space as a graph of disjoint subspaces, for walking and for pictures."""
        return self._graph

    @cached_property
    def _graph(self) -> SpaceGraph:
        return decompose(self.parameters, self.structural)

    # ---- single configurations

    def default(self) -> Configuration:
        """Every active parameter at its default."""
        return self._default

    @cached_property
    def _default(self) -> Configuration:
        return self._fill({})

    def with_default(self, configuration: Configuration) -> Space:
        """The same choices with another default, for cases of which it is known that it suits them.

        Raises:
            SpaceError: the configuration is not of the space.
        """
        self.validate(configuration)
        space = Space(self.parameters, self.constraints)
        space.__dict__["_default"] = configuration
        return space

    def configuration(self, **values: Value) -> Configuration:
        """The configuration with these values; the other active parameters take their defaults.

        Raises:
            SpaceError: a name is unknown, its parameter is inactive, a value is outside, or a constraint is broken.
        """
        given = {name: plain_value(value) for name, value in values.items()}
        configuration = self._fill(given)
        self.validate({**configuration, **given})
        return configuration

    def _fill(self, given: Mapping[str, Value]) -> Configuration:
        values: dict[str, Value] = {}
        for parameter in self.parameters:
            if is_active(parameter, values):
                value = given.get(parameter.name, parameter.default)
                # The stored value is the space's own: 1, not 1.0, where the parameter lists 1.
                if isinstance(parameter, (Nominal, Ordinal)) and parameter.accepts(value):
                    value = parameter.values[parameter.values.index(value)]
                elif isinstance(parameter, Ratio) and parameter.accepts(value):
                    value = float(value)
                values[parameter.name] = value
        return Configuration(values)

    def sample(self, rng: np.random.Generator) -> Configuration:
        """A random configuration: every active parameter uniform over its values, given the earlier ones.

        Draws that break a constraint are drawn again; where valid ones are too rare for that, the default is changed
        at random, one parameter at a time, as far as the constraints allow.
        """
        for _ in range(_SAMPLING_ATTEMPTS):
            values: dict[str, Value] = {}
            for parameter in self.parameters:
                if is_active(parameter, values):
                    values[parameter.name] = parameter.sample(rng)
            if self.satisfies_constraints(values):
                return Configuration(values)
        configuration = self.default()
        for _ in range(_CHANGES_PER_PARAMETER * len(self.parameters)):
            name = list(configuration)[int(rng.integers(len(configuration)))]
            changed = self._fill({**configuration, name: self[name].sample(rng)})
            if self.satisfies_constraints(changed):
                configuration = changed
        return configuration

    def validate(self, configuration: Mapping[str, Any]) -> None:
        """Check that the configuration is a member of the space.

        Raises:
            SpaceError: it is not; the message says why.
        """
        for name in configuration:
            if name not in self._by_name:
                raise SpaceError(f"there is no parameter {name!r}{self._suggestion(name)}")
        for parameter in self.parameters:
            name = parameter.name
            if is_active(parameter, configuration):
                if name not in configuration:
                    raise SpaceError(f"parameter {name!r} has no value; it must be {parameter.describe()}")
                if not parameter.accepts(configuration[name]):
                    raise SpaceError(f"{name} = {configuration[name]!r} is not {parameter.describe()}")
            elif name in configuration:
                raise SpaceError(f"parameter {name!r} is inactive here: it exists only where {parameter.when!r}")
        broken = self._broken_constraint(configuration)
        if broken is not None:
            raise SpaceError(f"{dict(configuration)} breaks the constraint {broken}")

    def contains(self, configuration: Mapping[str, Any]) -> bool:
        """Return whether the configuration is a member of the space."""
        try:
            self.validate(configuration)
        except SpaceError:
            return False
        return True

    def satisfies_constraints(self, values: Mapping[str, Value]) -> bool:
        """Return whether values that are each valid for themselves are valid together."""
        return self._broken_constraint(values) is None

    # ---- all configurations

    def enumerate(self, *, levels: int | None = None) -> Iterator[Configuration]:
        """All configurations, each once, the last parameter varying fastest.

        Args:
            levels: how many evenly spaced values stand for each `Ratio` parameter.

        Raises:
            SpaceError: the space has a `Ratio` parameter and `levels` is not given.
        """
        if levels is None and not self.is_discrete:
            names = ", ".join(p.name for p in self.parameters if not p.discrete)
            raise SpaceError(f"the values of {names} cannot be enumerated; pass levels= to enumerate a grid")

        def candidates(parameter: Parameter) -> Iterable[Value]:
            return parameter.grid(levels or 1) if isinstance(parameter, Ratio) else parameter.levels

        return (Configuration(values) for values in self._walk(self.parameters, candidates))

    def enumerate_nominal(self) -> Iterator[Configuration]:
        """Every combination of the `structural` parameters, once, the others at their defaults.

        Where the defaults break a constraint, the first valid values stand for them; a combination for which there
        are none is left out.
        """

        def all_levels(parameter: Parameter) -> Iterable[Value]:
            return () if isinstance(parameter, Ratio) else parameter.levels

        completed = map(self.completion, self._walk(self.structural, all_levels))
        return (configuration for configuration in completed if configuration is not None)

    def combinations(
        self,
        parameters: Sequence[Parameter],
        chosen: Mapping[str, Value],
        refused: Mapping[str, Mapping[Value, Any]],
    ) -> Iterator[dict[str, Value]]:
        """The values of some discrete parameters that go together with those chosen before, which are among them.

        Args:
            parameters: whose values are listed, those that are inactive left out.
            chosen: values of other parameters.
            refused: by parameter, values that are passed over.
        """

        def admissible(parameter: Parameter) -> Iterable[Value]:
            without = refused.get(parameter.name, ())
            return (level for level in parameter.levels if level not in without)  # type: ignore[union-attr]

        return self._walk(parameters, admissible, chosen)

    def completion(self, structural: Mapping[str, Value]) -> Configuration | None:
        """The configuration with these structural values and the others at their defaults.

        Where the defaults break a constraint, the first valid values stand for them; None where there are none.
        """
        configuration = self._fill(structural)
        if self.satisfies_constraints(configuration):
            return configuration

        def default_first(parameter: Parameter) -> Iterable[Value]:
            levels = parameter.grid(_FEASIBILITY_LEVELS) if isinstance(parameter, Ratio) else parameter.levels
            return (parameter.default, *(level for level in levels if level != parameter.default))

        constrained = {name for constraint in self.constraints for name in constraint.names}
        searched = [parameter for parameter in self.numeric if parameter.name in constrained]
        values = next(self._walk(searched, default_first, structural), None)
        if values is None:
            return None
        configuration = self._fill(values)
        return configuration if self.satisfies_constraints(configuration) else None

    def size(self) -> int | float:
        """The number of configurations, exactly; infinite if a `Ratio` parameter can be active.

        Only what conditions and constraints tie together is listed; the rest is multiplied.
        """
        return self._size

    @cached_property
    def _size(self) -> int | float:
        return math.inf if not self.is_discrete else count(self.parameters, self.constraints, self._walk)

    def _walk(
        self,
        parameters: Sequence[Parameter],
        candidates: Callable[[Parameter], Iterable[Value]],
        chosen: Mapping[str, Value] | None = None,
    ) -> Iterator[dict[str, Value]]:
        return assignments(parameters, self.constraints, candidates, chosen or {})

    def _broken_constraint(self, values: Mapping[str, Value]) -> Constraint | None:
        present = set(values) if self.constraints else set()  # a set compares faster than the keys of a mapping
        for constraint in self.constraints:
            if constraint.names <= present and not constraint.holds(values):
                return constraint
        return None

    def _suggestion(self, name: str) -> str:
        close = difflib.get_close_matches(name, self._by_name, n=1)
        if close:
            return f"; did you mean {close[0]!r}?"
        return f"; the parameters are {', '.join(self._by_name)}" if self._by_name else "; the space has none"

    # ---- JSON

    def to_json(self) -> str:
        """The space as one line of JSON."""
        document = {
            "parameters": [parameter.to_json() for parameter in self.parameters],
            "constraints": [{"expression": c.expression, "reason": c.reason} for c in self.constraints],
        }
        return json.dumps(document, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Space:
        """The space that `to_json` wrote.

        Raises:
            SpaceError: the text describes no space.
        """
        try:
            document = json.loads(text)
            parameters = [parameter_from_json(entry) for entry in document["parameters"]]
            constraints = [Constraint(**entry) for entry in document.get("constraints", [])]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(error, SpaceError):
                raise
            raise SpaceError(f"not a space: {text[:200]!r} ({error})") from None
        return cls(parameters, constraints)

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change whenever the space does."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]
