"""Conclusions from measurements of other sizes, on other machines and of other kernels, for tuning here.

The methods are those of J. Oľha, J. Hozzová, J. Fousek and J. Filipovič, "Exploiting historical data: pruning
autotuning spaces and estimating the number of tuning steps", Concurrency and Computation: Practice and Experience
32(21), 2020, and what they leave as future work: whether tuning pays is decided by what it has gained before.
"""
