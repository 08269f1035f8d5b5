"""Where the pixels of a scene lie: ENVI's map info as a transform and a coordinate system, and the size of a pixel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.extras import need_extra
from .contained import check_crs

__all__ = ["Georeference", "crs_name", "envi_georeference", "known_crs", "pixel_size"]

# Datums of ENVI's map info -> EPSG codes of UTM zone 0 in the north and in the south, the zones that exist, and the
# code of longitude and latitude.
_DATUMS: dict[str, tuple[int, int | None, range, int]] = {
    "WGS-84": (32600, 32700, range(1, 61), 4326), "WGS84": (32600, 32700, range(1, 61), 4326),
    "WGS-72": (32200, 32300, range(1, 61), 4322),
    "NORTH-AMERICA-1983": (26900, None, range(1, 24), 4269), "NAD83": (26900, None, range(1, 24), 4269),
    "NORTH-AMERICA-1927": (26700, None, range(1, 23), 4267), "NAD27": (26700, None, range(1, 23), 4267),
    "ETRS89": (25800, None, range(28, 39), 4258), "ETRS-89": (25800, None, range(28, 39), 4258),
    "ETRS-1989": (25800, None, range(28, 39), 4258), "EUROPEAN-1950": (23000, None, range(28, 39), 4230),
}  # fmt: skip
# Metres in ENVI's units of length.
_METRES = {
    "meters": 1.0, "metres": 1.0, "meter": 1.0, "m": 1.0, "km": 1000.0, "kilometers": 1000.0, "feet": 0.3048,
    "foot": 0.3048, "us feet": 1200 / 3937, "us survey feet": 1200 / 3937, "us foot": 1200 / 3937,
    "u.s. survey feet": 1200 / 3937, "yards": 0.9144, "miles": 1609.344, "nautical miles": 1852.0,
}  # fmt: skip


@dataclass(frozen=True)
class Georeference:
    """Where the pixels lie: `crs` as text (WKT or an authority code), `transform` (a, b, c, d, e, f) of
    x = a column + b row + c, y = d column + e row + f; `map_info` is ENVI's own description, unchanged."""

    crs: str | None = None
    transform: tuple[float, ...] | None = None
    map_info: tuple[str, ...] | None = None


def envi_georeference(header: dict, path: Path) -> tuple[Georeference, list[str]]:
    """(the place that an ENVI header describes, what to say about it)."""
    info, text = header.get("map info"), header.get("coordinate system string")
    crs = ",".join(text) if isinstance(text, list) else text
    if crs is not None and crs.strip():
        check_crs(crs, f"{path.name}: 'coordinate system string'")
    else:
        crs = None
    if info is None or not "".join(info).strip():
        return Georeference(crs), []
    try:
        if not isinstance(info, list) or len(info) < 7:
            raise ValueError(f"it holds {info!r}")
        said = {key.strip().lower(): value.strip() for key, _, value in (i.partition("=") for i in info) if value}
        turned = float(said.get("rotation", 0))
        column, row, x, y, dx, dy = (float(v) for v in info[1:7])
        named = crs or _named_crs(info)
    except ValueError as error:
        raise ValueError(
            f"{path.name}: 'map info' must hold a projection, six numbers and the zone of UTM ({error}); fix or remove "
            "the line"
        ) from None
    if not np.isfinite([turned, column, row, x, y, dx, dy]).all():
        raise ValueError(f"{path.name}: 'map info' must hold finite numbers; fix or remove the line")
    length = _metres(said.get("units"), path)
    if crs is not None:
        _check_unit(crs, length, said.get("units", ""), path)
    elif named is not None and length is not None:  # codes of UTM zones are in metres
        x, y, dx, dy = (length * v for v in (x, y, dx, dy))
    remarks = []
    if named is None and not info[0].strip().lower().startswith("arbitrary"):
        remarks.append(
            f"the coordinate system of {path.name} ({', '.join(i.strip() for i in (info[0], *info[7:]))}) is not known "
            "by name, so the maps have none: add a 'coordinate system string' to the header"
        )
    # as GDAL reads it: the rows of the image are turned clockwise
    angle = -np.deg2rad(turned)
    a, b, d, e = dx * np.cos(angle), -dx * np.sin(angle), -dy * np.sin(angle), -dy * np.cos(angle)
    turning = (a, b, d, e) if turned else (dx, 0.0, 0.0, -dy)
    a, b, d, e = (float(v) for v in turning)
    place = (a, b, x - (column - 1) * a - (row - 1) * b, d, e, y - (column - 1) * d - (row - 1) * e)
    return Georeference(named, place, tuple(info)), remarks


