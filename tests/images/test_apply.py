"""A model goes to the next scene: saved, loaded, wavelengths checked, the same products written."""

import json
from dataclasses import replace

import numpy as np
import pytest
import skops.io
from click.testing import CliRunner

import fisherem
from fisherem.cli import main
from fisherem.datasets import mars_like
from fisherem.images import Cube, SceneModel, segment
from fisherem.images.matching import match_bands
from fisherem.persistence import ModelFileError
from tests.naive import accuracy

from .files import write_envi


def made(seed, wavelengths=None, **changes):
    """A scene of three classes; with other wavelengths it is interpolated to them."""
    scene = mars_like(36, 30, 48, 3, seed=seed, n_bad_bands=0, dead_share=0.01)
    cube = scene.cube
    if wavelengths is not None:
        values = np.apply_along_axis(lambda v: np.interp(wavelengths, scene.wavelengths, v), 2, cube.data)
        cube = Cube(values.astype(np.float32), np.asarray(wavelengths), "um", fill_value=cube.fill_value)
    return scene, replace(cube, **changes)


@pytest.fixture(scope="module")
def first():
    return made(1)


@pytest.fixture(scope="module")
def found(first):
    return segment(first[1], 3)


def agreement(truth, labels):
    return accuracy(truth[labels >= 0], labels[labels >= 0])


def test_its_own_scene_gets_its_own_map(first, found):
    again = found.predict(first[1])
    np.testing.assert_array_equal(again.labels, found.labels)
    np.testing.assert_allclose(again.posteriors, found.posteriors, atol=1e-3)
    np.testing.assert_array_equal(again.support, found.support)
    np.testing.assert_allclose(again.mean_spectra, found.mean_spectra, rtol=1e-3)
    assert again.cleaning.clipped == found.cleaning.clipped
    assert again.cleaning.fill_pixels == found.cleaning.fill_pixels > 0


@pytest.mark.parametrize("options", [{"normalise": False}, {"standardise": True}, {"spatial": 1.0}, {"clip": None}])
def test_every_kind_of_cleaning_is_repeated(first, options):
    found = segment(first[1], 3, sparsity=0.3, **options)
    assert (found.predict(first[1]).labels == found.labels).mean() >= 0.999


def test_another_scene_gets_the_classes_of_the_first(first, found):
    """The groups keep their numbers, which a new fit would not; the data are brighter, and in other units."""
    second = made(2)[0]
    cube = replace(second.cube, data=1.7 * np.where(second.dead[..., None], np.nan, second.cube.data), fill_value=None)
    cube = replace(cube, wavelengths=1000 * second.wavelengths, units="nm")
    labels = found.predict(cube).labels
    assert agreement(second.truth, labels) >= 0.97
    number_of_class = [
        np.bincount(found.labels[(first[0].truth == k) & (found.labels >= 0)]).argmax() for k in range(3)
    ]
    valid = labels >= 0
    assert (np.asarray(number_of_class)[second.truth[valid]] == labels[valid]).mean() >= 0.97
    np.testing.assert_array_equal(valid, ~second.dead)


