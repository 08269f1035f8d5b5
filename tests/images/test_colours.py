"""What the scene looks like: which bands, how they are stretched, and what is not shown."""

import json
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from click.testing import CliRunner

from fisherem.cli import main
from fisherem.images import Cube, segment
from fisherem.images.colours import colour_bands, colour_view
from fisherem.images.lines import LazyLines


@pytest.fixture(scope="module")
def found(scene):
    return segment(scene.cube, 3)


def test_natural_colours_where_the_wavelengths_allow_it():
    waves = np.linspace(400, 1000, 61)  # every 10 nm
    cube = Cube(np.zeros((2, 2, 61)), wavelengths=waves, units="nm")
    bands, natural = colour_bands(cube, np.ones(61, bool))
    assert natural
    assert [waves[b] for b in bands] == [650, 550, 460]
    without_red = np.ones(61, bool)
    without_red[20:30] = False  # 600 to 690 nm: the nearest is 50 nm away
    assert not colour_bands(cube, without_red)[1]
    in_micrometres = replace(cube, wavelengths=waves / 1000, units="um")
    assert colour_bands(in_micrometres, np.ones(61, bool)) == (bands, True)
    unknown = replace(cube, units="")
    assert not colour_bands(unknown, np.ones(61, bool))[1]


def test_false_colours_are_spread_over_the_used_bands():
    waves = np.linspace(2.5, 1.0, 60)  # stored from long to short
    cube = Cube(np.zeros((2, 2, 60)), wavelengths=waves, units="um")
    bands, natural = colour_bands(cube, np.ones(60, bool))
    assert not natural
    assert waves[bands[0]] > waves[bands[1]] > waves[bands[2]]
    np.testing.assert_allclose(waves[list(bands)], [2.25, 1.75, 1.25], atol=0.03)
    used = np.zeros(60, bool)
    used[7] = True
    assert colour_bands(cube, used)[0] == (7, 7, 7)
    assert colour_bands(Cube(np.zeros((2, 2, 3))), np.ones(3, bool)) == ((0, 1, 2), True)  # a picture


def test_each_band_is_stretched_between_its_quantiles():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(20, 30, 5)) * [1, 10, 100, 1, 1] + [0, 5, 1000, 0, 0]
    data[..., 4] = 2.0
    shown = rng.random((20, 30)) < 0.8
    data[~shown] = -1e9  # fill values must not darken the rest
    view = colour_view(Cube(data), (2, 0, 4), shown)
    for channel, band in enumerate((2, 0)):
        low, high = np.percentile(data[..., band][shown], [2, 98])
        expected = 255 * np.clip((data[..., band][shown] - low) / (high - low), 0, 1)
        np.testing.assert_allclose(view[..., channel][shown], expected, atol=0.51)
    assert (view[..., 2][shown] == 128).all()  # a constant band
    assert (view[~shown] == 0).all()


def test_files_that_are_unpacked_give_the_same_view(scene):
    data = np.asarray(scene.cube.data)

    class Lines(LazyLines):
        def _read(self, first, stop):
            return data[first:stop]

    lazy = replace(scene.cube, data=Lines(data.shape, data.dtype))
    shown = ~scene.dead
    np.testing.assert_array_equal(
        colour_view(lazy, (9, 5, 1), shown), colour_view(scene.cube, (9, 5, 1), shown)
    )  # fmt: skip


def test_the_segmentation_has_the_view_among_its_pictures(found, scene):
    view = found.displays()["colours"]
    assert view is found.colours
    np.testing.assert_array_equal(view.shown, found.labels >= 0)
    assert not scene.cube.bad_bands[list(view.bands)].any()
    assert str(view).startswith("natural colours: red is 0.6" if view.natural else "false colours: red is ")
    drawn = view.plot()
    shown = drawn.ax_.images[0].get_array()
    np.testing.assert_array_equal(shown[view.shown], view.colours[view.shown])
    assert (shown[~view.shown] == 217).all()  # grey
    plt.close(drawn.ax_.figure)


def test_bands_can_be_given(found, scene, tmp_path):
    given = segment(scene.cube, 3, rgb=(30, 20, 10))
    assert given.colours.bands == (30, 20, 10)
    assert not given.colours.natural
    for wrong in ((1, 2), (0, 1, 48), (0, 1, 1.5), "123"):
        with pytest.raises(ValueError, match="rgb must be three bands from 0 to 47"):
            segment(scene.cube, 3, rgb=wrong)
    np.save(tmp_path / "a.npy", scene.cube.data[:, :, :20])
    out = tmp_path / "out"
    asked = ["segment", str(tmp_path / "a.npy"), "-k", "2", "-o", str(out), "--json", "--rgb"]
    result = CliRunner().invoke(main, [*asked, "9,5,1"])
    assert json.loads(result.output)["colours"] == "false colours: red is band 9, green is band 5, blue is band 1"
    assert (out / "colours.png").stat().st_size > 1000
    result = CliRunner().invoke(main, [*asked, "9,0,1"])
    assert result.exit_code == 2
    assert "is not three numbers of bands from 1" in result.output
