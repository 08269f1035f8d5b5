"""
Wines in the discriminative plane
=================================

178 Italian wines, 13 chemical measurements, three cultivars. The cultivar is not shown to the algorithm.
"""

# %%
# The measurements have different units, so they are standardised first. Fisher-EM is not invariant to the scale of
# the variables: it starts from distances between rows.

import pandas as pd
from sklearn.metrics import adjusted_rand_score

from fisherem import SparseFisherEM, datasets
from fisherem.plots import ProjectionDisplay

X, cultivar = datasets.load("wine", as_frame=True)
X = (X - X.mean()) / X.std()

# %%
# Two axes (K - 1) separate three groups. The fit also selects the variables.

model = SparseFisherEM(n_clusters=3, random_state=0).fit(X)
print(f"{model.support_.sum()} of {X.shape[1]} variables:", ", ".join(X.columns[model.support_]))
print(f"agreement with the cultivars (adjusted Rand index): {adjusted_rand_score(cultivar, model.labels_):.2f}")

# %%
# The picture shows the rows in the plane, an ellipse that holds 95% of each group, and the loadings as arrows.

display = ProjectionDisplay.from_estimator(model, X).plot()
display.ax_.set_title(f"178 wines, {model.support_.sum()} of 13 measurements")

# %%
# The groups depend on the selected measurements alone: changing the other columns changes no wine's group.

changed = X.copy()
changed.loc[:, ~model.support_] = 0.0
print("the same groups:", (model.predict(changed) == model.labels_).all())

# %%
# The other measurements also differ between the groups, but the selected ones explain these differences.

print(model.roles_[["variable", "role", "conditional_gain", "explained_by"]].round(1).to_string())

# %%
# What the groups are made of: their means on the selected variables, in standard deviations.

means = pd.DataFrame(model.group_means_, columns=X.columns).loc[:, model.support_]
print(means.round(2).to_string())

# %%
# Rows whose group is uncertain are worth a look.

posterior = model.predict_proba(X).max(axis=1)
print(f"{(posterior < 0.9).sum()} wines have a posterior below 0.9")
