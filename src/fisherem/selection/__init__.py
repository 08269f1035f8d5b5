"""Which variables make the groups.

In: a prepared data set (`em.problem.Problem`) and a partition of its rows, or none. Out: the value of the criterion
C(K, S), a subset S of the variables, and the role of every variable.

`criterion` judges a partition together with a subset; `forward_backward` finds the subset that it prefers for a
partition; `alternation` takes turns between the two; `automatic` is what `sparsity="auto"` does; `roles` says of
every variable whether it is selected, redundant or noise.
"""