def test_save_and_load(first, found, tmp_path):
    named = found.named(["dust", "mafic", "ice"])
    back = fisherem.load(fisherem.save(named, tmp_path / "model.skops"))
    assert isinstance(back, SceneModel)
    assert back.class_names == ("dust", "mafic", "ice")
    assert back.model.labels_.dtype == np.uint8  # one byte per pixel goes into the file
    again = back.predict(first[1])
    np.testing.assert_array_equal(again.labels, found.labels)
    assert again.group_names == ["dust", "mafic", "ice"]
    written = again.save(tmp_path / "out")
    # which pixels are in doubt, and another map, are known where the model was fitted
    own = {"agreement.tif", "other.png"}
    assert {path.name for path in found.save(tmp_path / "first")} - own == {path.name for path in written}
    assert "mafic" in (tmp_path / "out" / "labels.hdr").read_text()
    assert "dust" in (tmp_path / "out" / "report.html").read_text()
    with pytest.raises(ValueError, match="give 3 different names"):
        found.named(["a", "b"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"wavelengths": np.zeros(3)}, r"wavelengths must be numbers of shape"),
        ({"limits": "none"}, "limits must be numbers"),
        ({"units": "feet"}, "units must be um or nm"),
        ({"class_names": ["a", "a", "b"]}, "3 different names"),
        ({"n_bands": 2}, "below n_bands"),
        ({"normalised": 1}, "normalised is 1"),
        ({"spatial": -1.0}, "spatial"),
        ({"more": 1}, "must say"),
    ],
)
def test_damaged_files_are_refused(found, tmp_path, change, message):
    model, about = found.scene_model.to_file()
    content = {"format": 3, "fisherem": "0.2.0", "kind": "scene", "about": about | change, "model": model}
    skops.io.dump(content | {"model": fisherem.persistence._packed(model)}, tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match=message):
        fisherem.load(tmp_path / "m.skops")
    skops.io.dump(content | {"kind": "weather", "model": fisherem.persistence._packed(model)}, tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match="unknown kind of model file 'weather'"):
        fisherem.load(tmp_path / "m.skops")


def test_bands_are_matched_by_wavelength(found):
    """Other bands, in descending order: shifts within a quarter of the spacing are taken, others refused."""
    waves = found.wavelengths
    step = waves[1] - waves[0]
    cube = made(3)[1]
    near = replace(cube, data=cube.data[..., ::-1], wavelengths=(waves + 0.9 * 0.25 * step)[::-1])
    plain, turned = found.predict(cube), found.predict(near)
    np.testing.assert_array_equal(turned.labels, plain.labels)
    np.testing.assert_array_equal(turned.support[::-1], plain.support)
    np.testing.assert_array_equal(sorted(turned.bands_table()["loading"]), sorted(plain.bands_table()["loading"]))
    far = replace(cube, wavelengths=waves + 1.1 * 0.25 * step)
    with pytest.raises(ValueError, match=r"lacks 48 bands of the 48 of the model.*--tolerance.*--resample"):
        found.predict(far)
    assert (found.predict(far, tolerance=0.3 * step).labels == plain.labels).all()


def test_resampling_interpolates(found):
    finer = np.linspace(0.49, 2.61, 75)
    second, cube = made(3, finer)
    with pytest.raises(ValueError, match="--resample"):
        found.predict(cube)
    labels = found.predict(cube, resample=True).labels
    assert agreement(second.truth, labels) >= 0.95
    values = finer[None, None, :] * np.ones((2, 2, 1))
    matched = match_bands(
        found.wavelengths, "um", np.arange(48), 48, Cube(values, finer, "um"), selected=np.ones(48, bool), resample=True
    )
    np.testing.assert_allclose(
        (1 - matched.share) * finer[matched.left] + matched.share * finer[matched.right], found.wavelengths
    )


def test_what_cannot_be_interpolated_is_refused(found):
    waves = found.wavelengths
    cube = made(3)[1]
    short = replace(cube, data=cube.data[..., :30], wavelengths=waves[:30], bad_bands=None)
    with pytest.raises(ValueError, match=r"lacks 18 bands .* no bands around them"):
        found.predict(short, resample=True)
    selected = int(found.selected_bands[0])
    bad = np.arange(48) == selected
    with pytest.raises(ValueError, match="lacks 1 band of the 48"):
        found.predict(replace(cube, bad_bands=bad))
    bridged = found.predict(replace(cube, bad_bands=bad), resample=True)
    assert (bridged.labels == found.predict(cube).labels).mean() > 0.95
    bad[max(0, selected - 5) : selected + 5] = True
    with pytest.raises(ValueError, match="no bands around them"):
        found.predict(replace(cube, bad_bands=bad), resample=True)


def test_a_bad_band_that_is_not_selected_does_not_matter(found):
    cube = made(3)[1]
    free = int(np.flatnonzero(~found.support)[2])
    second = found.predict(replace(cube, bad_bands=np.arange(48) == free))
    assert (second.labels == found.predict(cube).labels).mean() > 0.99
    assert any("1 unselected band of the model without a counterpart" in note for note in second.notes)


