"""Translation validation: every version of a kernel executed, and held against the source.

What is held, for each version after its last rewrite, and random sizes of tiles:

- the instances of statements: each one of the source's is executed once, and no other one;
- what each of them writes is what it writes in the source order: so it has read what the source says, but for updates
  such as sums, which may run in another order;
- the arrays hold at the end what they hold after the source, and so does what the kernel returns;
- of instances that a version computes in vectors nothing is left but the elements that are stored: they are those
  that the source writes, and none is written more often than there;
- no access leaves its array, and no two tiles between which nobody waits touch an element that one of them writes.

Numbers are elements of a finite field (:mod:`tests.validation.field`), so that another order of a sum makes no
difference, and any other change does.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import islpy as isl

from polytune.codegen.loops import Compute, Let, Program, Store, walk_nodes
from polytune.codegen.partitioned import PartitionedProgram
from polytune.frontend.expression import Constant, walk
from polytune.frontend.scop import ArrayRole, Scop
from polytune.pipeline import Stages
from polytune.schedule.candidate import Origin
from polytune.schedule.plan_transform import PARTITIONED
from polytune.schedule.regions import Plan
from polytune.schedule.unions import maps_of
from polytune.versions import all_arrays
from tests.validation.execution import Execution, Kinds
from tests.validation.field import fraction_of
from tests.validation.parts import PartitionedExecution
from tests.validation.reference import Instance, Reference, execute_source

SIZES = (1, 2, 3, 5, 7, 32)
"""Sizes of tiles that are tried: few problems in tests are larger than some of them."""

OUTER = (1, 2, 3)
"""The numbers of tiles of an outer tile along a member."""

PARTITIONS = 4
"""The number of ways in which the regions of a version are divided among platforms."""


@dataclass(frozen=True)
class Report:
    """What was held against the source.

    Attributes:
        versions: the names of the versions.
        undecided: versions of which field elements say nothing, since a pass has multiplied out constants of the source
            that are no simple fractions.
        instances: how many instances the source has.
    """

    versions: tuple[str, ...]
    undecided: tuple[str, ...]
    instances: int


def validate(stages: Stages, arguments: Mapping[str, Any], seed: int = 0, *, partitioned: bool = False) -> Report:
    """Hold every version of a kernel against the source.

    Args:
        stages: the kernel.
        arguments: its arguments by name.  Only shapes and integers matter; the contents of arrays are not used.
        seed: decides the numbers, the sizes of tiles and the orders of tiles.
        partitioned: whether the version that is shared among platforms is held too, its parts for the processor and for
            devices.

    Raises:
        AssertionError: a version does not do what the source does; the message names the version, the region and tile,
            and the instance or element.
        ValueError: the source leaves an array: such a call is refused.
    """
    reference = execute_source(stages.scop, arguments, seed)
    choose = random.Random(seed)
    held: list[str] = []
    undecided: list[str] = []
    for program in stages.programs:
        if not is_decided(program, stages.scop):
            undecided.append(program.name)
            continue
        tiles = tuple(choose.choice(SIZES) for _ in program.tiles)
        outer = tuple(choose.choice(OUTER) for _ in program.outer)
        validate_program(program, stages, reference, tiles, outer, seed)
        held.append(program.name)
    if partitioned and stages.partitioned is not None:
        for number in range(PARTITIONS):
            validate_partitioned(stages.partitioned, stages, reference, seed + number)
        held.append(PARTITIONED.name)
    return Report(tuple(held), tuple(undecided), reference.size)


def validate_program(
    program: Program,
    stages: Stages,
    reference: Reference,
    tiles: Sequence[int],
    outer: Sequence[int] = (),
    seed: int = 0,
) -> None:
    """Hold one version of a kernel against the source.

    Args:
        program: the version.
        stages: its kernel.
        reference: what the source does, from ``execute_source``.
        tiles: a size for each tiled member; ``outer``: how many tiles an outer tile has along each of them.
        seed: decides the order of tiles.

    Raises:
        AssertionError: it does not do what the source does.
    """
    plan = plan_of(program, stages.plans)
    scop = replace(plan.dependences.scop, arrays=all_arrays(stages.plans))
    execution = Execution(program, scop, reference, kinds_of(scop, reference, plan.origin), tiles, outer, seed)
    sizes = f"tiles {tuple(tiles)}" + (f" in outer tiles of {tuple(outer)}" if outer else "")
    _run_and_hold(execution, reference, program.name, f"{sizes}, seed {seed}")


def validate_partitioned(partitioned: PartitionedProgram, stages: Stages, reference: Reference, seed: int = 0) -> None:
    """Hold the version that is shared among platforms against the source: its regions are cut at random, and their
    parts run on the processor or on a device.

    Args:
        partitioned: the version.
        stages: its kernel.
        reference: what the source does, from ``execute_source``.
        seed: decides the cuts, the platforms, all sizes and the order of tiles.

    Raises:
        AssertionError: it does not do what the source does.
    """
    execution = PartitionedExecution(partitioned, stages.scop, reference, kinds_of(stages.scop, reference), seed)
    _run_and_hold(execution, reference, f"{PARTITIONED.name} ({partitioned.recipe.order})", f"seed {seed}")


def _run_and_hold(execution: Execution, reference: Reference, name: str, how: str) -> None:
    try:
        execution.run()
        execution.tile = ""
        hold(execution, reference)
    except (AssertionError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        reason = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
        raise AssertionError(
            f"version {name} of {reference.scop.name}, {reference.parameters}, {how}: "
            f"{execution.where()}{reason}{_garbage(execution)}"
        ) from error


def plan_of(program: Program, plans: Sequence[Plan]) -> Plan:
    """The plan that a version was made from."""
    return next(plan for plan in plans if plan.recipe == program.recipe.of_plan)


def kinds_of(scop: Scop, reference: Reference, origin: Origin | None = None) -> Kinds:
    """Whose instances those of a version's statements are.

    A rewrite may cut a statement into pieces, which have its text and its iterators, and may add statements that copy
    values, whose instances are the version's own.  A statement may be all instances of others at once.

    Args:
        scop: the version's kernel.
        reference: what the source does.
        origin: whose instances the rewrite says that those are; only what it says of many at once is believed.
    """
    of: dict[str, str] = {}
    copies: Counter[Instance] = Counter()
    own = reference.scop.statements
    for statement in scop.statements:
        key = (statement.text, statement.location, statement.iterators)
        pieces = (each for each in own if (each.text, each.location, each.iterators) == key)
        source = next((each for each in own if each.name == statement.name), None) or next(pieces, None)
        if source is not None:
            of[statement.name] = reference.kinds[source.name]
        else:
            of[statement.name] = f"copy {statement.name}"
            copies.update((of[statement.name], point) for point in reference.points_of(statement.domain))
    whole = {} if origin is None else {name: _instances_of(name, origin, reference) for name in origin.whole}
    return Kinds(of, copies, whole)


def _instances_of(name: str, origin: Origin, reference: Reference) -> list[Instance]:
    """The instances of the source that the one instance of a statement stands for."""
    found: list[Instance] = []
    for part in maps_of(origin.relation):
        if part.get_tuple_name(isl.dim_type.in_) == name:
            kind = reference.kinds[part.get_tuple_name(isl.dim_type.out)]
            found += [(kind, point) for point in reference.points_of(part.range())]
    return found


def is_decided(program: Program, scop: Scop) -> bool:
    """Whether it is known which fractions the constants of a version stand for."""
    source = {_key(part) for each in scop.statements for op in each.operations for part in walk(op) if _is_float(part)}
    nodes = (node for region in program.regions for node in walk_nodes(region.body))
    used = (part for node in nodes if isinstance(node, Compute | Let | Store) for part in walk(node))
    return all(_key(part) in source or fraction_of(float(part.value)) is not None for part in used if _is_float(part))


def _is_float(part: Any) -> bool:
    return isinstance(part, Constant) and isinstance(part.value, float)


def _key(constant: Constant) -> str:
    return repr(float(constant.value))


def hold(execution: Execution, reference: Reference) -> None:
    """Hold what a version has executed against what the source executes.

    Raises:
        AssertionError: there is a difference.
    """
    _hold_instances(execution, reference)
    _hold_elements(execution, reference)
    if reference.scop.result is not None:
        found = execution.expressions.value(reference.scop.result)()
        assert found == reference.result, "what the kernel returns differs"


def _hold_instances(execution: Execution, reference: Reference) -> None:
    missing = [
        (kind, point)
        for (kind, point), writes in reference.instances.items()
        if execution.executed[kind, point] < len(writes)
    ]
    if execution.has_vectors:
        # Those may have been computed in vectors, and what they write is there in any case.
        missing = [each for each in missing if not _is_stored(each, execution, reference)]
    if missing:
        (kind, point), count = missing[0], len(missing)
        raise AssertionError(
            f"instance {kind}{list(point)} is not executed, as {count - 1} others are not, of {reference.size}"
        )
    lost = [each for each, count in execution.kinds.copies.items() if execution.executed[each] < count]
    if lost and not execution.has_vectors:
        raise AssertionError(f"the {lost[0][0]}{list(lost[0][1])} is not made, nor are {len(lost) - 1} others")


def _is_stored(instance: Instance, execution: Execution, reference: Reference) -> bool:
    """Whether all elements of arguments that an instance writes were stored in vectors."""
    return all(
        number in execution.stored.get(name, ()) or number in execution.kept.get(name, ())
        for writes in reference.instances[instance]
        for name, number, _ in writes
        if reference.scop.array(name).role is ArrayRole.ARGUMENT
    )


def _hold_elements(execution: Execution, reference: Reference) -> None:
    for array in reference.scop.arrays:
        if array.role is not ArrayRole.ARGUMENT:
            continue
        cells, source = execution.memory[array.name], reference.counts[array.name]
        kept = execution.kept.get(array.name, set())
        for place, (count, expected) in enumerate(zip(execution.counts[array.name], source, strict=True)):
            if count > expected or (expected and not count and place not in kept):
                raise AssertionError(
                    f"{cells.element(place)} is written {count} times, and {expected} times in the source order"
                )
        for place, (value, expected_value) in enumerate(zip(cells.values, reference.final[array.name], strict=True)):
            if value != expected_value:
                different = sum(map(int.__ne__, cells.values, reference.final[array.name]))
                raise AssertionError(
                    f"{cells.element(place)} holds at the end what it does not hold after the source order, as do "
                    f"{different - 1} other elements of {len(cells.values)}"
                )


def _garbage(execution: Execution) -> str:
    clock = execution.clock
    if not clock.garbage:
        return ""
    return f" (elements were read that nobody had written, the first one {clock.first_garbage})"
