"""The search space graph: what it is made of, that walking it finds what is active, and its pictures."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given, settings

from polytune.lab.description import read_description
from polytune.lab.files import TextFile
from polytune.tuner import Constraint, Integer, Is, Nominal, Ratio, Space
from polytune.tuner.spaces.t1 import to_t1
from tests.tuner.random_spaces import spaces

DATA = Path(__file__).parents[4] / "shared" / "data" / "t1t4"

OFFLOADED = Space(
    [
        Nominal("version", ("source", "partitioned")),
        Nominal("split", (0, 1), when=Is("version", "partitioned")),
        Ratio("ratio", 0, 1, when=Is("split", 1)),
        Nominal("platform_0", ("cpu", "gpu"), default="gpu", when=Is("version", "partitioned")),
        Nominal("platform_1", ("cpu", "gpu"), when=Is("split", 1)),
        Integer("threads_0", 1, 4, when=Is("platform_0", "cpu")),
        Nominal("shared_0", (True, False), when=Is("platform_0", "gpu")),
        Integer("block_0", 32, 256, step=32, when=Is("platform_0", "gpu")),
        Nominal("unroll_copy_0", (False, True), when=Is("shared_0", True) & ~Is("split", 1)),
    ],
    [Constraint("split != 1 or not (platform_0 == 'cpu' and platform_1 == 'cpu')", "a device is used")],
)


def test_parameters_of_one_kind_under_one_condition_form_a_node():
    graph = OFFLOADED.graph()
    assert [node.names for node in graph.nodes] == [
        ("version",),
        ("split", "platform_0"),
        ("ratio",),
        ("platform_1",),
        ("threads_0",),
        ("shared_0",),
        ("block_0",),
        ("unroll_copy_0",),
    ]
    assert [node.structural for node in graph.nodes] == [True, True, False, True, False, True, False, True]
    assert {(edge.parent, edge.child) for edge in graph.edges} == {
        *((0, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6)),
        *((5, 7), (1, 7)),
    }
    assert graph.ranks == (0, 1, 2, 2, 2, 2, 2, 3)


def test_the_walk_finds_the_active_subspaces():
    configuration = OFFLOADED.configuration(version="partitioned", split=1, platform_0="cpu", platform_1="gpu")
    active = {name for node in OFFLOADED.graph().active(configuration) for name in node.names}
    assert active == set(configuration)


@settings(max_examples=100, deadline=None)
@given(spaces())
def test_nodes_are_disjoint_and_every_configuration_is_exactly_its_active_nodes(space):
    graph = space.graph()
    names = [name for node in graph.nodes for name in node.names]
    assert sorted(names) == sorted(parameter.name for parameter in space.parameters)
    assert all(edge.parent < edge.child for edge in graph.edges)
    for configuration in space.enumerate():
        assert {name for node in graph.active(configuration) for name in node.names} == set(configuration)


def test_the_svg_is_well_formed_and_shows_every_parameter_and_condition():
    root = ElementTree.fromstring(OFFLOADED.graph().to_svg())
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    for parameter in OFFLOADED.parameters:
        assert any(text.startswith(f"{parameter.name}: ") for text in texts)
    assert "shared_0 = True and not split = 1" in texts
    boxes = [element for element in root.iter("{http://www.w3.org/2000/svg}rect") if element.get("rx")]
    assert [element.get("rx") for element in boxes] == [
        "0" if node.structural else "10" for node in OFFLOADED.graph().nodes
    ]


def test_no_two_boxes_of_the_picture_overlap():
    root = ElementTree.fromstring(OFFLOADED.graph().to_svg())
    boxes = [
        [float(element.get(name)) for name in ("x", "y", "width", "height")]
        for element in root.iter("{http://www.w3.org/2000/svg}rect")
        if element.get("rx")
    ]
    for number, (x, y, width, height) in enumerate(boxes):
        for left, top, wide, high in boxes[:number]:
            assert x >= left + wide or left >= x + width or y >= top + high or top >= y + height


def test_the_graphviz_text_has_a_node_and_an_edge_each():
    text = OFFLOADED.graph().to_dot()
    graph = OFFLOADED.graph()
    assert text.count(" -> ") == len(graph.edges) and text.count("fillcolor") == len(graph.nodes)
    assert 'n1 -> n2 [label="split = 1"];' in text


def test_quotes_in_values_do_not_break_the_pictures():
    graph = Space([Nominal("text", ('say "<b>"', "plain"))]).graph()
    ElementTree.fromstring(graph.to_svg())
    assert '\\"<b>\\"' in graph.to_dot()


def test_an_empty_space_has_an_empty_picture():
    ElementTree.fromstring(Space([]).graph().to_svg())
    assert Space([]).graph().nodes == ()


def test_t1_keeps_kinds_conditions_and_constraints():
    again = read_description(TextFile("space.json", "space", to_t1(OFFLOADED, "offloaded")))
    assert again == OFFLOADED


@pytest.mark.skipif(not DATA.exists(), reason="the recorded T1 files are not here")
def test_t1_of_others_is_read_and_written_without_loss():
    for path in sorted(DATA.glob("T1_*.json")):
        space = read_description(TextFile(path.name, path.stem, path.read_text()))
        assert read_description(TextFile("again.json", "again", to_t1(space, path.stem))) == space


def test_long_ranges_are_not_listed_in_t1():
    space = Space([Integer("tile", 2, 10**12, step=2), Integer("width", 1, 3)])
    tile, width = json.loads(to_t1(space, "x"))["ConfigurationSpace"]["TuningParameters"]
    assert (tile["Type"], tile["Values"]) == ("int", "[i for i in range(2, 1000000000001, 2)]")
    assert (width["Type"], width["Values"]) == ("int", "[1, 2, 3]")
