"""Search spaces: parameters, conditions and constraints, and the graph and the table that searches walk."""
