"""What is left out is counted, and the rows are the arithmetic that the docstring says."""

import tracemalloc
from importlib import import_module

import numpy as np
import pytest

from fisherem.images import Cube, as_cube, clean, segment
from fisherem.images.units import wavelength_units

cleaning = import_module("fisherem.images.clean")  # the package has a function of that name


def test_pixels_and_bands_are_counted(plain):
    array = plain[0].copy()
    array[0, 0, 3] = -9999
    array[0, 1] = -9999
    array[1, 0, 0] = np.nan
    array[1, 1, 2] = np.inf
    array[:, :, 7] = 0.25
    array[2, 2] = 0
    array[3:, :, 9] = np.nan  # no value in most pixels
    array[5, 5, 0] = 40.0
    mask = np.ones((12, 9), bool)
    mask[11] = False
    bad = np.zeros(24, bool)
    bad[20:22] = True
    cleaned = clean(Cube(array, bad_bands=bad, fill_value=-9999.0, mask=mask))
    report = cleaned.report
    assert (report.masked_by_request, report.fill_pixels, report.not_finite_pixels) == (9, 2, 2)
    assert report.dark_pixels == 1
    assert (report.bands_bad, report.bands_empty, report.bands_constant) == ((20, 21), (9,), (7,))
    assert report.clipped >= 1
    assert (report.used_pixels, report.used_bands) == (108 - 9 - 5, 20) == cleaned.rows.shape
    assert "2 bands in the bad-band list" in str(report)
    expected = np.ones((12, 9), bool)
    expected[11] = expected[0, :2] = expected[1, :2] = expected[2, 2] = False
    np.testing.assert_array_equal(cleaned.mask, expected)
    np.testing.assert_allclose(np.linalg.norm(cleaned.rows, axis=1), 1, rtol=1e-5)


def test_rows_are_what_the_formula_says(plain):
    flat = plain[0].reshape(-1, 24).astype(float)
    raw = clean(Cube(plain[0]), clip=None, normalise=False).rows
    np.testing.assert_allclose(raw, flat, rtol=1e-6)
    unit = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    np.testing.assert_allclose(clean(Cube(plain[0]), clip=None).rows, unit, rtol=1e-5)
    both = clean(Cube(plain[0]), clip=None, standardise=True).rows
    np.testing.assert_allclose(both, (unit - unit.mean(axis=0)) / unit.std(axis=0), atol=1e-3)


def test_lazy_rows_are_those_in_memory(scene):
    for standardise in (False, True):
        cleaned = clean(scene.cube, standardise=standardise, clip=3)
        kept, lazy = cleaned.rows, cleaned.source
        assert isinstance(kept, np.ndarray)
        assert not isinstance(lazy, np.ndarray)
        np.testing.assert_array_equal(lazy[5:300], kept[5:300])
        np.testing.assert_array_equal(lazy[np.array([700, 3, 3])], kept[[700, 3, 3]])
        np.testing.assert_array_equal(lazy[17], kept[17])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_lazy_rows_give_the_same_map():
    """Large enough for the start from a sample, in both ways."""
    from fisherem.datasets import mars_like

    scene = mars_like(200, 160, 134, 3, seed=2)
    kept = segment(scene.cube, 3, max_iter=4)
    lazy = segment(scene.cube, 3, max_iter=4, memory="10MB")
    np.testing.assert_array_equal(lazy.labels, kept.labels)
    np.testing.assert_array_equal(lazy.support, kept.support)


def test_clipping_pulls_spikes_back(plain):
    array = plain[0].copy()
    array[4, 4, 4] = 1e6
    rows = clean(Cube(array), normalise=False).rows
    column = np.delete(plain[0].reshape(-1, 24)[:, 4].astype(float), 4 * 9 + 4)
    spread = 1.4826 * np.median(np.abs(column - np.median(column)))
    assert np.median(column) + 9 * spread < rows[4 * 9 + 4, 4] < np.median(column) + 11 * spread
    assert clean(Cube(array), normalise=False, clip=None).rows[4 * 9 + 4, 4] == 1e6


