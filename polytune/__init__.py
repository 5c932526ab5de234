"""polytune: annotate a loop nest; it runs compiled, in parallel, right on every call, and tunes itself in use."""

from typing import TYPE_CHECKING, Any

from polytune import tuner as tuner
from polytune.decorator import kernel
from polytune.errors import (
    ArgumentError,
    BoundsError,
    CacheWarning,
    CampaignError,
    CompilationError,
    DataError,
    DefectError,
    DeviceError,
    DeviceWarning,
    IntegerRangeError,
    PolytuneError,
    PolytuneWarning,
    RecompilationWarning,
    SignatureError,
    SubscriptError,
    UnassignedVariableError,
    UnsupportedSourceError,
)
from polytune.kernel import Kernel
from polytune.logger import configure as _configure_logger
from polytune.runtime.partitioned.residency import resident
from polytune.runtime.tuning.tuning_mode import tuning
from polytune.version import __version__

if TYPE_CHECKING:
    from polytune.campaigns import campaign

_configure_logger()


def __getattr__(name: str) -> Any:
    """Import what few programs use when it is asked for."""
    if name == "campaign":
        from polytune.campaigns import campaign

        return campaign
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ArgumentError",
    "BoundsError",
    "CacheWarning",
    "CampaignError",
    "CompilationError",
    "DataError",
    "DefectError",
    "DeviceError",
    "DeviceWarning",
    "IntegerRangeError",
    "Kernel",
    "PolytuneError",
    "PolytuneWarning",
    "RecompilationWarning",
    "SignatureError",
    "SubscriptError",
    "UnassignedVariableError",
    "UnsupportedSourceError",
    "__version__",
    "campaign",
    "kernel",
    "resident",
    "tuning",
]
