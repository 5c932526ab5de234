"""Kernels shared among the processor and two devices touch nothing but what they are to write.

Arrays are views of larger ones full of poison, with gaps, with negative strides, in C and in Fortran order; the memory
of devices is full of NaN.  Members are split at both ends and between, once and twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from polytune.runtime.partitioned.pieces import CPU
from polytune.runtime.partitioned.space import VERSION
from tests.codegen.test_transfers import OWN
from tests.device_versions.offered import offered
from tests.device_versions.poison import LAYOUTS, Layout, Poisoned, poisoned
from tests.device_versions.versions import Subject, assert_same_bits
from tests.schedule.kernels import SMALL, Case, polybench_case

CASES = [*OWN, "product_of_sums", "row_buffer", "stencil", "triangular", "gemm"]
SHAPE = {"block": 6, "height": 2, "points_x": 2, "points_y": 1, "depth": 3, "threads": 2}
RATIOS = (0.0, 0.45, 1.0)


def case_of(name: str) -> Case:
    return OWN.get(name) or SMALL.get(name) or polybench_case(name)


@pytest.fixture(scope="module")
def platforms() -> Iterator[tuple[str, ...]]:
    """Two devices, or as many as there are."""
    with offered() as found:
        if not found:
            pytest.skip("there is neither PoCL nor the stand-in for CUDA")
        yield found


def surrounded(case: Case, layout: Layout, fortran: bool) -> tuple[list[Any], list[Poisoned]]:
    arguments: list[Any] = []
    surroundings: list[Poisoned] = []
    for value in case.arguments().values():
        if isinstance(value, np.ndarray):
            surroundings.append(poisoned(np.asfortranarray(value) if fortran else value, layout))
            arguments.append(surroundings[-1].view)
        else:
            arguments.append(value)
    return arguments, surroundings


def configurations(splits: int, platforms: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Every ratio with every number of splits, platforms in turn."""
    everywhere = (*platforms, CPU)
    turn = 0
    for split in range(splits + 1):
        for ratios in product(RATIOS, repeat=split):
            chosen: dict[str, Any] = {"version": VERSION, "split": split}
            chosen |= {f"ratio_{member}": ratio for member, ratio in enumerate(ratios)}
            for partition in range(2**split):
                chosen[f"platform_{partition}"] = everywhere[(turn + partition) % len(everywhere)]
                chosen |= {f"{name}_{partition}": value for name, value in SHAPE.items()}
                chosen[f"shared_{partition}"] = turn % 2 == 0
            turn += 1
            yield chosen


@pytest.mark.parametrize(
    ("layout", "fortran"), [*((layout, False) for layout in LAYOUTS), ("dense", True)], ids=[*LAYOUTS, "fortran"]
)
@pytest.mark.parametrize("name", CASES)
def test_nothing_around_is_touched(name: str, layout: Layout, fortran: bool, platforms: tuple[str, ...]) -> None:
    case = case_of(name)
    arguments, surroundings = surrounded(case, layout, fortran)
    subject = Subject.of(case.function, arguments)
    assert subject is not None
    before = [np.array(argument) for argument in arguments]
    expected = list(case.arguments().values())
    with np.errstate(all="ignore"):
        case.function(*expected)
    execution = subject.execution()
    ran_on = set()
    for chosen in configurations(subject.partitioned.splits, platforms):
        for argument, value in zip(arguments, before, strict=True):
            if isinstance(argument, np.ndarray):
                argument[...] = value
        subject.run(execution, chosen, arguments)
        about = f"{name}, {layout}, {chosen}"
        assert_same_bits([np.array(argument) for argument in arguments], list(map(np.array, expected)), about)
        for position, surrounding in enumerate(surroundings):
            surrounding.check(f"array {position} of {about}")
        ran_on |= {chosen[f"platform_{partition}"] for partition in range(2 ** chosen["split"])}
    assert ran_on >= set(platforms)
