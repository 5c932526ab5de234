"""The common part of the kernels of packages around shared libraries; it is not for others."""
