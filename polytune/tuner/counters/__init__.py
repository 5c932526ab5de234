"""Counters of configurations: their names, what they say of bottlenecks, and models of them."""
