"""Searching and comparing.

In: an estimator and rows. Out: fits with a table of results. `model_search` chooses the number of groups by a verdict
(`verdict_search`), or number, model and sparsity by a criterion: `grid` fits a cell or a path and writes its row of the
results, `grid_runner` runs the cells, `search_tables` is what pages and plots show of it. `search_parameters` checks
what is asked for, `checkpoints` keeps finished fits on disk, `merging` says which groups would join next. `stability`
refits on subsamples, `comparison` puts methods side by side, `scoring` compares a partition with known classes,
`select_variables` keeps the selected columns in a pipeline.
"""
