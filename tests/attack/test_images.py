"""Scenes in every format and container, with numbers at the edge, gaps, dead bands and pixels, of few pixels.

A segmentation has a label for every pixel that was used and none for the others, posteriors that sum to 1, gives its
own map when it is applied to its own scene, says the same as its Dataset, and writes and reads back its model.
"""

import warnings
from dataclasses import dataclass

import h5py
import numpy as np
import pytest
import xarray
import zarr
from hypothesis import strategies as st
from scipy.io import savemat

from fisherem import load, save
from fisherem.images import as_cube, segment

from ..images.files import write_envi, write_mat73, write_tif
from .outcomes import Case, attack

REASONS = (
    "pixel", "band", "distinct row", "are equal", "starts led to a fit", "missing", "group", "norms", "standardised",
    "unit", "rows", "memory budget", "smaller than", "data type", "nothing to cluster", "x.",
)  # fmt: skip


@dataclass(frozen=True)
class Scene:
    """A small scene of two materials, what is wrong with it, how it is held and how it is segmented."""

    sides: tuple[int, int, int]
    seed: int
    exponent: int
    offset: float
    dtype: str
    damage: tuple[str, ...]
    held: str
    options: tuple

    def values(self) -> np.ndarray:
        """rows x columns x bands"""
        rng = np.random.default_rng(self.seed)
        rows, columns, bands = self.sides
        spectra = rng.uniform(0.2, 1, (2, bands))
        which = (np.arange(rows * columns) * 2 // (rows * columns)).reshape(rows, columns)
        X = spectra[which] + 0.02 * rng.normal(size=self.sides) + self.offset
        X = 1000 * X if np.dtype(self.dtype).kind != "f" else np.ldexp(X, self.exponent)
        if "dead band" in self.damage:
            X[:, :, -1] = X[0, 0, -1]
        if "dead column" in self.damage:
            X[:, 0] = 0
        if "equal pixels" in self.damage:
            X[:] = X[0, 0]
        if "negative" in self.damage:
            X = -X
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X = X.astype(self.dtype)
        if X.dtype.kind == "f":
            bad = rng.uniform(size=X.shape)
            if "gaps" in self.damage:
                X[bad < 0.05] = np.nan
            if "lost pixels" in self.damage:
                X[bad[:, :, 0] < 0.2] = np.nan
            if "infinite" in self.damage:
                X[0, -1, 0] = np.inf
            if "fill" in self.damage:
                X[bad[:, :, 0] > 0.9] = -9999
            if "far" in self.damage:
                X[-1, -1] = np.finfo(X.dtype).max
        return X


def _netcdf(folder, X):
    path = folder / "x.nc"
    xarray.DataArray(X, dims=("y", "x", "band"), name="cube").to_netcdf(path, engine="h5netcdf")
    return path


def _hdf5(folder, X):
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("cube", data=X, chunks=(1, *X.shape[1:]), compression="gzip")
        for dim, name in zip(file["cube"].dims, ("y", "x", "band"), strict=True):
            dim.label = name
    return folder / "x.h5"


def _zarr(folder, X):
    store = zarr.open_array(folder / "x.zarr", mode="w", shape=X.shape, chunks=(1, *X.shape[1:]), dtype=X.dtype)
    store[...] = X
    return folder / "x.zarr"


def _numpy(folder, X):
    np.save(folder / "x.npy", X)
    return folder / "x.npy"


def _matlab(folder, X):
    savemat(folder / "x.mat", {"cube": X}, do_compression=True)
    return folder / "x.mat"


HELD = {
    "array": lambda folder, X: X,
    "columns first": lambda folder, X: np.asfortranarray(X),
    "masked": lambda folder, X: np.ma.masked_array(X, mask=False),
    "cube": lambda folder, X: as_cube(X),
    "xarray": lambda folder, X: xarray.DataArray(X.transpose(2, 0, 1), dims=("band", "y", "x")),
    "ENVI": lambda folder, X: write_envi(folder / "x.hdr", X, "bil"),
    "TIFF": lambda folder, X: write_tif(folder / "x.tif", X, compress="deflate", tiled=True, blockxsize=16,
                                        blockysize=16),
    "MATLAB": _matlab,
    "MATLAB 7.3": lambda folder, X: write_mat73(folder / "x.mat", cube=X),
    "npy": _numpy, "HDF5": _hdf5, "NetCDF": _netcdf, "Zarr": _zarr,
}  # fmt: skip
# How it is segmented; the quick ways are more frequent.
OPTIONS = [
    (("model", "DkB"), ("method", None)), (("sparsity", 0.5),), (), (("spatial", 1.0), ("sparsity", 0.5)),
    (("normalise", True), ("sparsity", 0.5)), (("standardise", True), ("normalise", False), ("sparsity", 0.5)),
    (("missing", "model"), ("sparsity", 0.5)), (("min_size", 0.2), ("sparsity", 0.5)), (("keep", True),),
    (("separate_bands", True),), (("memory", "24KB"), ("sparsity", 0.5)), (("memory", "1KB"),),
    (("stability", 2), ("sparsity", 0.5)),
    (("clip", None), ("sparsity", 0.5)), (("n_clusters", 1),), (("n_clusters", 4), ("sparsity", 0.5)),
]  # fmt: skip
DAMAGE = ("dead band", "dead column", "equal pixels", "negative", "gaps", "lost pixels", "infinite", "fill", "far")


@st.composite
def scenes(draw) -> Scene:
    sides = draw(st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 6)) | st.just((12, 10, 8)))
    return Scene(
        sides, draw(st.integers(0, 10**6)), draw(st.just(0) | st.integers(-1050, 1000)),
        draw(st.sampled_from([0.0, 0.0, 10.0, 1e4])), draw(st.sampled_from(["f4", "f8", "f8", "u1", "i2", "u2", "i4"])),
        tuple(draw(st.lists(st.sampled_from(DAMAGE), max_size=2))), draw(st.sampled_from(sorted(HELD))),
        draw(st.sampled_from(OPTIONS)),
    )  # fmt: skip


