"""Choosing and judging.

`search` chooses the number of groups, the model and the sparsity: `grid` fits a cell or a path and writes its row of
the results, `searching` runs the cells and says which is best, `checkpoints` keeps finished fits on disk,
`search_tables` is what pages and plots show of it. `stability` refits on subsamples, `comparison` puts methods side
by side, `scoring` compares a partition with known classes, `select_variables` keeps the selected columns in a
pipeline.
"""
