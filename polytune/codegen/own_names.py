"""Names that generated code uses beside those of the kernel."""

from __future__ import annotations

import re

from polytune.frontend.scop import Scop

OWN = "$"
"""Stands before a name of ours in text that is still to be finished by ``finish_names``."""

BUILTINS = ("range", "abs", "pow", "max", "min")
"""Built-in functions that generated code calls."""

_PATTERN = re.compile(
    r"[abcklmrstu]\d+(_\d+)?|(lower|upper|count|tile|outer|begin|end|step|from|to|first|last)_\d+|(packed|strip)_\d+_\d+"
    r"|row|column|boxes|context|base|ticket|total|rest|wave|first|claimed|turn|piece|element"
    r"|(load|store)(_apart)?(_some)?|spread|between|chosen|lane_sum|past|shifted"
    r"|view|keep_alive|local_array|one_by_one|take|complete|complete_all|enter|leave|pieces|wait|attach|integer|number|least|greatest|quotient|remainder|power|library_pow|njit|OPTIONS|CACHE"
    r"|np|math|range|abs|pow|max|min|run_\w+"
    r"|(source|parallel|interleaved|tiled|coincident|distributed|fused|grouped|reassociated|summed|split|blocked|transposed)(_\w+)?_(\d+|worker)"
    r"|\w+_(copy|copies|private|points|shared|sums)"
)


def own_prefix(scop: Scop) -> str:
    """What is put before all names of ours: nothing, or as many underscores as it takes to differ from the kernel's
    names."""
    taken = [array.name for array in scop.arrays] + [name for name, _ in scop.signature.arguments]
    taken += [parameter.name for parameter in scop.parameters]
    prefix = ""
    while any(name.startswith(prefix) and _PATTERN.fullmatch(name[len(prefix) :]) for name in taken):
        prefix += "_"
    return prefix


def finish_names(text: str, scop: Scop) -> str:
    """Text with the prefix put in."""
    return text.replace(OWN, own_prefix(scop))
