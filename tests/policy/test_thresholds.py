"""One test for each threshold of the policy: it holds on both sides of the threshold, so it fails when that moves."""

from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fisherem import FisherEM, SparseFisherEM
from fisherem.core.data.joint_regression import JointRegression
from fisherem.core.data.problem import prepare
from fisherem.datasets import mars_like
from fisherem.estimators.outlying import outside
from fisherem.images import Cube, clean, normalising, segment, separating, spatial_strength
from fisherem.images.clean import _keeps_gaps
from fisherem.images.continuum import features
from fisherem.images.faults import _outlying, find_faults, flat
from fisherem.images.identify import identify
from fisherem.images.library import Library
from fisherem.images.matching import match_bands
from fisherem.images.normalising import both_ways
from fisherem.images.scene_model import _check_unit
from fisherem.model.dlm import MODELS
from fisherem.policy import missing, noise, variables
from fisherem.policy.columns import spiked
from fisherem.policy.covariates import confounded, decides_anew, distance_moved, is_settled
from fisherem.policy.criterion import Partition
from fisherem.policy.decisions import Chosen, Decision
from fisherem.policy.default_fit import few_rows, sample_problem
from fisherem.policy.forward_backward import Selector
from fisherem.policy.groups import Groups, _best, margin
from fisherem.policy.judge import Gain, Judge
from fisherem.policy.latent_model import model_candidates, roomy_model
from fisherem.policy.missing import most_factors, prepared_rows
from fisherem.policy.model import _better
from fisherem.policy.noise import numbers_of_factors
from fisherem.policy.scaling import large_columns_text, scaling, share_a_unit
from fisherem.policy.scores import Scores
from fisherem.policy.starts import same_partition
from fisherem.policy.thresholds import THRESHOLDS, Thresholds
from fisherem.search.grid_runner import still_open
from fisherem.search.group_statistics import alike

HELD = {}


def holds(*names):
    """Marks the test of thresholds."""

    def mark(test):
        HELD.update(dict.fromkeys(names, test))
        return test

    return mark


def of_sizes(sizes, n=60):
    X = np.random.default_rng(0).normal(size=(n, len(sizes)))
    return prepare((X - X.mean(axis=0)) / X.std(axis=0) * sizes, ridge="auto")


def gain(per_row, rows=200.0, smallest=50.0):
    return Gain(per_row * rows, rows, np.zeros(1, int), smallest)


@holds("unit_spread")
def test_columns_share_a_unit_up_to_the_largest_of_as_many():
    assert scaling(of_sizes([1, 1, 2.05, 1]), "auto")[0] == "none"
    assert scaling(of_sizes([1, 1, 2.2, 1]), "auto")[0] == "standardise"
    assert (
        scaling(of_sizes([1, 1, 1, 0.01]), "auto")[0] == "none"
    )  # one that hardly varies takes nothing from the others
    assert scaling(of_sizes([1, 1, 2.05, 1]), "none") == ("none", Decision("scaling", "none", "", "as given"))


@holds("unit_quartiles")
def test_columns_share_a_unit_up_to_quartiles_four_times_apart():
    low, high = np.ones(30), np.full(30, 3.9)
    middle = np.full(1, 2.0)
    assert share_a_unit(np.concatenate([low, middle, high]))
    assert not share_a_unit(np.concatenate([low, middle, high * 4.1 / 3.9]))


@holds("dominates")
def test_columns_ten_times_the_median_are_named():
    assert large_columns_text(of_sizes([1, 1, 9.9, 1]), None) == ""
    assert "column 'x3'" in large_columns_text(of_sizes([1, 1, 10.1, 1]), None)


@holds("few_valued")
def test_columns_of_few_values_keep_them():
    rng = np.random.default_rng(0)
    counts = rng.poisson(60, size=4000).astype(float)  # spacing 1, variance 60: 1/720
    many = rng.poisson(120, size=4000).astype(float)  # 1/1440
    assert Scores.of(np.column_stack([counts, many])).kept.tolist() == [True, False]


@holds("spike")
def test_columns_in_which_a_quarter_of_the_rows_have_one_value_do_not_judge():
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[:48, 0] = X[:52, 1] = 0.0
    assert spiked(X).tolist() == [False, True, False]


