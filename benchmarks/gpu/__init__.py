"""Kernels shared with a device: are results right, what can the device do, and how near to that do kernels come?"""
