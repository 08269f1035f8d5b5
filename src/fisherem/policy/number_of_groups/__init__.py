"""How many groups: a fit per number of groups, what speaks for each, and a verdict with its certainty.

In: rows (n x p, in memory), weights (n) and an estimator. Out: `Evidence`, the estimator's own fit for every number of
groups with what every rule says of it, and a `Verdict`.

`candidates` fits one number of groups; `valleys` asks whether its groups are apart; `halves` whether they are found
again on other rows; `one_group` compares with tables of one group. `gathering` runs these in the order in which they
can decide. `evidence` holds the results, `rules` is the register of rules, `verdict` decides and `wording` puts it into
words. Every threshold is in `thresholds`.
"""
