"""``python -m polybench``: list, run and verify the suite's kernels."""

from __future__ import annotations

from polybench.command_line import main
from polybench.registry import SUITE

if __name__ == "__main__":
    main(SUITE)
