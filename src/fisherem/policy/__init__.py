"""Policy: every automatic decision, each with a record of what was tried and why.

In: a `Problem` and what the user asked for. Out: a choice and its record.

`default_fit` is the order of the decisions. `scaling` and `powers` are about columns, `latent_model` and `model` about
the model and the number of axes, `alternative_starts` about starts, `variables` about the variables that make the
groups (with `alternation` and `forward_backward`), `noise` about the factors of the noise, `missing` about missing
cells, `number_of_groups` about K. `criterion` is the judge C(K, S), `roles` says of every variable whether it is
selected, redundant or noise.
"""
