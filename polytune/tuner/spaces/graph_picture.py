"""Pictures of a search space graph: Graphviz text, and SVG in layers, without any library.

As in figure 1 of Pfaffe et al. (ICS 2019), edges carry the conditions and the two kinds of subspaces differ in shape
and colour: enumerated ones have corners, those searched by distance are round.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from polytune.records import dataclass
from polytune.tuner.spaces.condition import Both, Condition, Either, Is, Not
from polytune.tuner.spaces.node import Edge, Node

__all__ = ["condition_text", "to_dot", "to_svg"]

_FONT_SIZE = 12
_CHARACTER = 7.3  # pixels that a character of the fixed-width font takes
_LINE = 17
_PADDING = 9
_GAP_X, _GAP_Y = 30, 78
_LONGEST = 44  # characters of a line
_COLOURS = {True: ("#fff1dc", "#c77700"), False: ("#e3eefb", "#2f6db5")}  # fill and outline, by kind


def condition_text(condition: Condition) -> str:
    """A condition as a formula: ``platform = gpu and not shared = True``."""
    match condition:
        case Is(name, (value,)):
            return f"{name} = {value}"
        case Is(name, values):
            return f"{name} in {{{', '.join(map(str, values))}}}"
        case Both(left, right):
            return f"{_operand(left)} and {_operand(right)}"
        case Either(left, right):
            return f"{_operand(left)} or {_operand(right)}"
        case Not(inner):
            return f"not {_operand(inner)}"
    raise AssertionError(condition)


def _operand(condition: Condition) -> str:
    text = condition_text(condition)
    return f"({text})" if isinstance(condition, (Both, Either)) else text


def _lines(node: Node) -> list[str]:
    return [_shortened(f"{parameter.name}: {parameter.describe()}") for parameter in node.parameters]


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def to_dot(nodes: Sequence[Node], edges: Sequence[Edge]) -> str:
    """A graph for Graphviz."""
    lines = ["digraph space {", '  node [fontname="monospace", style=filled];', '  edge [fontname="monospace"];']
    for node in nodes:
        fill, outline = _COLOURS[node.structural]
        style = 'shape=box, style="filled"' if node.structural else 'shape=box, style="filled,rounded"'
        label = "".join(f"{_quoted(line)}\\l" for line in _lines(node))
        lines.append(f'  n{node.index} [{style}, fillcolor="{fill}", color="{outline}", label="{label}"];')
    for edge in edges:
        label = _quoted(condition_text(edge.condition))
        lines.append(f'  n{edge.parent} -> n{edge.child} [label="{label}"];')
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


@dataclass(frozen=True)
class _Box:
    """A node's place in the picture, in pixels from the top left corner."""

    left: float
    top: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.left + self.width / 2

    @property
    def bottom(self) -> float:
        return self.top + self.height


def to_svg(nodes: Sequence[Node], edges: Sequence[Edge], ranks: Sequence[int]) -> str:
    """A graph as SVG: a layer per rank, from the roots down.

    Args:
        nodes: the nodes.
        edges: the edges between them.
        ranks: per node the number of edges on the longest way to it.
    """
    boxes = _layout(nodes, edges, ranks)
    width = max((box.left + box.width for box in boxes), default=0) + _GAP_X
    height = max((box.bottom for box in boxes), default=0) + _GAP_X
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="monospace" font-size="{_FONT_SIZE}">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
    ]
    for edge in edges:
        parts += _arrow(boxes[edge.parent], boxes[edge.child])
    labelled: set[int] = set()
    for edge in edges:  # several edges into one node carry one condition: it is written once, above the node
        if edge.child not in labelled:
            labelled.add(edge.child)
            box = boxes[edge.child]
            parts.append(_text(box.middle, box.top - 7, _shortened(condition_text(edge.condition)), "middle", "#555"))
    for node, box in zip(nodes, boxes, strict=True):
        fill, outline = _COLOURS[node.structural]
        radius = 0 if node.structural else 10
        parts.append(
            f'<rect x="{box.left:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
            f'rx="{radius}" fill="{fill}" stroke="{outline}"/>'
        )
        for number, line in enumerate(_lines(node)):
            baseline = box.top + _PADDING + _FONT_SIZE + number * _LINE
            parts.append(_text(box.left + _PADDING, baseline, line, "start", "black"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _text(x: float, y: float, text: str, anchor: str, colour: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'


def _arrow(parent: _Box, child: _Box) -> list[str]:
    start, end = parent.bottom, child.top - 22  # above the condition
    bend = (start + end) / 2
    path = (
        f"M{parent.middle:.1f},{start:.1f} "
        f"C{parent.middle:.1f},{bend:.1f} {child.middle:.1f},{bend:.1f} {child.middle:.1f},{end:.1f}"
    )
    return [f'<path d="{path}" fill="none" stroke="#555" marker-end="url(#tip)"/>']


def _layout(nodes: Sequence[Node], edges: Sequence[Edge], ranks: Sequence[int]) -> list[_Box]:
    """Layers from top to bottom; in each, nodes in the order of the mean place of their parents."""
    layers: list[list[int]] = [[] for _ in range(max(ranks, default=-1) + 1)]
    for node, rank in zip(nodes, ranks, strict=True):
        layers[rank].append(node.index)
    parents: dict[int, list[int]] = {}
    for edge in edges:
        parents.setdefault(edge.child, []).append(edge.parent)
    sizes = [_size(node) for node in nodes]
    widths = [sum(sizes[index][0] + _GAP_X for index in layer) for layer in layers]
    boxes: dict[int, _Box] = {}
    top: float = _GAP_X
    for layer, width in zip(layers, widths, strict=True):
        layer.sort(key=lambda index: _mean([boxes[parent].middle for parent in parents.get(index, ())]))
        left = _GAP_X + (max(widths) - width) / 2
        for index in layer:
            boxes[index] = _Box(left, top, *sizes[index])
            left += sizes[index][0] + _GAP_X
        top += max(sizes[index][1] for index in layer) + _GAP_Y
    return [boxes[index] for index in range(len(nodes))]


def _size(node: Node) -> tuple[float, float]:
    """Width and height: room for the parameters, and for the condition above them."""
    texts = _lines(node) + ([] if node.when is None else [_shortened(condition_text(node.when))])
    width = _CHARACTER * max(map(len, texts)) + 2 * _PADDING
    return width, _LINE * len(node.parameters) + 2 * _PADDING - (_LINE - _FONT_SIZE)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
