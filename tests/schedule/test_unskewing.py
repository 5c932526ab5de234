"""Members of bands as simple as they can be: nothing is lost or confused by it, and what has to stay does."""

from __future__ import annotations

import islpy as isl
import pytest

from polytune.frontend import infer_signature
from polytune.pipeline import Stages
from polytune.schedule.analysis.legality import violation
from polytune.schedule.scheduler import unskewed


def products(C, A, B):
    for b in range(C.shape[0]):
        for i in range(4):
            for j in range(4):
                s = 0.0
                for k in range(4):
                    s += A[b, i, k] * B[b, k, j]
                C[b, i, j] = s


def stencil(A, steps: int):
    n, m = A.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                A[i, j] = A[i - 1, j] + A[i, j - 1] + A[i + 1, j] + A[i, j + 1]


def bands(schedule: isl.Schedule) -> list[str]:
    found: list[str] = []

    def visit(node: isl.ScheduleNode) -> None:
        if node.get_type() == isl.schedule_node_type.band:
            found.append(str(node.band_get_partial_schedule()))
        for position in range(node.n_children()):
            visit(node.child(position))

    visit(schedule.get_root())
    return found


def test_tiles_of_small_loops_are_boxes() -> None:
    """isl finds (b, 2 * b + i, j): in a bounding box of such tiles nearly all are empty."""
    candidates = Stages(products, infer_signature(products)).candidates
    assert len(candidates) > 1
    for candidate in candidates:
        assert violation(candidate.schedule, candidate.dependences) is None
        assert not any("2b" in band for band in bands(candidate.schedule)), candidate.name


def test_skewed_loops_that_carry_dependences_stay() -> None:
    candidates = Stages(stencil, infer_signature(stencil)).candidates
    tiled = next(candidate for candidate in candidates if candidate.name == "tiled")
    assert any("_ + i" in band or "i + _" in band for band in bands(tiled.schedule))


def schedule_of(members: str, coincident: tuple[int, ...], permutable: int) -> isl.Schedule:
    domain = isl.UnionSet("[n] -> { S[i, j] : 0 <= i < n and 0 <= j < 3; T[i] : 0 <= i < n }")
    partial = isl.MultiUnionPwAff(members)
    node = isl.Schedule.from_domain(domain).insert_partial_schedule(partial).get_root().child(0)
    node = node.band_set_permutable(permutable)
    for member, flag in enumerate(coincident):
        node = node.band_member_set_coincident(member, flag)
    return node.get_schedule()


SKEWED = "[{ S[i, j] -> [(i)]; T[i] -> [(i)] }, { S[i, j] -> [(3i + j)]; T[i] -> [(3i)] }]"


def test_combinations_of_parallel_members_are_taken_apart() -> None:
    before = schedule_of(SKEWED, (1, 1), 1)
    after = unskewed(before)
    node = after.get_root().child(0)
    simple = isl.MultiUnionPwAff("[{ S[i, j] -> [(i)]; T[i] -> [(i)] }, { S[i, j] -> [(j)]; T[i] -> [(0)] }]")
    assert node.band_get_partial_schedule().plain_is_equal(simple)
    assert node.band_get_permutable()
    assert [bool(node.band_member_get_coincident(member)) for member in range(2)] == [True, True]
    assert after.get_domain().is_equal(before.get_domain())


@pytest.mark.parametrize("coincident", [(1, 0), (0, 1), (0, 0)])
def test_members_that_carry_dependences_are_kept(coincident: tuple[int, int]) -> None:
    before = schedule_of(SKEWED, coincident, 1)
    assert unskewed(before).plain_is_equal(before)
