"""The configurations of a space that are not measured, and why: by rules, or because they have failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.space import Space

__all__ = ["Feasibility", "Reject"]

Reject = Callable[[Configuration], str | None]
"""Says why a configuration is not worth measuring, or None."""


class Feasibility:
    """Knows which configurations of a space are not measured.

    Args:
        space: whose.
        refused: by parameter, values that are never measured, with the reason.
        reject: says of a configuration why it is not measured, or None; None for no such rule.

    Attributes:
        refused: those that there are.
        infeasible: what has been found infeasible so far, with the reasons.
        failures: what of that has failed when it was run.
    """

    def __init__(self, space: Space, refused: Mapping[str, Mapping[Value, str]], reject: Reject | None):
        self._space = space
        self._reject = reject
        self.refused = {name: dict(values) for name, values in refused.items() if values}
        self.infeasible: dict[Configuration, str] = {}
        self.failures: dict[Configuration, str] = {}

    def refused_with(self, others: Mapping[str, Mapping[Value, str]]) -> dict[str, dict[Value, str]]:
        """The refused values, and others, by parameter, with the reasons."""
        names = {**self.refused, **others}
        return {name: {**others.get(name, {}), **self.refused.get(name, {})} for name in names}

    def rules_out(self, configuration: Configuration) -> bool:
        """Return whether a configuration has failed or a rule forbids it, which is remembered."""
        if configuration in self.infeasible:
            return True
        reason = self._why_not(configuration)
        if reason is not None:
            self.infeasible[configuration] = reason
        return reason is not None

    def _why_not(self, configuration: Configuration) -> str | None:
        if not self._space.satisfies_constraints(configuration):
            return "it breaks a constraint of the space"
        return self._why_refused(configuration) or (None if self._reject is None else self._reject(configuration))

    def _why_refused(self, configuration: Configuration) -> str | None:
        for name, values in self.refused.items():
            reason = values.get(configuration.get(name))
            if reason is not None:
                return reason
        return None

    def fail(self, configuration: Configuration, reason: str) -> None:
        """Take note that a configuration cannot be run.

        Args:
            configuration: what was tried.
            reason: why it failed, for people.
        """
        self.failures[configuration] = self.infeasible[configuration] = reason

    def why_nothing_is_left(self) -> str:
        """Return why a search has nothing to propose, for people."""
        reasons = list(self.infeasible.items())
        if not reasons:
            given = [reason for values in self.refused.values() for reason in values.values()]
            return f"the space has no configuration that could be measured{': ' if given else ''}{'; '.join(given)}"
        configuration, reason = reasons[-1]
        return (
            f"no configuration is feasible: all {len(reasons)} tried failed or were rejected, the last, "
            f"{configuration!r}, because {reason}"
        )

    def state(self) -> dict[str, Any]:
        """All of it, as JSON keeps it."""
        return {
            "infeasible": [[dict(each), reason, each in self.failures] for each, reason in self.infeasible.items()],
            "refused": self._refused_pairs(),
        }

    def _refused_pairs(self) -> list[list[Any]]:
        return [[name, value] for name, values in self.refused.items() for value in values]

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned.

        Raises:
            ValueError: other values were refused then.
        """
        if sorted(map(repr, state["refused"])) != sorted(map(repr, self._refused_pairs())):
            raise ValueError("the state is of a search in which other values were refused")
        self.infeasible = {Configuration(values): reason for values, reason, _ in state["infeasible"]}
        self.failures = {Configuration(values): reason for values, reason, failed in state["infeasible"] if failed}
