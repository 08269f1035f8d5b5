"""The demo scene and the real ones: agreement with the truth, bands inside the features, maps without cleaning."""

import numpy as np
import pytest
import scipy.io
from rasterio import Affine

from fisherem import FisherEM, SparseFisherEM, datasets
from fisherem.images import Cube, Georeference, read, segment
from tests.naive import accuracy


def agreement(truth, labels):
    valid = labels >= 0
    return accuracy(truth[valid], labels[valid])


@pytest.fixture(scope="module")
def mars():
    scene = datasets.mars_like(rows=80, cols=72, bands=160)
    return scene, segment(scene.cube, 5)


def test_demo_scene_is_recovered_by_few_bands_inside_features(mars):
    scene, found = mars
    assert (found.model.method, found.model.sparsity) == ("svd", "auto")  # the default
    assert agreement(scene.truth, found.labels) >= 0.98
    assert 5 <= found.support.sum() <= 30
    assert scene.informative_bands[found.support].mean() >= 0.9


def test_a_given_share_keeps_the_number_of_bands_small(mars):
    scene, _ = mars
    found = segment(scene.cube, 5, sparsity=0.1)
    assert agreement(scene.truth, found.labels) >= 0.8  # so few bands do not carry five classes
    assert 5 <= found.support.sum() <= 15
    assert scene.informative_bands[found.support].all()


def test_shapes_masks_and_sums(mars):
    scene, found = mars
    np.testing.assert_array_equal(found.labels == -1, scene.dead)
    assert np.isnan(found.posteriors[scene.dead]).all()
    np.testing.assert_allclose(found.posteriors[~scene.dead].sum(axis=1), 1)
    np.testing.assert_array_equal(found.posteriors[~scene.dead].argmax(axis=1), found.labels[~scene.dead])
    assert found.wavelengths is scene.cube.wavelengths
    assert not found.support[scene.cube.bad_bands].any()
    assert np.isnan(found.mean_spectra[:, scene.cube.bad_bands]).all()


def test_mean_spectra_are_weighted_means_of_the_pixels_as_they_are(mars):
    scene, found = mars
    valid, good = ~scene.dead, ~scene.cube.bad_bands
    values = scene.cube.data[valid][:, good].astype(float)
    for k in range(5):
        expected = np.average(values, axis=0, weights=found.posteriors[valid][:, k])
        np.testing.assert_allclose(found.mean_spectra[k, good], expected, rtol=1e-5)


def test_it_is_the_estimator_on_the_normalised_pixels(scene):
    found = segment(scene.cube, 3, model="DkBk", sparsity=0.2)
    rows = scene.cube.data[~scene.dead][:, ~scene.cube.bad_bands]
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    model = SparseFisherEM(3, scale="none", model="DkBk", method="svd", sparsity=0.2, n_init=1, random_state=0).fit(
        rows
    )
    assert accuracy(model.labels_, found.labels[~scene.dead]) == 1
    np.testing.assert_array_equal(found.support[~scene.cube.bad_bands], model.support_)
    assert isinstance(segment(scene.cube, 3, method=None).model, FisherEM)


def test_a_range_of_groups_is_searched(scene):
    found = segment(scene.cube, range(2, 5), model="AkB", sparsity=0.1, criterion="icl", n_jobs=1)
    assert found.n_clusters in (2, 3, 4)
    assert set(found.search.results_["n_clusters"]) == {2, 3, 4}
    dense = found.search.results_.query("method == 'dense'")
    assert found.n_clusters == dense.loc[dense["icl"].idxmax(), "n_clusters"]
    assert found.posteriors.shape == (40, 32, found.n_clusters)
    assert found.model.sparsity == 0.1


def test_arrays_and_integers_with_a_scale_factor(plain):
    array, _, truth = plain
    assert agreement(truth, segment(array, 2).labels) == 1
    counts = Cube(np.round(10000 * array).astype(np.int16), scale_factor=10000.0)
    found = segment(counts, 2)
    assert agreement(truth, found.labels) == 1
    np.testing.assert_allclose(found.mean_spectra.max(), 0.3, atol=0.01)


def test_wrong_requests(plain):
    with pytest.raises(ValueError, match="spatial must be a number of at least 0, or 'auto'"):
        segment(plain[0], 2, spatial="much")
    with pytest.raises(ValueError, match="spatial must be a number at least 0"):
        segment(plain[0], 2, spatial=-1)
    with pytest.raises(ValueError, match="neighbours must be 4 or 8"):
        segment(plain[0], 2, neighbours=6)
    with pytest.raises(ValueError, match="rows x columns x bands"):
        segment(plain[0][0], 2)


