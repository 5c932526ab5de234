"""PolyBench for Python: 30 ports of the PolyBench/C 4.2.1 kernels as plain loops, compiled and tuned by polytune.

``python -m polybench`` lists, runs and verifies them; ``polybench.registry.benchmark(name)`` gives one to a program.
The suite is by Louis-Noël Pouchet and Tomofumi Yuki.
"""
