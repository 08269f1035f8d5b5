"""Small files that declare large arrays: refused before they are unpacked, or read a few lines at a time."""

import tracemalloc
import warnings

import h5py
import numpy as np
import pytest
import rasterio
import zarr
from hypothesis import strategies as st

from fisherem.images import read, read_mask, read_truth
from fisherem.tables.opening import open_table

from .outcomes import Case, attack

# More than any case needs that reads at most a group of lines, and less than any of the arrays.
MOST_BYTES = 1_200_000_000


def _tiff(path, rows, columns, bands):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        with rasterio.open(
            path / "x.tif", "w", driver="GTiff", height=rows, width=columns, count=min(bands, 50), dtype="float64",
            compress="deflate", tiled=True, SPARSE_OK=True,
        ):  # fmt: skip
            pass
    return path / "x.tif"


def _hdf5(path, rows, columns, bands, chunk, name="x.h5"):
    with h5py.File(path / name, "w") as file:
        sides = (rows, columns, bands)
        chunks = tuple(min(chunk, side) for side in sides)
        file.create_dataset("cube", sides, "f8", chunks=chunks, compression="gzip")
        for i, label in enumerate(("y", "x", "band")):
            if name.endswith(".nc"):
                file.create_dataset(label, (sides[i],), "f4", chunks=(min(1000, sides[i]),)).make_scale(label)
                file["cube"].dims[i].attach_scale(file[label])
            else:
                file["cube"].dims[i].label = label
    return path / name


def _zarr(path, rows, columns, bands, chunk):
    zarr.open_array(
        path / "x.zarr", mode="w", shape=(rows, columns, bands), dtype="f8",
        chunks=tuple(min(chunk, side) for side in (rows, columns, bands)),
    )  # fmt: skip
    return path / "x.zarr"


KINDS = {
    "TIFF": lambda path, sides, chunk: _tiff(path, *sides),
    "HDF5": lambda path, sides, chunk: _hdf5(path, *sides, chunk),
    "NetCDF": lambda path, sides, chunk: _hdf5(path, *sides, chunk, "x.nc"),
    "Zarr": lambda path, sides, chunk: _zarr(path, *sides, chunk),
}
USES = {
    "lines": lambda path: np.asarray(read(path).pixels[:3]).shape,
    "mask": lambda path: read_mask(path, (4, 5)).shape,
    "truth": lambda path: read_truth(path, (4, 5)).classes.shape,
}


@pytest.mark.filterwarnings("ignore")
def test_images_that_unpack_to_more(tmp_path_factory):
    def case_of(drawn) -> Case:
        kind, sides, chunk, use = drawn

        def run():
            path = KINDS[kind](tmp_path_factory.mktemp("stored"), sides, chunk)
            tracemalloc.start()
            try:
                return USES[use](path)
            finally:
                peak = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
                assert peak < MOST_BYTES, f"{peak} bytes"

        def check(shape):
            assert use == "lines"
            assert shape[0] == 3

        return Case(run, ("x.",), check)

    large = st.sampled_from([3000, 20_000, 10**5])
    drawn = st.tuples(
        st.sampled_from(sorted(KINDS)), st.tuples(large, large, st.sampled_from([1, 50, 400])),
        st.sampled_from([10, 100, 1000]), st.sampled_from(["lines", "mask", "truth"]),
    )  # fmt: skip
    attack("stored images", drawn, case_of, default=8, seconds=5)


def test_tables_that_unpack_to_more(tmp_path_factory):
    budget = 20_000_000

    def case_of(drawn) -> Case:
        kind, n, p, chunk = drawn

        def run():
            path = tmp_path_factory.mktemp("stored") / f"x.{kind}"
            if kind == "zarr":
                zarr.open_array(path, mode="w", shape=(n, p), chunks=(min(n, chunk), min(p, 10 * chunk)), dtype="f8")
            elif kind == "npy":
                with path.open("wb") as file:
                    np.lib.format.write_array_header_1_0(
                        file, {"descr": "<f8", "fortran_order": False, "shape": (n, p)}
                    )
                    file.truncate(128 + 8 * n * p if n * p < 10**10 else 200)
            else:
                path.write_text(f"%%MatrixMarket matrix coordinate real general\n{n} {p} {chunk}\n1 1 1\n")
            tracemalloc.start()
            try:
                return open_table(path, memory=budget).X.shape
            finally:
                peak = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
                assert peak < 4 * budget, f"{peak} bytes"

        return Case(run, ("x.",))

    size = st.sampled_from([2, 1000, 10**5, 10**6, 10**9])
    drawn = st.tuples(st.sampled_from(["zarr", "npy", "mtx"]), size, size, st.sampled_from([1, 1000, 10**6]))
    attack("stored tables", drawn, case_of, default=20)
