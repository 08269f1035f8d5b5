"""One test for each threshold of scenes: it holds on both sides of the threshold, so it fails when that moves."""

from types import SimpleNamespace

import numpy as np
import pytest

from fisherem.datasets import mars_like
from fisherem.images import Cube, Library, clean, layout, normalising, segment, separating, spatial_strength
from fisherem.images.clean import _keeps_gaps
from fisherem.images.continuum import features
from fisherem.images.faults import _outlying, find_faults, flat
from fisherem.images.identify import identify
from fisherem.images.matching import match_bands
from fisherem.images.scene_model import _check_unit

from .holding import holds


def refused(monkeypatch, tmp_path, *, swapped, n_bands=20, side=10):
    """Whether a file is refused if another byte order is as much smoother."""
    path, sizes = tmp_path / "x.img", {"lines": side, "samples": 10, "bands": n_bands}
    path.write_bytes(bytes(2 * side * 10 * n_bands))
    monkeypatch.setattr(layout, "_sampled", lambda stored, sizes, name, dtype, cells: 1 if dtype.isnative else swapped)
    monkeypatch.setattr(layout, "roughness", float)
    monkeypatch.setattr(layout, "_other_kind", lambda values, dtype: "")
    try:
        layout.check_layout(path, 0, sizes, "bsq", np.dtype("i2"))
    except ValueError:
        return True
    return False


@holds("scene_ridge")
def test_pixels_are_fitted_with_a_ridge_of_a_tenth_of_the_mean_variance():
    scene = mars_like(12, 12, 16, 2, n_bad_bands=0, dead_share=0)
    for treated in ("soft", False):
        assert segment(scene.cube, 2, normalise=treated).model.ridge == 0.1
    assert segment(scene.cube, 2, sparsity=0.3, normalise=False).model.ridge == "auto"


@holds("divided_ridge")
def test_divided_pixels_are_fitted_with_three_times_that_ridge():
    scene = mars_like(12, 12, 16, 2, n_bad_bands=0, dead_share=0)
    assert segment(scene.cube, 2, normalise=True).model.ridge == 0.3
    assert segment(scene.cube, 2, normalise=True, ridge=0.1).model.ridge == 0.1
    assert segment(scene.cube, 2, normalise=True, sparsity=0.3).model.ridge == "auto"


@holds("scene_axes")
def test_groups_are_compared_on_sixteen_axes():
    values = np.random.default_rng(0).normal(size=(200, 30))
    assert normalising._main_axes(values).shape == (200, 16)
    assert normalising._main_axes(values[:, :5]).shape == (200, 5)


@holds("neighbours_gain")
def test_neighbours_must_help_by_three_standard_errors(monkeypatch):
    cleaned = clean(Cube(np.random.default_rng(0).normal(size=(20, 20, 4)) + 9), normalise=False)

    def chosen(better):
        """The strength where the last one is right in so many pixels more of 400."""
        agree = np.zeros((len(spatial_strength.STRENGTHS), 400))
        agree[-1, :better] = 1
        monkeypatch.setattr(spatial_strength, "agreements", lambda *_: agree)
        return spatial_strength.chosen_strength(cleaned, np.zeros(400, int), 2, 4)[0]

    assert chosen(8) == 0  # the mean is 2.86 standard errors above 0
    assert chosen(10) == spatial_strength.STRENGTHS[-1]  # 3.2


@holds("layout_rougher")
def test_another_byte_order_must_be_a_fifth_smoother(monkeypatch, tmp_path):
    assert refused(monkeypatch, tmp_path, swapped=0.79)
    assert not refused(monkeypatch, tmp_path, swapped=0.81)


def other(monkeypatch, said, *, samples=1.0, bands=1.0, image=1.0, line=1.0, side=20):
    """The interleave that is taken for the right one if values these distances apart differ so much."""
    sizes = {"lines": side, "samples": 22, "bands": 24}
    distances = np.array([0, samples, bands, image, line])[:, None]
    monkeypatch.setattr(layout, "_ranks", lambda values: np.tile(distances, values.shape[1]))
    monkeypatch.setattr(layout, "_seams", lambda *_: False)
    return layout._other_interleave(np.zeros(side * 22 * 24), sizes, said)


