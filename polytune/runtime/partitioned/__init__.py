"""Calls shared between the processor and devices: each part of a region runs where a configuration says."""
