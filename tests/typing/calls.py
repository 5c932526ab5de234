"""Calls of kernels as a user writes them, for type checkers: those marked ``wrong`` are errors, no other line is."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import polytune

Vector = NDArray[np.float64]


@polytune.kernel
def axpy(alpha: float, x: Vector, y: Vector) -> None:
    """Add a multiple of x to y."""
    for i in range(x.shape[0]):
        y[i] += alpha * x[i]


@polytune.kernel(strict=True, budget="2 s")
def total(x: Vector, first: int = 0) -> float:
    result = 0.0
    for i in range(first, x.shape[0]):
        result += x[i]
    return result


@polytune.kernel()
def untyped(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x[i] = 0.0


x: Vector = np.ones(3)
y: Vector = np.zeros(3)
configuration: dict[str, Any] = {}

axpy(1.5, x, y)
axpy(2, x, y)
axpy(alpha=1.5, x=x, y=y)
axpy(1.5, y=y, x=x)
axpy.strict(1.5, x, y)
axpy.run(configuration, 1.5, x, y)
space: polytune.tuner.Space = axpy.space(1.5, x, y)
sum_of_all: float = total(x)
sum_of_rest: float = total(x, 1)
sum_by_name: float = total(x, first=1)
sum_in_order: float = total.strict(x)
sum_of_one: float = total.run(configuration, x, first=2)
untyped(x, 3)
text: str = axpy.explain()
name: str = axpy.__name__
is_strict: bool = total.is_strict
kernel: polytune.Kernel[[float, Vector, Vector], None] = axpy
versions: str = axpy.stages().show("cpu")
axpy.budget = polytune.tuner.Budget.of("5 %")
again: float = total.strict.strict(x)

axpy("nonsense")  # wrong
axpy()  # wrong
axpy(1.5, x)  # wrong
axpy(1.5, x, y, y)  # wrong
axpy("1.5", x, y)  # wrong
axpy(1.5, x, "y")  # wrong
axpy(1.5, x, beta=y)  # wrong
axpy(1.5, x, y, threads=2)  # wrong
axpy(alpha=1.5, x=x)  # wrong
axpy.strict(1.5, x)  # wrong
axpy.run(configuration, 1.5, x)  # wrong
axpy.run(configuration)  # wrong
axpy.space(1.5)  # wrong
total()  # wrong
total(x, "1")  # wrong
total(x, first=1.5)  # wrong
total(x, 1, 2)  # wrong
result: str = total(x)  # wrong
axpy.explain(1)  # wrong
axpy.no_such_method()  # wrong