def test_broken_detectors_are_found_without_a_list(scene):
    report = clean(Cube(scene.cube.data, fill_value=scene.cube.fill_value)).report
    assert report.bands_erratic == tuple(np.flatnonzero(scene.cube.bad_bands))
    assert clean(scene.cube).report.bands_erratic == ()


def test_bands_by_wavelength_number_and_flag(plain):
    array, wavelengths, _ = plain
    cube = Cube(array, wavelengths, "um")
    inside = (wavelengths >= 0.9) & (wavelengths <= 1.5)
    for asked in ("0.9-1.5um", "900-1500 nm", "0.9-1.5", np.flatnonzero(inside), inside):
        np.testing.assert_array_equal(clean(cube, bands=asked).bands, np.flatnonzero(inside))
    both = clean(cube, bands="500-600nm, 2.4-2.5um").bands
    np.testing.assert_array_equal(both, np.flatnonzero((wavelengths <= 0.6) | (wavelengths >= 2.4)))
    assert wavelength_units("Unknown", [400, 900]) == "nm"
    assert wavelength_units(None, [0.4, 0.9]) == "um"
    assert wavelength_units("Micrometers", [400.0]) == "um"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bands": "0.9-1.5um"}, "asks for wavelengths, but the cube has none"),
        ({"mask": np.ones((3, 4))}, "the mask must have the cube's rows x columns"),
        ({"mask": np.zeros((12, 9))}, "all pixels are invalid"),
        ({"bands": [99]}, "numbers from 0 to 23"),
        ({"bands": np.ones(5, bool)}, "one True or False per band"),
        ({"bands": [3]}, "1 bands are left"),
        ({"clip": 0}, "clip must be above 0"),
    ],
)
def test_requests_that_cannot_be_met(plain, arguments, message):
    with pytest.raises(ValueError, match=message):
        clean(Cube(plain[0]), **arguments)


@pytest.mark.parametrize("text", ["red", "1um", "0.5-0.9 parsec"])
def test_unreadable_ranges(plain, text):
    with pytest.raises(ValueError, match="must read like"):
        clean(Cube(plain[0], plain[1], "um"), bands=text)


def test_ranges_without_bands_and_cubes_without_values(plain):
    with pytest.raises(ValueError, match=r"no band lies in '5-6um': the cube has 0.5 to 2.5 um"):
        clean(Cube(plain[0], plain[1], "um"), bands="5-6um")
    with pytest.raises(ValueError, match="all pixels are invalid"):
        clean(Cube(np.full((4, 4, 3), np.nan)))
    with pytest.raises(ValueError, match="all pixels are invalid"):
        clean(Cube(np.full((4, 4, 3), 7), fill_value=7))
    with pytest.raises(ValueError, match="all requested bands are in the bad-band list"):
        clean(Cube(plain[0], bad_bands=np.ones(24, bool)))


def test_masked_cells_are_missing(plain):
    array = np.ma.masked_array(plain[0].copy(), mask=False)
    array[3, 4, 5] = 1e6
    array[3, 4, 5] = np.ma.masked
    found = clean(as_cube(array))
    assert not found.mask[3, 4]
    assert found.report.not_finite_pixels == 1
    assert found.rows.shape == (107, 24)


def test_limits_do_not_depend_on_how_many_bands_are_looked_at_together(plain, monkeypatch):
    array = plain[0].copy()
    array[2, 3, 4], array[5, 5, :3], array[:, :, 9] = 40.0, np.nan, -1.0
    expected = clean(as_cube(array, fill_value=-1.0))
    assert expected.report.clipped
    monkeypatch.setattr(cleaning, "CHUNK", 500)
    found = clean(as_cube(array, fill_value=-1.0))
    np.testing.assert_array_equal(found.rows, expected.rows)
    assert found.report == expected.report


def test_many_bands_take_little_more_memory_than_the_image():
    rng = np.random.default_rng(0)
    array = rng.uniform(1, 2, size=(8, 10, 50_000)).astype(np.float32)
    tracemalloc.start()
    try:
        clean(as_cube(array))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * array.nbytes  # the cleaned rows are one of them; it was ten
