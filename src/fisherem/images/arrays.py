"""Arrays in files: MATLAB .mat (v7.3 by h5py) and .npy, holding a cube, or a table of pixels to fold."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from .._utils.extras import need_extra
from ..tables.hdf5 import reason_of
from .contained import OutsideError, check_hdf5
from .cube import Cube
from .lines import READ_WHOLE_BYTES, LazyLines, check_bytes
from .matlab5 import is_matlab5, variables

__all__ = ["Hdf5Lines", "fold_pixels", "load_array", "matlab_array", "read_matlab", "read_npy"]


def fold_pixels(table: np.ndarray, shape: tuple[int, int], order: str) -> np.ndarray:
    """The cube (rows x columns x bands) of a table of pixels x bands or bands x pixels.

    `shape` is (rows, columns). With `order` "F" the pixels run down the columns, with "C" along the rows.
    """
    n = shape[0] * shape[1]
    if n not in table.shape:
        raise ValueError(
            f"shape={shape} has {n} pixels; neither side of the array of shape {table.shape} has that many"
        )
    pixels = table.T if table.shape[1] == n else table
    if order == "F":
        return pixels.reshape(shape[1], shape[0], -1).transpose(1, 0, 2)
    return pixels.reshape(*shape, -1)


def _described(found: dict[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{k} {' x '.join(map(str, v))}" for k, v in found.items()) or "none"


def _choose(found: dict[str, tuple[int, ...]], variable, shape, name: str) -> str:
    """The variable to read, among (name -> shape) of the numeric arrays."""
    if variable is not None:
        if variable not in found:
            raise ValueError(f"{name} has no array {variable!r}; it has: {_described(found)}")
        return variable
    fits = {
        k: v
        for k, v in found.items()
        if (len(v) == 3 and min(v) > 1 if shape is None else len(v) == 3 or (len(v) == 2 and shape[0] * shape[1] in v))
    }
    if not fits:
        wanted = "3-D array" if shape is None else f"array with {shape[0]} x {shape[1]} pixels"
        hint = "; a table of bands x pixels needs shape=(rows, columns)" if shape is None else ""
        raise ValueError(f"{name} holds no {wanted}; it has: {_described(found)}{hint}")
    if len(fits) > 1:
        several = "several arrays that could be the cube"
        raise ValueError(f"{name} holds {several}: choose one by variable= among {_described(fits)}")
    return next(iter(fits))


def _as_cube(array: np.ndarray, shape, order, path: Path) -> Cube:
    if array.ndim == 2 and shape is not None:
        array = fold_pixels(array, shape, order)
    if array.ndim != 3:
        raise ValueError(
            f"{path.name}: expected rows x columns x bands, or a table of pixels with shape=(rows, columns); "
            f"got an array of shape {array.shape}"
        )
    _check_shape(array.shape, shape, path)
    return Cube(array, path=str(path))


def _check_shape(found: tuple[int, ...], shape, path: Path) -> None:
    if shape is not None and found[:2] != tuple(shape):
        raise ValueError(f"{path.name}: shape={tuple(shape)} was asked for; the array has {found[:2]}")


def read_matlab(path: Path, *, variable=None, shape=None, order="F") -> Cube:
    """The cube of a .mat file; MATLAB stores arrays by column, so the default of `order` is "F".

    `variable` names the array, `shape` (rows, columns) folds a table of pixels; see `read`.
    """
    start = _start(path)
    if _is_hdf5(start):
        return _read_matlab73(path, variable, shape, order)
    found = _variables(path, start)
    chosen = _choose({name: size for name, (size, _) in found.items()}, variable, shape, path.name)
    return _as_cube(_values(found[chosen][1], path), shape, order, path)


def matlab_array(path: Path, shape: tuple[int, int], variable: str | None = None) -> np.ndarray:
    """The array of `shape` (rows, columns) in a .mat file, as for classes of pixels; `variable` names it.

    A `variable` is returned whatever its shape. Without one there must be a single array of that shape.
    """
    start = _start(path)
    if _is_hdf5(start):
        file, sizes = _open73(path)
        with file:
            name = _of_shape(sizes, variable, shape, path.name)
            _check_size(file[name], path)
            return _values(lambda: file[name][...].T, path)
    found = _variables(path, start)
    sizes = {name: size for name, (size, _) in found.items()}
    return _values(found[_of_shape(sizes, variable, shape, path.name)][1], path)


def _of_shape(found: dict[str, tuple[int, ...]], variable, shape: tuple[int, int], name: str) -> str:
    """The array to read, among (name -> shape): the one that was asked for, or the only one of that shape."""
    if variable is not None:
        return _choose(found, variable, shape, name)
    sides = (tuple(shape), tuple(shape)[::-1])  # a transposed array is read, and the error about its shape says so
    fits = next((some for side in sides if (some := [k for k, v in found.items() if v == side])), [])
    wanted = f"{shape[0]} x {shape[1]}"
    if not fits:
        raise ValueError(
            f"{name} holds no array of the image's {wanted} (rows x columns); it has: {_described(found)}. "
            "Save the classes as an array of that size"
        )
    if len(fits) > 1:
        raise ValueError(f"{name} holds several arrays of {wanted}: name one of {', '.join(fits)} as the variable")
    return fits[0]


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(128)


def _is_hdf5(start: bytes) -> bool:
    return start.startswith(b"MATLAB 7.3") or start.startswith(b"\x89HDF")


def _variables(path: Path, start: bytes) -> _Variables:
    read_variables = _variables5 if is_matlab5(start) else _variables4
    try:
        return read_variables(path)
    except Exception as error:  # a damaged file can make a parser raise anything
        raise ValueError(f"{path.name} cannot be read as a MATLAB file: {reason_of(error)}") from error


def _values(read: Callable[[], np.ndarray], path: Path) -> np.ndarray:
    try:
        return read()
    except Exception as error:
        raise ValueError(f"{path.name} is damaged or incomplete: {reason_of(error)}") from error


# name -> (shape, a function that reads the values)
_Variables = dict[str, tuple[tuple[int, ...], Callable[[], np.ndarray]]]


def _variables5(path: Path) -> _Variables:
    return {variable.name: (variable.shape, variable.read) for variable in variables(path)}


def _variables4(path: Path) -> _Variables:
    """The arrays of a file of MATLAB 4, which has no header: SciPy's reader for it is plain Python."""
    from scipy.io import loadmat, whosmat
    from scipy.io.matlab import matfile_version

    if matfile_version(path)[0] != 0:
        raise ValueError("unknown version")

    def values(name: str) -> np.ndarray:
        return loadmat(path, variable_names=[name])[name]

    return {name: (tuple(size), partial(values, name)) for name, size, kind in whosmat(path) if kind == "double"}