def few_valued(values, columns, normal, n=600):
    """A judge of columns of as many equally frequent values as given, and of normal ones."""
    rng = np.random.default_rng(0)
    counts = [rng.permutation(np.arange(n) % values).astype(float) for _ in range(columns)]
    return Judge(prepare(np.column_stack([*counts, *rng.normal(size=(normal, n))]), ridge="auto"))


@holds("category")
def test_columns_of_up_to_seven_values_are_categories():
    assert not few_valued(7, 3, 2).sees_enough  # 1 / (7^2 - 1) = 0.0208
    assert few_valued(8, 3, 2).sees_enough  # 0.0159
    assert not few_valued(2, 3, 2).sees_enough
    assert few_valued(2, 2, 2).sees_enough


@holds("seen")
def test_the_judge_needs_half_of_the_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:80, :2] = 0.0  # a frequent value, but many others
    assert Judge(prepare(X, ridge="auto")).sees_enough
    assert not Judge(prepare(X[:, :3], ridge="auto")).sees_enough
    constant = np.column_stack([X, np.ones((200, 3))])  # columns without a difference do not count
    assert Judge(prepare(constant, ridge="auto")).sees_enough


def test_what_kmeans_finds_stays_where_columns_cannot_be_judged():
    rng = np.random.default_rng(3)
    y = np.arange(300) % 2
    answers = (rng.uniform(size=(300, 12)) < np.where(y[:, None], 0.8, 0.3)).astype(float)
    outlying = np.exp(2 * rng.normal(size=(300, 2)))
    X = np.column_stack([answers, outlying])
    model = FisherEM(2, random_state=0).fit(X)
    start = model.decisions_.set_index("decision").loc["start"]
    assert start["choice"] == "k-means on the columns, not moved"
    assert start["reason"].startswith("most columns are categories or have a frequent value")
    assert "agreement of halves" in start["alternatives"]
    assert adjusted_rand_score(y, model.labels_) > 0.6
    ink = np.maximum(rng.normal(size=(300, 12)) + np.where(y[:, None], 0.5, -0.8), 0.0)  # half of the values are 0
    reason = FisherEM(2, random_state=0).fit(ink).decisions_.set_index("decision").loc["start", "reason"]
    assert reason.startswith("most columns are categories or have a frequent value")


def moves(other, own, K=3, share=THRESHOLDS.move, min_size="auto"):
    """Whether the groups of a gain are left for those of another."""
    first, second = (Groups(name, np.zeros(1), one) for name, one in (("own", own), ("other", other)))
    return _best(first, [second], K, min_size, share) is second


@holds("move")
def test_another_start_must_gain_clearly_more():
    least = 0.1 * np.log(3)
    assert not moves(gain(0.1 + 0.95 * least), gain(0.1))
    assert moves(gain(0.1 + 1.05 * least), gain(0.1))
    assert not moves(gain(0.95 * least), gain(-0.5))  # below 0 there is no opinion
    assert moves(gain(1.05 * least), gain(-0.5))
    assert not moves(gain(10.9), gain(10.0), 3)  # a share of a large gain
    assert moves(gain(11.1), gain(10.0), 3)


@holds("tie")
def test_differences_that_say_nothing():
    assert margin(gain(0.1), 3) == pytest.approx(0.05 * np.log(3) * 200)
    assert margin(gain(10.0), 3) == pytest.approx(0.05 * 10 * 200)


@holds("columns_per_row")
def test_with_four_columns_per_row_all_variables_are_judged_together():
    rng = np.random.default_rng(0)
    labels = np.arange(30) % 2
    X = rng.normal(size=(30, 121))
    X[:, :15] += 1.5 * labels[:, None]
    few = Judge(prepare(X[:, :119], ridge="auto")).gain(labels)
    all_that_differ = Judge(prepare(X, ridge="auto")).gain(labels)
    assert few.mixture is not None
    assert all_that_differ.mixture is None
    # by hand: n/2 log(t / w) of each variable, less its price
    t, w = X.var(axis=0), (X[labels == 0].var(axis=0) + X[labels == 1].var(axis=0)) / 2
    beyond = 15 * np.log(t / w) - np.log(30) / 2 - np.log(121)
    assert all_that_differ.value == pytest.approx(beyond[beyond > 0].sum(), rel=1e-6)


