"""Matrix products by the device vendor's library, through CuPy or PyTorch, whichever is there."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

REPEATS = 10


def library_product(sizes: tuple[int, int, int], dtype: np.dtype) -> dict[str, Any] | None:
    """The seconds of ``C = A @ B`` of arrays on the first CUDA device; None where neither package is there.

    32-bit products are computed without tensor cores' shortened operands.  64-bit products are those of the library's
    own choice: a tensor core's 64-bit operations round like others.

    Args:
        sizes: rows of A, columns of A, columns of B.
        dtype: ``float32`` or ``float64``.
    """
    for package, measure in (("cupy", _with_cupy), ("torch", _with_torch)):
        try:
            library = importlib.import_module(package)
        except ImportError:
            continue
        try:
            seconds = measure(library, sizes, dtype)
        except RuntimeError as problem:  # what both raise where there is no device, or their build does not suit it
            return {"library": f"{package} {library.__version__}", "failure": str(problem)}
        rate = 2 * sizes[0] * sizes[1] * sizes[2] / seconds
        return {"library": f"{package} {library.__version__}", "seconds": seconds, "flops": rate}
    return None


def _with_cupy(cupy: Any, sizes: tuple[int, int, int], dtype: np.dtype) -> float:
    n, k, m = sizes
    A, B, C = (cupy.random.random(shape).astype(dtype) for shape in ((n, k), (k, m), (n, m)))
    return _best(lambda: cupy.matmul(A, B, out=C), cupy.cuda.Event, cupy.cuda.get_elapsed_time)


def _with_torch(torch: Any, sizes: tuple[int, int, int], dtype: np.dtype) -> float:
    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch finds no CUDA device")
    torch.backends.cuda.matmul.allow_tf32 = False
    n, k, m = sizes
    kind = {"float32": torch.float32, "float64": torch.float64}[dtype.name]
    A, B, C = (torch.rand(shape, dtype=kind, device="cuda") for shape in ((n, k), (k, m), (n, m)))

    def event() -> Any:
        return torch.cuda.Event(enable_timing=True)

    return _best(lambda: torch.mm(A, B, out=C), event, lambda first, last: first.elapsed_time(last))


def _best(product: Callable[[], Any], event: Callable[[], Any], milliseconds: Callable[[Any, Any], float]) -> float:
    """The least seconds of several products."""
    found = []
    for _ in range(REPEATS):
        first, last = event(), event()
        first.record()
        product()
        last.record()
        last.synchronize()
        found.append(milliseconds(first, last) * 1e-3)
    return min(found)
