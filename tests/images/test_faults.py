"""Faults that no header declares are found, reported by number and left out, unless they are to be kept."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.metrics import adjusted_rand_score

from fisherem.cli import main
from fisherem.datasets import mars_like
from fisherem.images import Cube, clean, segment
from fisherem.images.faults import as_keep, find_faults

from .files import write_envi


@pytest.fixture(scope="module")
def whole():
    """A scene of 40 x 40 pixels, 48 bands and three classes without faults."""
    return mars_like(40, 40, 48, 3, seed=4, n_bad_bands=0, dead_share=0)


def values(scene):
    return np.array(scene.cube.data)


def index(scene, found):
    used = found.labels >= 0
    return adjusted_rand_score(scene.truth[used], found.labels[used])


def test_a_scene_without_faults_has_none(whole):
    report = clean(whole.cube).report
    assert (report.bands_erratic, report.columns, report.fill_found, report.remarks) == ((), (), {}, ())


@pytest.mark.parametrize(("fill", "kind"), [(-9999, "float32"), (65535, "uint16"), (-9999, "int16"), (7.5, "float32")])
def test_undeclared_fill_is_found_by_its_one_value(whole, fill, kind):
    array = values(whole)
    array = (10000 * array).astype(kind) if kind != "float32" else array
    places = ([3, 20, 31], [5, 11, 38])
    array[places] = fill
    found = segment(Cube(array), 3)
    assert (found.labels[places] == -1).all()
    assert found.cleaning.fill_found == {fill: 3}
    assert found.cleaning.fill_pixels == found.cleaning.not_finite_pixels == 0
    assert f"3 pixels with {fill:g} in every band, taken as fill" in str(found.cleaning)
    assert index(whole, found) >= 0.97
    assert clean(Cube(array), keep="fill").report.used_pixels == 1600


def test_undeclared_fill_over_most_of_the_scene_and_in_single_bands(whole):
    array = values(whole)
    array[:, :25] = -9999
    array[0, 30, :4] = -9999  # fill in some bands
    report = clean(Cube(array)).report
    assert report.fill_found == {-9999: 1000}
    assert report.fill_pixels == 1
    assert report.used_pixels == 599


@pytest.mark.parametrize(("fill", "kind"), [(-9999, "float32"), (65535, "uint16")])
def test_undeclared_fill_in_some_bands_only_is_found(whole, fill, kind):
    array = values(whole)
    array = (10000 * array.clip(0)).astype(kind) if kind != "float32" else array
    array[10:13, 20:24, 5:15] = fill
    found = segment(Cube(array), 3)
    assert found.cleaning.fill_pixels == 12
    assert f"{fill:g}, in 120 values far outside those of the same band, was taken as the fill value" in str(
        found.cleaning
    )
    assert index(whole, found) >= 0.97
    kept = clean(Cube(array), keep="fill").report
    assert (kept.used_pixels, kept.clipped) == (1600, 120)


def test_integers_of_few_levels_are_spectra():
    array = np.random.default_rng(0).integers(0, 2, size=(30, 30, 8)).astype(np.uint8) + 1
    assert clean(Cube(array)).report.fill_found == {}


@pytest.mark.parametrize("ends", [(0, 1), (46, 47), (0, 1, 2, 46, 47)])
def test_undeclared_bad_bands_at_the_ends_of_the_spectrum_are_found(whole, ends):
    array = values(whole)
    array[:, :, list(ends)] = np.random.default_rng(0).normal(0.2, 0.5, size=(40, 40, len(ends)))
    assert clean(Cube(array)).report.bands_erratic == ends


@pytest.mark.parametrize("fault", ["noise", "adjacent noise", "level"])
def test_undeclared_bad_bands_are_found(whole, fault):
    array, rng = values(whole), np.random.default_rng(0)
    bad = (10, 11, 12, 13) if fault == "adjacent noise" else (5, 17, 30, 41)
    for b in bad:
        array[:, :, b] = 50.0 + array[:, :, b] if fault == "level" else rng.uniform(0, 1, size=(40, 40))
    found = segment(Cube(array), 3)
    assert found.cleaning.bands_erratic == bad
    shown = "11-14" if fault == "adjacent noise" else "6, 18, 31, 42"
    assert f"4 erratic bands ({shown})" in str(found.cleaning)
    declared = np.isin(np.arange(48), bad)
    np.testing.assert_array_equal(found.labels, segment(Cube(array, bad_bands=declared), 3).labels)
    assert index(whole, found) > 0.93
    assert clean(Cube(array), keep=["bands"]).report.bands_erratic == ()


def test_striped_columns_are_found(whole):
    array, rng = values(whole), np.random.default_rng(1)
    striped = (0, 7, 8, 21, 39)
    for c in striped:
        array[:, c] += rng.choice([-1, 1]) * rng.uniform(0.05, 0.1, size=48)
    found = segment(Cube(array), 3)
    assert found.cleaning.columns_striped == striped
    assert found.cleaning.faulty_pixels == 200
    assert (found.labels[:, striped] == -1).all()
    assert "200 pixels in columns that are striped or dead (1, 8-9, 22, 40)" in str(found.cleaning)
    assert index(whole, found) >= 0.97
    assert clean(Cube(array), keep="columns").report.used_pixels == 1600


@pytest.mark.parametrize("half", ["bands", "gain", "rows"])
def test_half_dead_columns_are_found(whole, half):
    array = values(whole)
    if half == "bands":
        array[:, 12, 24:] = 0.001
    elif half == "gain":
        array[:, 12] *= 0.5
    else:
        array[20:, 12] = array[20, 12]  # from there on it repeats its last value
    report = clean(Cube(array)).report
    assert report.columns == (12,)
    assert report.columns_stuck == (() if half == "gain" else (12,))


def test_borders_between_materials_are_no_stripes():
    rng = np.random.default_rng(0)
    array = np.full((30, 40, 20), 0.3) + 0.004 * rng.normal(size=(30, 40, 20))
    array[:, 15:] += 0.2
    array[:, 30:, 5:] -= 0.1
    assert clean(Cube(array)).report.columns == ()


def test_a_border_along_the_edge_is_no_stripe():
    array = np.full((30, 40, 20), 0.3) + 0.004 * np.random.default_rng(0).normal(size=(30, 40, 20))
    array[:, 38:] += 0.2
    assert clean(Cube(array)).report.columns == ()


def test_a_scene_full_of_stripes_is_said_and_kept(whole):
    array = values(whole)
    array[:, 1::3] += 0.1
    report = clean(Cube(array)).report
    assert report.columns == ()
    assert "13 of 40 columns differ from their neighbours in many bands" in report.remarks[0]
    assert report.remarks[0] in str(report)


def test_stripes_in_every_column_are_said(whole):
    rng = np.random.default_rng(3)
    for offsets in (rng.normal(size=(1, 40, 1)), rng.normal(size=(1, 40, 48))):
        found = segment(Cube(values(whole) + 0.03 * offsets), 3)
        assert "most columns differ from their neighbours in many bands: the scene is striped" in str(found.cleaning)
        assert clean(Cube(values(whole) + 0.03 * offsets), keep="columns").report.remarks == ()


def test_slopes_and_waves_of_light_are_no_stripes():
    light = 0.3 + np.sin(np.arange(40) / 4)[:, None] * 0.1 + np.arange(40)[:, None] / 100
    array = light + 0.001 * np.random.default_rng(0).normal(size=(30, 40, 20))
    assert clean(Cube(array)).report.remarks == ()


def test_the_next_scene_is_looked_at_as_well(whole):
    found = segment(whole.cube, 3)
    array = values(whole)
    array[4, 4] = -9999
    array[:, 21] += 0.1
    free = int(np.flatnonzero(~found.support)[3])
    array[:, :, free] = np.random.default_rng(0).uniform(0, 1, (40, 40))
    second = found.predict(Cube(array, whole.wavelengths, "um"))
    assert second.cleaning.fill_found == {-9999: 1}
    assert second.cleaning.columns_striped == (21,)
    assert second.cleaning.bands_erratic == (free,)
    used = second.labels >= 0
    assert (second.labels == found.labels)[used].mean() >= 0.99
    assert used.sum() == 1600 - 40 - 1
    assert found.predict(Cube(array, whole.wavelengths, "um"), keep=("columns", "fill")).cleaning.columns == ()


def test_what_to_keep_is_checked():
    assert as_keep(True) == as_keep("all") == {"fill", "bands", "columns"}
    assert as_keep(False) == as_keep(()) == as_keep(None) == set()
    with pytest.raises(ValueError, match="keep must be of fill, bands, columns or all; got 'rows'"):
        as_keep("rows")


def test_the_command_lists_them_and_keeps_them(whole, tmp_path):
    array = values(whole)
    array[:, 21] += 0.1
    path = write_envi(tmp_path / "a.hdr", array)

    def run(*more):
        result = CliRunner().invoke(main, ["segment", str(path), "-k", "3", "-o", str(tmp_path / "out"), *more])
        assert result.exit_code == 0, result.output
        return result.output

    assert "40 pixels in columns that are striped or dead (22)" in run()
    assert "columns" not in json.loads(run("--keep", "columns", "--json"))["cleaning"]
    bad = CliRunner().invoke(main, ["segment", str(path), "-k", "3", "--keep", "rows"])
    assert bad.exit_code == 2
    assert "fill, bands, columns" in bad.output


def test_the_statistics_are_those_of_the_formula(whole):
    from fisherem.images.faults import _striped

    band = np.random.default_rng(2).normal(size=(15, 30))
    band[:, [9, 29]] += 8
    expected = np.zeros(30, bool)
    step = [np.median([abs(band[r, c + 1] - band[r, c]) for r in range(15)]) for c in range(29)]
    usual = np.median([step[0], *(min(step[c - 1], step[c]) for c in range(1, 29)), step[28]])
    for c in range(30):
        sides = []
        for lags in (range(-3, 0), range(1, 4)):
            own = [np.median(band[:, c] - band[:, c + lag]) for lag in lags if 0 <= c + lag < 30]
            sides += [np.median(own)] if own else []
            if c in (0, 29) and own:
                sides = own
        same = all(s > 0 for s in sides) or all(s < 0 for s in sides)
        expected[c] = same and min(map(abs, sides)) > 3 * usual
    np.testing.assert_array_equal(_striped(band), expected)
    assert expected.nonzero()[0].tolist() == [9, 29]
    assert find_faults(whole.cube, np.ones((40, 40), bool), np.ones(48, bool)).columns == ()