@holds("small_share")
def test_groups_of_less_than_a_twentieth_are_outliers():
    assert gain(1.0, 1000.0, 49.0).has_outliers("auto")
    assert not gain(1.0, 1000.0, 51.0).has_outliers("auto")
    assert not moves(gain(1.0, 1000.0, 49.0), gain(0.0, 1000.0, 300.0))
    assert moves(gain(1.0, 1000.0, 49.0), gain(0.0, 1000.0, 300.0), min_size=0.04)


@holds("small_rows")
def test_groups_of_fewer_than_ten_rows_are_outliers():
    assert gain(1.0, 100.0, 9.0).has_outliers("auto")
    assert not gain(1.0, 100.0, 10.0).has_outliers("auto")
    # a group that k-means has set apart as well is no reason against another partition
    assert moves(gain(1.0, 100.0, 9.0), gain(0.0, 100.0, 9.0))


@holds("same_partition")
def test_partitions_that_agree_are_one():
    labels = np.arange(400) % 2
    nearly, other = labels.copy(), labels.copy()
    nearly[:4] = 1 - nearly[:4]  # adjusted Rand index 0.96
    other[:6] = 1 - other[:6]  # 0.94
    assert same_partition(nearly, [labels])
    assert not same_partition(other, [labels])


@holds("gives_back")
def test_a_selection_is_enough_if_its_groups_agree():
    labels = np.arange(1000) % 2

    class Found:
        support, n_variables = np.arange(3), 3

        def __init__(self, wrong):
            self.labels = np.where(np.arange(1000) < wrong, 1 - labels, labels)

    assert variables.Selection(labels).tried(Found(25))  # adjusted Rand index 0.902
    assert not variables.Selection(labels).tried(Found(27))  # 0.895


@holds("alike")
def test_columns_are_alike_up_to_one_chance_in_a_hundred():
    def draws(first):  # 1,000 draws of two columns; of their 2,000 values, 99 are above the 5% point
        z = np.tile(np.linspace(0, 1, 1000), (2, 1)).T
        z[:first, 0] = z[: 99 - first, 1] = 2
        return z

    # the statistic is 2 (first - 49.5)^2 / (1000 * 0.0495 * 0.9505), chi-squared with p-values of 0.018 and 0.00996
    assert alike(draws(61))
    assert not alike(draws(62))


@holds("undecided")
def test_numbers_of_groups_within_ten_of_the_best_stay_open():
    assert still_open({(2, "AB"): -9.9, (3, "AB"): 0.0, (4, "DB"): -10.1}) == [(2, "AB"), (3, "AB")]


@holds("outside")
def test_rows_as_far_as_one_in_a_thousand_are_outside():
    assert outside([0.00101, 0.00099]).tolist() == [False, True]


# -- scenes: the statistics themselves, on both sides ------------------------------------------------------------------


def refused(monkeypatch, tmp_path, *, interleave=1.0, swapped=1.0, n_bands=20, side=10):
    """Whether a file is refused if another interleave or byte order is as much smoother."""
    from fisherem.images import layout

    path, sizes = tmp_path / "x.img", {"lines": side, "samples": 10, "bands": n_bands}
    path.write_bytes(bytes(2 * side * 10 * n_bands))

    def sampled(stored, sizes, name, dtype, cells):
        return interleave if name != "bsq" else swapped if not dtype.isnative else 1.0

    monkeypatch.setattr(layout, "_sampled", sampled)
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
    assert segment(scene.cube, 2).model.ridge == 0.1
    assert segment(scene.cube, 2, sparsity=0.3).model.ridge == "auto"


@holds("groups_at_all")
def test_groups_either_way_explain_a_little_more_than_chance():
    assert not both_ways(1.039, 1.039)
    assert both_ways(1.041, 1.041)


@holds("groups_either_way")
def test_groups_either_way_are_a_third_as_clear():
    assert not both_ways(1.099, 1.3)
    assert both_ways(1.101, 1.3)
    assert both_ways(1.3, 1.101)


