"""The order in which the points of a tile run."""
