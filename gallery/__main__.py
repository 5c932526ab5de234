"""``python -m gallery``: list, run and verify the kernels."""

from __future__ import annotations

from gallery.registry import SUITE
from polybench.command_line import main

if __name__ == "__main__":
    main(SUITE)
