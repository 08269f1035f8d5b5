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
# The dense criterion can hardly tell two groups from three here. Numbers of groups that lie within 10 of the best are
# both followed along their sparsity paths, and the selection decides.

paths = search.results_[search.results_["method"] != "dense"]
print(paths.groupby("n_clusters")[["bic", "selection_bic"]].max().round(1).to_string())

# %%
# The path of the winner: two criteria, the number of variables, the size of each variable's loadings. The penalised
# BIC goes on rising to the sparsest fit. The criterion of the selection has its maximum at the five true variables.

PathDisplay.from_search(search).plot(n_labels=5)
