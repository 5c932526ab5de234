"""What the kernels of a package around a shared library have in common; it is not for others."""
