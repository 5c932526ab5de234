"""Versions that are made beside the application, while its calls run what is there at once."""
