"""``polytune inspect --show space --picture FILE``."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import pytest

from polytune.lab.description import read_description
from polytune.lab.files import TextFile
from polytune.tuner import Space


def test_the_space_is_written_in_the_format_of_the_file(run, kernels_file, tmp_path):
    for name in ("space.svg", "space.dot", "space.json"):
        ran = run("inspect", f"{kernels_file}:scale", "--show", "space", "--picture", str(tmp_path / name))
        assert (ran.code, ran.err) == (0, "") and "version" in ran.out
    texts = ElementTree.parse(tmp_path / "space.svg").iter("{http://www.w3.org/2000/svg}text")
    assert any(text.text.startswith("version: ") for text in texts)
    assert (tmp_path / "space.dot").read_text().startswith("digraph space {")
    written = (tmp_path / "space.json").read_text()
    assert json.loads(written)["General"]["BenchmarkName"] == "scale"
    space = read_description(TextFile("space.json", "space", written))
    assert isinstance(space, Space) and any(parameter.when is not None for parameter in space.parameters)


@pytest.mark.parametrize(
    ("show", "name", "why"),
    [
        ("space", "space.png", "must end in .svg, .dot, .json"),
        ("loops", "space.svg", "--picture is for space"),
        ("space", "missing/space.svg", "No such file or directory; see whether the path is written right"),
    ],
)
def test_what_cannot_be_written_is_bad_usage(run, kernels_file, tmp_path, show, name, why):
    ran = run("inspect", f"{kernels_file}:scale", "--show", show, "--picture", str(tmp_path / name))
    assert ran.code == 2 and why in " ".join(ran.err.replace("│", " ").split())
