"""Simulations of campaigns with many workers: ``python -m benchmarks.scale.campaigns``."""
