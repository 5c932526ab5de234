"""Schedule tree to loop IR to source text."""