@holds("interleave_rougher")
def test_bil_and_bip_are_given_up_for_half_the_difference(monkeypatch):
    for said in ("bil", "bip"):
        assert other(monkeypatch, said, image=0.49) == "bsq"
        assert not other(monkeypatch, said, image=0.51)
    assert other(monkeypatch, "bip", samples=0.49) == "bil"
    assert not other(monkeypatch, "bip", samples=0.51)
    assert not other(monkeypatch, "bil", samples=0.2, image=0.45)  # the bands of bil differ less than those of bsq


@holds("bsq_rougher")
def test_bsq_is_given_up_for_four_fifths_of_the_difference(monkeypatch):
    assert other(monkeypatch, "bsq", line=0.79, samples=0.4) == "bil"
    assert not other(monkeypatch, "bsq", line=0.81, samples=0.4)
    assert not other(monkeypatch, "bsq", line=0.79, samples=0.6)  # the bands of bsq differ about as much as its lines


@holds("interleave_side")
def test_interleaves_of_small_cubes_are_not_judged(monkeypatch):
    assert other(monkeypatch, "bsq", line=0.1, samples=0.1, side=20) == "bil"
    assert not other(monkeypatch, "bsq", line=0.1, samples=0.1, side=19)


@holds("interleave_seam")
def test_spectra_end_where_steps_are_three_times_the_mean(monkeypatch):
    monkeypatch.setattr(layout, "_ranks", lambda values: values)
    for step, ends in ((3.3, False), (3.4, True)):  # 2.96 and 3.04 times the mean
        up = np.ones(20 * 21)
        up[19::20] = step
        line = np.cumsum(np.append(0, np.where(np.arange(len(up)) % 2, up, -up)))[:-1]
        assert layout._seams(np.tile(line, 4), 21, 20) == ends


@holds("layout_cells")
def test_layouts_of_few_values_are_not_judged(monkeypatch, tmp_path):
    assert refused(monkeypatch, tmp_path, swapped=0.1, side=5)  # 1,000 cells
    assert not refused(monkeypatch, tmp_path, swapped=0.1, side=5, n_bands=19)


@holds("flat_bands")
def test_one_value_in_eight_bands_is_no_spectrum():
    assert flat(np.ones((1, 8))).all()
    assert not flat(np.ones((1, 7))).any()


def usual_bands(**changed):
    """Noise, level and spread of 30 bands, band 15 with other values."""
    table = {"noise": np.ones(30), "level": np.full(30, 10.0), "spread": np.full(30, 5.0)}
    for name, value in changed.items():
        table[name][15] = value
    return _outlying(**table).nonzero()[0].tolist()


@holds("band_noise")
def test_bands_four_times_as_noisy_are_bad():
    assert usual_bands(noise=3.9) == []
    assert usual_bands(noise=4.1) == [15]


@holds("band_white")
def test_blocks_of_noisy_bands_are_bad_if_they_are_nothing_but_noise():
    noise, level = np.ones(50), np.full(50, 10.0)
    noise[20:34] = 4.1
    for spread, bad in ((4.1 / 0.79, []), (4.1 / 0.81, list(range(25, 29)))):
        found = _outlying(noise, level, np.full(50, spread)).nonzero()[0]
        assert [b for b in found if 25 <= b < 29] == bad


@holds("band_level")
def test_bands_at_ten_times_the_level_are_bad():
    assert usual_bands(level=109.0) == []
    assert usual_bands(level=111.0) == [15]


def pixels_with(noisy_columns=(), n=40, rows=40, p=16, times=0.0, seed=0, bands=None):
    """A cube of n columns with unit noise in which some columns lie `times` the usual difference off."""
    rng = np.random.default_rng(seed)
    array = 1000 + rng.normal(size=(rows, n, p))
    usual = np.median(np.abs(np.diff(array, axis=1)))
    array[:, list(noisy_columns), : p if bands is None else bands] += times * usual
    return Cube(array)


