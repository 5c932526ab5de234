"""Rewrites of the typed program: each is a pass from a program to one that computes the same."""
