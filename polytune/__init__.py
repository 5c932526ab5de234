"""polytune: annotate a loop nest; it runs compiled, in parallel, right on every call, and tunes itself in use."""

from polytune.errors import (
    ArgumentError,
    CacheWarning,
    CompilationError,
    DeviceError,
    DeviceWarning,
    PolytuneError,
    PolytuneWarning,
    UnsupportedSourceError,
)
from polytune.kernel import Kernel, kernel
from polytune.runtime.partitioned.residency import resident
from polytune.version import __version__

__all__ = [
    "ArgumentError",
    "CacheWarning",
    "CompilationError",
    "DeviceError",
    "DeviceWarning",
    "Kernel",
    "PolytuneError",
    "PolytuneWarning",
    "UnsupportedSourceError",
    "__version__",
    "kernel",
    "resident",
]
