"""Tables and figures that take kernels that run, and so are not made from recordings, with their commands."""

from __future__ import annotations

from polytune.lab.papers.item import Table

__all__ = ["RUNNING_KERNELS"]

_H = "Pfaffe et al."
_O = "Oľha et al."
_D = "Bruel"

RUNNING_KERNELS = Table(
    "Shown by kernels that run, each by a command of its own",
    ["paper", "where", "what", "command"],
    [
        [_H, "figure 1", "the graph of a space", "polytune inspect FILE:KERNEL --show space --picture space.svg"],
        [_H, "figures 2, 3", "schedule trees", "polytune inspect FILE:KERNEL --show schedule"],
        [_H, "figure 4", "partitions of bands", "polytune inspect FILE:KERNEL --show partition"],
        [_H, "table 1", "what is tuned", "polytune inspect FILE:KERNEL --show space"],
        [_H, "section 3.2.2", "what rules go by", "polytune inspect FILE:KERNEL --show counts"],
        [_H, "section 3.2.2", "what rules have refused, by region", "kernel.explain(), after calls"],
        [_H, "figure 5", "PolyBench beside compilers", "python -m benchmarks.cpu --dataset EXTRALARGE --plot FILE.svg"],
        [
            _H,
            "figures 7, 9, 11",
            "traces and timelines of calls",
            "polytune tune FILE:KERNEL --size N=... --plot FOLDER",
        ],
        [_H, "figures 10, 11", "beside OpenTuner", "python -m benchmarks.search opentuner-live KERNEL --python PYTHON"],
        [_O, "in use", "a new size, with history of others", "python -m benchmarks.transfer --keep FOLDER"],
        [_D, "in use", "designed experiments on a kernel", "polytune tune FILE:KERNEL --search numeric=dlmt"],
    ],
)
"""The papers' names are those that the page begins them with."""
