"""
A hyperspectral scene: rock, trees and water
============================================

The Samson scene: 95 x 95 pixels, 156 bands from 401 to 889 nm. Needs ``FISHEREM_DATA``.
"""

# %%
# The cube is a table of bands x pixels in a MATLAB file, pixels running down the columns. The truth is the largest of
# three abundances per pixel, and is used for scoring only.

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.io import loadmat
from sklearn.cluster import KMeans

from fisherem.images import clean, read, segment
from fisherem.plots import LabelMapDisplay
from fisherem.search.scoring import best_matching, contingency

# sphinx_gallery_thumbnail_path = 'images/real-scene.png'

folder = Path(os.environ["FISHEREM_DATA"]) / "hyperspectral"
cube = read(folder / "samson_1.mat", variable="V", shape=(95, 95), wavelengths=np.linspace(401, 889, 156), units="nm")
truth = loadmat(folder / "samson_end3.mat")["A"].argmax(axis=0).reshape(95, 95, order="F")

found = segment(cube, 3)
print(found.cleaning)
print(f"{found.support.sum()} of {len(found.support)} bands")

# %%
# Groups get the numbers of the classes with which they share most pixels.


def numbered_as_truth(labels):
    _, to = best_matching(contingency(labels.ravel(), truth.ravel(), (3, 3)))
    return to[labels]


pixels = clean(cube, normalise=True)
kmeans = KMeans(3, n_init=10, random_state=0).fit_predict(pixels.rows).reshape(95, 95)
raw = segment(cube, 3, normalise=False)
maps = {
    "truth": truth,
    "sparse Fisher-EM": numbered_as_truth(found.labels),
    "k-means, all bands": numbered_as_truth(kmeans),
    "sparse Fisher-EM, not normalised": numbered_as_truth(raw.labels),
}

# %%
# Here each pixel is divided by its norm, as that brings out groups. k-means on the same pixels, with all bands, agrees
# about as well with the truth; sparse Fisher-EM says which bands matter. Without the division the map is worse.

figure, axes = plt.subplots(1, 4, figsize=(10.5, 3.15), layout="constrained")
for ax, (name, labels) in zip(axes, maps.items(), strict=True):
    ax.imshow(LabelMapDisplay.from_labels(labels, n_clusters=3).image(), interpolation="nearest")
    ax.set_title(f"{name}\nagreement {(labels == truth).mean():.3f}", fontsize=9)
    ax.set_axis_off()

# %%
# The mean spectra, with the selected bands as grey bars.

found.displays()["spectra"].plot()