@holds("neighbours_gain")
def test_neighbours_must_help_by_three_standard_errors(monkeypatch):
    cleaned = clean(Cube(np.random.default_rng(0).normal(size=(20, 20, 4)) + 9), normalise=False)

    def chosen(better):
        """The strength where the last one is right in so many pixels more of 400."""
        agree = np.zeros((len(spatial_strength.STRENGTHS), 400))
        agree[-1, :better] = 1
        monkeypatch.setattr(spatial_strength, "agreements", lambda *_: agree)
        return spatial_strength.chosen_strength(cleaned, np.zeros(400, int), 2, 4)

    assert chosen(8) == 0  # the mean is 2.86 standard errors above 0
    assert chosen(10) == spatial_strength.STRENGTHS[-1]  # 3.2


@holds("covariate_levels")
def test_whole_numbers_of_few_values_are_levels():
    def width(values):
        return len(covariate_effects_of(np.tile(np.arange(values), 10)))

    few = THRESHOLDS.covariate_levels
    assert width(few) == few - 1
    assert width(few + 1) == 1


def covariate_effects_of(covariate):
    rows = np.random.default_rng(0).normal(size=(len(covariate), 2))
    return FisherEM(1).fit(rows, covariates=covariate).covariate_effects_


@holds("covariate_settled")
def test_effects_are_settled_below_a_share_of_their_standard_errors():
    total = np.diag([50.0, 200.0])  # Z'Z of 100 rows
    found = JointRegression(np.zeros((2, 3)), total, total, np.zeros((2, 3)))
    error = np.array([[1.0, 2.0, 0.5], [0, 0, 0]]) / np.sqrt(50)  # standard errors of the first covariate
    variances = np.array([1.0, 4.0, 0.25])
    assert distance_moved(0.3 * error, found, variances, 100.0) == pytest.approx(0.3)
    assert is_settled(0.049)
    assert not is_settled(0.051)


@holds("covariate_anew")
def test_decisions_are_made_anew_where_effects_move_far():
    assert decides_anew(0.51)
    assert not decides_anew(0.49)


@holds("covariate_within")
def test_covariates_and_groups_are_told_apart_up_to_a_share():
    def judged(share):
        total = np.array([[2.0, 1.0], [1.0, 3.0]])
        half = np.linalg.cholesky(total)
        return confounded(
            JointRegression(np.zeros((2, 1)), half @ np.diag([share, 1.0]) @ half.T, total, np.zeros((2, 1)))
        )

    assert judged(THRESHOLDS.covariate_within * 0.99)
    assert not judged(THRESHOLDS.covariate_within * 1.01)


@holds("layout_rougher")
def test_another_byte_order_must_be_a_fifth_smoother(monkeypatch, tmp_path):
    assert refused(monkeypatch, tmp_path, swapped=0.79)
    assert not refused(monkeypatch, tmp_path, swapped=0.81)


@holds("interleave_rougher")
def test_another_interleave_must_be_much_smoother(monkeypatch, tmp_path):
    assert refused(monkeypatch, tmp_path, interleave=0.59)
    assert not refused(monkeypatch, tmp_path, interleave=0.61)


@holds("interleave_bands")
def test_interleaves_of_few_bands_are_not_judged(monkeypatch, tmp_path):
    assert refused(monkeypatch, tmp_path, interleave=0.1, n_bands=16)
    assert not refused(monkeypatch, tmp_path, interleave=0.1, n_bands=15)


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
    """A model of ten bands 1 apart, and a cube of these wavelengths."""
    own = np.arange(10.0) + 1000
    cube = Cube(np.ones((2, 2, len(wavelengths))), np.asarray(wavelengths, float), "nm", bad_bands=bad)
    selected = np.zeros(10, bool) if selected is None else selected
    return match_bands(own, "nm", np.arange(10), 10, cube, selected=selected, **options)


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
    waves, selected = np.arange(10.0) + 1000, np.ones(10, bool)
    for bad, fine in (([1, 2], True), ([1, 2, 3], False)):
        listed = np.isin(np.arange(10), bad)
        free = ~listed & selected
        if fine:
            assert matched(waves, free, listed).absent.nonzero()[0].tolist() == bad
        else:
            with pytest.raises(ValueError, match=r"lacks 3 bands of the 10 of the model, 0 selected ones"):
                matched(waves, free, listed)
    with pytest.raises(ValueError, match=r"lacks 1 band of the 10 of the model, 1 selected one among them"):
        matched(waves, selected, np.arange(10) == 4)


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


