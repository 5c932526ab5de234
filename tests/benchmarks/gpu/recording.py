"""What processes of a test do in place of generating kernels: they write down that they were asked to."""

import os
from pathlib import Path


def record(name: str, dtype: str) -> None:
    """Leave a file named after a kernel, with what the process was told."""
    told = f"{dtype} {os.environ['POLYTUNE_DEVICES']} {os.environ['NUMBA_NUM_THREADS']}"
    Path(os.environ["RECORDING"], name).write_text(told)


def never_end(name: str, dtype: str) -> None:
    """Take longer than anybody waits."""
    import time

    time.sleep(600)
