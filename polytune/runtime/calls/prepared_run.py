"""A run of a kernel in one configuration, whose arguments are known to fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from polytune.runtime.calls.invocation import Invocation, Outcome
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.partitioned.space import VERSION as PARTITIONED
from polytune.runtime.tuning.prediction import Prediction
from polytune.runtime.tuning.tunable import Case

__all__ = ["PreparedRun"]


class PreparedRun(NamedTuple):
    """A run of a kernel that is about to be made.

    Attributes:
        case: what calls like it have in common.
        configuration: how it runs.
        generated: what runs.
        invocation: the arguments.
    """

    case: Case
    configuration: Mapping[str, Any]
    generated: GeneratedKernel
    invocation: Invocation

    @property
    def prediction(self) -> Prediction:
        """The model of the versions' times for the sizes of the call."""
        return self.generated.first_choices.prediction(self.invocation.parameters)

    def compile(self) -> None:
        """Compile the version, so that the run does not; what runs on several platforms is compiled as it runs.

        Raises:
            CompilationError: it cannot be compiled.
        """
        if self.configuration["version"] != PARTITIONED:
            self.generated.functions.compile(str(self.configuration["version"]))

    def run(self) -> Outcome:
        """Run it, once."""
        return self.generated.run(self.configuration, self.invocation)
