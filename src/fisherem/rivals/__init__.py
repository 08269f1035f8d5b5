"""The methods that the paper compares with, under the same interface.

In: a table (n x p) of numbers, an array or a frame, and a number of groups K. Out: a scikit-learn clusterer with
`labels_` (n), `support_` (p, bool) and `predict`; `transform` keeps the selected columns. `RIVALS` is the register of
all of them, k-means and the Gaussian mixture of scikit-learn included.
"""

from .clustvarsel import Clustvarsel
from .register import RIVALS, Rival
from .selvarclust import Selvarclust
from .sparse_kmeans import SparseKMeans

__all__ = ["RIVALS", "Clustvarsel", "Rival", "Selvarclust", "SparseKMeans"]
