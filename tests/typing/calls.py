"""Calls of kernels as a user writes them, for type checkers: those marked ``wrong`` are errors, no other line is."""

from pathlib import Path

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


@polytune.kernel(parallel=True, cache=True, fastmath={"arcp"})
def both(x: Vector, y: Vector) -> tuple[Vector, float]:
    return x + y, float(x[0])


def plain(x: Vector, n: int) -> int:
    for i in range(n):
        x[i] = 0.0
    return n


@polytune.kernel()
def untyped(x, n: int):  # type: ignore
    for i in range(n):
        x[i] = 0.0


x: Vector = np.ones(3)
y: Vector = np.zeros(3)
configuration: dict[str, object] = {}

axpy(1.5, x, y)
axpy(2, x, y)
axpy(alpha=1.5, x=x, y=y)
axpy(1.5, y=y, x=x)
axpy.strict(1.5, x, y)
axpy.run(configuration, 1.5, x, y)
space: polytune.tuner.Space = axpy.space(1.5, x, y)
axpy.run(space.default(), 1.5, x, y)
sum_of_all: float = total(x)
sum_of_rest: float = total(x, 1)
sum_by_name: float = total(x, first=1)
sum_in_order: float = total.strict(x)
sum_of_one: float = total.run(configuration, x, first=2)
untyped(x, 3)
text: str = axpy.explain()
name: str = axpy.__name__
is_strict: bool = total.is_strict
flags: frozenset[str] = total.fastmath
kernel: polytune.Kernel[[float, Vector, Vector], None] = axpy
versions: str = axpy.stages().show("cpu")
axpy.budget = polytune.tuner.Budget.of("5 %")
again: float = total.strict.strict(x)
vector, number = both(x, y)
first: float = both(x, y)[1]
made: polytune.Kernel[[Vector, int], int] = polytune.Kernel(plain)
count: int = polytune.Kernel(plain, strict=True)(x, n=3)
seconds: float = axpy.tune(1.5, x, y, seconds=0.5, progress=False).seconds
best: polytune.tuner.Configuration = axpy.tune(1.5, x, y=y).configuration
axpy.freeze()
axpy.freeze(False)
axpy.save("axpy.json")
loaded: int = axpy.load(Path("axpy.json"))
compiled: list[str] = axpy.warm_up(every=True)
tuner: polytune.tuner.OnlineTuner = axpy.tuner(1.5, x, y)
with polytune.tuning("frozen"), polytune.resident(x, y):
    axpy(1.5, x, y)

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
axpy.tuner(1.5, x)  # wrong
total()  # wrong
total(x, "1")  # wrong
total(x, first=1.5)  # wrong
total(x, 1, 2)  # wrong
result: str = total(x)  # wrong
axpy.explain(1)  # wrong
axpy.no_such_method()  # wrong
text = both(x, y)[1]  # wrong
other: polytune.Kernel[[Vector], None] = axpy  # wrong
polytune.Kernel(plain)(x, "3")  # wrong
polytune.kernel(strict="yes")  # wrong
polytune.kernel(fastmath=1)  # wrong
polytune.kernel(parallel=False)  # wrong
polytune.kernel(3)  # wrong
axpy.tune(1.5, x, y, seconds="10")  # wrong
axpy.freeze("always")  # wrong
axpy.load(3)  # wrong
axpy.is_strict = "no"  # wrong
