"""The generated text of one kernel, kept in a file: a change of the compiler's output is seen and read.

``pytest tests/codegen/test_golden.py --update-golden`` writes the file anew.
"""

from __future__ import annotations

import re
from pathlib import Path

from polytune.pipeline import SHOWN, Stages
from polytune.signature import Signature, parse_type
from tests.codegen.golden import smooth

GOLDEN = Path(smooth.__file__).with_suffix(".txt")
TYPES = {"steps": "int", "weight": "float", "A": "float64[::1]", "B": "float64[::1]"}


def generated() -> Stages:
    return Stages(smooth.smooth, Signature(tuple((name, parse_type(text)) for name, text in TYPES.items())))


def without_places(text: str) -> str:
    """The text without what differs between checkouts and releases: the folder of the source, the version."""
    text = text.replace(f"{Path(smooth.__file__).parent}/", "")
    return re.sub(r"compiled by polytune \S+", "compiled by polytune", text)


def test_generated_module_is_as_kept(update_golden: bool) -> None:
    stages = generated()
    parts = {what: stages.show(what) for what in ("scop", "deps", "loops")}
    text = without_places("\n".join(f"===== {what}\n{part}" for what, part in parts.items()))
    text += f"\n===== module\n{without_places(stages.source)}"
    if update_golden:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text.splitlines() == GOLDEN.read_text(encoding="utf-8").splitlines()


def test_text_does_not_depend_on_the_run() -> None:
    """The cache of compiled modules, and everyone who reads diffs, relies on it."""
    assert generated().source == generated().source


def test_every_stage_can_be_shown() -> None:
    stages = generated()
    for what in SHOWN:
        assert stages.show(what).strip(), what