def faults_of(cube):
    return find_faults(cube, np.ones(cube.shape[:2], bool), np.ones(cube.shape[2], bool))


@holds("band_pairs")
def test_bands_are_not_judged_by_few_pixels():
    array = np.random.default_rng(0).normal(10, 1, size=(1, 31, 16))
    array[:, :, 7] *= 50
    assert faults_of(Cube(array)).bands == (7,)  # 30 pairs
    assert faults_of(Cube(array[:, :30])).bands == ()


@holds("stripe_noise")
def test_columns_three_differences_off_are_striped():
    assert faults_of(pixels_with([20], rows=400, times=2.7)).columns == ()
    assert faults_of(pixels_with([20], rows=400, times=3.3)).columns == (20,)


@holds("stripe_bands")
def test_columns_striped_in_nearly_half_of_the_bands_are_striped():
    assert faults_of(pixels_with([20], p=20, bands=8, times=20)).columns == ()
    assert faults_of(pixels_with([20], p=20, bands=9, times=20)).columns == (20,)


@holds("stripe_rows")
def test_columns_of_few_rows_are_not_judged():
    assert faults_of(pixels_with([20], rows=9, times=50)).columns == ()
    assert faults_of(pixels_with([20], rows=10, times=50)).columns == (20,)


@holds("stripe_bend")
def test_a_scene_is_striped_where_columns_lie_as_far_off_as_pixels_do():
    array = 1000 + np.random.default_rng(0).normal(size=(60, 40, 12))
    waves = array[:, 4:] - 4 * array[:, 3:-1] + 6 * array[:, 2:-2] - 4 * array[:, 1:-3] + array[:, :-4]
    noise = np.median(np.abs(waves - np.median(waves, axis=0)))
    for times, striped in ((0.9, False), (1.1, True)):
        offsets = times * noise / 16 * np.where(np.arange(40) % 2, 1, -1)
        assert bool(faults_of(Cube(array + offsets[:, None])).remarks) == striped


@holds("stripe_most")
def test_up_to_a_quarter_of_the_columns_is_left_out():
    every_fourth = list(range(2, 40, 4))
    assert faults_of(pixels_with(every_fourth, times=50)).columns == tuple(every_fourth)
    more = faults_of(pixels_with([*every_fourth, 20], times=50))
    assert more.columns == ()
    assert "11 of 40 columns" in more.remarks[0]


@holds("stuck_share")
def test_columns_that_repeat_a_fifth_of_their_values_are_stuck():
    for n, expected in ((7, ()), (9, (20,))):  # of 39 differences
        array = np.array(pixels_with().data)
        array[: n + 1, 20] = array[0, 20]
        assert faults_of(Cube(array)).stuck == expected


def matched(wavelengths, selected=None, bad=None, **options):
    """A model of bands 1 apart (ten, unless `selected` has more), and a cube of these wavelengths."""
    selected = np.zeros(10, bool) if selected is None else selected
    p = len(selected)
    cube = Cube(np.ones((2, 2, len(wavelengths))), np.asarray(wavelengths, float), "nm", bad_bands=bad)
    return match_bands(np.arange(p) + 1000.0, "nm", np.arange(p), p, cube, selected=selected, **options)


@holds("band_distance")
def test_bands_of_another_scene_may_be_a_quarter_of_a_distance_off():
    every = np.ones(10, bool)
    assert matched(np.arange(10.0) + 1000.24, every).left.tolist() == list(range(10))
    with pytest.raises(ValueError, match="lacks 10 bands"):
        matched(np.arange(10.0) + 1000.26, every)
    with pytest.raises(ValueError, match=r"one band for two of the model, at 1000 and 1001 nm"):
        matched(np.arange(10.0) + 1000.6, every, tolerance=0.9)


@holds("band_reach")
def test_resampling_reaches_two_distances():
    every = np.ones(10, bool)
    own = np.arange(990.0, 1020.0)
    for gap, fine in ((1.9, True), (2.1, False)):  # the band at 1004 has neighbours at 1003.5 and 1003.5 + gap + 0.5
        around = np.concatenate([own[own <= 1003] - 0.5, [1003.5, 1004.0 + gap], own[own >= 1007]])
        if fine:
            assert matched(around, every, resample=True).share[4] > 0
        else:
            with pytest.raises(ValueError, match="the first at 1004 nm"):
                matched(around, every, resample=True)


