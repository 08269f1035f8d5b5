"""Writers of the formats that are read, by hand or by other programs: nothing of fisherem.images."""

import numpy as np

TYPES = {"uint8": 1, "int16": 2, "int32": 3, "float32": 4, "float64": 5, "uint16": 12}
ORDER = {"bsq": (2, 0, 1), "bil": (0, 2, 1), "bip": (0, 1, 2)}


def write_envi(path, array, interleave="bsq", byte_order=0, offset=0, **fields):
    """array: rows x columns x bands. Fields with underscores for blanks."""
    rows, columns, bands = array.shape
    stored = np.ascontiguousarray(array.transpose(ORDER[interleave]))
    stored = stored.astype(stored.dtype.newbyteorder(">" if byte_order else "<"))
    path.with_suffix(".img").write_bytes(b"x" * offset + stored.tobytes())
    header = {
        "samples": columns, "lines": rows, "bands": bands, "header_offset": offset, "file_type": "ENVI Standard",
        "data_type": TYPES[array.dtype.name], "interleave": interleave, "byte_order": byte_order, **fields,
    }  # fmt: skip
    lines = [f"{k.replace('_', ' ')} = {_text(v)}" for k, v in header.items()]
    path.write_text("ENVI\n" + "\n".join(lines) + "\n")
    return path


def _text(value):
    return "{ " + ", ".join(map(str, value)) + " }" if isinstance(value, (list, tuple, np.ndarray)) else str(value)


def write_tif(path, array, *, names=None, **profile):
    import rasterio

    rows, columns, bands = array.shape
    with rasterio.open(
        path, "w", driver="GTiff", height=rows, width=columns, count=bands, dtype=array.dtype.name, **profile
    ) as file:
        file.write(array.transpose(2, 0, 1))
        for i, name in enumerate(names or [], 1):
            file.set_band_description(i, name)
    return path


def write_mat73(path, **arrays):
    """As MATLAB does: HDF5 after a block of 512 bytes that begins with the version, sizes in the other order."""
    import h5py

    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array.T)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(128))
    return path
