"""All peers there are, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.cpu.c_peers import PlainCompiler, Polly, SourceToSource
from benchmarks.cpu.contender import Peer
from benchmarks.cpu.python_peers import DaCe, NumPy, Pythran

NUMBA = "numba"
"""Numba is not among ``PEERS``: it compiles in this process, see ``benchmarks.cpu.baseline``."""

PEERS: Mapping[str, Peer] = {
    peer.name: peer
    for peer in (
        NumPy(),
        PlainCompiler("gcc", "gcc"),
        PlainCompiler("gcc-plain", "gcc", restrict=False),
        PlainCompiler("clang", "clang"),
        Polly(),
        SourceToSource("pluto", "polycc", ("--tile", "--parallel")),
        SourceToSource("ppcg", "ppcg", ("--target=c", "--openmp", "--tile")),
        Pythran(),
        DaCe(),
    )
}

NAMES = (NUMBA, *PEERS)


def absent(names: Sequence[str]) -> dict[str, str]:
    """Those peers among ``names`` that are not on this machine, and why not."""
    reasons = {name: PEERS[name].missing() for name in names if name in PEERS}
    return {name: reason for name, reason in reasons.items() if reason is not None}
