"""Spectral libraries: a table of wavelengths and spectra by name (.csv), or ENVI's .sli. None is shipped."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from .cube import Cube
from .envi import read_header
from .layout import DATA_TYPES
from .units import UNITS, wavelength_units

__all__ = ["Library", "as_library", "read_library"]


@dataclass(frozen=True)
class Library:
    """m spectra (m x p, NaN where there is no value) with their names over wavelengths (p) in `units`, ascending."""

    wavelengths: np.ndarray = field(repr=False)
    units: str
    names: tuple[str, ...]
    spectra: np.ndarray = field(repr=False)
    path: str = ""

    def __post_init__(self):
        m, p = np.shape(self.spectra)
        where = self.path or "the library"
        if (len(self.names), len(self.wavelengths)) != (m, p):
            raise ValueError(
                f"{where}: {len(self.names)} names and {len(self.wavelengths)} wavelengths for {m} x {p} values"
            )
        if m < 1 or p < 3:
            raise ValueError(f"{where}: a library needs a spectrum of at least 3 wavelengths; got {m} x {p}")
        if len(set(self.names)) < m:
            twice = next(name for i, name in enumerate(self.names) if name in self.names[:i])
            raise ValueError(f"{where}: the name {twice!r} occurs twice; rename one of the spectra")
        if not np.isfinite(self.wavelengths).all() or not (np.diff(self.wavelengths) > 0).all():
            raise ValueError(f"{where}: wavelengths must be finite, different and ascending")


def read_library(path) -> Library:
    """The library of a .csv file (first column the wavelengths, then a column per spectrum) or of an ENVI .sli."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if path.suffix.lower() in (".csv", ".txt", ".tsv"):
        return _of_table(path)
    if path.suffix.lower() in (".sli", ".hdr"):
        return _of_sli(path)
    raise ValueError(f"{path.name}: a library must be a .csv table or an ENVI .sli file")


def as_library(source, cube: Cube) -> Library | None:
    """A Library, or that of a file, to compare the spectra of `cube` with; None stays. Fails before any work."""
    if source is None:
        return None
    if cube.wavelengths is None:
        raise ValueError("a library needs wavelengths, but the cube has none: add them to the file")
    return source if isinstance(source, Library) else read_library(source)


def _made(path: Path, wavelengths, unit: str | None, names, spectra) -> Library:
    order = np.argsort(wavelengths, kind="stable")
    units = wavelength_units(unit, wavelengths)
    return Library(wavelengths[order], units, tuple(map(str, names)), spectra[:, order], path.name)


def _of_table(path: Path) -> Library:
    try:
        with path.open(encoding="utf-8-sig") as file:
            first = next((line for line in file if line.strip() and not line.startswith("#")), "")
        separator = max(",;\t", key=first.count)
        table = pd.read_csv(path, sep=separator, comment="#", encoding="utf-8-sig")
    except Exception as error:  # pandas has its own classes for each fault
        raise ValueError(f"{path.name} cannot be read as a table: {' '.join(str(error).split())}") from error
    if table.shape[1] < 2:
        raise ValueError(f"{path.name}: a library has a column of wavelengths and a column per spectrum")
    numbers = table.apply(pd.to_numeric, errors="coerce")
    first = str(table.columns[0])
    if numbers[first].isna().any():
        row = int(np.flatnonzero(numbers[first].isna())[0])
        raise ValueError(
            f"{path.name}: the first column, {first!r}, must be wavelengths; row {row + 1} holds "
            f"{table[first].iloc[row]!r:.40}"
        )
    for name in table.columns[1:]:
        wrong = np.flatnonzero(numbers[name].isna() & table[name].notna())
        if len(wrong):
            held = table[name].iloc[int(wrong[0])]
            raise ValueError(f"{path.name}: row {wrong[0] + 1} of {name!r} must be a number; it holds {held!r:.40}")
    words = [word for word in re.split(r"[^a-zµμ]+", first.lower()) if word in UNITS]
    values = numbers.to_numpy(float)
    return _made(path, values[:, 0], words[0] if words else None, table.columns[1:], values[:, 1:].T)


def _of_sli(path: Path) -> Library:
    """As ENVI writes them: a line per spectrum, a sample per wavelength."""
    header_path, header = read_header(path)
    data = path if path.suffix.lower() != ".hdr" else path.with_suffix(".sli")
    if not data.is_file():
        raise FileNotFoundError(f"{header_path.name} has no file {data.name} beside it")
    try:
        m, p, code = (int(header[name]) for name in ("lines", "samples", "data type"))
        order, offset = (int(header.get(name, 0)) for name in ("byte order", "header offset"))
        wavelengths = np.array(header["wavelength"], float)
        dtype = np.dtype(DATA_TYPES[code]).newbyteorder(">" if order else "<")
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{header_path.name} is not the header of a spectral library: {error}") from None
    expected = offset + m * p * dtype.itemsize
    if min(m, p) < 1 or offset < 0 or data.stat().st_size != expected or wavelengths.shape != (p,):
        raise ValueError(
            f"{data.name}: {m} spectra of {p} wavelengths need {expected} bytes and {p} wavelengths; the file has "
            f"{data.stat().st_size}, the header {wavelengths.size}"
        )
    names = header.get("spectra names") or [f"spectrum {i + 1}" for i in range(m)]
    names = names if isinstance(names, list) else [names]
    spectra = np.fromfile(data, dtype, m * p, offset=offset).reshape(m, p).astype(float)
    factor = float(header.get("reflectance scale factor", 1))
    return _made(path, wavelengths, header.get("wavelength units"), names, spectra / factor)
