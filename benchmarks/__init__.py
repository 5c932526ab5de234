"""Speed of polytune beside other systems, and what it costs to use it; programs that measure, not tests.

``python -m benchmarks.cpu`` compares PolyBench with the same loops under Numba; ``python -m benchmarks.latency``
measures the first call and the overhead of every call.
"""
