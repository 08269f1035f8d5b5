"""A data set prepared for fitting.

In: rows (n x p) in memory, on disk or on a cluster. Out: a `Problem`: centred rows, their covariance S with its factor
(`scatter`), and optionally a prior over the rows or the metric of a noise with factors. `kernels` has the computations
of passes over the rows, `e_step` says what a solution makes of the rows, `sampling` draws samples.
"""
