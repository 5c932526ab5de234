"""The versions of device kernels that tests run: few, so chosen that any two choices occur together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import FunctionType
from typing import Any

import numpy as np

from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from polytune.runtime.partitioned.description import DeviceCode, Partitioned
from polytune.runtime.partitioned.execution import Execution
from polytune.runtime.partitioned.launches import KernelShape, shape_of
from polytune.runtime.partitioned.space import VERSION
from tests.device_versions.pairwise import pairwise_cover
from tests.fuzz.interpreted import Interpreter

TINY: Mapping[str, Sequence[Any]] = {
    "block": (6, 32),
    "height": (1, 2),
    "shared": (True, False),
    "unroll_tile": (False, True),
    "unroll_copy": (False, True),
    "points_x": (1, 2),
    "points_y": (1, 4),
    "depth": (2, 3),
}
"""The choices for arrays of a few elements along each axis: several blocks, and tiles that do not divide them."""

REAL: Mapping[str, Sequence[Any]] = {
    "block": (32, 256),
    "height": (1, 8, 32),
    "shared": (True, False),
    "unroll_tile": (False, True),
    "unroll_copy": (False, True),
    "points_x": (1, 8),
    "points_y": (1, 8),
    "depth": (4, 64),
}
"""The ends of what a kernel's space offers."""

MANY_POINTS = frozenset((("points_x", 8), ("points_y", 8)))
"""The pair of choices with which compilers write out most: NVRTC takes up to a hundred times as long as without."""


def choices(codes: Sequence[DeviceCode], values: Mapping[str, Sequence[Any]]) -> Mapping[str, Sequence[Any]]:
    """The parameters that make a difference to some of the kernels."""
    left_out = set()
    if not any(code.axes > 1 for code in codes):
        left_out |= {"height", "points_y"}
    if not any(code.shares for code in codes):
        left_out |= {"shared", "unroll_copy"}
    if not any(code.sequential for code in codes):
        left_out |= {"depth"}
    return {name: each for name, each in values.items() if name not in left_out}


def shapes(
    code: DeviceCode, values: Mapping[str, Sequence[Any]], everything: bool = False
) -> dict[KernelShape, Mapping[str, Any]]:
    """The shapes of one kernel that cover all pairs of choices, or all that there are; each with the choices, as those
    of partition 0, that lead to it."""
    relevant = choices([code], values)
    cover = [dict(zip(relevant, each, strict=True)) for each in product(*relevant.values())]
    if not everything:
        cover = pairwise_cover(relevant, once=[MANY_POINTS])
    named = ({f"{name}_0": value for name, value in choice.items()} for choice in cover)
    return {shape_of(code, choice, 0): choice for choice in named}


@dataclass
class Subject:
    """A kernel whose parts for the processor are interpreted, with arguments.

    Attributes:
        interpreter: its generated module.
        partitioned: the module's version for devices.
    """

    function: FunctionType
    interpreter: Interpreter
    partitioned: Partitioned

    @classmethod
    def of(cls, function: Any, arguments: Sequence[Any]) -> Subject | None:
        """The strict kernel of a function for arguments of these types; None where no device can run any of it."""
        names = function.__code__.co_varnames[: len(arguments)]
        stages = Stages(function, signature_of(names, tuple(arguments)), strict=True, devices=True)
        if stages.partitioned is None:
            return None
        interpreter = Interpreter(stages.source)
        return cls(function, interpreter, interpreter.module["PARTITIONED"])

    @property
    def codes(self) -> list[DeviceCode]:
        """The kernels for devices."""
        return [part.device for part in self.partitioned.parts if part.device is not None]

    def execution(self) -> Execution:
        """What runs it on the devices that there are."""
        return self.interpreter.execution()

    def run(self, execution: Execution, choice: Mapping[str, Any], arguments: Sequence[Any], seed: int = 0) -> Any:
        """One call; the result of the kernel.

        Raises:
            LaunchError: a device cannot hold this version; nothing has been run.
        """
        plan = execution.prepare(choice)
        with np.errstate(all="ignore"):
            return self.interpreter.run_partitioned(execution, plan, arguments, seed)


def on_device(platform: str, choice: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration that runs everything that a device can run on one, in one piece."""
    return {"version": VERSION, "split": 0, "platform_0": platform} | {f"{n}_0": value for n, value in choice.items()}


def assert_same_bits(found: Sequence[Any], wanted: Sequence[Any], about: str) -> None:
    """Arrays and numbers are the same bit for bit, whatever NaN they hold."""
    for number, (value, right) in enumerate(zip(found, wanted, strict=True)):
        np.testing.assert_array_equal(value, right, err_msg=f"{about}, argument {number}", strict=True)
