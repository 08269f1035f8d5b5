"""Mechanism: from prepared rows, a family of mixtures and a start to one fit. It makes no automatic decisions.

`data` prepares rows once (centre, covariance S and its factor), `starts` finds initial partitions, `engine` runs the
loop for any family, for several runs at once if they share the rows. The families are `dlm` (with its F- and
M-steps), `factors` and `bayes`; `missing` is the E-step of rows with missing cells.

In: a `Problem` and a `Specification`. Out: a `Fit` with the family's solution, the states of the rows (posteriors
K x n), the likelihood, the history and how it stopped.
"""
