"""How many groups: rules that each speak for a number, and a verdict that weighs them.

In: rows (n x p, in memory), weights (n) and an estimator that fits one number of groups. Out: `Evidence`, a candidate
partition per number of groups with what every rule says of it, and a `Verdict`.

`transforms` takes skew out of columns; `partition_values` judges a partition on them; `candidates` fits one number of
groups; `halves` asks whether groups come back on other rows; `evidence` holds all of it; `rules` is the register of
rules; `verdict` weighs them and `saying` puts it into words; `shortening` looks for fewer variables once the number is
known; `gathering` runs the fits.
"""
