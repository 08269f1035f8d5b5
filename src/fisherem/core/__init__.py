"""Mechanism: from prepared rows, a family of mixtures and a start to one fit. Nothing in here chooses anything.

`data` prepares rows once (centre, covariance S and its factor), `starts` are partitions to begin with, `engine` runs
the loop for any family, side by side where several runs share the rows. The families are `dlm` (with its F- and
M-steps), `factors` and `bayes`; `missing` is the E-step of rows with missing cells.

In: a `Problem` and a `Specification`. Out: a `Fit` with the family's solution, the states of the rows (posteriors
K x n), the likelihood, the history and how it stopped.
"""
