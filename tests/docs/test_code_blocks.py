"""Every block of code on every page of the documentation runs as it stands there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from tests import intel_driver
from tests.docs.blocks import PREAMBLE, ROOT, RUNNER, Step, blocks_in, steps_of

PAGES = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
WITH_CODE = sorted(name for name, text in PAGES.items() if blocks_in(text))


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_CODE)
def test_every_block_of_a_page_runs(name, tmp_path):
    surroundings = {"POLYTUNE_DEVICES": "none"}
    if name == "devices":
        pytest.importorskip("pyopencl", reason="the page needs a device")
        found = intel_driver.surroundings_with_opencl(tmp_path)
        if found is None:
            pytest.skip("the page needs a device, and there is none of OpenCL here")
        surroundings = {**found, "POLYTUNE_DEVICES": "opencl"}
    steps = steps_of(PAGES[name])
    assert len(steps) == blocks_in(PAGES[name])
    # The tutorial takes nothing for known.
    known = [] if name == "tutorial" else [Step(0, "python", PREAMBLE)]
    ran = run(name, [*known, *steps], tmp_path, surroundings)
    assert ran.returncode == 0, ran.stderr


def run(
    name: str, steps: list[Step], folder: Path, surroundings: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    """Run the steps of a page in a folder of their own, with ``polytune`` as a command.

    Args:
        name: of the page.
        steps: what to run, in order.
        folder: a new one.
        surroundings: environment variables that are set beside those of the tests.
    """
    commands, work = folder / "commands", folder / "work"
    for each in (commands, work):
        each.mkdir()
    command = commands / "polytune"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m polytune "$@"\n')
    command.chmod(0o755)
    runner = folder / "runner.py"
    runner.write_text(RUNNER, encoding="utf-8")
    environment = {
        **os.environ,
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(work)]),
        "POLYTUNE_CACHE_DIR": str(folder / "cache"),
        **surroundings,
    }
    (folder / "cache").mkdir()
    return subprocess.run(
        [sys.executable, str(runner)],
        input=json.dumps([name, steps]),
        capture_output=True,
        text=True,
        cwd=work,
        env=environment,
        timeout=500,
    )


def test_a_block_that_fails_is_named(tmp_path):
    page = "# Title\n\n```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n"
    ran = run("page", steps_of(page), tmp_path)
    assert ran.returncode != 0 and "page, the block at line 8: AssertionError" in ran.stderr


def test_what_blocks_need_is_read():
    page = (
        '```python title="a.py"\nx = 1\n```\n\n'
        "<!-- before:\ny = 2\n-->\n\n```python\nz = y\n```\n"
        "<!-- around:\ndef f():\n    BLOCK\n    return a\n-->\n\n```python\na = 1\nb = 2\n```\n"
        "<!-- each line:\nBLOCK\ndef f(): ...\n-->\n```python\n@one\n@two\n```\n"
        "```sh\npip install polytune\npolytune doctor\n```\n"
    )
    assert [step[1:] for step in steps_of(page)] == [
        ("file", "a.py\nx = 1\n"),
        ("python", "y = 2\nz = y\n"),
        ("python", "def f():\n    a = 1\n    b = 2\n    return a\n"),
        ("python", "@one\ndef f(): ...\n\n@two\ndef f(): ...\n"),
        ("sh", "polytune doctor"),
    ]
    assert blocks_in(page) == 5
    (step,) = steps_of("<!-- before:\nfactor = 2\n-->\n```python\n@one(factor)\n@two\n```\n")
    assert step.text.startswith("factor = 2\n@one(factor)\ndef scaled(x):\n")
    assert step.text.count("def scaled(x):") == 2 and "@one(factor)\n@two" not in step.text
