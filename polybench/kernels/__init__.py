"""The suite's kernels, one a file: the loops as a user writes them, initial data, reference, operation count."""
