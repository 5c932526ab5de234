"""The loop IR and the generated text of small kernels, kept in files: a change of the compiler's output is seen and
read.

``pytest tests/golden --renew-golden`` writes the files anew.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from polytune.codegen.loop_text import programs_text
from polytune.codegen.module import write_module
from polytune.pipeline import SHOWN, TRANSFORMS, Stages
from polytune.schedule.counting.counts import Counts
from polytune.schedule.recipe import RecipePart
from polytune.signature import Signature, parse_type
from polytune.versions import all_arrays, programs_after
from tests.golden import smooth
from tests.golden.comparison import TEXTS, compare
from tests.golden.kernels import KINDS, OTHERS, Kernel

TYPES = {"steps": "int", "weight": "float", "A": "float64[::1]", "B": "float64[::1]"}
PARTS = (*TRANSFORMS.of_plans, *TRANSFORMS.of_loops)


def text_of(part: RecipePart) -> str:
    """The name of the text of a transform; of several of one name each has its own."""
    same = [each for each in PARTS if each.name == part.name]
    return f"transform_{part.name}" + (f"_{same.index(part) + 1}" if len(same) > 1 else "")


@cache
def stages_of(kernel: int) -> Stages:
    return (*KINDS, *OTHERS)[kernel].stages


def smoothed() -> Stages:
    return Stages(smooth.smooth, Signature(tuple((name, parse_type(text)) for name, text in TYPES.items())))


def test_every_stage_of_a_kernel_is_as_kept(renew_golden: bool) -> None:
    stages = smoothed()
    parts = {what: stages.show(what) for what in ("scop", "deps", "loops")} | {"module": stages.source}
    compare("smooth", "\n".join(f"===== {what}\n{part}" for what, part in parts.items()), renew_golden)


@pytest.mark.parametrize("kernel", KINDS, ids=lambda kernel: kernel.name)
def test_first_version_of_each_kind_is_as_kept(kernel: Kernel, renew_golden: bool) -> None:
    stages = stages_of(KINDS.index(kernel))
    first = stages.programs[0]
    (plan,) = (plan for plan in stages.plans if plan.recipe == first.recipe.of_plan)
    scop = replace(stages.scop, arrays=all_arrays([plan]))
    module = write_module(scop, [first], (), Counts())
    compare(kernel.name, f"===== loops\n{programs_text([first])}\n===== module\n{module}", renew_golden)


@pytest.mark.parametrize("part", PARTS, ids=text_of)
def test_what_each_transform_makes_is_as_kept(part: RecipePart, renew_golden: bool) -> None:
    """Of the first kernel that has something for it: the loops before, and after."""
    for number in range(len(KINDS) + len(OTHERS)):
        stages = stages_of(number)
        programs = (*programs_after(stages.plans, stages.target, TRANSFORMS, part.name), *stages.programs)
        made = next((program for program in programs if program.recipe.parts[-1] == part), None)
        if made is not None:
            break
    else:
        pytest.fail(f"no kernel here has anything for {part}: {part.meaning}")
    before = programs_after(stages.plans, stages.target, TRANSFORMS, made.recipe.before_last.parts[-1].name)
    same = [program for program in before if program.recipe == made.recipe.before_last]
    text = f"===== {stages.scop.name}: {made.recipe}\n{programs_text([made])}"
    if same:
        text = f"===== {stages.scop.name}: {made.recipe.before_last}\n{programs_text(same)}\n{text}"
    compare(text_of(part), text, renew_golden)


def test_nothing_is_kept_that_nothing_compares() -> None:
    kept = {file.stem for file in TEXTS.iterdir()}
    assert kept == {"smooth", *(kernel.name for kernel in KINDS), *map(text_of, PARTS)}


def test_text_does_not_depend_on_the_run() -> None:
    """The cache of compiled modules, and everyone who reads diffs, relies on it."""
    assert smoothed().source == smoothed().source


def test_every_stage_can_be_shown() -> None:
    stages = smoothed()
    for what in SHOWN:
        assert stages.show(what).strip(), what
