"""Compiling versions of kernels beside the application: in a thread that lets others run, or in a process."""
