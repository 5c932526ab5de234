"""Designed experiments on search spaces, by hand: designs, linear models, transformations, analysis of variance.

They are what the search ``"dlmt"`` is made of (P. Bruel et al., "Autotuning under tight budget constraints: a
transparent design of experiments approach", CCGRID 2019), as functions of tables of numbers.  Linear models need
``pip install "polytune-compiler[search]"``.

>>> import numpy as np
>>> from polytune.tuner import FiniteSpace, Integer, Space
>>> from polytune.tuner.designs import Terms, analysis_of_variance, d_optimal_design, fit
>>> space = FiniteSpace.from_space(Space([Integer("threads", 1, 8), Integer("tile", 8, 512, powers_of_two=True)]))
>>> terms = Terms.of(space, space.rows)
>>> terms.labels
('1', 'threads', '1/threads', 'tile', '1/tile')
>>> design = d_optimal_design(terms.matrix(space.rows), 12, np.random.default_rng(0))
>>> measured = [space.configuration(row) for row in design]
>>> costs = np.array([(1 + 8 / c["threads"]) * (1 + 1e-5 * c["tile"]) for c in measured])
>>> matrix = terms.matrix(space.rows[design])
>>> model = fit(matrix, costs, terms.factors)
>>> space.configuration(int(np.argmin(model.predict(terms.matrix(space.rows)))))["threads"]
8
>>> table = analysis_of_variance(matrix, model.response, terms.labels)
>>> max(table[:-1], key=lambda row: row.sum_of_squares).term
'threads'
"""

from polytune.tuner.models.analysis import DesignStep, VarianceRow, analysis_of_variance
from polytune.tuner.models.fedorov import d_optimal_design
from polytune.tuner.models.regression import Regression, box_cox, box_cox_power, fit, fit_quantile
from polytune.tuner.models.terms import Terms, independent_columns

__all__ = [
    "DesignStep",
    "Regression",
    "Terms",
    "VarianceRow",
    "analysis_of_variance",
    "box_cox",
    "box_cox_power",
    "d_optimal_design",
    "fit",
    "fit_quantile",
    "independent_columns",
]
