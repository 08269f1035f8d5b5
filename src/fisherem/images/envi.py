"""ENVI: a text header and a flat binary file, mapped into memory as rows x columns x bands in any interleave."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from .._utils.extras import need_extra
from .contained import check_beside, check_crs
from .cube import Cube, Georeference
from .units import wavelength_units

__all__ = ["read_envi"]

# ENVI's codes of real data types; complex ones (6, 9) cannot be reflectances.
DATA_TYPES = {1: "u1", 2: "i2", 3: "i4", 4: "f4", 5: "f8", 12: "u2", 13: "u4", 14: "i8", 15: "u8"}
# Interleave -> (order of the sizes in the file, the transpose to rows x columns x bands)
INTERLEAVES = {
    "bsq": (("bands", "lines", "samples"), (1, 2, 0)),
    "bil": (("lines", "bands", "samples"), (0, 2, 1)),
    "bip": (("lines", "samples", "bands"), (0, 1, 2)),
}
# Where the data of scene.hdr may be, besides scene itself.
DATA_SUFFIXES = (".img", ".dat", ".raw", ".bsq", ".bil", ".bip", ".hyspex", ".sli")


def read_envi(path: Path) -> Cube:
    """The cube of an ENVI file, named by its header or its data; the data stay on disk."""
    header_path, header = _header(path)
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
    expected = offset + dtype.itemsize * math.prod(sizes.values())
    if data_path.stat().st_size < expected:
        raise ValueError(
            f"{data_path.name} is shorter than its header says: expected {expected} bytes "
            f"({sizes['lines']} lines x {sizes['samples']} samples x {sizes['bands']} bands of {dtype.name}), "
            f"got {data_path.stat().st_size}; the copy may be incomplete"
        )
    stored = np.memmap(data_path, dtype, "r", offset, tuple(sizes[n] for n in names))
    return Cube(
        np.asarray(stored).transpose(transpose), path=str(path), **_described(header, sizes["bands"], header_path)
    )


def _header(path: Path) -> tuple[Path, dict]:
    envi = need_extra("spectral.io.envi", "reading ENVI files", "images")
    header_path = path if path.suffix.lower() == ".hdr" else path.with_suffix(".hdr")
    if not header_path.exists() and Path(f"{path}.hdr").exists():
        header_path = Path(f"{path}.hdr")
    if not header_path.exists():
        raise FileNotFoundError(f"there is no ENVI header {header_path}")
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
    known: dict = {"georeference": _georeference(header, path)}
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


def _georeference(header: dict, path: Path) -> Georeference:
    info = header.get("map info")
    text = header.get("coordinate system string")
    crs = ",".join(text) if isinstance(text, list) else text
    if crs is not None and crs.strip():
        check_crs(crs, f"{path.name}: 'coordinate system string'")
    else:
        crs = None
    if info is None or not "".join(info).strip():
        return Georeference(crs)
    try:
        if not isinstance(info, list) or len(info) < 7:
            raise ValueError(f"it holds {info!r}")
        turned = next((float(m[1]) for m in (re.match(r"rotation\s*=\s*(\S+)", i) for i in info) if m), 0.0)
        column, row, x, y, dx, dy = (float(v) for v in info[1:7])
        named = crs or _named_crs(info)
    except ValueError as error:
        raise ValueError(
            f"{path.name}: 'map info' must hold a projection, six numbers and the zone of UTM ({error}); fix or remove "
            "the line"
        ) from None
    if not np.isfinite([turned, column, row, x, y, dx, dy]).all():
        raise ValueError(f"{path.name}: 'map info' must hold finite numbers; fix or remove the line")
    transform = None if turned else (dx, 0.0, x - (column - 1) * dx, 0.0, -dy, y + (row - 1) * dy)
    return Georeference(named, transform, tuple(info))


def _named_crs(info: list[str]) -> str | None:
    """WGS-84 UTM zones and plain longitude and latitude; other projections need the coordinate system string."""
    if not any(i.strip().upper().replace(" ", "-") in ("WGS-84", "WGS84") for i in info[7:]):
        return None
    if info[0].strip().upper() == "UTM":
        south = len(info) > 8 and info[8].strip().lower().startswith("s")
        zone = int(info[7])
        if not 1 <= zone <= 60:
            raise ValueError(f"zone {zone}")
        return f"EPSG:{(32700 if south else 32600) + zone}"
    return "EPSG:4326" if info[0].strip().lower().startswith("geographic") else None
