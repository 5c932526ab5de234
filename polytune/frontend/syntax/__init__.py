"""Rewrites of the syntax tree, before anything in it has a meaning."""
