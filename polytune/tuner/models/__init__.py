"""The models that searches learn from measurements: designs, regressions, surrogates, hardware counters."""
