"""Regions shared among processors and devices: what each part is, and how a device runs it."""
