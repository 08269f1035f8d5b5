"""ENVI headers with fields that are wrong, missing, repeated or strange: a cube of the stored values, or the field."""

import numpy as np
import pytest
from hypothesis import strategies as st

from fisherem.images import read
from fisherem.images.units import parse_range

from ..images.files import write_envi
from .outcomes import Case, attack

ROWS, COLUMNS, BANDS = 4, 3, 5
FIELDS = (
    "samples", "lines", "bands", "header offset", "file type", "data type", "interleave", "byte order", "wavelength",
    "wavelength units", "bbl", "band names", "map info", "coordinate system string", "data ignore value",
    "reflectance scale factor", "description", "sensor type", "default bands", "",
)  # fmt: skip
WORDS = (
    "0", "1", "2", "3", "4", "5", "-1", "6", "12", "99", "1e3", "1e400", "nan", "inf", "-0.5", "x", "", "{", "}", "{}",
    "{1}", "{1, 2, 3, 4, 5}", "{0.1, 0.2, 0.3, 0.4, 0.5}", "{1, 0, 1, 0, 1}", "{a, b, c, d, e}", "{1, 2, x, 4, 5}",
    "{nan, 1, 2, 3, 4}", "bsq", "bil", "BIP", "{UTM, 1, 1, 3, 4, 5, 6, 33, North, WGS-84}", "{UTM, 1, 1, x, 4, 5, 6}",
    "{UTM, 1, 1, 3, 4, 5, 6, 99, North, WGS-84}", "{Geographic Lat/Lon, 1, 1, 3, 4, 5, 6, WGS-84}", "Nanometers",
    "99999999999999999999", "{1, 2\n3, 4, 5}", "\x00", "µm",
)  # fmt: skip


@pytest.fixture(scope="module")
def array():
    return np.random.default_rng(0).uniform(0.1, 1, size=(ROWS, COLUMNS, BANDS)).astype(np.float32)


def test_headers(array, tmp_path):
    path = write_envi(tmp_path / "scene.hdr", array)
    good = path.read_text().splitlines()

    def case_of(edits) -> Case:
        lines = list(good)
        for what, field, value in edits:
            if what == "remove":
                lines = [line for line in lines if not line.startswith(f"{field} =")]
            elif what == "replace":
                lines = [f"{field} = {value}" if line.startswith(f"{field} =") else line for line in lines]
            else:
                lines.insert(1 + len(field) % len(lines), f"{field} = {value}" if what == "add" else value)
        path.write_bytes("\n".join(lines).encode())
        touched = {field for _, field, _ in edits}
        layout = touched & {"samples", "lines", "bands", "header offset", "data type", "interleave", "byte order", ""}

        def check(cube):
            assert len(cube.shape) == 3
            assert len(cube.names()) == cube.shape[2]
            for values in (cube.wavelengths, cube.bad_bands):
                assert values is None or (len(values) == cube.shape[2] and np.isfinite(values).all())
            assert cube.scale_factor > 0
            pixels = cube.pixels[: cube.shape[1]]
            assert pixels.shape == (cube.shape[1], cube.shape[2])
            if not layout and all(what != "line" for what, _, _ in edits):
                np.testing.assert_array_equal(cube.data, array)

        return Case(lambda: read(path), ("scene.hdr", "scene.img"), check)

    edit = st.tuples(
        st.sampled_from(["replace", "replace", "add", "add", "remove", "line"]),
        st.sampled_from(FIELDS),
        st.sampled_from(WORDS) | st.text(max_size=12),
    )
    attack("ENVI headers", st.lists(edit, min_size=1, max_size=3), case_of, default=150)


def test_ranges_of_bands():
    wavelengths = np.linspace(0.4, 2.5, 22)

    def case_of(text) -> Case:
        def check(chosen):
            assert chosen.shape == wavelengths.shape
            assert chosen.any()

        return Case(lambda: parse_range(text, wavelengths, "um"), ("bands must read like", "no band lies in"), check)

    near = st.lists(st.sampled_from([*"0123456789", ".", "-", ":", "to", ",", "um", "nm", " ", "e"]), max_size=10)
    attack("ranges of bands", near.map("".join) | st.text(max_size=10), case_of, default=100)
