"""The kernels of the gallery, one a module, each with the constant ``BENCHMARK``."""
