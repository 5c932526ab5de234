"""The run time: what loads generated modules, checks arguments, and runs configurations on teams and devices."""
