"""ENVI: a text header and a flat binary file, mapped into memory as rows x columns x bands in any interleave."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from .._utils.extras import need_extra
from .contained import check_beside
from .cube import Cube
from .georeference import envi_georeference
from .layout import DATA_TYPES, INTERLEAVES, check_layout, other_sizes
from .lines import LazyLines, ScaledLines, held_or_lazy
from .units import wavelength_units

__all__ = ["read_envi", "read_header"]

# Where the data of scene.hdr may be, besides scene itself.
DATA_SUFFIXES = (".img", ".dat", ".raw", ".bsq", ".bil", ".bip", ".hyspex", ".sli")
# Headers of real images are up to some 100 kB long, and the time to read them grows with the square.
_HEADER_BYTES = 2**20


def read_envi(path: Path) -> Cube:
    """The cube of an ENVI file, named by its header or its data; the data stay on disk."""
    header_path, header = read_header(path)
    sizes = {name: _whole(header, name, header_path) for name in ("lines", "samples", "bands")}
    if min(sizes.values()) < 1:
        raise ValueError(f"{header_path.name}: lines, samples and bands must be at least 1; got {sizes}")
    interleave = str(header.get("interleave", "")).strip().lower()
    if interleave not in INTERLEAVES:
        raise ValueError(f"{header_path.name}: interleave must be bsq, bil or bip; the header says {interleave!r}")
    code = _whole(header, "data type", header_path)
    if code not in DATA_TYPES:
        known = ", ".join(map(str, DATA_TYPES))
        raise ValueError(f"{header_path.name}: data type {code} is unknown or not real; the known ones are {known}")
    order = _whole(header, "byte order", header_path, 0)
    if order not in (0, 1):
        raise ValueError(f"{header_path.name}: byte order must be 0 or 1; the header says {order}")
    dtype = np.dtype(DATA_TYPES[code]).newbyteorder(">" if order == 1 else "<")
    offset = _whole(header, "header offset", header_path, 0)
    if offset < 0:
        raise ValueError(f"{header_path.name}: 'header offset' must be at least 0; the header says {offset}")
    names, transpose = INTERLEAVES[interleave]
    data_path = _data_path(header_path)
    if data_path != path:
        check_beside(header_path, data_path)
    _check_size(data_path, offset, sizes, dtype)
    check_layout(data_path, offset, sizes, interleave, dtype)
    stored = np.memmap(data_path, dtype, "r", offset, tuple(sizes[n] for n in names))
    said = _described(header, sizes["bands"], header_path)
    data: np.ndarray | LazyLines = np.asarray(stored).transpose(transpose)
    gains, offsets = said.pop("gains"), said.pop("offsets")
    if (gains != 1).any() or offsets.any():
        data = held_or_lazy(ScaledLines(data, gains, offsets, said.pop("fill_value", None)))
    return Cube(data, path=str(path), **said)


def _check_size(path: Path, offset: int, sizes: dict[str, int], dtype: np.dtype) -> None:
    """Raise an error if the data file is not as long as the header says."""
    expected, found = offset + dtype.itemsize * math.prod(sizes.values()), path.stat().st_size
    if found == expected:
        return
    how, advice = (
        ("shorter", "; the copy may be incomplete") if found < expected else ("longer", "; correct the header")
    )
    raise ValueError(
        f"{path.name} is {how} than its header says: expected {expected} bytes ({sizes['lines']} lines x "
        f"{sizes['samples']} samples x {sizes['bands']} bands of {dtype.name}), got {found}"
        f"{other_sizes(found, offset, sizes, dtype) or advice}"
    )


def read_header(path: Path) -> tuple[Path, dict]:
    """(path, fields) of the header of an ENVI file that is named by its header or its data."""
    envi = need_extra("spectral.io.envi", "reading ENVI files", "images")
    header_path = path if path.suffix.lower() == ".hdr" else path.with_suffix(".hdr")
    if not header_path.exists() and Path(f"{path}.hdr").exists():
        header_path = Path(f"{path}.hdr")
    if not header_path.exists():
        raise FileNotFoundError(f"there is no ENVI header {header_path}")
    if (size := header_path.stat().st_size) > _HEADER_BYTES:
        raise ValueError(f"{header_path.name} is not an ENVI header: {size / 1e6:,.3g} MB are too much for text")
    try:
        return header_path, envi.read_envi_header(str(header_path))
    except Exception as error:  # spectral has its own classes for each fault
        raise ValueError(f"{header_path.name} is not an ENVI header: {error}") from error


def _data_path(header_path: Path) -> Path:
    base = header_path.with_suffix("")
    tried = [base, *(base.with_suffix(s) for s in DATA_SUFFIXES), *(Path(f"{base}{s}") for s in DATA_SUFFIXES)]
    for candidate in tried:
        for name in (candidate, candidate.with_suffix(candidate.suffix.upper())):
            if name.is_file():
                return name
    shown = ", ".join(dict.fromkeys(t.name for t in tried[:4]))
    raise FileNotFoundError(f"{header_path.name} has no data file beside it (tried {shown}, ...)")


def _whole(header: dict, name: str, path: Path, default: int | None = None) -> int:
    if name not in header and default is not None:
        return default
    try:
        return int(header[name])
    except (KeyError, TypeError, ValueError):
        found = f"it says {header[name]!r}" if name in header else "it is missing"
        raise ValueError(f"{path.name}: '{name}' must be a whole number; {found}") from None


def _numbers(header: dict, name: str, path: Path, n: int) -> np.ndarray:
    """The n numbers of a field, all finite; a field of one may be written without braces."""
    try:
        values = np.atleast_1d(np.array(header[name], float))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path.name}: '{name}' must be numbers ({error}); fix or remove the line") from None
    if values.shape != (n,):
        expected = "one number" if n == 1 else f"{n} numbers, one per band"
        raise ValueError(f"{path.name}: '{name}' must hold {expected}; it holds {values.size}: fix or remove the line")
    if not np.isfinite(values).all() and name != "data ignore value":  # NaN as fill value is common
        raise ValueError(f"{path.name}: '{name}' must be finite numbers; fix or remove the line")
    return values


def _described(header: dict, bands: int, path: Path) -> dict:
    """What the header says beyond the layout, as arguments of Cube."""
    place, remarks = envi_georeference(header, path)
    known: dict = {"georeference": place, "remarks": tuple(remarks)}
    for key, name, usual in (("gains", "data gain values", 1.0), ("offsets", "data offset values", 0.0)):
        known[key] = _numbers(header, name, path, bands) if name in header else np.full(bands, usual)
    if "default bands" in header:
        known["default_bands"] = _default_bands(header, path, bands)
    if "wavelength" in header:
        known["wavelengths"] = _numbers(header, "wavelength", path, bands)
        known["units"] = wavelength_units(header.get("wavelength units"), known["wavelengths"])
    if "band names" in header:
        names = header["band names"]
        known["band_names"] = tuple(names) if isinstance(names, list) else (str(names),)
        if len(known["band_names"]) != bands:
            held = f"it holds {len(known['band_names'])}: fix or remove the line"
            raise ValueError(f"{path.name}: 'band names' must hold {bands} names, one per band; {held}")
    if "bbl" in header:
        known["bad_bands"] = _numbers(header, "bbl", path, bands) == 0
    if "data ignore value" in header:
        known["fill_value"] = float(_numbers(header, "data ignore value", path, 1)[0])
    if "reflectance scale factor" in header:
        known["scale_factor"] = float(_numbers(header, "reflectance scale factor", path, 1)[0])
        if known["scale_factor"] <= 0:
            raise ValueError(f"{path.name}: 'reflectance scale factor' must be above 0; fix or remove the line")
    return known


def _default_bands(header: dict, path: Path, bands: int) -> tuple[int, int, int]:
    """The bands (from 0) that are shown as red, green and blue; one band is shown in grey."""
    given = header["default bands"]
    values = [given] if isinstance(given, str) else list(given)
    try:
        numbers = [int(float(v)) for v in values]
    except (TypeError, ValueError, OverflowError):
        numbers = []
    if len(numbers) not in (1, 3) or not all(1 <= b <= bands for b in numbers):
        raise ValueError(
            f"{path.name}: 'default bands' must be one or three numbers from 1 to {bands}; it says "
            f"{', '.join(map(str, values))!r:.60}: fix or remove the line"
        )
    red, green, blue = numbers if len(numbers) == 3 else 3 * numbers
    return red - 1, green - 1, blue - 1
