"""
A map of Mars
=============

Section 5 of the paper segments a hyperspectral image of Mars. The scene here is of the same kind but made up, so that
the truth is known: what the ground is made of at each pixel, and which bands show it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from fisherem import datasets
from fisherem.images import clean, segment
from fisherem.plots import LabelMapDisplay
from fisherem.search.scoring import best_matching, contingency

scene = datasets.mars_like(rows=150, cols=64, bands=128)
found = segment(scene.cube, 5, sparsity="auto")
print(found.cleaning)

# %%
# The map beside the truth and beside k-means: on the same pixels, each divided by its norm, and on the pixels as they
# are in the file, where k-means follows light and slope, which multiply whole spectra. Groups have no order:
# they get the numbers of the classes with which they share most pixels.


def numbered_as(truth, labels):
    valid = labels >= 0
    _, to = best_matching(contingency(labels[valid], truth[valid], (5, 5)))
    return np.where(valid, to[labels], -1)


def kmeans_map(normalise):
    pixels = clean(scene.cube, normalise=normalise)
    labels = np.full(scene.truth.shape, -1)
    labels[pixels.mask] = KMeans(5, n_init=3, random_state=0).fit_predict(pixels.rows)
    return numbered_as(scene.truth, labels)


maps = {
    "truth": scene.truth,
    "sparse Fisher-EM": numbered_as(scene.truth, found.labels),
    "k-means, normalised": kmeans_map(True),
    "k-means, raw": kmeans_map(False),
}
figure, axes = plt.subplots(1, 4, figsize=(10, 6.8), layout="constrained")
for ax, (name, labels) in zip(axes, maps.items(), strict=True):
    ax.imshow(LabelMapDisplay.from_labels(labels, n_clusters=5).image(), interpolation="nearest")
    valid = labels >= 0
    ax.set_title(f"{name}\nagreement {(labels == scene.truth)[valid].mean():.3f}", fontsize=10)
    ax.set_axis_off()

# %%
# The paper's figure: the mean spectra, with the selected wavelengths as grey bars. The groups are made by these bands
# alone, and nearly all of them lie inside absorption features that differ between the classes.

found.displays()["spectra"].plot()
print(f"{found.support.sum()} bands, {scene.informative_bands[found.support].sum()} of them inside such a feature")

# %%
# The whole page, with the maps, the bands and how it was fitted: ``found.report("report.html")``; everything at once:
# ``found.save("out")``.
plt.show()
