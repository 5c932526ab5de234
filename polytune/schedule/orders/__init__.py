"""Orders that are made of the dependences; those that are made of rewritten kernels are in ``schedule.rewrites``."""
