"""
Gene expression: a success and a failure
========================================

Two classical tables of 62 samples each. On lymphoma (4,026 genes, three kinds of cells) five genes make the groups. On
colon (2,000 genes, tumour and normal tissue) the strongest groups are not those of the tissue. Needs ``FISHEREM_DATA``.
"""

# %%
# The tables are read from the folder that the environment variable ``FISHEREM_DATA`` names (see the page on data). The
# classes are used for scoring only.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fisherem import SparseFisherEM, datasets
from fisherem.plots import ProjectionDisplay
from fisherem.search.scoring import accuracy

# sphinx_gallery_thumbnail_path = 'images/real-expression.png'

X, cells = datasets.load("lymphoma", as_frame=True)
lymphoma = SparseFisherEM(3, random_state=0).fit(X)
print(lymphoma.summary())
print(pd.crosstab(pd.Series(cells, name="kind"), pd.Series(lymphoma.labels_ + 1, name="group")))

# %%
# One sample of 62 is not grouped with its kind, as by k-means with all 4,026 genes. Nine genes suffice; which nine is
# partly chance, because hundreds of others differ in the same way.

print(lymphoma.roles_["role"].value_counts().to_string())

# %%
# Colon: intensities from 6 to 20,000, so logarithms, and standardised. The groups have nothing to do with the tissue.
# ``gain_`` is below 0, which shows without the labels that the selected genes are not worth their price.

raw, tissue = datasets.load("colon", as_frame=True)
logs = np.log(raw)
logs = (logs - logs.mean()) / logs.std()
colon = SparseFisherEM(2, random_state=0).fit(logs)
print(pd.crosstab(pd.Series(tissue, name="tissue"), pd.Series(colon.labels_ + 1, name="group")))
print(f"gain over one group: lymphoma {lymphoma.gain_:.1f}, colon {colon.gain_:.1f}")
print(f"accuracy: lymphoma {accuracy(cells, lymphoma.labels_):.3f}, colon {accuracy(tissue, colon.labels_):.3f}")

# %%
# Lymphoma in its plane, and the genes of both tables by how far apart their two most distant group means are.


def spread(model, table):
    means = table.groupby(model.labels_).mean()
    return np.sort((means.max() - means.min()).to_numpy() / table.std().to_numpy())[::-1]


figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
ProjectionDisplay.from_estimator(lymphoma, X).plot(ax=left)
left.set_title(f"lymphoma: {lymphoma.support_.sum()} of {X.shape[1]:,} genes")
right.plot(spread(lymphoma, X)[:500], label="lymphoma, 3 groups")
right.plot(spread(colon, logs)[:500], label="colon, 2 groups")
right.set(xlabel="genes, by how far the group means are apart", ylabel="standard deviations")
right.legend(frameon=False)
