"""Searching and comparing.

In: an estimator and rows. Out: fits with a table of results. `model_search` chooses the number of groups by a verdict
(`verdict_search`), or number, model and sparsity by a criterion: `grids` runs any grid of fits, `grid_runner` is the
grid of DLM models with its cells in `grid`, `factor_search` that of factor mixtures, and `search_tables` has the tables
for pages and plots. `search_parameters` checks the parameters, `merging` finds the groups to be merged next.
`stability` refits on subsamples, `comparison` compares methods, `scoring` compares a partition with known classes,
`select_variables` selects columns in a pipeline.
"""
