"""The verifier refuses whatever is malformed, and says where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from polytune.codegen.loops import (
    Block,
    Buffer,
    Compute,
    For,
    If,
    Let,
    Node,
    Prefetch,
    Program,
    RegionCall,
    Store,
    block,
    map_nodes,
    walk_nodes,
)
from polytune.codegen.transform import LoopTransform, Target
from polytune.codegen.vectors.expressions import (
    VECTOR,
    AnyMask,
    Apart,
    Between,
    Lanes,
    LaneSelect,
    Shifted,
    Total,
    Variable,
)
from polytune.codegen.verify import verify
from polytune.errors import VerificationError
from polytune.frontend.expression import Assign, Binary, Compare, Constant, Element, Iterator
from polytune.frontend.scop import Scop
from polytune.versions import Transforms, make_programs
from tests.every_version import stages_of
from tests.schedule.kernels import SMALL, polybench_case

ONE = Constant(1, "int64")
HALF = Constant(0.5, "float64")


def program_of(kernel: str, name: str) -> tuple[Program, Scop]:
    stages = SMALL[kernel].stages if kernel in SMALL else polybench_case(kernel).stages
    return next(program for program in stages.programs if program.name == name), stages.scop


def with_body(program: Program, change: Callable[[Node], Node]) -> Program:
    first, *others = program.regions
    return replace(program, regions=(replace(first, body=change(first.body)), *others))


def with_region(program: Program, **changes: object) -> Program:
    first, *others = program.regions
    return replace(program, regions=(replace(first, **changes), *others))  # type: ignore[arg-type]


def with_first(kind: type[Node], change: Callable[[Node], Node]) -> Callable[[Program], Program]:
    """A program whose first node of a kind is changed."""

    def changed(program: Program) -> Program:
        done = False

        def visit(node: Node) -> Node:
            nonlocal done
            if not done and isinstance(node, kind):
                done = True
                return change(node)
            return map_nodes(node, visit)

        result = with_body(program, visit)
        assert done, "nothing was changed"
        return result

    return changed


def lanes_of(program: Program) -> Lanes:
    """A load of a program."""
    values = (node.value for region in program.regions for node in walk_nodes(region.body) if isinstance(node, Let))
    return next(value for value in values if isinstance(value, Lanes) and value.mask is None)


def before_all(make: Callable[[Lanes], tuple[Node, ...]]) -> Callable[[Program], Program]:
    """A program with nodes around everything in the innermost loops that load a vector."""

    def changed(program: Program) -> Program:
        load = lanes_of(program)

        def visit(node: Node) -> Node:
            if isinstance(node, Block) and any(isinstance(each, Let) and each.value == load for each in node.children):
                return block(*node.children, *make(load))
            return map_nodes(node, visit)

        result = with_body(program, visit)
        assert result != program, "nothing was changed"
        return result

    return changed


@dataclass(frozen=True)
class Unknown:
    """No node of the grammar."""


def first_store(change: Callable[[Store], Node]) -> Callable[[Program], Program]:
    return with_first(Store, change)  # type: ignore[arg-type]


def first_loop(change: Callable[[For], Node]) -> Callable[[Program], Program]:
    return with_first(For, change)  # type: ignore[arg-type]


STRUCTURE: dict[str, tuple[Callable[[Program], Program], str]] = {
    "bound of no name": (
        first_loop(lambda loop: replace(loop, start=Iterator("nobody"))),
        "nobody is used where it is",
    ),
    "loop in its own": (first_loop(lambda loop: replace(loop, body=loop)), "is inside another one"),
    "no step": (first_loop(lambda loop: replace(loop, step=0)), "has the step 0"),
    "bound that is no index": (first_loop(lambda loop: replace(loop, stop=HALF)), "an index is of type float64"),
    "condition that is none": (first_loop(lambda loop: If(ONE, loop)), "a condition is no truth value"),
    "name after its loop": (
        first_loop(lambda loop: block(loop, replace(loop, start=Iterator(loop.variable)))),
        "is used where it is not defined",
    ),
    "name of the other branch": (
        first_loop(lambda loop: block(If(Compare("<", ONE, ONE), Let("x", ONE)), replace(loop, start=Iterator("x")))),
        "x is used where it is not defined",
    ),
    "block in a block": (with_first(For, lambda loop: Block((Block((loop,)),))), "a block is right below a block"),
    "call in a body": (first_loop(lambda loop: RegionCall(0, ())), "a region calls another one"),
    "no node": (first_loop(lambda loop: Unknown()), "the grammar has no Unknown"),  # type: ignore[arg-type,return-value]
    "no expression": (
        first_loop(lambda loop: replace(loop, start=Unknown())),  # type: ignore[arg-type]
        "the grammar has no expression Unknown",
    ),
    "hint of no array": (first_loop(lambda loop: Prefetch(Element("Z", (ONE,), "float64"))), "there is no array Z"),
    "hint of no axis": (
        first_loop(lambda loop: Prefetch(Element("C", (ONE,), "float64"))),
        "C, of 2 axes, has",
    ),
    "no statement": (with_first(Compute, lambda node: replace(node, statement="S99")), "there is no statement S99"),  # type: ignore[type-var]
    "coordinates": (with_first(Compute, lambda node: replace(node, instance=())), "has 0 coordinates"),  # type: ignore[type-var]
    "no array": (
        with_first(Compute, lambda node: replace(node, operations=(Assign(Element("Z", (), "float64"), HALF),))),  # type: ignore[type-var]
        "there is no array Z",
    ),
    "subscripts": (
        with_first(Compute, lambda node: replace(node, operations=(Assign(Element("C", (ONE,), "float64"), HALF),))),  # type: ignore[type-var]
        "C, of 2 axes, has 1 subscripts",
    ),
    "type of an element": (
        with_first(
            Compute,
            lambda node: replace(node, operations=(Assign(Element("C", (ONE, ONE), "float32"), HALF),)),  # type: ignore[type-var]
        ),
        "taken for float32",
    ),
    "type of a value": (
        with_first(Compute, lambda node: replace(node, operations=(Assign(Element("C", (ONE, ONE), "float64"), ONE),))),  # type: ignore[type-var]
        "int64 is assigned to float64",
    ),
    "types of operands": (
        with_first(
            Compute,
            lambda node: replace(
                node,  # type: ignore[type-var]
                operations=(Assign(Element("C", (ONE, ONE), "float64"), Binary("+", HALF, ONE, "float64")),),
            ),
        ),
        "operands of one node are float64, int64",
    ),
    "no regions": (lambda program: replace(program, regions=()), "there is no region"),
    "order of regions": (lambda program: with_region(program, index=3), "regions are not in their order"),
    "region that is never called": (lambda program: replace(program, skeleton=Block(())), r"calls regions \[\] of 1"),
    "call of no region": (lambda program: replace(program, skeleton=RegionCall(7, ())), r"calls regions \[7\] of 1"),
    "values for no loops": (
        lambda program: replace(program, skeleton=RegionCall(0, (ONE,))),
        "region 0 has 0 loops around it, and values for 1",
    ),
    "statement in a skeleton": (
        lambda program: replace(program, skeleton=block(program.skeleton, Let("x", ONE))),
        "skeleton: a skeleton has no Let",
    ),
    "kind": (lambda program: with_region(program, kind="sideways"), "is of no kind: sideways"),
    "windows": (lambda program: with_region(program, windows=()), "has 0 windows for 3 members"),
    "nothing shared out": (lambda program: with_region(program, shared=0), "shares out 0 of 3 members"),
    "too much shared out": (lambda program: with_region(program, shared=4), "shares out 4 of 3 members"),
    "serial and tiled": (lambda program: with_region(program, kind="serial"), "is serial and tiled"),
    "copies of nothing": (lambda program: with_region(program, private=frozenset("Z")), r"copies of what is no array"),
    "array as a variable": (
        lambda program: with_region(program, private=frozenset("A"), local=frozenset("A")),
        "variables of region 0 are arrays",
    ),
    "two kinds of copies": (
        lambda program: with_region(program, private=frozenset("A"), resident=frozenset("A"), local=frozenset()),
        "has several kinds of copies",
    ),
    "one name for two windows": (
        lambda program: with_region(program, windows=(program.regions[0].windows[0],) * 3),
        "has one name for several loops or windows",
    ),
    "range of no name": (
        lambda program: with_region(
            program,
            members=tuple(replace(member, lower=Iterator("nobody")) for member in program.regions[0].members),
        ),
        "nobody is used where it is not defined",
    ),
    "buffer along no member": (
        lambda program: with_region(program, buffers=(Buffer("b", "float64", (0, 5)),)),
        "b is as large as no tile",
    ),
    "sizes of tiles": (lambda program: replace(program, tiles=(32,)), "1 sizes of tiles for 3 members"),
    "sizes of outer tiles": (
        lambda program: replace(program, outer=(2,), shares="x"),
        "outer tiles have another depth",
    ),
    "code of another": (lambda program: replace(program, shares="x"), "only outer tiles share the code"),
    "no team": (lambda program: replace(program, team=False), "is one serial region"),
}
VECTORS: dict[str, tuple[Callable[[Program], Program], str]] = {
    "variable of no Let": (first_store(lambda node: replace(node, value=Variable("nobody", VECTOR))), "nobody is used"),
    "number stored as a vector": (
        first_store(lambda node: replace(node, value=HALF, mask=None, apart=Apart(0, 1))),
        "a number is stored as a vector",
    ),
    "vector of another type": (
        first_store(lambda node: block(Let("i", ONE), replace(node, value=Variable("i", "int64"), mask=None))),
        "int64 is stored to",
    ),
    "lanes apart along no axis": (first_store(lambda node: replace(node, apart=Apart(9, 1))), "has no axis 9"),
    "mask that is none": (
        before_all(lambda load: (Let("m", ONE), Let("x", replace(load, mask="m")))),
        "m is no mask of",
    ),
    "mask of other lanes": (
        before_all(lambda load: (Let("m", Between(ONE, ONE, load.lanes + 1)), Let("x", replace(load, mask="m")))),
        "m is no mask of",
    ),
    "masks of several lanes": (
        before_all(
            lambda load: (
                Let("m", Between(ONE, ONE, load.lanes)),
                Let("n", Between(ONE, ONE, load.lanes + 1)),
                Let("x", AnyMask(("m", "n"))),
            )
        ),
        "masks that are joined differ",
    ),
    "vectors of several lanes": (
        before_all(lambda load: (Let("x", Binary("+", load, replace(load, lanes=load.lanes * 2), VECTOR)),)),  # type: ignore[arg-type]
        "operands of one node are",
    ),
    "type of lanes": (
        before_all(lambda load: (Let("x", Binary("+", load, load, "float64")),)),  # type: ignore[arg-type]
        "a node of type float64 has operands of type",
    ),
    "variable that changes its type": (
        before_all(lambda load: (Let("x", load), Let("x", ONE))),
        "becomes int64",
    ),
    "choice by other lanes": (
        before_all(lambda load: (Let("m", Between(ONE, ONE, load.lanes + 1)), Let("x", LaneSelect("m", load, load)))),
        "m is no mask of",
    ),
    "shift by too much": (
        before_all(lambda load: (Let("x", Shifted(load, load, load.lanes + 1)),)),
        "lanes are shifted by",
    ),
    "sum of a number": (before_all(lambda load: (Let("x", Total(HALF, "float64")),)), "have no sum of"),
}


@pytest.mark.parametrize("name", STRUCTURE)
def test_malformed_programs_are_refused(name: str) -> None:
    program, scop = program_of("gemm", "tiled")
    verify(program, scop)
    change, reason = STRUCTURE[name]
    with pytest.raises(VerificationError, match=f"version tiled of gemm: (.|\n)*{reason}"):
        verify(change(program), scop)


def test_variables_of_a_tile_are_a_workers_own() -> None:
    program, scop = program_of("product_of_sums", "parallel")
    verify(program, scop)
    with pytest.raises(VerificationError, match="region 0 has variables that are not its own"):
        verify(with_region(program, private=frozenset()), scop)


@pytest.mark.parametrize("name", VECTORS)
def test_malformed_vectors_are_refused(name: str) -> None:
    program, scop = program_of("gemm", "tiled_registers")
    verify(program, scop)
    change, reason = VECTORS[name]
    with pytest.raises(VerificationError, match=f"version tiled_registers of gemm: (.|\n)*{reason}"):
        verify(change(program), scop)


def test_every_transform_is_followed_by_the_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``POLYTUNE_VERIFY``, and not without it."""
    stages = polybench_case("gemm").stages

    def wrong(program: Program, scop: Scop, target: Target) -> Program:
        return replace(program, tiles=())

    broken = LoopTransform(name="broken", meaning="no sizes of tiles", rewrite=wrong)
    transforms = Transforms((), (broken,))
    for value, fails in (("1", True), ("0", False), ("", False)):
        monkeypatch.setenv("POLYTUNE_VERIFY", value)
        plans = [plan for plan in stages.plans if plan.recipe.is_whole]
        if fails:
            with pytest.raises(VerificationError, match="version tiled_broken of gemm: 0 sizes of tiles for 3 members"):
                make_programs(plans, Target(), transforms)
        else:
            assert any(program.recipe.has(broken) for program in make_programs(plans, Target(), transforms).made)


def without_instances(A, B):
    B[-1:, 1:] = A[1:1:-1, 1:1]


def test_statements_may_have_no_instance_for_sizes_that_fit():
    stages = stages_of(without_instances, (np.ones((5, 5)), np.ones((3, 3))))
    assert [program.name for program in stages.programs] == ["source"]
    verify(stages.programs[0], stages.scop)