def _metres(name: str | None, path: Path) -> float | None:
    """Metres in a unit of length; None for degrees and where there is no unit."""
    if name is None or name.lower().startswith(("degree", "radian", "second", "minute")):
        return None
    if name.lower() not in _METRES:
        known = "Meters, Feet, US Survey Feet, Km, Yards, Miles, Degrees"
        raise ValueError(f"{path.name}: 'map info' has the unknown unit {name!r:.40}; the known ones are {known}")
    return _METRES[name.lower()]


def _check_unit(crs: str, length: float | None, name: str, path: Path) -> None:
    """Raise an error if the coordinate system and the map info are in different units of length."""
    system = known_crs(crs)
    if length is None or system is None or not system.is_projected:
        return
    own = system.linear_units_factor[1]
    if abs(own / length - 1) > 0.01:
        raise ValueError(
            f"{path.name}: 'map info' is in {name}, but the coordinate system in units of {own:g} m; correct one of "
            "the two lines"
        )


def _named_crs(info: list[str]) -> str | None:
    """UTM zones and plain longitude and latitude; other projections need the coordinate system string."""
    found = (_DATUMS.get(re.sub(r"[\s_]+", "-", i.strip().upper())) for i in info[7:])
    datum = next((one for one in found if one is not None), None)
    if datum is None:
        return None
    north, south, zones, degrees = datum
    kind = info[0].strip().lower()
    if kind == "utm":
        southern = len(info) > 8 and info[8].strip().lower().startswith("s")
        zone = int(info[7])
        if zone not in zones or (southern and south is None):
            raise ValueError(f"zone {zone}{' South' if southern else ''}")
        return f"EPSG:{(south if southern and south is not None else north) + zone}"
    return f"EPSG:{degrees}" if kind.startswith("geographic") else None


def known_crs(text: str | None) -> Any:
    """The coordinate system of a text as an object of rasterio; None if there is none or it cannot be read."""
    if text is None:
        return None
    rasterio = need_extra("rasterio", "coordinate systems", "images")
    try:
        check_crs(text, "the coordinate system")
        return rasterio.crs.CRS.from_user_input(text)
    except (ValueError, rasterio.errors.CRSError):
        return None


def pixel_size(place: Georeference) -> tuple[float | None, str]:
    """(width, unit) of a pixel on the ground, "m" or "degrees"; (None, "") where the file does not say."""
    if place.transform is None:
        return None, ""
    a, _, _, d, *_ = place.transform
    width = float(np.hypot(a, d))
    try:
        system = known_crs(place.crs)
    except ImportError:  # without rasterio
        system = None
    if system is None:
        return width, "m"
    if system.is_geographic:
        return width, "degrees"
    return width * system.linear_units_factor[1], "m"


def crs_name(text: str | None) -> str:
    """What people call a coordinate system: "WGS 84 / UTM zone 33N (EPSG:32633)"; "" if it is not known."""
    try:
        system = known_crs(text)
    except ImportError:  # without rasterio
        system = None
    if system is None:
        return text if text is not None and re.fullmatch(r"\w+:\d+", text) else ""
    name = re.search(r'"([^"]*)"', system.to_wkt())
    code = system.to_epsg()
    return f"{name[1] if name else ''}{'' if code is None else f' (EPSG:{code})'}".strip()
