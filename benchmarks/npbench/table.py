"""``python -m benchmarks.npbench.table FILE ...``: what ``python -m benchmarks.npbench --output`` wrote, as Markdown.

The files may have a kernel each, so that a comparison that was cut off goes on with those that are missing.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import program

PEERS = {"numpy": "NumPy", "numba": "Numba", "dace": "DaCe", "pythran": "Pythran", "jax": "JAX"}
"""The frameworks that polytune is compared with, as they are called."""


def late(kernel: dict[str, Any], framework: str) -> float:
    """The least seconds of a late call of a framework's forms that are right; NaN where there is none."""
    found = [run["late"] for run in kernel["runs"].get(framework, ()) if not run["problem"] and run["late"]]
    return min(found, default=math.nan)


def table(kernels: Sequence[dict[str, Any]]) -> str:
    """A line for each kernel: milliseconds of polytune, how many times as long others take, and the geometric means."""
    lines = [
        f"| kernel | polytune, ms | {' | '.join(PEERS.values())} |",
        f"|---|{'---:|' * (1 + len(PEERS))}",
    ]
    ratios: dict[str, list[float]] = {name: [] for name in PEERS}
    for kernel in sorted(kernels, key=lambda each: str(each["kernel"])):
        ours = late(kernel, "polytune")
        cells = [f"{1e3 * ours:.3g}" if not math.isnan(ours) else "refused"]
        for name, of_peer in ratios.items():
            ratio = late(kernel, name) / ours
            if not math.isnan(ratio):
                of_peer.append(ratio)
            cells.append("" if math.isnan(ratio) else f"{ratio:.2f}")
        lines.append(f"| {kernel['kernel']} | {' | '.join(cells)} |")
    means = [f"{program.geometric_mean(found):.2f} ({len(found)})" if found else "" for found in ratios.values()]
    lines.append(f"| geometric mean (kernels) | | {' | '.join(means)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table([kernel for name in sys.argv[1:] for kernel in json.loads(Path(name).read_text())["kernels"]]))
