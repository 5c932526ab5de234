"""The shared memory that a block needs, by the extents of its tile: known before a kernel is compiled."""

from __future__ import annotations

from dataclasses import replace

from polytune.codegen.device.kernel import DeviceKernel
from polytune.codegen.python_expressions import expression_text
from polytune.frontend.expression import Expression, Iterator, map_children
from polytune.frontend.generated_names import without_marks
from polytune.frontend.scop import Scop

AXES = "xyz"

_BYTES = {"int32": 4, "int64": 8, "float32": 4, "float64": 8, "bool": 4}
"""The bytes of an element, in the types of ``c_expressions.C_TYPES``."""


def shared_memory_text(kernel: DeviceKernel, scop: Scop) -> str:
    """The bytes of a kernel's copies in shared memory, with the last extents odd as ``kernel_source`` makes them.

    Returns:
        A Python expression with places ``{x}``, ``{y}`` and ``{z}`` for the points of a block along the axes, and
        ``{depth}`` for those of a tile along a sequential member; empty text for a kernel without copies.
    """
    places = ["depth"] * kernel.sequential + list(reversed(AXES[: kernel.axes]))
    named = {window.extent: f"{{{place}}}" for window, place in zip(kernel.windows, places, strict=True)}

    def text(extent: Expression) -> str:
        written = without_marks(expression_text(_renamed(extent, named), compiled=False))
        return f"({written})" if " " in written else written

    sizes = []
    for copy in kernel.shared:
        *others, last = map(text, copy.extents)
        factors = [str(_BYTES[scop.array(copy.array).dtype]), *others, f"({last} // 2 * 2 + 1)"]
        sizes.append(" * ".join(factors))
    return " + ".join(sizes)


def _renamed(expression: Expression, names: dict[str, str]) -> Expression:
    """The expression with variables renamed."""
    if isinstance(expression, Iterator) and expression.name in names:
        return replace(expression, name=names[expression.name])
    renamed: Expression = map_children(expression, lambda part: _renamed(part, names))
    return renamed