@holds("bands_absent")
def test_a_quarter_of_the_bands_may_be_absent_if_they_are_not_selected():
    waves, selected = np.arange(20.0) + 1000, np.ones(20, bool)
    for bad, fine in (([1, 2, 3, 4, 5], True), ([1, 2, 3, 4, 5, 6], False)):
        listed = np.isin(np.arange(20), bad)
        free = ~listed & selected
        if fine:
            assert matched(waves, free, listed).absent.nonzero()[0].tolist() == bad
        else:
            with pytest.raises(ValueError, match=r"lacks 6 bands of the 20 of the model, 0 selected ones"):
                matched(waves, free, listed)
    with pytest.raises(ValueError, match=r"lacks 1 band of the 20 of the model, 1 selected one among them"):
        matched(waves, selected, np.arange(20) == 4)


@holds("feature_depth")
def test_features_are_listed_from_one_per_cent_on():
    x = np.arange(5.0)
    assert [f.depth for f in features(x, np.array([1, 1, 0.9895, 1, 1.0]))] == [pytest.approx(0.0105)]
    assert features(x, np.array([1, 1, 0.9905, 1, 1.0])) == []


@holds("library_overlap")
def test_library_spectra_cover_half_of_the_bands():
    waves = np.arange(10.0) + 1000
    for n, fine in ((5, True), (4, False)):
        library = Library(waves[:n], "nm", ("a",), np.ones((1, n)))
        if fine:
            assert identify(np.ones((1, 10)), waves, "nm", library, ["g"]).angles[0, 0] == pytest.approx(0, abs=1e-9)
        else:
            with pytest.raises(ValueError, match="no spectrum that covers 50% of the bands"):
                identify(np.ones((1, 10)), waves, "nm", library, ["g"])


# -- maps --------------------------------------------------------------------------------------------------------------


@holds("few_gaps")
def test_pixels_with_gaps_are_fitted_where_they_are_more_than_a_twentieth():
    for gappy, kept in ((50, False), (51, True)):
        assert _keeps_gaps("auto", SimpleNamespace(n_gappy=gappy), 1000, 10, 2**30) == kept


@holds("empty_band")
def test_bands_that_half_of_the_pixels_lack_are_left_out():
    for lacking, bands in ((50, 6), (51, 5)):
        array = np.random.default_rng(0).normal(10, 1, size=(10, 10, 6))
        array.reshape(100, 6)[:lacking, 2] = np.nan
        assert len(clean(Cube(array)).bands) == bands


@holds("other_unit")
def test_scenes_of_another_unit_differ_by_a_factor_of_twenty():
    class Pixels:
        def __init__(self, value):
            self.value = value

        def __len__(self):
            return 5

        def reflectance(self, rows):
            return np.full((len(rows), 3), self.value)

    scene, cube = SimpleNamespace(mean_spectra=np.ones((2, 3))), SimpleNamespace(path=None)
    for value in (1 / 19.9, 19.9):
        _check_unit(scene, Pixels(value), cube)
    for value in (1 / 20.1, 20.1):
        with pytest.raises(ValueError, match="the units differ"):
            _check_unit(scene, Pixels(value), cube)


@holds("maps_differ")
def test_maps_that_agree_by_less_than_four_fifths_are_both_shown():
    labels, rule = np.arange(1000) % 2, SimpleNamespace(gains={True: 1.0, False: 0.5})
    for moved, shown in ((50, False), (55, True)):  # adjusted Rand index 0.81 and 0.79
        others = np.where(np.arange(1000) < moved, 1 - labels, labels)
        found = normalising.chosen(rule, True, labels, np.ones((1000, 1), bool), others)
        assert (found.other is not None) == shown


@holds("free_exchange")
def test_bands_that_lose_three_nats_can_be_exchanged():
    assert separating._free(np.array([7.1, 6.9, 12.0]), 10.0).tolist() == [True, False, True]
