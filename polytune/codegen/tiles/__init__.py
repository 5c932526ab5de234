"""The loops over tiles, and the code of one tile."""
