"""polytune: annotate a loop nest; it runs compiled, in parallel, right on every call, and tunes itself in use."""

from polytune.errors import (
    ArgumentError,
    CacheWarning,
    CompilationError,
    PolytuneError,
    PolytuneWarning,
    UnsupportedSourceError,
)
from polytune.kernel import Kernel, kernel
from polytune.version import __version__

__all__ = [
    "ArgumentError",
    "CacheWarning",
    "CompilationError",
    "Kernel",
    "PolytuneError",
    "PolytuneWarning",
    "UnsupportedSourceError",
    "__version__",
    "kernel",
]
