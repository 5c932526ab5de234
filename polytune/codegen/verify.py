"""The verifier: what every program of the loop IR fulfils beside the grammar in ``polytune.codegen.loops``.

- Names are defined before they are used, and every loop has a variable of its own among those around it.
- Types agree: of operands, of what is stored, of subscripts and bounds; vectors that are worked on together have lanes
  of one type, and as many; masks have as many lanes as what they choose from.
- Elements are of arrays that there are, or of a worker's own memory, with a subscript for each axis.
- Regions have as many windows as tiled members, and are called, with a value for each loop around them.

It knows nothing of what a program computes: that is shown of schedules, and held against the source by tests.  It runs
after every rewrite where ``POLYTUNE_VERIFY`` is set, in tests always.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import field, replace
from typing import Any, Self, assert_never

from polytune.codegen.loops import (
    Block,
    Compute,
    For,
    If,
    Let,
    Node,
    Prefetch,
    Program,
    RegionCall,
    RegionCode,
    Store,
    walk_nodes,
)
from polytune.codegen.verify_expressions import NUMBER_OF_INDICES, TRUTH, ExpressionVerifier, ValueKind, VerifiedProgram
from polytune.environment import VERIFY
from polytune.frontend.expression import Assign, Branch, Break, Checked, Constant, Continue, LibraryCall, Loop, While
from polytune.frontend.scop import Scop
from polytune.records import dataclass
from polytune.schedule.private_sums import SUMS


def is_asked_for() -> bool:
    """Return whether programs are to be verified, by the environment variable ``POLYTUNE_VERIFY``."""
    return VERIFY.is_on


def verified(program: Program, scop: Scop) -> Program:
    """The program, if it fulfils everything, or where nothing is to be verified.

    Raises:
        VerificationError: it does not; the message names the version, the region and the node.
    """
    if is_asked_for():
        verify(program, scop)
    return program


def verify(program: Program, scop: Scop) -> None:
    """Hold a program against what every one fulfils.

    Args:
        program: the program.
        scop: its kernel, with the arrays of all versions.

    Raises:
        VerificationError: it does not; the message names the version, the region and the node.
    """
    _ProgramVerifier(program, scop).verify()


@dataclass(frozen=True)
class _ProgramVerifier(VerifiedProgram):
    def verify(self) -> None:
        program = self.program
        regions = program.regions
        self.hold(bool(regions), "there is no region")
        self.hold([region.index for region in regions] == list(range(len(regions))), "regions are not in their order")
        calls = [node for node in walk_nodes(program.skeleton) if isinstance(node, RegionCall)]
        called = {call.region for call in calls}
        self.hold(called == set(range(len(regions))), f"the skeleton calls regions {sorted(called)} of {len(regions)}")
        depth = max(len(region.members) for region in regions)
        self.hold(len(program.tiles) >= depth, f"{len(program.tiles)} sizes of tiles for {depth} members")
        self.hold(len(program.outer) in (0, len(program.tiles)), "outer tiles have another depth than tiles")
        self.hold(bool(program.shares) == bool(program.outer), "only outer tiles share the code of another version")
        if not program.team:
            self.hold(
                [region.kind for region in regions] == ["serial"],
                "work that is not shared out is one serial region",
            )
        _SkeletonVerifier(self, dict(self.outermost)).visit(program.skeleton)
        for region in regions:
            self.region(region)

    def region(self, region: RegionCode) -> None:
        """Check what surrounds the body of a region, and the body."""
        about = f"region {region.index}"
        members, shared = len(region.members), region.shared
        self.hold(region.kind in ("parallel", "wavefront", "serial"), f"{about} is of no kind: {region.kind}")
        self.hold(len(region.windows) == members, f"{about} has {len(region.windows)} windows for {members} members")
        least = {"parallel": 1, "wavefront": 2, "serial": 0}[region.kind]
        self.hold(least <= shared <= members, f"{about} is {region.kind} and shares out {shared} of {members} members")
        self.hold(region.kind != "serial" or not members, f"{about} is serial and tiled")
        names = [*region.outer, *(name for window in region.windows for name in window)]
        known = set(names) | set(self.outermost)
        # The limits of a part are names of the program's, and windows of the part's own region.
        self.hold(len(set(names)) == len(names), f"{about} has one name for several loops or windows")
        arrays = {array.name for array in self.scop.arrays}
        own = region.private | region.local | region.summed | region.resident | region.expanded
        self.hold(own <= arrays, f"{about} has copies of what is no array: {sorted(own - arrays)}")
        scalars = {array.name for array in self.scop.arrays if not array.ndim}
        self.hold(region.local <= scalars, f"variables of {about} are arrays: {sorted(region.local - scalars)}")
        self.hold(region.local <= region.private, f"{about} has variables that are not its own")
        self.hold(region.expanded <= region.private, f"{about} has copies for points of what is not its own")
        both = region.private & (region.summed | region.resident)
        self.hold(not both, f"{about} has several kinds of copies of {sorted(both)}")
        if region.expansion is not None:
            self.hold(region.expansion.member < members, f"{about} has copies along a member that it has not")
        for buffer in region.buffers:
            self.hold(set(buffer.members) <= set(range(members)), f"{buffer.name} is as large as no tile")
        outer = {**self.outermost, **dict.fromkeys(region.outer, NUMBER_OF_INDICES)}
        at_start = _BodyVerifier(self, outer, region=region)
        for member in region.members:
            at_start.index(member.lower)
            at_start.index(member.upper)
        for each in region.sums:
            self.hold(each.operator in SUMS, f"{about} adds up by {each.operator}")
            if each.elements is not None:
                at_start.index(each.elements.lower)
                at_start.index(each.elements.upper)
        for strip in region.strips:
            for extent in strip.shape:
                at_start.index(extent)
        _BodyVerifier(self, dict.fromkeys(known, NUMBER_OF_INDICES), region=region).visit(region.body)


@dataclass
class _NodeVerifier(ExpressionVerifier, ABC):
    """The rules of nodes wherever they are; what a loop or a branch defines ends with it.

    ``is_in_loop`` says whether an operation is in a loop of its statement.
    """

    is_in_loop: bool = field(default=False, kw_only=True)

    def inside(self, **names: ValueKind) -> Self:
        return replace(self, names={**self.names, **names})

    def visit(self, node: Node) -> None:
        match node:
            case Block(children):
                self.hold(not any(isinstance(child, Block) for child in children), "a block is right below a block")
                for child in children:
                    self.visit(child)
            case For(variable, start, stop, step, body):
                self.index(start)
                self.index(stop)
                self.hold(isinstance(step, int) and step > 0, f"the loop over {variable} has the step {step!r}")
                self.hold(variable not in self.names, f"the loop over {variable} is inside another one")
                self.inside(**{variable: NUMBER_OF_INDICES}).visit(body)
            case If(condition, then, otherwise):
                self.hold(self.kind(condition) == TRUTH, "a condition is no truth value", condition)
                self.inside().visit(then)
                if otherwise is not None:
                    self.inside().visit(otherwise)
            case Compute() | Let() | Store() | Prefetch() | RegionCall():
                self.leaf(node)
            case _:
                self.hold(False, f"the grammar has no {type(node).__name__}")
                assert_never(node)

    @abstractmethod
    def leaf(self, node: Compute | Let | Store | Prefetch | RegionCall) -> None:
        """Hold a node without others below it to what it may be here."""


@dataclass
class _SkeletonVerifier(_NodeVerifier):
    """Loops and conditions around regions."""

    def about(self) -> str:
        return "skeleton: "

    def leaf(self, node: Compute | Let | Store | Prefetch | RegionCall) -> None:
        if not isinstance(node, RegionCall):
            self.hold(False, f"a skeleton has no {type(node).__name__}")
            return
        regions = self.program.program.regions
        self.hold(0 <= node.region < len(regions), f"there is no region {node.region}")
        expected, found = len(regions[node.region].outer), len(node.prefix)
        self.hold(found == expected, f"region {node.region} has {expected} loops around it, and values for {found}")
        for value in node.prefix:
            self.index(value)


@dataclass
class _BodyVerifier(_NodeVerifier):
    """The body of a region."""

    region: RegionCode = field(kw_only=True)

    def about(self) -> str:
        return f"region {self.region.index}: "

    def memory(self, name: str) -> tuple[str, int]:
        for buffer in self.region.buffers:
            if buffer.name == name:
                return buffer.dtype, len(buffer.members)
        for strip in self.region.strips:
            if strip.name == name:
                return strip.dtype, len(strip.shape)
        dtype, axes = super().memory(name)
        return dtype, axes + (name in self.region.expanded)

    def leaf(self, node: Compute | Let | Store | Prefetch | RegionCall) -> None:
        match node:
            case Compute(statement, operations, _, instance):
                self.hold(
                    any(each.name == statement for each in self.program.scop.statements),
                    f"there is no statement {statement}",
                )
                iterators = self.program.scop.statement(statement).iterators
                self.hold(len(instance) == len(iterators), f"{statement} has {len(instance)} coordinates")
                for value in instance:
                    self.index(value)
                self.operations(operations)
            case Let(name, value):
                kind = self.kind(value)
                before = self.names.get(name, kind)
                self.hold(before == kind, lambda: f"{name}, which is {before}, becomes {kind}")
                self.names[name] = kind
            case Store(element, value, mask, apart):
                kind, target = self.kind(value), self.element(element)
                self.hold(kind.dtype == target.dtype, lambda: f"{kind} is stored to {element.array}, of {target}", node)
                self.hold(bool(kind.lanes) or (mask is None and apart is None), "a number is stored as a vector", node)
                self.mask(mask, kind.lanes)
                self.apart(apart, element)
            case Prefetch(element):
                self.element(element)
                self.hold(bool(element.subscripts), f"{element.array}, a number, is prefetched")
            case RegionCall():
                self.hold(False, "a region calls another one")
            case _:
                assert_never(node)

    def operations(self, operations: Iterable[Any]) -> None:
        """Hold what a statement does."""
        for operation in operations:
            match operation:
                case Assign(target, value):
                    kinds = self.kind(value), self.element(target)
                    self.hold(kinds[0] == kinds[1], lambda: f"{kinds[0]} is assigned to {kinds[1]}", operation)  # noqa: B023
                case Branch(condition, then, otherwise):
                    self.hold(self.kind(condition) == TRUTH, "a condition is no truth value", condition)
                    self.operations(then)
                    self.operations(otherwise)
                case While(condition, body):
                    self.hold(self.kind(condition) == TRUTH, "a condition is no truth value", condition)
                    replace(self, is_in_loop=True).operations(body)
                case Loop(counter, start, stop, step, body):
                    self.index(start)
                    self.index(stop)
                    self.hold(isinstance(step, int) and step != 0, f"the loop over {counter} has the step {step!r}")
                    self.hold(counter not in self.names, f"the loop over {counter} is inside another one")
                    inside = self.inside(**{counter: NUMBER_OF_INDICES})
                    replace(inside, is_in_loop=True).operations(body)
                case Break() | Continue():
                    self.hold(self.is_in_loop, "a jump is outside of the loops of its statement")
                case Checked(Constant(False), body=body):  # tested before the kernel runs
                    self.operations(body)
                case Checked(violation, report, site, body):
                    self.hold(self.kind(violation) == TRUTH, "a condition is no truth value", violation)
                    self.hold(site > 0, f"a violation is reported as {site}, which means none")
                    self.element(report)
                    self.operations(body)
                case LibraryCall(_, results, arguments, report):
                    self.element(report)
                    for part in (*arguments, *results):
                        for extent in part.extents:
                            self.index(extent)
                        self.inside(**{each.name: NUMBER_OF_INDICES for each in part.counters}).element(part.element)
                case _:
                    self.hold(False, f"the grammar has no operation {type(operation).__name__}")