# -- the selection ---------------------------------------------------------------------------------------------------


def two_alike(share, n=400):
    """Three columns: the first separates two groups, the second is the first but for this share of its variance."""
    labels = np.arange(n) % 2
    rng = np.random.default_rng(0)
    first = 3.0 * labels + rng.normal(size=n)
    first -= np.where(labels, first[labels == 1].mean() - 3, first[labels == 0].mean())
    own = rng.normal(size=n)
    for k in (0, 1):  # orthogonal to the first column within the groups, so that the share is exact
        here, inside = labels == k, first[labels == k] - first[labels == k].mean()
        own[here] -= own[here].mean()
        own[here] -= inside * (inside @ own[here]) / (inside @ inside)
    inside = first - np.where(labels, 3.0, 0.0)
    own *= np.sqrt(share / (1 - share) * (inside @ inside) / (own @ own))
    X = np.column_stack([first, first + own, rng.normal(size=n)])
    return Partition.of_labels(prepare(X, ridge=0), labels, 2)


@holds("own_variance")
def test_a_variable_that_others_explain_but_for_a_thousandth_adds_nothing():
    for share, adds in ((0.9e-3, False), (1.1e-3, True)):
        partition = two_alike(share)
        selector = Selector(partition, partition.directions(np.zeros(0, int), 1))
        selector.add(0)
        assert np.isfinite(selector.conditional_gains()[1]) == adds


@holds("rows_per_selected")
def test_one_variable_per_four_rows_at_most():
    X = np.random.default_rng(0).normal(size=(42, 30))
    partition = Partition.of_labels(prepare(X, ridge="auto"), np.arange(42) % 2, 2)
    assert Selector(partition, partition.directions(np.zeros(0, int), 1)).most == 10  # (42 - 2) / 4


# -- models and noise --------------------------------------------------------------------------------------------------


@holds("own_variance_rows")
def test_groups_of_twenty_rows_have_variances_of_their_own():
    assert (model_candidates(19.9, 1), roomy_model(19.9)) == (["AB", "AkB"], "AB")
    assert (model_candidates(20, 1), roomy_model(20)) == (["AkB"], "AkB")


@holds("rows_per_axis")
def test_covariances_of_groups_need_five_rows_per_axis():
    assert "DkB" not in model_candidates(9.9, 2)
    assert "DkB" in model_candidates(10, 2)


def better(**flexible):
    """The model that is kept: a compact one with criterion 1 and BIC 0, or a flexible one."""
    fits = [Chosen(SimpleNamespace(whole=True), [], MODELS[name]) for name in ("AB", "DkBk")]
    one = (fits[0], {"fisher": 1.0, "bic": 0.0, "dispersion": 1.0})
    other = (fits[1], {"fisher": 1.0, "bic": 1.0, "dispersion": 1.0} | flexible)
    return _better(one, other)[0][0].model.name


@holds("dispersion")
def test_bic_is_believed_up_to_a_dispersion_of_five_quarters():
    assert better(dispersion=1.24) == "DkBk"
    assert better(dispersion=1.26) == "AB"


@holds("flexible_gain")
def test_flexible_models_must_separate_by_one_per_cent_more():
    assert better(dispersion=2.0, fisher=1.009) == "AB"
    assert better(dispersion=2.0, fisher=1.011) == "DkBk"


@holds("rows_per_variable")
def test_models_are_compared_from_two_rows_per_variable_on():
    X = np.random.default_rng(0).normal(size=(16, 8))
    X[::2, 0] += 6
    for n, compared in ((15, False), (16, True)):
        model = FisherEM(2, means="full", scale="none", noise_factors=0, random_state=0, tol=1e-2).fit(X[:n])
        reason = model.decisions_.set_index("decision").loc["model", "reason"]
        assert (reason != "fewer than 2 rows per variable") == compared


@holds("distant")
def test_partitions_that_agree_by_seven_tenths_are_near():
    labels = np.arange(400) % 2
    X = np.random.default_rng(0).normal(size=(400, 3))
    X[:, 0] += 5 * labels

    class Known(noise._Judge):
        def labels(self, fit):
            return fit

    judge = Known(prepare(X, ridge="auto"), 2, 1e-6, labels)
    for wrong, worse in ((32, False), (34, True)):  # adjusted Rand index 0.705 and 0.688
        assert judge.worse(np.where(np.arange(400) < wrong, 1 - labels, labels)) == worse


