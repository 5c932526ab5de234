"""The time of each stage of the compiler."""

from __future__ import annotations

import time

from polytune.pipeline import Stages

STAGES = ("scop", "bounds", "dependences", "candidates", "plans", "programs", "counts", "source")
"""The stages in the order in which each needs those before it."""


def stage_seconds(stages: Stages) -> dict[str, float]:
    """The processor seconds of each stage, those before it not counted; nothing of ``stages`` may be computed before.

    Nearly all of it is isl's work; the rest of it, reading the source and writing the module, is counted too.
    """
    seconds = {}
    for stage in STAGES:
        begin = time.process_time()
        getattr(stages, stage)
        seconds[stage] = time.process_time() - begin
    return seconds
