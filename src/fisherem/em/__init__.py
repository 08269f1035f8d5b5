"""From rows and a specification to a fit.

`problem` prepares rows once (centre, covariance S and its factor: `scatter`), `starts` propose partitions,
`multistart` takes them through the phases of a `family`, `loop` iterates one run, `model_choice` keeps one of several
models. A family (`family`, first of all `dlm_family` with its `f_step` and `m_step`) says how rows are placed, which
moments it needs and how dense rows lie. In: a `Problem` and a `Specification`. Out: a `Fit` with the family's
solution, the states of the rows (posteriors K x n), the likelihood, the history and how it stopped.
"""
