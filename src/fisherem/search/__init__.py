"""Searching and comparing.

In: an estimator and rows. Out: fits with a table of results. `model_search` chooses the number of groups by a verdict
(`verdict_search`), or number, model and sparsity by a criterion: `grids` runs any grid of fits, `grid_runner` is the
grid of DLM models with its cells in `grid`, `factor_search` that of factor mixtures, and `search_tables` has the tables
for pages and plots. `search_parameters` checks the parameters, `merging` finds the groups to be merged next.
`stability` refits on subsamples, `significance` compares with tables of one group: `one_group_tables` draws them,
`one_group_fits` fits clones to them (as `refitting` says), `group_statistics` has the formulas, `draw_checkpoint` keeps
finished draws. `comparison` compares methods, `scoring` compares a partition with known classes, `select_variables`
selects columns in a pipeline.
"""
