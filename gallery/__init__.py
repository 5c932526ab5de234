"""Kernels of the papers that polytune's tuning follows, as plain loops, compiled and tuned by polytune.

``python -m gallery`` lists, runs and verifies them, as ``python -m polybench`` does PolyBench's;
``gallery.registry.benchmark(name)`` gives one to a program.  They are written from the mathematics; their tuning spaces
are polytune's own.
"""