def with_a_gap(n, p):
    X = np.random.default_rng(0).normal(size=(n, p))
    X[0, 0] = np.nan
    return prepared_rows(X)


@holds("full_noise")
def test_with_missing_cells_32_variables_may_have_any_covariance():
    assert numbers_of_factors(with_a_gap(110, 32))[-1] == 31
    assert numbers_of_factors(with_a_gap(110, 33))[-1] < 32
    assert numbers_of_factors(of_sizes([1.0] * 33, 110))[-1] == 32


@holds("more_factors")
def test_observed_cells_may_ask_for_four_times_as_many_factors():
    problem = with_a_gap(110, 32)
    assert (most_factors(problem, 2), most_factors(problem, 8)) == (8, 31)


@holds("neighbours_rows")
def test_neighbours_are_asked_up_to_a_thousand_rows():
    spec = SimpleNamespace(n_clusters=2, init="kmeans")
    for n, asked in ((1000, True), (1001, False)):
        problem = SimpleNamespace(prior=None, rows=SimpleNamespace(n=n))
        assert missing._neighbours_tell(problem, spec) == asked


@holds("same_groups")
def test_fits_that_differ_in_two_of_ten_thousand_rows_are_one():
    labels = np.arange(10_000) % 2
    for moved, one in ((2, True), (3, False)):  # adjusted Rand index 0.9992 and 0.9988
        assert missing._are_one(labels, np.where(np.arange(10_000) < moved, 1 - labels, labels)) == one


@holds("sample_rows", "sample_rows_per_variable")
def test_large_data_are_decided_on_eight_rows_per_variable():
    for p, size in ((2, 2000), (260, 2080)):
        problem = of_sizes([1.0] * p, 2100)
        assert sample_problem(problem, np.random.RandomState(0)).rows.n == size


@holds("few_rows", "few_rows_per_variable")
def test_starts_are_compared_on_four_rows_per_variable():
    for p, size in ((2, 1000), (260, 1040)):
        assert len(few_rows(of_sizes([1.0] * p, 1100), np.random.RandomState(0))[0]) == size


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


@holds("beyond_chance")
def test_another_map_is_made_where_kmeans_explains_a_tenth_more_than_chance():
    class Rule:
        def sample(self, source):
            raise LookupError("asked for a sample")

    rule = Rule()
    rule.ratios = (1.09, 2.0)
    assert normalising.other_labels(FisherEM(), rule, None, True) is None
    rule.ratios = (1.11, 2.0)
    with pytest.raises(LookupError, match="asked"):
        normalising.other_labels(FisherEM(), rule, None, True)


@holds("maps_differ")
def test_maps_that_agree_by_less_than_four_fifths_are_both_shown():
    labels, rule = np.arange(1000) % 2, SimpleNamespace(ratios=(1.2, 1.3), information=None)
    for moved, shown in ((50, False), (55, True)):  # adjusted Rand index 0.81 and 0.79
        others = np.where(np.arange(1000) < moved, 1 - labels, labels)
        found = normalising.chosen(rule, True, labels, np.ones((1000, 1), bool), others)
        assert (found.other is not None) == shown


@holds("free_exchange")
def test_bands_that_lose_three_nats_can_be_exchanged():
    assert separating._free(np.array([7.1, 6.9, 12.0]), 10.0).tolist() == [True, False, True]


def test_every_threshold_is_held():
    assert set(HELD) | {"number_of_groups"} == {field.name for field in fields(Thresholds)}
    assert Thresholds() == THRESHOLDS


@pytest.mark.parametrize("kind", [FisherEM, SparseFisherEM])
def test_decisions_are_recorded_in_their_order(kind, iris):
    table = kind(3, random_state=0).fit(iris[0]).decisions_
    assert list(table.columns) == ["decision", "choice", "alternatives", "reason"]
    wanted = ["scaling", "start", "variables"]
    assert [name for name in table["decision"] if name in wanted] == wanted[: 3 if kind is SparseFisherEM else 2]
    assert table["reason"].str.len().min() > 5
