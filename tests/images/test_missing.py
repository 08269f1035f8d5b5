"""Pixels without a value in some bands: fitted around, left out, or refused; and counted."""

import json
from importlib import import_module

import numpy as np
import pytest
from click.testing import CliRunner

from fisherem.cli import main
from fisherem.datasets import mars_like
from fisherem.images import Cube, clean, segment
from fisherem.images.colours import colour_view
from tests.naive import accuracy

cleaning = import_module("fisherem.images.clean")


@pytest.fixture(scope="module")
def scene():
    return mars_like(24, 20, 40, 3, seed=0, n_bad_bands=0, dead_share=0)


@pytest.fixture(scope="module")
def holed(scene):
    """Each of six detectors is dead in some columns of the image: a quarter of the pixels lacks bands."""
    data = np.array(scene.cube.data, float)
    rng = np.random.default_rng(0)
    for column in rng.choice(20, 5, replace=False):
        data[:, column, rng.choice(40, 6, replace=False)] = -1.0
    return Cube(data, wavelengths=scene.cube.wavelengths, units=scene.cube.units, fill_value=-1.0)


def test_pixels_with_gaps_are_on_the_map(scene, holed):
    K = 3
    found = segment(holed, K, random_state=0)
    assert (found.labels >= 0).all()
    report = found.cleaning
    assert (report.gap_pixels, report.gap_cells) == (5 * 24, 5 * 24 * 6)
    assert (report.used_pixels, report.fill_pixels) == (480, 0)
    assert "120 pixels lack 720 values: the model uses their observed values" in str(report)
    assert np.isfinite(found.mean_spectra).all()
    gappy = (np.asarray(holed.data) == -1).any(axis=2)
    whole = segment(scene.cube, K, random_state=0)
    for part in (gappy, ~gappy):
        assert accuracy(whole.labels[part], found.labels[part]) >= 0.95
    dropped = segment(holed, K, missing="drop-rows", random_state=0)
    assert ((dropped.labels == -1) == gappy).all()
    assert dropped.cleaning.fill_pixels == 120


def test_the_colour_view_shows_what_is_observed(scene, holed):
    """A band with gaps is stretched between quantiles of its values, and a gap is half bright."""
    shown = np.ones((24, 20), bool)
    band = int(np.flatnonzero((np.asarray(holed.data) == -1).any(axis=(0, 1)))[0])
    gap = np.asarray(holed.data)[:, :, band] == -1
    view, whole = (colour_view(cube, [band] * 3, shown)[..., 0].astype(int) for cube in (holed, scene.cube))
    assert (view[gap] == 128).all()
    assert np.abs(view[~gap] - whole[~gap]).mean() < 10
    assert np.ptp(view[~gap]) == 255


def test_rows_keep_their_observed_values(holed):
    rows = clean(holed, clip=None, normalise=False, missing="model").rows
    data = np.asarray(holed.data, float).reshape(-1, 40)
    np.testing.assert_array_equal(np.isnan(rows), data == -1)
    np.testing.assert_allclose(rows[data != -1], data[data != -1], rtol=1e-12)


def test_norms_and_deviations_know_of_gaps(scene, holed):
    """A pixel that is as its neighbours gets nearly the norm that it has with all values."""
    own = clean(holed, clip=None, missing="model").rows
    whole = clean(scene.cube, clip=None).rows
    seen = np.isfinite(own)
    np.testing.assert_allclose(own[seen], whole[seen], rtol=0.03)
    standard = clean(holed, clip=None, normalise=False, standardise=True, missing="model").rows
    np.testing.assert_allclose(np.nanmean(standard, axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(np.nanstd(standard, axis=0), 1, atol=1e-4)


def test_other_treatments(holed):
    bands = clean(holed, missing="drop-columns")
    assert bands.mask.all()
    assert len(bands.bands) == 40 - len(bands.report.bands_empty) < 40
    with pytest.raises(ValueError, match=r"120 pixels have no value in some of the bands.*missing='model'"):
        clean(holed, missing="refuse")
    with pytest.raises(ValueError, match="missing must be one of 'auto'"):
        clean(holed, missing="mean")
    with pytest.raises(ValueError, match=r"480 pixels x 40 bands are more than .*missing='drop-rows'"):
        clean(holed, missing="model", memory="4kB")
    assert (
        clean(holed, missing="auto", memory="4kB").report.fill_pixels == 120
    )  # too large to fit around: left out, as before


def test_few_gaps_are_left_out_by_default_and_blank_pixels_always(scene):
    data = np.array(scene.cube.data, float)
    data[0, 0, 3] = np.nan
    data[1, 1] = np.nan
    data[2, 2] = 0
    cube = Cube(data, wavelengths=scene.cube.wavelengths, units=scene.cube.units)
    assert not clean(cube, missing="auto").mask[[0, 1, 2], [0, 1, 2]].any()
    kept = clean(cube, missing="model")
    np.testing.assert_array_equal(kept.mask[[0, 1, 2], [0, 1, 2]], [True, False, False])
    assert (kept.report.gap_pixels, kept.report.not_finite_pixels, kept.report.dark_pixels) == (1, 1, 1)


def test_every_pixel_may_have_a_gap_and_neighbours_help(scene):
    data = np.array(scene.cube.data, float)
    rng = np.random.default_rng(1)
    for pixel in np.ndindex(24, 20):
        data[(*pixel, rng.choice(40, 4, replace=False))] = np.nan
    K = 3
    cube = Cube(data, wavelengths=scene.cube.wavelengths, units=scene.cube.units)
    found = segment(cube, K, spatial=0.5, random_state=0)
    assert accuracy(scene.truth.ravel(), found.labels.ravel()) >= 0.9


def test_command(holed, tmp_path):
    data = np.where(np.asarray(holed.data) == -1, np.nan, holed.data)
    np.save(tmp_path / "scene.npy", data)
    command = ["segment", str(tmp_path / "scene.npy"), "-k", "3", "-o", str(tmp_path / "out"), "--json"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert "120 pixels lack 720 values" in json.loads(result.stdout)["cleaning"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "120 pixels lack 720 values" in page
    refused = CliRunner().invoke(main, [*command, "--missing", "refuse"])
    assert refused.exit_code != 0
    assert "drop-rows" in refused.output
