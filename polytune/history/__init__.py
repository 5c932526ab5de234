"""Measurements, kept across calls, processes and machines."""

from polytune.history.machine import machine_key
from polytune.history.store import HistoryStore, Measurement, Summary, default_store

__all__ = ["HistoryStore", "Measurement", "Summary", "default_store", "machine_key"]
