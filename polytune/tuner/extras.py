"""Libraries that only parts of the package need: loaded when used, with a sentence where they are missing."""

from __future__ import annotations

import importlib
from typing import Any

from polytune.errors import MissingLibraryError
from polytune.version import DISTRIBUTION

_PACKAGES = {"sklearn": "scikit-learn"}


def library(module: str, user: str, extra: str = "search") -> Any:
    """The module of a library that belongs to an extra of the package.

    Args:
        module: its dotted name, such as ``scipy.stats``.
        user: what needs it, for people, such as ``the random forest search``.
        extra: the extra.

    Raises:
        MissingLibraryError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        top = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != top:
            raise  # it is there, but broken: that is for its own words to say
        package = _PACKAGES.get(top, top)
        raise MissingLibraryError(
            f'{user} needs {package}, which is not installed: pip install "{DISTRIBUTION}[{extra}]", or {package} alone'
        ) from None
