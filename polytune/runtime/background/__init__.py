"""Compiling beside the application: versions of kernels, in a process of their own."""
