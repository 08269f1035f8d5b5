"""Stability on other pixels, on a sample of them."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from fisherem.cli import main
from fisherem.images import segment


def test_clear_groups_come_back_and_noise_does_not(scene):
    sure = segment(scene.cube, 3, sparsity=0.3, stability=3, normalise=True, noise_factors=0).stability
    assert (sure.n_refits, sure.n_pixels) == (3, min(2_000, int((~scene.dead).sum())))
    assert sure.pixels > 0.95
    assert sure.agreement > 0.9
    assert (sure.groups > 0.9).all()
    np.testing.assert_array_equal(np.isnan(sure.bands), scene.cube.bad_bands)
    np.testing.assert_allclose(sure.bands[~scene.cube.bad_bands], sure.counts.frequencies)
    noise = np.random.default_rng(0).normal(5, 1, size=(12, 10, 3))
    shaky = segment(noise, 3, stability=2, normalise=False, method=None, noise_factors=0).stability
    assert shaky.agreement < 0.6
    assert shaky.pixels < 0.9


def test_one_group_always_comes_back_and_moved_bands_are_not_counted(scene):
    assert segment(scene.cube, 1, stability=3, method=None, normalise=True).stability is None
    moved = segment(scene.cube, 3, stability=2, sparsity=0.3, separate_bands=True)
    assert moved.moved
    assert moved.stability.bands is None
    assert "reproducibility" not in moved.bands_table()


def test_the_command_says_it(plain, tmp_path):
    np.save(tmp_path / "a.npy", plain[0])
    asked = ["segment", str(tmp_path / "a.npy"), "-k", "2", "-o", str(tmp_path / "out"), "--stability", "2"]
    result = CliRunner().invoke(main, asked)
    assert "108 sampled pixels were assigned to their group again in 100% of 2 refits" in result.output
    assert "Stability on other pixels" in (tmp_path / "out" / "report.html").read_text()
    assert "reproducibility" in (tmp_path / "out" / "bands.csv").read_text()
    result = json.loads(CliRunner().invoke(main, [*asked, "--json"]).output)
    assert result["stability"]["groups"] == [1.0, 1.0]
    assert CliRunner().invoke(main, [*asked[:-1], "1"]).exit_code == 2


def test_pixels_in_doubt_are_those_that_refits_put_elsewhere():
    rng = np.random.default_rng(0)
    share = np.clip(np.linspace(-1.5, 2.5, 60), 0, 1)[:, None] * np.ones((1, 40))  # two grounds, mixed between them
    grounds = np.array([np.sin(np.arange(20) / 4), np.cos(np.arange(20) / 4)]) + 2
    array = share[..., None] * grounds[0] + (1 - share[..., None]) * grounds[1] + 0.05 * rng.normal(size=(60, 40, 20))
    found = segment(array, 2, normalise=False)
    assert set(np.unique(found.agreement * 6).round().astype(int)) <= set(range(7))
    assert found.in_doubt.any()
    between = (share > 0.2) & (share < 0.8)
    assert between[found.in_doubt].all()
    np.testing.assert_array_equal(found.in_doubt, found.agreement < 1)
    assert found.predict(array).agreement is None
    html = found.report("page.html").read_text()
    assert "at least one of six refits" in html
    assert f"{100 * found.in_doubt.mean():.1f}%" in html


def test_one_group_has_no_doubt(plain):
    found = segment(plain[0], 1)
    assert found.agreement is None
    assert not found.in_doubt.any()


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_the_agreement_is_written(plain, tmp_path):
    import rasterio

    found = segment(plain[0], 2)
    found.save(tmp_path)
    with rasterio.open(tmp_path / "agreement.tif") as file:
        np.testing.assert_allclose(file.read(1), found.agreement)


def test_a_spatial_prior_is_part_of_the_refits():
    truth = np.indices((30, 30))[0] // 15
    spectra = np.array([np.sin(np.arange(12)), np.cos(np.arange(12))])[truth]
    array = spectra + 1.5 * np.random.default_rng(0).normal(size=spectra.shape)
    alone, together = (segment(array, 2, spatial=b, normalise=False).in_doubt.mean() for b in (0, 4.0))
    assert together < alone / 2
