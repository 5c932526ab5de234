"""polytune: annotate a loop nest; it runs compiled, in parallel, right on every call, and tunes itself in use."""

from polytune import tuner as tuner
from polytune.campaigns import campaign
from polytune.errors import (
    ArgumentError,
    CacheWarning,
    CampaignError,
    CompilationError,
    DefectError,
    DeviceError,
    DeviceWarning,
    PolytuneError,
    PolytuneWarning,
    RecompilationWarning,
    UnassignedVariableError,
    UnsupportedSourceError,
)
from polytune.kernel import Kernel, kernel
from polytune.logger import configure as _configure_logger
from polytune.runtime.partitioned.residency import resident
from polytune.runtime.tuning_mode import tuning
from polytune.version import __version__

_configure_logger()

__all__ = [
    "ArgumentError",
    "CacheWarning",
    "CampaignError",
    "CompilationError",
    "DefectError",
    "DeviceError",
    "DeviceWarning",
    "Kernel",
    "PolytuneError",
    "PolytuneWarning",
    "RecompilationWarning",
    "UnassignedVariableError",
    "UnsupportedSourceError",
    "__version__",
    "campaign",
    "kernel",
    "resident",
    "tuning",
]
