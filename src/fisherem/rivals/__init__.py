"""The methods that the paper compares with, under the same interface."""

from .clustvarsel import Clustvarsel
from .selvarclust import Selvarclust
from .sparse_kmeans import SparseKMeans

__all__ = ["Clustvarsel", "Selvarclust", "SparseKMeans"]
