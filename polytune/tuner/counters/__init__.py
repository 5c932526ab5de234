"""Counters of what a configuration does: their names, what they say of bottlenecks, and models of them."""
