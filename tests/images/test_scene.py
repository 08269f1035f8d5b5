"""The demo scene: what it promises about itself."""

import numpy as np
import pytest

from fisherem import datasets


def test_sizes_seed_and_damage():
    scene = datasets.mars_like(60, 50, 64, 4, seed=7)
    assert scene.cube.shape == (60, 50, 64)
    assert scene.truth.shape == (60, 50)
    assert set(np.unique(scene.truth)) == {0, 1, 2, 3}
    np.testing.assert_array_equal((scene.cube.data == scene.cube.fill_value).all(axis=2), scene.dead)
    assert scene.cube.bad_bands.sum() == 4
    again = datasets.mars_like(60, 50, 64, 4, seed=7)
    np.testing.assert_array_equal(again.cube.data, scene.cube.data)
    assert not np.array_equal(datasets.mars_like(60, 50, 64, 4, seed=8).truth, scene.truth)


def test_classes_differ_inside_the_informative_bands_and_nowhere_else():
    scene = datasets.mars_like(20, 20, 256, 5)
    spread = np.ptp(scene.spectra, axis=0) / scene.spectra.mean(axis=0)
    assert spread[~scene.informative_bands].max() < 0.25 * spread[scene.informative_bands].max()
    assert 0.2 < scene.informative_bands.mean() < 0.5
    gas = np.abs(scene.wavelengths - 2.035) < 0.03
    assert not scene.informative_bands[gas].any()
    assert spread[gas].max() < 0.01


def test_light_changes_the_brightness_and_noise_is_as_asked():
    quiet = datasets.mars_like(60, 50, 64, 3, noise=0.0, n_bad_bands=0, dead_share=0).cube.data
    noisy = datasets.mars_like(60, 50, 64, 3, noise=0.02, n_bad_bands=0, dead_share=0).cube.data
    brightness = quiet.mean(axis=2)
    assert brightness.std() / brightness.mean() > 0.1
    assert (noisy - quiet).std() / quiet.mean() == pytest.approx(0.02, rel=0.25)
    error = (noisy - quiet).reshape(-1, 64)
    assert np.corrcoef(error[:, 20], error[:, 21])[0, 1] > 0.2


def test_wrong_sizes():
    with pytest.raises(ValueError, match="n_classes must be a whole number at least 2 and at most 8"):
        datasets.mars_like(n_classes=9)
    with pytest.raises(ValueError, match="must be a whole number at least 8"):
        datasets.mars_like(rows=3)
