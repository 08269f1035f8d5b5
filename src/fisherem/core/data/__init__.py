"""A data set made ready for fitting.

In: rows (n x p) wherever they live. Out: a `Problem`: centred rows, their covariance S with its factor (`scatter`), a
prior over the rows or the metric of a noise with factors where there is one. `kernels` are what passes over the rows
compute, `sampling` draws some of them.
"""
