"""The walk over a function: what each name means, and what its statements become in the typed program."""
