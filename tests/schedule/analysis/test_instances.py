"""The proof of instances finds trees that lose or repeat some, and accepts those that are generated from."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl
import pytest

from polytune.codegen import programs
from polytune.codegen.programs import generate_program
from polytune.errors import UnprovenError
from polytune.pipeline import Stages
from polytune.schedule.analysis import instances
from polytune.schedule.analysis.instances import (
    executes_each_once,
    has_all_in_regions,
    is_of_source,
    lies_between,
    may_be_shifted,
)
from polytune.schedule.candidate import Candidate
from polytune.schedule.regions import RegionKind
from polytune.signature import ArrayType, ScalarType, Signature
from polytune.versions import attempt_program
from tests.schedule.kernels import POLYBENCH, SMALL, Case, polybench_case

CONTEXT = isl.Context()


def union(text: str) -> isl.UnionSet:
    return isl.UnionSet.read_from_str(CONTEXT, text)


def loop(text: str, domain: str = "[n] -> { S[i] : 0 <= i < n }") -> isl.ScheduleNode:
    """The band node of a loop over instances."""
    band = isl.MultiUnionPwAff.read_from_str(CONTEXT, f"[n] -> [{{ {text} }}]")
    return isl.Schedule.from_domain(union(domain)).insert_partial_schedule(band).get_root().child(0)


def cut(node: isl.ScheduleNode, *filters: str, ordered: bool = True) -> isl.Schedule:
    """A loop cut into pieces."""
    pieces = isl.UnionSetList.alloc(CONTEXT, len(filters))
    for text in filters:
        pieces = pieces.add(union(f"[n] -> {{ S[i] : {text} }}"))
    return (node.insert_sequence(pieces) if ordered else node.insert_set(pieces)).get_schedule()


@pytest.mark.parametrize("ordered", [True, False], ids=["sequence", "set"])
@pytest.mark.parametrize(
    ("filters", "is_right"),
    [
        (("2i < n", "2i >= n"), True),
        (("2i < n - 1", "2i = n - 1", "2i > n - 1"), True),
        (("i = 0", "i > 0"), True),
        # What is before, at and behind a quotient, where that divides: for other n nothing is left of the loop.
        (
            ("exists e : 2e = n - 1 and i < e", "exists e : 2e = n - 1 and i = e", "exists e : 2e = n - 1 and i > e"),
            False,
        ),
        (("i < 3", "i > 3"), False),
        (("i <= 3", "i >= 3"), False),
        (("i >= 0", "i < n"), False),
    ],
)
def test_filters_partition(ordered: bool, filters: tuple[str, ...], is_right: bool) -> None:
    assert executes_each_once(cut(loop("S[i] -> [(i)]"), *filters, ordered=ordered)) is is_right


def test_band_is_defined_everywhere() -> None:
    assert executes_each_once(loop("S[i] -> [(-i)]").get_schedule())
    assert executes_each_once(loop("S[i] -> [(floor(i/2))]").get_schedule())
    assert not executes_each_once(loop("S[i] -> [(i)] : i < 7").get_schedule())
    assert not executes_each_once(
        loop("S[i] -> [(i)]", "[n] -> { S[i] : 0 <= i < n; T[i] : 0 <= i < n }").get_schedule()
    )


def test_filter_alone_is_not_accepted() -> None:
    node = loop("S[i] -> [(i)]").insert_filter(union("{ S[i] : i > 2 }"))
    assert not executes_each_once(node.get_schedule())


def test_nothing_is_proven_without_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    right = cut(loop("S[i] -> [(i)]"), "2i < n", "2i >= n")
    assert executes_each_once(right)
    monkeypatch.setattr(instances, "PROOF_BUDGET", 1)
    assert not executes_each_once(right)


@pytest.mark.parametrize(
    ("lower", "upper", "is_right"),
    [("0", "n", True), ("-1", "n + 1", True), ("1", "n", False), ("0", "n - 1", False), ("0", "7", False)],
)
def test_tiles_reach_from_the_first_to_the_last(lower: str, upper: str, is_right: bool) -> None:
    instances_ = union("[n] -> { S[i] : 0 <= i < n }")
    position = isl.UnionPwAff.read_from_str(CONTEXT, "{ S[i] -> [(i)] }")
    ends = (isl.PwAff.read_from_str(CONTEXT, f"[n] -> {{ [({end})] }}") for end in (lower, upper))
    assert lies_between(instances_, position, *ends) is is_right


CASES = {**SMALL, **dict.fromkeys(POLYBENCH)}


def case_of(name: str) -> Case:
    return CASES[name] or polybench_case(name)


@pytest.mark.parametrize("name", ["stencil", "gemm", "floyd-warshall", "gramschmidt", "jacobi-2d", "lu"])
def test_what_is_generated_from_is_proven(name: str) -> None:
    stages = case_of(name).stages
    assert all(is_of_source(candidate) and executes_each_once(candidate.schedule) for candidate in stages.candidates)
    assert all(has_all_in_regions(plan) and executes_each_once(plan.schedule) for plan in stages.plans)
    assert stages.given_up == ()


@pytest.mark.parametrize(("name", "rewrite"), [("floyd-warshall", "blocked"), ("gramschmidt", "transposed")])
def test_rewritten_kernels_say_what_they_stand_for(name: str, rewrite: str) -> None:
    """Without a piece, with two pieces for one, or with a copy that is taken for a statement, there is no bijection."""
    found = next(each for each in case_of(name).stages.candidates if each.name == rewrite)
    assert found.origin is not None and is_of_source(found)

    def changed(**fields: object) -> Candidate:
        assert found.origin is not None
        return replace(found, origin=replace(found.origin, **fields))  # type: ignore[arg-type]

    relation = found.origin.relation
    maps = relation.get_map_list()
    first = isl.UnionMap.from_map(maps.get_at(0))
    assert not is_of_source(changed(relation=relation.subtract(first)))
    shifted = relation.union(first.apply_range(first.range().identity().reverse().apply_range(_next(first))))
    assert not is_of_source(changed(relation=shifted))
    assert not is_of_source(changed(copies=frozenset()))


def _next(relation: isl.UnionMap) -> isl.UnionMap:
    """``{ S[i, ...] -> S[i + 1, ...] }`` of the statement that a relation leads to."""
    space = relation.range().get_set_list().get_at(0).get_space()
    return isl.UnionMap.from_map(isl.Map.lex_lt(space))


def test_plan_that_forgets_a_region_is_not_generated_from() -> None:
    stages = case_of("stencil").stages
    plan = next(plan for plan in stages.plans if plan.team)
    region = plan.regions[0]
    fewer = replace(region, domain=region.domain.subtract(region.domain.lexmin()))
    for wrong in (replace(plan, regions=(fewer, *plan.regions[1:])), replace(plan, regions=plan.regions[1:])):
        assert not has_all_in_regions(wrong)
        with pytest.raises(UnprovenError):
            generate_program(wrong, stages.scop)
    assert attempt_program(replace(plan, regions=(fewer, *plan.regions[1:])), stages.scop) is None


def test_unproven_versions_are_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    small = case_of("stencil")

    def only_serial(plan: object) -> bool:
        return all(region.kind is RegionKind.SERIAL for region in plan.regions)  # type: ignore[attr-defined]

    monkeypatch.setattr(programs, "has_all_in_regions", only_serial)
    stages = replace(small.stages)
    assert [program.name for program in stages.programs] == ["source"]
    assert any(line.startswith("parallel: ") for line in stages.given_up)


def three_strides(n, m, B):
    for i in range(0, n, 2):
        for j in range(i, -1, -1):
            B[i + 4, j + 1] = B[i + 4, j + 4]
    for i in range(0, n, 2):
        B[0, i + 1] = B[i + 4, i + 1]
        for j in range(-2, m, 2):
            B[j + 4, i + 1] = B[j + 2, i + 1]


def test_loops_of_which_isl_changes_the_order_are_not_made() -> None:
    """In one loop isl shifts the second assignment to the iteration before that of the first one, which it needs."""
    types = (("n", ScalarType("int64")), ("m", ScalarType("int64")), ("B", ArrayType("float64", 2)))
    stages = Stages(three_strides, Signature(types))
    shifted = [str(plan.recipe) for plan in stages.plans if may_be_shifted(plan.schedule)]
    assert shifted
    assert all(any(text.startswith(f"{name}:") for text in stages.given_up) for name in shifted)
    assert "source" in [program.name for program in stages.programs]
    assert not any(may_be_shifted(plan.schedule) for plan in polybench_case("jacobi-2d").stages.plans)
