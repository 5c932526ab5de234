"""``python -m benchmarks.search``: searches on recorded spaces, beside other tuners and published findings."""
