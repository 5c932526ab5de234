"""PolyBench on the processor: polytune, tuned, beside its peers and the machine's limits."""