def check_segmentation(found, source, folder, spatial: bool, pages: bool) -> None:
    """What holds of every segmentation; with `pages`, everything that it can write is written."""
    used = found.labels >= 0
    assert used.any()
    K = found.n_clusters
    assert found.labels.max() < K
    assert found.posteriors.shape[-1] == K
    posteriors = np.asarray(found.posteriors)[used]
    assert np.isfinite(posteriors).all()
    np.testing.assert_allclose(posteriors.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(posteriors.argmax(axis=1), found.labels[used])
    assert np.isfinite(found.uncertainty[used]).all()
    assert set(found.selected_bands) <= set(range(found.cube.shape[2]))
    dataset = found.to_xarray()
    np.testing.assert_array_equal(dataset["labels"].values, found.labels)
    path = save(found.scene_model, folder / "model.skops")
    if pages:
        found.save(folder / "out")
        path = folder / "out" / "model.skops"
    again = load(path)
    for model in (found, again):
        other = model.predict(source)
        both = used & (other.labels >= 0)
        clear = np.sort(posteriors, axis=1)[:, -1] > 0.99 if not spatial else np.zeros(len(posteriors), bool)
        clear = clear[both[used]]
        np.testing.assert_array_equal(other.labels[both][clear], found.labels[both][clear])


@pytest.mark.filterwarnings("ignore")
def test_images(tmp_path_factory):
    def case_of(scene: Scene) -> Case:
        X = scene.values()

        def run():
            folder = tmp_path_factory.mktemp("scene")
            source = HELD[scene.held](folder, X)
            options = {"n_clusters": 2, "random_state": 0, **dict(scene.options)}
            found = segment(source, options.pop("n_clusters"), **options)
            try:
                spatial = "spatial" in dict(scene.options)
                check_segmentation(found, source, folder, spatial, pages=scene.seed % 12 == 0)
            except AssertionError as error:
                return error
            return None

        def check(wrong):
            if wrong is not None:
                raise wrong

        return Case(run, REASONS, check)

    attack("images", scenes(), case_of, default=12)