def test_scenes_that_do_not_fit_are_refused(found, plain):
    cube = made(3)[1]
    with pytest.raises(ValueError, match=r"has no wavelengths, but the model needs bands from 0.5 to 2.6 um"):
        found.predict(np.asarray(cube.data))
    with pytest.raises(ValueError, match=r"so the units differ.*scale factor"):
        found.predict(replace(cube, data=10_000 * cube.data, fill_value=-9999 * 1e4))
    nameless = segment(plain[0], 2)
    assert (nameless.predict(plain[0]).labels == nameless.labels).all()
    with pytest.raises(ValueError, match=r"has 12 bands, but the model was made from a scene of 24 bands"):
        nameless.predict(plain[0][..., ::2])


def test_values_that_are_missing_are_fitted_around(found):
    """A dead detector in the second scene; the fill value is that of the second file."""
    second, cube = made(3)
    data = np.array(cube.data)
    data[data == cube.fill_value] = -1
    data[:, 7, 4:9] = -1
    labels = found.predict(replace(cube, data=data, fill_value=-1.0)).labels
    assert (labels[:, 7][~second.dead[:, 7]] >= 0).all()
    assert (labels == found.predict(cube).labels).mean() >= 0.99


def test_a_group_without_pixels_has_no_spectrum(first, found, tmp_path):
    """Only one class is in the second scene: tables and page are written all the same."""
    use = (first[0].truth == 0) & ~first[0].dead
    other = found.predict(first[1], mask=use)
    assert len(np.unique(other.labels[use])) < 3
    assert np.isnan(other.mean_spectra).all(axis=1).any()
    other.save(tmp_path / "out")


def run(*arguments, code=0):
    result = CliRunner().invoke(main, ["segment", *map(str, arguments)])
    assert result.exit_code == code, result.output + str(result.exception)
    return result.output


def test_command(first, found, tmp_path):
    scenes = [
        write_envi(tmp_path / f"scene{i}.hdr", cube.data, wavelength=cube.wavelengths, wavelength_units="Micrometers",
                   data_ignore_value=-9999)
        for i, cube in ((1, first[1]), (2, made(2)[1]))
    ]  # fmt: skip
    one, two = tmp_path / "one", tmp_path / "two"
    made_first = json.loads(run(scenes[0], "-k", 3, "--names", "dust,mafic, ice", "-o", one, "--json"))
    assert "model.skops" in made_first["files"]
    np.save(tmp_path / "truth.npy", made(2)[0].truth + 1)
    arguments = ("--apply", one / "model.skops", scenes[1], "--truth", tmp_path / "truth.npy", "-o", two)
    applied = json.loads(run(*arguments, "--json"))
    of_the_fit = {"agreement.tif", "other.png"}
    assert set(made_first["files"]) - of_the_fit | {"truth.csv"} == set(applied["files"])
    assert applied["truth"]["accuracy"] >= 0.97
    assert "mafic" in (two / "labels.hdr").read_text()
    assert "fitted to another scene" in run(*arguments)
    assert "--sparsity cannot be used with --apply" in run(*arguments, "--sparsity", "0.1", code=2)
    assert "--resample can only be used with --apply" in run(scenes[0], "-k", 3, "--resample", code=2)
    assert "give 3 different names" in run(*arguments, "--names", "a,b", code=2)
    assert "would be overwritten" in run("--apply", one / "model.skops", scenes[1], "-o", one, code=2)
    fisherem.save(found.model, tmp_path / "table.skops")
    assert "of a table; --apply needs" in run("--apply", tmp_path / "table.skops", scenes[1], code=2)
    table = tmp_path / "rows.csv"
    table.write_text("a,b\n1,2\n3,4\n")
    shown = CliRunner().invoke(main, ["predict", str(one / "model.skops"), str(table)])
    assert shown.exit_code == 2
    assert "fisherem segment --apply" in shown.output


def test_no_number_of_groups_names_what_to_do(tmp_path):
    shown = run(tmp_path / "scene.hdr", code=2)
    assert "-k auto" in shown
    assert "--apply" in shown
