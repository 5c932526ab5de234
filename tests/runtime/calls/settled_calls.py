"""Calls that settle, for the tests of the short way."""

from __future__ import annotations

from typing import Any

import numpy as np

import polytune


def settle(kernel: polytune.Kernel, *arguments: Any) -> None:
    """Have the tuner of such calls settled."""
    kernel(*arguments)
    tuner = kernel.tuner(*arguments)
    if tuner.best is None:  # what it ran first was a version that is quick to compile
        configuration = tuner.space.default()
        kernel.run(configuration, *[each.copy() if isinstance(each, np.ndarray) else each for each in arguments])
        tuner.report(configuration, 1e-3)
    tuner._settle()


def check(kernel: polytune.Kernel, *arguments: Any) -> None:
    """One call, held against plain Python."""
    wanted = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
    kernel.__wrapped__(*wanted)
    kernel(*arguments)
    for got, expected in zip(arguments, wanted, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6 if getattr(got, "dtype", None) == np.float32 else 1e-13)
