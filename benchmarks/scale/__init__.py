"""How campaigns grow with the number of workers, by simulation: ``python -m benchmarks.scale.campaigns``."""
