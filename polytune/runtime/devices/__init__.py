"""Devices: GPUs and other accelerators, behind one interface."""
