"""Nests of steps: one assignment, a serial loop outermost, and inside it loops that one cut each makes parallel."""

from __future__ import annotations

import islpy as isl

from polytune.frontend.expression import Assign, Element, Iterator, walk
from polytune.frontend.scop import Scop, Statement
from polytune.records import dataclass
from polytune.schedule.analysis.bands import analyse_band
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.rewrites.splitting import only_cut, sides_of
from polytune.schedule.unions import sets_of

BEFORE, AT, BEHIND = range(3)
"""The sides of a cut."""


@dataclass(frozen=True)
class Read:
    """A read whose value is saved: the same all along a loop, at a depth, and changed by later steps."""

    element: Element
    relation: isl.Map
    depth: int


@dataclass(frozen=True)
class StepNest:
    """A perfect nest of one assignment, the loop over steps outermost, every loop inside it cut at one place.

    Attributes:
        sides: for each loop but the first, the instances before, at and behind its cut.
        saved: the reads to be saved.
    """

    scop: Scop
    statement: Statement
    sides: tuple[tuple[isl.Set, isl.Set, isl.Set], ...]
    saved: tuple[Read, ...]

    @property
    def assignment(self) -> Assign:
        """Return what the statement does."""
        (operation,) = self.statement.operations
        assert isinstance(operation, Assign)
        return operation


def step_nest_of(schedule: isl.Schedule, dependences: Dependences) -> StepNest | None:
    """The nest that a kernel is, given in the source's order; None where it is another one."""
    scop = dependences.scop
    if len(scop.statements) != 1:
        return None
    (statement,) = scop.statements
    if statement.is_opaque or not isinstance(statement.operations[0], Assign):
        return None
    saved = _saved_reads(statement, statement.operations[0])
    if not saved or len(statement.iterators) < 2:
        return None
    sides: list[tuple[isl.Set, isl.Set, isl.Set]] = []
    node = schedule.get_root().child(0)
    for depth in range(len(statement.iterators)):
        if node.get_type() != isl.schedule_node_type.band or not _counts(node, statement, depth):
            return None
        if depth == 0 and analyse_band(node, dependences).coincident[0]:
            return None
        if depth > 0:
            place = only_cut(node, dependences)
            if place is None:
                return None
            before, at, behind = (_set_of(side, statement) for side in sides_of(node, place))
            sides.append((before, at, behind))
        node = node.child(0)
    return StepNest(scop, statement, tuple(sides), saved)


def _counts(node: isl.ScheduleNode, statement: Statement, depth: int) -> bool:
    """Return whether a band is the loop at a depth, upwards."""
    names = dimensions_of(statement)
    upwards = relation_of(statement, f"{statement.name}[{', '.join(names)}] -> [{names[depth]}]")
    loop = node.band_get_partial_schedule_union_map().intersect_domain(node.get_domain())
    return loop.is_subset(isl.UnionMap.from_map(upwards))


def _saved_reads(statement: Statement, assignment: Assign) -> tuple[Read, ...]:
    """The reads of the array that is updated, but for the element that is; nothing where one of them cannot be saved.

    It can be if every instance reads it, and if its subscripts name all loops but one inside the first, each of them by
    itself.
    """
    elements = [part for part in walk(assignment.value) if isinstance(part, Element)]
    reads = [access for access in statement.accesses if not access.is_write]
    if len(elements) != len(reads):
        return ()
    found: dict[Element, Read] = {}
    for element, access in zip(elements, reads, strict=True):
        if element.array != assignment.target.array or element == assignment.target or element in found:
            continue
        named = {part.name for part in walk(element) if isinstance(part, Iterator)}
        missing = [depth for depth, name in enumerate(statement.iterators) if depth and name not in named]
        plain = {subscript.name for subscript in element.subscripts if isinstance(subscript, Iterator)}
        if len(missing) != 1 or not plain >= named - {statement.iterators[0]}:
            return ()
        if not statement.domain.is_subset(access.relation.domain()):
            return ()
        found[element] = Read(element, access.relation, missing[0])
    return tuple(found.values())


def dimensions_of(statement: Statement) -> list[str]:
    """Names for the dimensions of a statement's domain that isl takes."""
    return [f"x{depth}" for depth in range(len(statement.iterators))]


def relation_of(statement: Statement, text: str) -> isl.Map:
    """A relation among instances of a statement, as isl reads it."""
    return isl.Map.read_from_str(statement.domain.get_ctx(), f"{{ {text} }}")


def _set_of(union: isl.UnionSet, statement: Statement) -> isl.Set:
    """The instances of a statement in a union."""
    found = sets_of(union)
    return found[0] if found else isl.Set.empty(statement.domain.get_space())
