"""Runtime feedback rules: what the counts of a call say is not worth measuring.

After Pfaffe, Grosser and Tillmann (ICS 2019), section 3.2.2.  A rule looks at the counts of a partition, maximised
over the positions R of the splits; because a partition can be made as large as the whole region, and the counts are
linear in R, that maximum is the count of the whole.  So a rule is a statement about values of nominal parameters
alone: a value that it rejects is left out of the space before anything is tried.  Where a kernel has several regions
that devices can run, as the two products of 2mm, each is judged by its own counts.

Compute-Intensity is printed there with its inequality the other way round, which contradicts its own words ("GPU
kernels are compute bound"): rejected is what computes too *little* for what it moves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np

from polytune.records import dataclass
from polytune.runtime.machine import machine
from polytune.runtime.partitioned.pieces import ALIKE, CPU, OWN, SHARED
from polytune.runtime.partitioned.space import VERSION
from polytune.tuner import Constraint, Nominal, Space

__all__ = [
    "PUBLISHED",
    "RULES",
    "Refused",
    "Rule",
    "Thresholds",
    "counts_of",
    "counts_of_regions",
    "outer_refusals",
    "refusals",
]

Refused = dict[str, dict[Any, str]]
"""The values that are rejected, by parameter, each with a sentence that says why."""


@dataclass(frozen=True)
class Thresholds:
    """The thresholds that the rules compare counts with.

    Attributes:
        rho: the fewest statement instances for which a device may pay.
        alpha: the fewest statement instances for each element moved.
    """

    rho: float
    alpha: float

    def __str__(self) -> str:
        return f"rho = {self.rho:.3g}, alpha = {self.alpha:.3g}"


PUBLISHED = Thresholds(rho=150e6, alpha=2.0)
"""The values of the paper (section 4.3), for a Tesla P100 beside a Xeon of 2 x 12 cores."""


@dataclass(frozen=True)
class Rule:
    """A condition on which values of a nominal parameter are rejected.

    Attributes:
        name: as in the paper.
        parameter: what it rejects: ``platform``, the devices of a partition; ``shared``, its use of shared memory;
            ``outer``, versions whose tiles lie in outer tiles.
        rejects: an expression over the counts ``compute``, ``memory``, ``reuse`` and ``data``, the thresholds ``rho``
            and ``alpha``, and the bytes of the second cache, ``cache``; where one is not known, nothing is rejected.
        sentence: why, with the numbers in braces.
        counts_transfers: whether it supposes that arrays have to be moved to the device and back.
    """

    name: str
    parameter: str
    rejects: str
    sentence: str
    counts_transfers: bool = True

    def reason(self, numbers: Mapping[str, Any]) -> str | None:
        """Return why the rule rejects a call with these numbers; None where it does not."""
        condition = Constraint(self.rejects)
        if not condition.names <= numbers.keys() or not condition.holds(numbers):
            return None
        shown = {name: f"{float(value):.4g}" for name, value in numbers.items()}
        return f"{self.name}: {self.sentence.format(**shown)}"


RULES = (
    Rule(
        "Min-Compute",
        "platform",
        "compute < rho",
        "{compute} statement instances are too few for a device, which may pay from {rho} on",
    ),
    Rule(
        "Compute-Intensity",
        "platform",
        "compute < alpha * memory",
        "{compute} statement instances on {memory} elements are too few for each element moved; from {alpha} on a "
        "device may pay",
    ),
    Rule(
        "Min-Reuse",
        "shared",
        "reuse <= 1",
        "no element is accessed more than once (reuse {reuse}), so that shared memory saves nothing",
        counts_transfers=False,
    ),
    Rule(
        "Min-Data",
        "outer",
        "data <= cache",
        "{data} bytes of arrays stay in the second cache, of {cache} bytes, so that outer tiles save nothing",
        counts_transfers=False,
    ),
)


def counts_of(module: ModuleType, parameters: Sequence[int]) -> dict[str, float | Fraction]:
    """The counts that a generated module knows, for given values of its parameters.

    Returns:
        ``compute``, ``memory``, ``reuse`` (the largest of any array argument) and ``data`` (the bytes of all elements
        of array arguments that are accessed), as far as each is known.
    """
    values = dict(zip(module.PARAMETERS, parameters, strict=True))

    def evaluate(name: str) -> int | None:
        function = getattr(module, name, None)
        if function is None:
            return None
        return _evaluated(function, values)

    found: dict[str, float | Fraction] = {}
    for name in ("compute", "memory"):
        count = evaluate(name)
        if count is not None:
            found[name] = count
    footprints = {array: evaluate(f"footprint_{array}") for array in module.ARRAYS}
    data = [
        elements * np.dtype(module.SIGNATURE[array].dtype).itemsize
        for array, elements in footprints.items()
        if elements is not None
    ]
    if data and len(data) == len(footprints):
        found["data"] = sum(data)
    reuses = []
    for array in module.ARRAYS:
        accesses, elements = evaluate(f"accesses_{array}"), evaluate(f"elements_{array}")
        if accesses is None or elements is None:
            return found
        reuses.append(Fraction(accesses, elements) if elements else Fraction(0))
    if reuses:
        found["reuse"] = max(reuses)
    return found


def counts_of_regions(module: ModuleType, parameters: Sequence[int]) -> dict[int, dict[str, int]]:
    """The counts of the regions that may be divided each in its way, for given values of a module's parameters.

    Returns:
        By the number of the region ``compute`` and ``memory``, as far as each is known; nothing where there are fewer
        than two such regions.
    """
    partitioned = getattr(module, "PARTITIONED", None)
    if partitioned is None:
        return {}
    values = dict(zip(module.PARAMETERS, parameters, strict=True))
    found: dict[int, dict[str, int]] = {}
    for number in partitioned.regions:
        part = partitioned.parts[number]
        functions = {"compute": getattr(part, "compute", None), "memory": getattr(part, "memory", None)}
        found[number] = {name: _evaluated(count, values) for name, count in functions.items() if count is not None}
    return found


def _evaluated(count: Callable[..., int], parameters: Mapping[str, int]) -> int:
    code = count.__code__
    return count(*(parameters[name] for name in code.co_varnames[: code.co_argcount]))


def refusals(
    space: Space,
    counts: Mapping[str, Any],
    thresholds: Mapping[str, Thresholds],
    *,
    resident: bool = False,
    regions: Mapping[int, Mapping[str, Any]] | None = None,
) -> Refused:
    """The values of a kernel's space that the rules reject for a call.

    Args:
        space: every choice.
        counts: of the call, see `counts_of`.
        thresholds: per device.
        resident: whether arrays are on devices already, so that nothing has to be moved.
        regions: the counts of each region that may be divided in its way, see `counts_of_regions`: a device is left out
            where none of them is worth it, and a region where it is worth no device.
    """
    rules = [rule for rule in RULES if not (resident and rule.counts_transfers)]
    version = space["version"]
    without: dict[str, str | None] = {}
    apart: dict[int, dict[str, str | None]] = {}
    # Where there is no other version, the arrays are where only a device can reach them.
    if isinstance(version, Nominal) and version.values != (VERSION,):
        without, apart = _of_platforms(rules, counts, thresholds, regions or {})
    found = _refused_platforms(space, without)
    sharing = _first_reason(rules, "shared", counts, None)
    if sharing is not None:
        found |= {parameter.name: {True: sharing} for parameter in _numbered(space, "shared")}
    found |= _refused_regions(space, apart)
    platforms = _numbered(space, "platform")
    if platforms and all(set(p.values) - {CPU} <= found.get(p.name, {}).keys() for p in platforms):
        # No partition is left that a device may run: the version goes as a whole, and nothing has to find that out.
        found["version"] = {VERSION: next(reason for reason in without.values() if reason)}
    return found


def _of_platforms(
    rules: Sequence[Rule],
    counts: Mapping[str, Any],
    thresholds: Mapping[str, Thresholds],
    regions: Mapping[int, Mapping[str, Any]],
) -> tuple[dict[str, str | None], dict[int, dict[str, str | None]]]:
    """The reasons why devices are not worth it for a call, and, where one may be, those for each region.

    Args:
        rules: the rules that hold.
        counts, thresholds, regions: as for `refusals`.
    """
    without = {device: _first_reason(rules, "platform", counts, limits) for device, limits in thresholds.items()}
    apart = {} if any(without.values()) else _of_regions(rules, thresholds, regions)
    if not apart or not all(all(reasons.values()) for reasons in apart.values()):
        return without, apart
    # No region is worth a device, though all of them together look as if they were.
    return {device: _together([reasons[device] for reasons in apart.values()]) for device in thresholds}, {}


def _numbered(space: Space, kind: str) -> list[Nominal]:
    """The parameters of a kind, of which each partition has one: ``platform_0``, ``platform_1`` ..."""
    nominal = [parameter for parameter in space.parameters if isinstance(parameter, Nominal)]
    split = [(parameter, *parameter.name.rpartition("_")) for parameter in nominal]
    return [parameter for parameter, name, _, number in split if name == kind and number.isdigit()]


def _refused_platforms(space: Space, without: Mapping[str, str | None]) -> Refused:
    """The devices of each partition that are not worth it, with the reasons."""
    found: Refused = {}
    for parameter in _numbered(space, "platform"):
        rejected = {device: reason for device, reason in without.items() if reason and parameter.accepts(device)}
        if rejected:
            found[parameter.name] = rejected
    return found


def _of_regions(
    rules: Sequence[Rule], thresholds: Mapping[str, Thresholds], regions: Mapping[int, Mapping[str, Any]]
) -> dict[int, dict[str, str | None]]:
    """The reason by region and device why it is not worth to run it there; None where it may be."""
    return {
        number: {device: _first_reason(rules, "platform", counts, limits) for device, limits in thresholds.items()}
        for number, counts in regions.items()
    }


def _refused_regions(space: Space, apart: Mapping[int, Mapping[str, str | None]]) -> Refused:
    """The ways to divide a region that give a part of it to devices, where it is worth none of them; it cannot be
    divided as others are then."""
    found: Refused = {}
    names = {parameter.name for parameter in space.parameters}
    for number, reasons in apart.items():
        if all(reasons.values()) and f"region_{number}" in names:
            reason = f"region {number}: {next(reason for reason in reasons.values() if reason)}"
            found[f"region_{number}"] = {SHARED: reason, OWN: reason}
            found["regions"] = {ALIKE: reason}
    return found


def _together(reasons: Sequence[str | None]) -> str:
    """The reason of which the others differ in numbers, said of all regions."""
    return f"{next(reason for reason in reasons if reason)} (in each of {len(reasons)} regions)"


def outer_refusals(versions: Sequence[str], counts: Mapping[str, Any]) -> Refused:
    """The versions with outer tiles that the rules reject for a call.

    Args:
        versions: those that have outer tiles.
        counts: of the call, see `counts_of`.
    """
    reason = _first_reason(RULES, "outer", {**counts, "cache": machine().cache(2).share}, None)
    return {"version": dict.fromkeys(versions, reason)} if versions and reason is not None else {}


def _first_reason(
    rules: Sequence[Rule], parameter: str, counts: Mapping[str, Any], thresholds: Thresholds | None
) -> str | None:
    numbers = dict(counts)
    if thresholds is not None:
        numbers |= {"rho": thresholds.rho, "alpha": thresholds.alpha}
    reasons = (rule.reason(numbers) for rule in rules if rule.parameter == parameter)
    return next((reason for reason in reasons if reason is not None), None)
