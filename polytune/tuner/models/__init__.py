"""The models that searches learn from measurements: designs, regressions and surrogates."""
