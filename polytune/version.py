"""The version of polytune."""

__version__ = "0.1.0"
