"""Hyperspectral images: from a cube on disk to a map of groups, the selected bands and the mean spectra.

    read(path)          a file (ENVI, GeoTIFF, MATLAB, .npy)   -> Cube: rows x columns x bands, on disk where possible
    as_cube(array)      an array, DataArray, SpyFile, ...      -> Cube
    clean(cube)         a Cube                                 -> Cleaned: n pixels x p bands, and what was left out
    read_truth(path)    a file of known classes                -> Truth: classes (rows x columns), to compare a map with
    read_library(path)  a table of spectra (.csv, .sli)        -> Library, to name the groups with
    segment(cube, K)    a Cube, array or path                  -> Segmentation: labels (rows x columns), posteriors
                                                                  (rows x columns x K), support (bands), mean spectra
                                                                  (K x bands); `save` writes maps, tables and a page
    model.predict(cube) a SceneModel or Segmentation, a Cube   -> Segmentation of another scene

Pixels that are left out have label -1 and posteriors NaN. Arrays count groups and bands from 0; files, pages and
tables count them from 1.
"""

from .clean import clean
from .cleaning_report import CleaningReport
from .cube import Cube
from .georeference import Georeference
from .library import Library, read_library
from .read import read, read_mask
from .scene_model import SceneModel
from .segment import segment
from .segmentation import Segmentation
from .sources import as_cube
from .truth import Comparison, Truth, read_truth

__all__ = [
    "CleaningReport", "Comparison", "Cube", "Georeference", "Library", "SceneModel", "Segmentation", "Truth", "as_cube",
    "clean", "read", "read_library", "read_mask", "read_truth", "segment",
]  # fmt: skip
