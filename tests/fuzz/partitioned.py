"""Random programs shared among the processor and devices, against plain Python.

Devices, their memory full of rubbish, run their parts for real, and the processor's are interpreted.  Splits, platforms
and the shapes of kernels are random, ratios often 0 or 1, and blocks smaller than a device would want, so that there
are many of them.  Arrays lie within poison, with all kinds of strides.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polytune.errors import DeviceError, LaunchError, UnsupportedSourceError
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from polytune.runtime.devices.discovery import devices
from polytune.runtime.partitioned.pieces import CPU
from polytune.runtime.partitioned.space import VERSION, with_devices
from tests.device_versions.poison import LAYOUTS, Poisoned, poisoned
from tests.fuzz.harness import compare, expected_of, function_of, report
from tests.fuzz.interpreted import Interpreter
from tests.fuzz.programs import Program

CONFIGURATIONS = 3
"""The number of configurations in which each program runs."""


def check_partitioned(program: Program, *, strict: bool, platforms: Sequence[str], seed: int) -> bool:
    """Run a program shared among platforms, which are devices that are offered and the processor.

    Returns:
        Whether the program could be used: something of it can run on a device.

    Raises:
        AssertionError: a configuration differs or fails; the message holds a script that shows it.
    """
    expected = expected_of(program, exact=not strict)
    if expected is None:
        return False
    choose = random.Random(seed)
    configuration: dict[str, Any] = {}
    try:
        arguments, surroundings = _in_poison(program.arguments(exact=not strict), choose)
        stages = Stages(function_of(program), signature_of(program.names, tuple(arguments)), strict, devices=True)
        if stages.partitioned is None or not any(part.kernel for part in stages.partitioned.parts):
            return False
        interpreter = Interpreter(stages.source)
        partitioned = interpreter.module["PARTITIONED"]
        execution = interpreter.execution()
        limits = {device.identity: device.limits for device in devices()}
        space = with_devices(interpreter.space, partitioned, limits)
        before = [np.array(value) for value in arguments]
        for number in range(CONFIGURATIONS):
            configuration = random_configuration(space.parameters, partitioned.splits, platforms, choose, number)
            for argument, initial in zip(arguments, before, strict=True):
                if isinstance(argument, np.ndarray):
                    argument[...] = initial
            try:
                plan = execution.prepare(configuration)
            except DeviceError as error:
                # More shared memory than the device has: a configuration that the tuner drops.
                if isinstance(error, LaunchError) or "cannot load" in str(error):
                    continue
                raise
            with np.errstate(all="ignore"):
                result = interpreter.run_partitioned(execution, plan, arguments, seed)
            compare(expected, arguments, result, strict)
            for position, surrounding in enumerate(surroundings):
                surrounding.check(f"array argument {position}")
    except Exception as error:
        if isinstance(error, UnsupportedSourceError):
            # What the compiler refuses is looked at where all versions are checked.
            return False
        # Not "from error": Hypothesis compares the causes of failures, and isl's exceptions cannot be compared.
        raise AssertionError(report(program, strict, configuration, error)) from None
    return True


def random_configuration(
    parameters: Sequence[Any], splits: int, platforms: Sequence[str], choose: random.Random, number: int
) -> dict[str, Any]:
    """Some configuration of the partitioned version, the first one on a device alone.

    Not all are members of the space: blocks may have fewer threads.
    """
    split = choose.randint(0, splits) if number else 0
    found: dict[str, Any] = {"version": VERSION, "split": split}
    for member in range(split):
        found[f"ratio_{member}"] = choose.choice((0.0, 1.0, 0.5, choose.random(), choose.random()))
    places = [choose.choice((CPU, *platforms)) for _ in range(2**split)]
    if all(place == CPU for place in places):
        places[choose.randrange(len(places))] = choose.choice(platforms)
    names = {parameter.name for parameter in parameters}
    for partition, place in enumerate(places):
        found[f"platform_{partition}"] = place
        drawn = _on_processor(choose) if place == CPU else _on_device(choose)
        found.update({f"{name}_{partition}": value for name, value in drawn.items() if f"{name}_{partition}" in names})
    found.update(_apart(sorted(names), split, places, choose))
    for tile in (name for name in names if name.startswith("tile_")):
        found[tile] = choose.choice((1, 2, 3, 5, 33))
    return found


def _apart(names: Sequence[str], split: int, places: Sequence[str], choose: random.Random) -> dict[str, Any]:
    """The regions of some configurations divided each in its way, where there are several."""
    if "regions" not in names or choose.random() < 0.5:
        return {}
    found: dict[str, Any] = {"regions": "apart"}
    for name in names:
        if name.startswith("region_"):
            number = name.removeprefix("region_")
            found[name] = how = choose.choice(("shared", "own", "own", CPU))
            if how == "own":
                found |= {
                    f"ratio_{member}_{number}": choose.choice((0.0, 1.0, choose.random())) for member in range(split)
                }
                on_cpu = [partition for partition, place in enumerate(places) if place == CPU]
                found |= {f"threads_{partition}_{number}": choose.choice((1, 2, 3)) for partition in on_cpu}
    return found


def _on_processor(choose: random.Random) -> Mapping[str, Any]:
    return {"threads": choose.choice((1, 2, 3))}


def _on_device(choose: random.Random) -> Mapping[str, Any]:
    height = choose.choice((1, 1, 2, 4))
    return {
        "block": height * choose.choice((1, 2, 3, 8)),
        "height": height,
        "shared": choose.random() < 0.6,
        "unroll_copy": choose.random() < 0.5,
        "unroll_tile": choose.random() < 0.5,
        "points_x": choose.choice((1, 1, 2, 4)),
        "points_y": choose.choice((1, 2, 4)),
        "depth": choose.choice((1, 2, 4, 16)),
    }


def _in_poison(arguments: Sequence[Any], choose: random.Random) -> tuple[list[Any], list[Poisoned]]:
    """The arguments, arrays as views of larger ones."""
    found: list[Any] = []
    surroundings: list[Poisoned] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            contiguous = argument.flags.c_contiguous or argument.flags.f_contiguous
            layouts = LAYOUTS if contiguous else LAYOUTS[1:]
            surroundings.append(poisoned(argument, choose.choice(layouts)))
            found.append(surroundings[-1].view)
        else:
            found.append(argument)
    return found, surroundings
