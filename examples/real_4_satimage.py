"""
A satellite image: soils that hardly differ
===========================================

4,435 pixels of a Landsat scene, each with its eight neighbours in four bands: 36 columns, six kinds of land (satimage).
Needs ``FISHEREM_DATA``.
"""

# %%
# The bands share one unit. The classes are used for scoring only.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

from fisherem import SparseFisherEM, datasets
from fisherem.search.scoring import accuracy

# sphinx_gallery_thumbnail_path = 'images/real-satimage.png'

X, land = datasets.load("satimage")
model = SparseFisherEM(6, random_state=0).fit(X)
kmeans = KMeans(6, n_init=10, random_state=0).fit_predict(X)
print(f"SparseFisherEM {accuracy(land, model.labels_):.3f} with {model.support_.sum()} of 36 columns")
print(f"k-means        {accuracy(land, kmeans):.3f} with all")

# %%
# What is right and what is not. Crops, stubble and most soils have a group of their own. Damp grey soil has none: it
# lies between grey and very damp grey soil and is divided among them. Red soil has two groups instead.

counts = pd.crosstab(pd.Series(land, name="land"), pd.Series(model.labels_ + 1, name="group"))
print(counts)

# %%
# The same as a picture: the share of each kind of land in each group.

shares = counts.div(counts.sum(axis=1), axis=0)
figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
ax.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
for (i, j), share in np.ndenumerate(shares.to_numpy()):
    if share >= 0.01:
        ax.text(j, i, f"{share:.0%}", ha="center", va="center", color="white" if share > 0.5 else "black")
ax.set_xticks(range(6), [f"group {k}" for k in counts.columns])
ax.set_yticks(range(6), counts.index)
ax.tick_params(length=0)
