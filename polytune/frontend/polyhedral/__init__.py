"""The polyhedral model of a typed program, with isl."""
