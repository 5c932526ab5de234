"""Blocks of steps: which kernels have them, that pieces are the whole, and that copies are taken in time."""

from __future__ import annotations

import islpy as isl
import pytest

from polytune.pipeline import Stages
from polytune.schedule.analysis.legality import is_proven_legal
from polytune.schedule.candidate import Candidate
from polytune.schedule.orders.source import SOURCE
from polytune.schedule.regions import RegionKind
from polytune.schedule.rewrites.saved_values import SavedKernel, holds_what_is_read, save_values
from polytune.schedule.rewrites.step_blocks import BLOCKED, block_steps
from tests.schedule.kernels import polybench_case


def source_of(stages: Stages) -> Candidate:
    return Candidate(SOURCE, stages.scop.schedule, stages.dependences)


@pytest.fixture(scope="module")
def stages() -> Stages:
    return polybench_case("floyd-warshall").stages


@pytest.fixture(scope="module")
def kernel(stages: Stages) -> SavedKernel:
    found = save_values(source_of(stages), 4)
    assert found is not None
    return found


def test_pieces_are_the_whole(stages: Stages, kernel: SavedKernel) -> None:
    (original,) = stages.scop.statements
    pieces = [statement for statement in kernel.scop.statements if len(statement.iterators) == 3]
    named = [piece.domain.set_tuple_name(original.name) for piece in pieces]
    whole = isl.Set.empty(original.domain.get_space())
    for piece in named:
        assert whole.intersect(piece).is_empty()
        whole = whole.union(piece)
    assert whole.is_equal(original.domain)
    assert len(kernel.rest) == 4


def test_the_rest_reads_what_is_saved_alone(kernel: SavedKernel) -> None:
    for name in kernel.rest:
        update, *others = (access for access in kernel.scop.statement(name).accesses if not access.is_write)
        assert update.array == "path"
        assert [access.array.startswith("path_saved") for access in others] == [True, True]


@pytest.mark.parametrize("delay", [-1, 1])
def test_copies_at_another_step_hold_something_else(kernel: SavedKernel, delay: int) -> None:
    def shifted(part: isl.Map) -> isl.Map:
        if part.dim(isl.dim_type.in_) == 3:
            return part
        move = f"{{ [k, p, i, q, j] -> [k + {delay}, p, i, q, j] }}"
        return part.apply_range(isl.Map.read_from_str(part.get_ctx(), move))

    parts = kernel.times.get_map_list()
    times = isl.UnionMap.empty(kernel.times.get_space())
    for index in range(parts.n_map()):
        times = times.union(isl.UnionMap.from_map(shifted(parts.get_at(index))))
    assert holds_what_is_read(kernel, kernel.times)
    assert not holds_what_is_read(kernel, times)


def test_regions_of_a_block(stages: Stages) -> None:
    (candidate,) = block_steps(source_of(stages)).made
    assert is_proven_legal(candidate.schedule, candidate.dependences)
    plan = next(plan for plan in stages.plans if plan.recipe.has(BLOCKED))
    first, *others = plan.regions
    assert first.kind is RegionKind.SERIAL
    assert [region.kind for region in others] == [RegionKind.PARALLEL] * 4
    assert all(region.accumulated == 2 and region.shared == 2 and region.outer_depth == 1 for region in others)


@pytest.mark.parametrize("name", ["gemm", "lu", "trisolv", "seidel-2d", "nussinov"])
def test_other_kernels_save_nothing(name: str) -> None:
    assert not block_steps(source_of(polybench_case(name).stages)).made
