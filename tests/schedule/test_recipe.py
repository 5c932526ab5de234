"""Recipes: what versions are made by, and what follows from that."""

from __future__ import annotations

import ast
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

import polytune
from polytune.codegen.transform import LoopTransform
from polytune.pipeline import ORDERS, TRANSFORMS
from polytune.schedule.recipe import Recipe, RecipePart
from tests.schedule.kernels import SMALL, polybench_case

PARTS: dict[str, RecipePart] = {
    **{part.name: part for part in (*ORDERS, *TRANSFORMS.of_plans)},
    **{part.name: part for part in TRANSFORMS.of_loops},
}
ROOT = Path(polytune.__file__).parent


def recipe(order: str, *transforms: str) -> Recipe:
    return Recipe(PARTS[order], tuple(PARTS[name] for name in transforms))


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("source",), "source"),
        (("tiled",), "tiled"),
        (("source", "parallel"), "parallel"),
        (("source", "parallel", "interleaved"), "interleaved"),
        (("source", "parallel", "jammed"), "parallel_jammed"),
        (("source", "scanned"), "source_scanned"),
        (("fused", "inner", "jammed"), "fused_inner_jammed"),
        (("tiled", "accumulated", "packed"), "tiled_packed"),
        (("summed", "packed"), "summed_packed"),
        (("tiled", "expanded", "registers"), "tiled_expanded"),
        (("tiled", "early", "registers"), "tiled_early"),
    ],
)
def test_names_leave_out_what_goes_without_saying(parts: tuple[str, ...], name: str) -> None:
    assert recipe(*parts).name == name


def test_registers_of_accumulations_and_of_points_have_one_name() -> None:
    accumulations, points = (part for part in TRANSFORMS.of_loops if part.name == "registers")
    assert recipe("tiled", "accumulated").then(accumulations).name == "tiled_registers"
    assert recipe("tiled").then(points).name == "tiled_registers"
    assert recipe("summed").then(accumulations).name == "summed"


def test_recipes_are_values() -> None:
    one = recipe("tiled", "accumulated", "packed")
    assert one == recipe("tiled", "accumulated").then(PARTS["packed"])
    assert hash(one) == hash(recipe("tiled", "accumulated", "packed")) and one != recipe("tiled", "packed")
    assert str(one) == "tiled -> accumulated -> packed"
    assert one.of_plan == recipe("tiled", "accumulated") and one.of_loops == (PARTS["packed"],)
    with pytest.raises(FrozenInstanceError):
        one.order = PARTS["source"]  # type: ignore[misc]


def test_a_transform_of_loops_comes_after_what_it_asks_for() -> None:
    outer, jammed, registers = PARTS["outer"], PARTS["jammed"], TRANSFORMS.of_loops[0]
    assert isinstance(outer, LoopTransform) and isinstance(jammed, LoopTransform)
    tiled = recipe("tiled", "accumulated")
    assert registers.follows(tiled) and not registers.follows(recipe("tiled"))
    assert outer.follows(tiled.then(registers)) and not outer.follows(tiled)
    assert jammed.follows(recipe("tiled")) and not jammed.follows(tiled)
    assert not jammed.follows(recipe("tiled", "scanned"))


def test_what_leads_to_no_version_by_itself_has_one_that_follows() -> None:
    for order in (each for each in ORDERS if not each.stands_alone):
        for transform in TRANSFORMS.of_plans:
            version = TRANSFORMS.version_of(Recipe(order, (*transform.after, transform)))
            assert version.is_whole
    assert TRANSFORMS.version_of(recipe("tiled", "accumulated")).name == "tiled_registers"


@pytest.mark.parametrize("name", ["gemm", "lu", "floyd-warshall", "doitgen", "nussinov", "in_place_stencil"])
def test_every_version_is_of_a_plan_and_names_it(name: str) -> None:
    stages = SMALL[name].stages if name in SMALL else polybench_case(name).stages
    plans = {plan.recipe: plan for plan in stages.plans}
    names = [program.name for program in stages.programs]
    assert len(set(names)) == len(names) and len(plans) == len(stages.plans)
    for program in stages.programs:
        assert program.recipe.of_plan in plans
        assert all(isinstance(part, LoopTransform) for part in program.recipe.of_loops)


def test_documentation_has_every_order_and_transform() -> None:
    text = (ROOT.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    for part in (*ORDERS, *TRANSFORMS.of_plans, *TRANSFORMS.of_loops):
        assert f"| `{part.name}` | {part.meaning} |" in text


def test_no_code_asks_how_a_version_is_spelt() -> None:
    """Parts are named where they are declared, and nowhere else."""
    endings = tuple(f"_{part.name}" for part in (*TRANSFORMS.of_plans, *TRANSFORMS.of_loops))
    asked = [
        (str(file.relative_to(ROOT)), node.value)
        for folder in ("schedule", "codegen", ".")
        for file in (ROOT / folder).glob("*.py" if folder == "." else "**/*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith(endings)
    ]
    assert not asked
