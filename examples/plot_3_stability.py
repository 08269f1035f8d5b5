"""
How sure is the selection?
==========================

A fit selects some variables. Would it select them again on other rows of the same kind? ``stability`` refits on
random halves of the rows and counts.
"""

# %%
# The paper's simulation again: the first five variables make the groups, the other 20 are noise. With mu = 1.2 the
# groups overlap, and a half of the rows does not always give the same selection. Algorithm 3 is used here because it is
# fast; the default call works in the same way.

from fisherem import SparseFisherEM, datasets, stability
from fisherem.plots import StabilityDisplay

X, _ = datasets.simulate(300, mu=1.2, random_state=0)
model = SparseFisherEM(3, method="svd", sparsity=0.3, random_state=0)
result = stability(model, X, n_subsamples=12, random_state=0, n_jobs=1)
print(result.table().head(8).to_string())

# %%
# The title gives a bound on the expected number of noise variables among those above the threshold. It assumes that
# noise variables are exchangeable and that the selection is better than guessing. It grows with the square of
# the number of variables that a refit selects.

StabilityDisplay.from_stability(result, n_variables=12).plot()

# %%
# A threshold closer to 1 gives a smaller bound.

for threshold in (0.6, 0.75, 0.9):
    print(f"{threshold}: {result.stable(threshold).sum()} variables, bound {result.error_bound(threshold):.2f}")

# %%
# The groups, too, can be more or less the same from one subsample to the next.

print(f"adjusted Rand index between refits: {result.pairwise.mean():.2f}")
