"""Small programs as a generated module describes them, with Python in place of compiled code on either side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polytune.runtime.partitioned.call import CallReport, SharedCall
from polytune.runtime.partitioned.description import DeviceCode, Part, Partitioned
from polytune.runtime.partitioned.execution import Execution
from polytune.runtime.partitioned.residency import in_use, residences_of
from tests.runtime.partitioned.fake_device import FakeDevice

LENGTH, ROWS, COLUMNS, COUNT = 40, 5, 6, 11


@dataclass(frozen=True)
class Strided:
    """``into[a + s i] = 0.5 * into[a + s i] + of[b + t i]`` for i in 0 .. COUNT - 1.

    Attributes:
        into, of: arrays of LENGTH elements, not the same.
        where, there: (offset, step) of each.
        hull: whether what is read is told as the dense box around it.
        parallel: whether devices can run it.
    """

    into: str
    of: str
    where: tuple[int, int]
    there: tuple[int, int]
    hull: bool
    parallel: bool = True

    def arrays(self):
        return (self.into, self.of)

    def ranges(self):
        return ((0, COUNT),)

    def apply(self, into, of, lower, upper):
        (a, s), (b, t) = self.where, self.there
        for i in range(lower, upper):
            into[a + s * i] = 0.5 * into[a + s * i] + of[b + t * i]

    def boxes(self, place, lower, upper, hull):
        offset, step = place
        axis = (offset + step * lower, offset + step * (upper - 1) + 1, step)
        return ((axis[0], axis[1], 1 if hull else step),)

    def reads(self, lower, upper):
        both = ((self.into, self.where), (self.of, self.there))
        return [(name, self.boxes(place, lower, upper, self.hull)) for name, place in both]

    def writes(self, lower, upper):
        return [(self.into, self.boxes(self.where, lower, upper, False))]

    splits, reductions = 1, ()


@dataclass(frozen=True)
class Plane:
    """``P[i, j] += of[j]`` for all i, j; both members can be split."""

    of: str
    parallel: bool = True

    def arrays(self):
        return ("P", self.of)

    def ranges(self):
        return ((0, ROWS), (0, COLUMNS))

    def apply(self, plane, of, i0, i1, j0, j1):
        plane.reshape(-1)[: ROWS * COLUMNS].reshape(ROWS, COLUMNS)[i0:i1, j0:j1] += of[j0:j1]

    def reads(self, i0, i1, j0, j1):
        return [("P", ((i0, i1, 1), (j0, j1, 1))), (self.of, ((j0, j1, 1),))]

    def writes(self, i0, i1, j0, j1):
        return [("P", ((i0, i1, 1), (j0, j1, 1)))]

    splits, reductions = 2, ()


@dataclass(frozen=True)
class Sum:
    """``S[0] += of[i]`` for all i, with partial sums where it is split."""

    of: str
    parallel: bool = True

    def arrays(self):
        return ("S", self.of)

    def ranges(self):
        return ((0, COUNT),)

    def apply(self, total, of, lower, upper):
        for i in range(lower, upper):
            total[0] += of[i]

    def reads(self, lower, upper):
        return [("S", ((0, 1, 1),)), (self.of, ((lower, upper, 1),))]

    def writes(self, lower, upper):
        return [("S", ((0, 1, 1),))]

    splits, reductions = 1, ((("S", "+"),),)


Region = Strided | Plane | Sum


def part_of(region: Region, number: int) -> Part:
    """A region as a generated module describes it; ``run`` takes the arrays and the limits."""
    code = DeviceCode(
        name=f"region_{number}",
        text="",
        arrays=region.arrays(),
        private=(),
        extents=((region.of, 0),),
        scalars=(("factor", "float64"),),
        positions=tuple(range(region.splits)),
        sequential=0,
        shared_memory="",
    )
    return Part(
        run=region.apply,
        team=False,
        tiles=0,
        splits=region.splits,
        shared=region.splits,
        ranges=lambda n: region.ranges(),
        reads=lambda n, *limits: region.reads(*limits),
        writes=lambda n, *limits: region.writes(*limits),
        device=code if region.parallel else None,
        reductions=region.reductions,
    )


def kernel_of(region: Region):
    """A region as a kernel of a fake device."""

    def kernel(into, of, extent, factor, n, *limits):
        assert (extent, factor, n) == (LENGTH, 2.0, COUNT)
        region.apply(into, of, *limits)

    return kernel


class Program:
    """Regions one after the other, on arrays A, B, C of LENGTH, P of ROWS x COLUMNS and S of one element."""

    def __init__(self, regions: Sequence[Region], identities: Sequence[str] = ("cuda:0",)):
        self.regions = regions
        kernels = {f"region_{number}": kernel_of(region) for number, region in enumerate(regions)}
        self.devices = {identity: FakeDevice(kernels, identity) for identity in identities}
        parts = tuple(part_of(region, number) for number, region in enumerate(regions))
        self.partitioned = Partitioned(lambda n: ((number, ()) for number in range(len(parts))), 4, parts)
        self.execution = Execution("program", self.partitioned, list(self.devices.values()), contract=False)
        self.arrays = self.new_arrays()

    @property
    def device(self) -> FakeDevice:
        """The first device."""
        return next(iter(self.devices.values()))

    def new_arrays(self) -> dict[str, np.ndarray]:
        """Arrays with different numbers, whose halves are exact; A is not contiguous, B begins in mid-memory."""
        numbers = np.arange(1000.0) * 64
        arrays = {
            "A": numbers[: 2 * LENGTH].copy()[::2],
            "B": numbers[100 : 101 + LENGTH].copy()[1:],
            "C": numbers[200 : 200 + LENGTH].copy(),
            "P": numbers[300 : 300 + ROWS * COLUMNS].reshape(ROWS, COLUMNS).copy(),
            "S": numbers[400:401].copy(),
        }
        return arrays

    def expected(self, arrays: Mapping[str, np.ndarray], calls: int = 1) -> dict[str, np.ndarray]:
        """What the arrays hold after calls, by the regions in order."""
        copies = {name: array.copy() for name, array in arrays.items()}
        for _ in range(calls):
            for region in self.regions:
                limits = [limit for pair in region.ranges() for limit in pair]
                region.apply(*(copies[name] for name in region.arrays()), *limits)
        return copies

    def call(self, configuration: Mapping[str, Any]) -> CallReport:
        """Run the program once on its arrays."""

        def run_part(part, integers, threads, replaced):
            region = self.regions[self.partitioned.parts.index(part)]
            arrays = {**self.arrays, **replaced}
            region.apply(*(arrays[name] for name in region.arrays()), *integers)

        plan = self.execution.prepare(configuration)
        residences, _ = residences_of(self.arrays)
        with in_use(list(residences.values())):
            return self.execution.run(
                SharedCall(self.arrays, {"factor": 2.0}, (COUNT,), plan, run_part, frozenset(), residences)
            )

    def check(self, expected: Mapping[str, np.ndarray]) -> None:
        """Every array holds what it should."""
        for name, array in expected.items():
            np.testing.assert_array_equal(self.arrays[name], array, err_msg=name)


def configuration(
    *platforms: str,
    ratios: tuple[float, ...] = (0.5, 0.5),
    regions: Sequence[tuple[str, tuple[float, ...]]] = (),
) -> dict[str, Any]:
    """A configuration of 1, 2 or 4 partitions on given platforms, with regions that are divided in their own ways."""
    split = len(platforms).bit_length() - 1
    found: dict[str, Any] = {"version": "partitioned", "split": split}
    found |= {f"ratio_{member}": ratios[member] for member in range(split)}
    found |= {f"platform_{number}": platform for number, platform in enumerate(platforms)}
    for number, (how, cuts) in enumerate(regions):
        found |= {"regions": "apart", f"region_{number}": how}
        found |= {f"ratio_{member}_{number}": cuts[member] for member in range(split) if how == "own"}
    return found | {f"block_{number}": 32 for number in range(len(platforms))}
