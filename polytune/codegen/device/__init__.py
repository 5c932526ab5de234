"""Device kernels: a region of a schedule mapped to blocks and threads, as text for CUDA C++ and OpenCL C alike."""
