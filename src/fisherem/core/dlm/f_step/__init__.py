"""The F-step: from the sums of the groups to axes.

In: `Between`, that is H (r x K) with S_B = H H', and S. Out: `Axes`, orthonormal U (r x d in the rows' coordinates)
and, for a sparse step, the loadings (p x d) before they were made orthonormal. `step` has the registers of
discriminants and of sparse steps; a new sparse step is a function with the signature of `sparse.SparseStep`.
"""
