"""Measurements, kept across calls, processes and machines."""

from polytune.history.machine import machine_key
from polytune.history.store import Measurement, Store, Summary, default_store

__all__ = ["Measurement", "Store", "Summary", "default_store", "machine_key"]
