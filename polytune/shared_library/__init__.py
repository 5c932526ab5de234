"""``polytune build --native``: a shared library of kernels with a C header, and a Python package around it that needs
NumPy alone.

`build` writes both.  Machine code is LLVM's, of the generated functions that this project's own runtime runs (`code`),
for several `levels` of processors; `choices` are the versions and sizes that run for which sizes of arguments.  What
checks a call is written twice from the same text: as Python (`host_text`), and as C (`entry`, `call_checks`,
`expressions`).  The folder ``runtime`` has the C files that every library is linked with, and ``binding`` the Python
files of every package.
"""
