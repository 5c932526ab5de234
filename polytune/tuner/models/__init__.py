"""What the model-based searches learn from measurements: designs, regressions, surrogates, hardware counters."""
