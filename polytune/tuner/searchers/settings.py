"""What a setting of a search may be."""

from __future__ import annotations

import math

from polytune.errors import SearchError


def check_settings(search: str, low: float, high: float = math.inf, /, **settings: float | None) -> None:
    """Check that the settings given lie within bounds, both included; None stands for a default.

    Raises:
        SearchError: one does not.
    """
    for name, value in settings.items():
        if value is not None and not low <= value <= high:
            bounds = f"at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
            raise SearchError(f"the search {search!r} needs a setting {name} of {bounds}, not {value}")
