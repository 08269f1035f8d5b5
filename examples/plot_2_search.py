"""
A search and its pictures
=========================

The paper's simulation: three groups that differ on the first 5 of 25 variables. The search chooses the number of
groups, the model and the sparsity.
"""

# %%
# Fewer numbers of groups, models and starts than by default, to save time. With ``models="all"`` and the default
# ``n_clusters=range(2, 9)`` there are 84 dense fits before the paths.

import numpy as np

from fisherem import ModelSearch, SparseFisherEM, datasets
from fisherem.plots import CriterionDisplay, PathDisplay

X, y = datasets.simulate(300, mu=1.7, random_state=0)
search = ModelSearch(
    SparseFisherEM(random_state=0), n_clusters=(2, 3, 4), models=("AB", "AkB"), n_init=2, n_jobs=1
).fit(X)
print(search.best_params_)
print("selected:", np.flatnonzero(search.support_))

# %%
# The dense fits first: the criterion against the number of groups, one line per model.

CriterionDisplay.from_search(search).plot()

# %%
# Three groups are clearly best here. Any other number within 10 of the best would be followed along its sparsity path
# as well, and the selection would decide. On real tables BIC often prefers too many groups: look at the groups, and at
# the gain over one group, which is 0 for one group and compares partitions of any kind.

best = search.results_.sort_values("bic").groupby("n_clusters").last()
print(best[["model", "n_selected", "bic", "gain"]].round(1).to_string())

# %%
# The path of the winner: the criterion, the number of variables, the size of each variable's loadings. The maximum is
# at the five true variables.

PathDisplay.from_search(search).plot(n_labels=5)

# %%
# Once the number of groups is known, no path is needed: the default call selects the variables.

model = SparseFisherEM(3, random_state=0).fit(X)
print("selected:", np.flatnonzero(model.support_))
