"""The hierarchical search: a walk through the space graph, and what is believed of the configurations measured."""
