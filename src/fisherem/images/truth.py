"""Ground truth: known classes of some pixels, read from a file and compared with a map.

0, no-data values, NaN and negative numbers are pixels without a class. They are ignored, and so are pixels that are
masked in the map.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from .._utils.register import Register
from ..search.scoring import best_matching, contingency
from .arrays import load_array, matlab_array
from .envi import DATA_SUFFIXES, read_envi
from .geotiff import read_geotiff

__all__ = ["TRUTHS", "Comparison", "Truth", "as_truth", "read_truth"]

# The largest number of classes: a file with more values is a picture or holds abundances.
_MOST_CLASSES = 255


@dataclass(frozen=True)
class Comparison:
    """A map against known classes, on the pixels that have both.

    classes (rows x columns, from 0, -1 without a class) · names (of the C classes) · table (C x K), pixels of class c
    in group k · accuracy, the share that agrees after the best matching of classes to groups, one to one · rand, the
    adjusted Rand index · group (C), the matched group or -1 · n_labelled pixels with a class, of which n_compared are
    on the map.
    """

    classes: np.ndarray
    names: list[str]
    table: np.ndarray
    accuracy: float
    rand: float
    group: np.ndarray
    n_labelled: int
    n_compared: int

    def __str__(self) -> str:
        left = self.n_labelled - self.n_compared
        said = f" ({left:,} more with a class were left out of the map)" if left else ""
        return (
            f"against {len(self.names)} known classes: accuracy {self.accuracy:.3f} after the best matching, adjusted "
            f"Rand index {self.rand:.3f}, on {self.n_compared:,} labelled pixels{said}"
        )


@dataclass(frozen=True)
class Truth:
    """Known classes (rows x columns, from 0, -1 without one), their names, and where they come from."""

    classes: np.ndarray
    names: list[str]
    source: str = "the ground truth"

    def compare(self, labels: np.ndarray, n_clusters: int) -> Comparison:
        """The comparison with labels (rows x columns, from 0, -1 where masked)."""
        both = (self.classes >= 0) & (labels >= 0)
        if not both.any():
            raise ValueError(
                f"{self.source}: no pixel with a class is on the map: all of them were masked or left out by cleaning"
            )
        classes, groups = self.classes[both], labels[both]
        table = contingency(classes, groups, (len(self.names), n_clusters))
        matched, partner = best_matching(table)
        group = np.full(len(self.names), -1)
        group[matched] = partner
        return Comparison(
            self.classes, self.names, table, float(table[matched, partner].sum() / both.sum()),
            float(adjusted_rand_score(classes, groups)), group, int((self.classes >= 0).sum()), int(both.sum()),
        )  # fmt: skip


def as_truth(truth: Any, shape: tuple[int, int]) -> Truth:
    """A `Truth` as it is, that of an array (rows x columns) of class numbers, or of a file; `shape` is the image's."""
    if isinstance(truth, (str, Path)):
        return read_truth(truth, shape)
    if not isinstance(truth, Truth):
        return _of_numbers(np.asarray(truth), shape, "the ground truth")
    _check_shape(truth.classes.shape, shape, truth.source)
    return truth


