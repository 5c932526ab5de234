"""In which order the points of a tile run."""