class Hdf5Lines(LazyLines):
    """The cube of a v7.3 file, which holds it as bands x columns x rows, in chunks that may be compressed."""

    def __init__(self, dataset):
        rows, name = (dataset.chunks or (1, 1, 1))[2], Path(dataset.file.filename).name
        super().__init__(
            tuple(reversed(dataset.shape)), dataset.dtype, unit=rows, block=dataset.chunks or (), name=name
        )
        self.dataset = dataset

    def _read(self, first: int, stop: int) -> np.ndarray:
        try:
            return self.dataset[:, :, first:stop].transpose(2, 1, 0)
        except (OSError, RuntimeError, ValueError) as error:  # h5py's, by what is damaged
            raise ValueError(f"{self.name} is damaged or incomplete: {reason_of(error)}") from error


def _open73(path: Path):
    """(the open file, name -> shape as MATLAB shows it) of the numeric arrays in it."""
    h5py = need_extra("h5py", "reading MATLAB v7.3 files", "images")
    try:
        file = h5py.File(path, "r")
        check_hdf5(file, path.name)
        # HDF5 lists the sizes in the other order: the transpose is what MATLAB shows
        found = {
            name: tuple(reversed(item.shape))
            for name, item in file.items()
            if isinstance(item, h5py.Dataset) and item.dtype.kind in "iuf"
        }
    except OutsideError:
        raise
    except Exception as error:  # a damaged file can make h5py raise anything
        raise ValueError(f"{path.name} cannot be read as a MATLAB v7.3 file: {reason_of(error)}") from error
    return file, found


def _check_size(dataset, path: Path) -> None:
    """Raise an error for a table, or an array of other dimensions, that is too large to be read at once."""
    sides = " x ".join(f"{side:,}" for side in reversed(dataset.shape))
    check_bytes(path.name, f"an array of {sides} values", dataset.size * dataset.dtype.itemsize)


def _read_matlab73(path: Path, variable, shape, order) -> Cube:
    file, found = _open73(path)
    dataset = file[_choose(found, variable, shape, path.name)]
    if dataset.ndim == 3 and dataset.size * dataset.dtype.itemsize > READ_WHOLE_BYTES:
        _check_shape(tuple(reversed(dataset.shape)), shape, path)
        return Cube(Hdf5Lines(dataset), path=str(path))
    with file:
        _check_size(dataset, path)
        array = _values(lambda: dataset[...].T, path)
    return _as_cube(array, shape, order, path)


def load_array(path: Path) -> np.ndarray:
    """The array of a .npy file, mapped into memory; files that hold pickled objects are refused."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except Exception as error:  # headers are parsed as Python: a damaged one can make NumPy raise anything
        raise ValueError(f"{path.name} cannot be read as an array of numbers: {reason_of(error)}") from error


def read_npy(path: Path, *, shape=None, order="C") -> Cube:
    """The cube of a .npy file, mapped into memory; `shape` (rows, columns) folds a table of pixels."""
    return _as_cube(load_array(path), shape, order, path)
