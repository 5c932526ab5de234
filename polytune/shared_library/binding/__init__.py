"""Parts that the kernels of a package around a shared library have in common; they are not for others."""