# -- real scenes -------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # it ends in a cycle
def test_samson(hyperspectral):
    abundances = scipy.io.loadmat(hyperspectral / "samson_end3.mat")["A"]
    truth = abundances.argmax(axis=0).reshape(95, 95).T  # the pixels run down the columns
    cube = read(hyperspectral / "samson_1.mat", shape=(95, 95), wavelengths=np.linspace(401, 889, 156), units="nm")
    found = segment(cube, 3)
    assert agreement(truth, found.labels) >= 0.975  # k-means on pixels divided by their norms has 0.972
    assert 2 <= found.support.sum() <= 25
    few = segment(cube, 3, method="two-step", sparsity=0.08)
    assert agreement(truth, few.labels) >= 0.945
    assert 2 <= few.support.sum() <= 12
    for changes in ({"sparsity": 0.1}, {"method": "two-step", "sparsity": 0.08}):
        full = segment(cube, 3, means="full", **changes)
        assert agreement(truth, full.labels) >= 0.96  # all bands vote
        assert 2 <= full.support.sum() <= 12


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # 281 pixels: it ends in a cycle
def test_crism_gives_a_map_without_manual_cleaning(hyperspectral, tmp_path):
    import rasterio

    path = hyperspectral / "crism_frt0000932c_subsampled.tif"
    with rasterio.open(path) as file:
        gaps = file.read() == 65535
    valid = ~np.delete(gaps, 323, axis=0).any(axis=0)
    found = segment(path, 3)
    np.testing.assert_array_equal(found.labels >= 0, valid)
    assert np.bincount(found.labels[found.labels >= 0]).min() >= 5  # of 281: no group of a few spikes
    assert found.cleaning.fill_pixels == (~valid).sum()
    assert found.cleaning.bands_erratic == (323,)  # counts in the thousands beside reflectances of 0.2
    said = found.model.decisions_.set_index("decision").loc["variables"]
    assert said["choice"] == f"{found.support.sum()} of 488"
    assert np.nanmax(np.abs(found.mean_spectra)) < 1
    found.save(tmp_path)


# -- files -------------------------------------------------------------------------------------------------------------

UTM = Georeference("EPSG:32632", (30.0, 0.0, 500000.0, 0.0, -30.0, 4000000.0))


@pytest.mark.parametrize("place", [UTM, Georeference()], ids=["utm", "nowhere"])
@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_written_maps_read_back_elsewhere(scene, tmp_path, place):
    import pandas as pd
    import rasterio
    import spectral.io.envi as envi

    source = scene.cube
    cube = Cube(
        source.data, source.wavelengths, "um", bad_bands=source.bad_bands, fill_value=source.fill_value,
        georeference=place,
    )  # fmt: skip
    found = segment(cube, 3, sparsity=0.2)
    paths = found.save(tmp_path / "out")
    assert all(p.stat().st_size > 0 for p in paths)
    image = envi.open(str(tmp_path / "out" / "labels.hdr"))
    np.testing.assert_array_equal(image.read_band(0).astype(int) - 1, found.labels)
    assert image.metadata["class names"] == ["masked", "group 1", "group 2", "group 3"]
    assert len(image.metadata["class lookup"]) == 12
    for name in ("labels.tif", "labels.img"):
        with rasterio.open(tmp_path / "out" / name) as file:
            np.testing.assert_array_equal(file.read(1).astype(int) - 1, found.labels)
            if place.crs:
                assert tuple(file.transform)[:6] == place.transform
                assert file.crs == rasterio.CRS.from_epsg(32632)
    with rasterio.open(tmp_path / "out" / "labels.tif") as file:
        assert file.colormap(1)[1][:3] == (0, 114, 178)  # the palette's first colour
        assert file.tags(1)["class_2"] == "group 2"
    with rasterio.open(tmp_path / "out" / "uncertainty.tif") as file:
        np.testing.assert_allclose(file.read(1), found.uncertainty, atol=1e-6)
    table = pd.read_csv(tmp_path / "out" / "spectra.csv")
    np.testing.assert_array_equal(table["selected"], found.support)
    np.testing.assert_allclose(table["wavelength_um"], cube.wavelengths)
    np.testing.assert_allclose(table["group 2"], found.mean_spectra[1])
    bands = pd.read_csv(tmp_path / "out" / "bands.csv")
    assert sorted(bands["band"] - 1) == found.selected_bands.tolist()
    assert bands["loading"].is_monotonic_decreasing


def test_the_georeference_of_a_file_comes_through(hyperspectral, tmp_path):
    import rasterio

    path = hyperspectral / "crism_frt0000932c_subsampled.tif"
    segment(path, 3, sparsity=0.5).save(tmp_path)
    with rasterio.open(path) as before:
        for name in ("labels.tif", "labels.img"):
            with rasterio.open(tmp_path / name) as after:
                np.testing.assert_allclose(tuple(after.transform), tuple(before.transform), rtol=1e-12)
                assert after.crs.to_dict() == before.crs.to_dict()


def test_the_pictures_hold_the_data(mars):
    _, found = mars
    shown = found.displays()
    labels = shown["labels"]
    np.testing.assert_allclose(labels.shares.sum(), 1)
    np.testing.assert_array_equal(labels.image()[found.labels == 2][0], labels.colours[2])
    np.testing.assert_array_equal(shown["uncertainty"].values, found.uncertainty)
    np.testing.assert_array_equal(shown["spectra"].selected, found.support)
    georeferenced = Cube(found.cube.data, georeference=UTM)
    from dataclasses import replace

    assert replace(found, cube=georeferenced).displays()["labels"].pixel_size == 30
    assert Affine(*UTM.transform).a == 30
