"""Policy: every automatic decision, each with a record of what was tried and why.

In: a `Problem` and what the user asked for. Out: a choice and its record.

`default_fit` is the order of the decisions and `decisions` their record. `scaling` and `powers` are about columns,
`starts` and `groups` about the groups (judged by `judge` and `halves`), `latent_model` and `model` about the model and
the number of axes, `variables` about the variables that make the groups and the role of every variable (with
`alternation` and `forward_backward`, by the criterion C(K, S) of `criterion`), `noise` about the factors of the noise,
`missing` about missing cells, `number_of_groups` about K.
"""
