"""The version of polytune, and the name that it is installed by."""

__version__ = "0.2.0"

DISTRIBUTION = "polytune-compiler"
"""The name on package indexes, where ``polytune`` is another project's; the import is ``polytune``."""