def read_truth(path, shape: tuple[int, int], *, variable: str | None = None) -> Truth:
    """The classes in a file: a picture (.png, .bmp, .gif), GeoTIFF, MATLAB, .npy or ENVI, one number per pixel.

    Pictures may also have a colour per class; black and transparent pixels have none. `shape` is the (rows, columns) of
    the image, `variable` the array of a .mat file where several could be meant.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if path.suffix.lower() not in TRUTHS:
        raise ValueError(
            f"{path.name}: a ground truth is a file with a class number per pixel, recognised by its ending, one of "
            f"{', '.join(TRUTHS)}"
        )
    if variable is not None and path.suffix.lower() != ".mat":
        raise ValueError(f"{path.name}: only .mat files have arrays to choose from; leave the variable out")
    values = TRUTHS[path.suffix.lower()](path, shape, variable)
    colours = values.ndim == 3 and values.shape[2] in (3, 4)
    return (_of_colours if colours else _of_numbers)(values, shape, path.name)


def _check_shape(found: tuple[int, ...], shape: tuple[int, int], source: str) -> None:
    if tuple(found) == tuple(shape):
        return
    size, wanted = " x ".join(map(str, found)), " x ".join(map(str, shape))
    turned = tuple(found) == tuple(shape)[::-1]
    what = "transpose it" if turned else "give the classes of the same scene at the same size, cut as the image is"
    raise ValueError(f"{source} has {size} pixels, but the image has {wanted} (rows x columns): {what}")


def _of_numbers(values: np.ndarray, shape: tuple[int, int], source: str) -> Truth:
    """Whole numbers (rows x columns) as classes."""
    values = values[:, :, 0] if values.ndim == 3 and values.shape[2] == 1 else values
    _check_shape(values.shape, shape, source)
    if values.dtype.kind not in "iufb":
        raise ValueError(f"{source} must hold a class number per pixel; it holds values of type {values.dtype}")
    known = np.isfinite(values) & (np.nan_to_num(values) > 0)
    present = values[known]
    if (present != np.round(present)).any():
        odd = float(present[present != np.round(present)][0])
        raise ValueError(f"{source} must hold whole class numbers; it has {odd:g}: are these abundances?")
    return _named(known, present.astype(np.int64), shape, source, str)


def _of_colours(values: np.ndarray, shape: tuple[int, int], source: str) -> Truth:
    """Colours (rows x columns x 3 or 4) as classes."""
    _check_shape(values.shape[:2], shape, source)
    codes = values[..., :3].astype(np.int64) @ np.array([65536, 256, 1])
    known = codes > 0
    if values.shape[2] == 4:
        known &= values[..., 3] > 0
    return _named(known, codes[known], shape, source, lambda code: f"#{code:06x}")


def _named(known: np.ndarray, present: np.ndarray, shape, source: str, name: Callable[[int], str]) -> Truth:
    if not len(present):
        raise ValueError(f"{source} has no pixel with a class: all are 0 or no-data")
    distinct, index = np.unique(present, return_inverse=True)
    if len(distinct) > _MOST_CLASSES:
        raise ValueError(
            f"{source} has {len(distinct):,} different values, too many for classes: give a class number per pixel, "
            "in a format that does not blend neighbouring colours"
        )
    classes = np.full(shape, -1)
    classes[known] = index
    return Truth(classes, [name(int(value)) for value in distinct], source)


# -- formats -----------------------------------------------------------------------------------------------------------

# By the ending of the file's name: (path, shape of the image, variable) -> rows x columns (x 1, 3 or 4).
TRUTHS: Register[Callable[[Path, tuple[int, int], str | None], np.ndarray]] = Register("format of a ground truth")


def _picture(path: Path, shape, variable) -> np.ndarray:
    from PIL import Image

    try:
        # other formats are refused: PIL runs programs for some of them
        with Image.open(path, formats=("PNG", "BMP", "GIF")) as image:
            if image.mode == "LA":
                grey, alpha = np.moveaxis(np.asarray(image), 2, 0)
                return np.where(alpha > 0, grey, 0)
            plain = image.mode in ("1", "L", "P", "I", "F") or image.mode.startswith("I;")
            return np.asarray(image if plain else image.convert("RGBA"))  # a palette's numbers, not its colours
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ValueError(f"{path.name} cannot be read as a picture: {error}") from error


def _raster(read: Callable) -> Callable[[Path, tuple[int, int], str | None], np.ndarray]:
    def values(path: Path, shape, variable) -> np.ndarray:
        cube = read(path)
        _check_shape(cube.shape[:2], shape, path.name)  # before anything is read, as the file may be of any size
        if cube.shape[2] not in (1, 3, 4):
            raise ValueError(f"{path.name} has {cube.shape[2]} bands: a ground truth has one, with a class per pixel")
        stored = np.asarray(cube.data)
        empty = np.zeros(stored.shape[:2], bool) if cube.mask is None else ~cube.mask
        if cube.fill_value is not None:
            empty |= (stored == cube.fill_value).all(axis=2)
        return np.where(empty[:, :, None], np.zeros((), stored.dtype), stored)

    return values


for _ending in (".png", ".bmp", ".gif"):
    TRUTHS.add(_ending, _picture)
for _ending in (".tif", ".tiff"):
    TRUTHS.add(_ending, _raster(read_geotiff))
TRUTHS.add(".mat", matlab_array)
TRUTHS.add(".npy", lambda path, shape, variable: load_array(path))
for _ending in (".hdr", *DATA_SUFFIXES):
    TRUTHS.add(_ending, _raster(read_envi))
TRUTHS.seal()
