"""Hyperspectral images: from a cube on disk to a map, the bands that matter and their spectra."""

from .clean import clean
from .cleaning_report import CleaningReport
from .cube import Cube, Georeference
from .read import read, read_mask
from .segment import segment
from .segmentation import Segmentation

__all__ = ["CleaningReport", "Cube", "Georeference", "Segmentation", "clean", "read", "read_mask", "segment"]
