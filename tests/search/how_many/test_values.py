"""What is measured on a number of groups: halves, valleys, single columns, joint tails, tables of one group."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.preprocessing import PowerTransformer

from fisherem import FisherEM, datasets
from fisherem.core.engine.checkpoints import Store
from fisherem.policy.halves import split_rows
from fisherem.policy.number_of_groups.candidates import Data, fit_candidate
from fisherem.policy.number_of_groups.halves import Halves, Split, half_labels, prediction_strength
from fisherem.policy.number_of_groups.one_group import (
    DRAWS,
    Compared,
    column_gain,
    draws_needed,
    flatness,
    inner_gain,
    joint_tails,
    p_value,
)
from fisherem.policy.number_of_groups.valleys import valley
from fisherem.policy.powers import yeo_johnson
from fisherem.policy.thresholds import THRESHOLDS

NOWHERE = Store(None, "")


def rows(X):
    return Data.of(X, None)


def two(distance, n=400, p=2, seed=0):
    """Two groups at that distance in the first of p columns."""
    X, y = np.random.default_rng(seed).normal(size=(n, p)), np.arange(n) % 2
    X[:, 0] += distance * y
    return X, y


def noise(kind, seed, n=120, p=8):
    rng = np.random.default_rng(seed)
    plain = rng.normal(size=(n, p))
    return {"spherical": plain, "factor": 0.6 * plain + 0.8 * rng.normal(size=(n, 1)), "skewed": np.exp(plain)}[kind]


# -- halves ------------------------------------------------------------------------------------------------------------


def test_prediction_strength_counts_pairs():
    rng = np.random.default_rng(2)
    own, other = rng.integers(0, 3, size=40), rng.integers(0, 3, size=40)
    shares = []
    for k in range(3):
        inside = np.flatnonzero(own == k)
        shares.append(np.mean([other[i] == other[j] for i in inside for j in inside if i != j]))
    assert prediction_strength(own, other) == pytest.approx(min(shares))
    assert prediction_strength(own, own) == 1


def test_halves_are_disjoint_and_cover_the_rows():
    for first, second in split_rows(21, 4, 0):
        assert len(first) == 10
        np.testing.assert_array_equal(np.sort(np.concatenate([first, second])), np.arange(21))


def test_a_half_is_fitted_from_scratch():
    X, _ = two(8.0, n=80)
    half = np.arange(0, 80, 3)
    labels = half_labels(rows(X), NOWHERE, FisherEM(random_state=0), 2, half, 0)
    np.testing.assert_array_equal(labels, FisherEM(2, random_state=0).fit(X[half]).predict(X))
    too_few = half_labels(rows(X), NOWHERE, FisherEM(random_state=0), 2, half[:1], 0)
    assert len(too_few) == 0


def test_agreement_strength_and_consensus_of_splits():
    same, other = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0])
    crossed = np.array([0, 1, 0, 1])
    halves = (np.array([0, 1]), np.array([2, 3]))
    good, bad = Split(halves, (same, other)), Split(halves, (same, crossed))
    failed = Split(halves, (same, np.zeros(0, int)))
    assert (good.agreement, good.strength) == (1, 1)
    assert bad.strength == 0.5  # one direction holds together, the other does not
    both = Halves((good, bad, failed))
    assert both.agreement == pytest.approx((1 + bad.agreement) / 2)
    # three of four fits put the first two rows together, one of them the first and the third
    np.testing.assert_allclose(both.consensus(np.arange(4))[0], [1, 0.75, 0.25, 0])
    assert np.isnan(Halves((failed,)).agreement)
    np.testing.assert_array_equal(Halves((failed,)).consensus(np.arange(3)), np.eye(3))


# -- groups that are apart ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("distance", "one", "several"), [(3.0, 0.85, 0.76), (4.0, 0.47, 0.29), (8.0, 0.0, 0.0)])
def test_a_valley_is_the_density_between_the_groups(distance, one, several):
    X, y = two(distance, n=2000)
    assert valley(rows(X), y, np.array([0])) == pytest.approx(one, abs=0.07)
    Z = np.random.default_rng(1).normal(size=(2000, 6))
    Z += distance / np.sqrt(6) * y[:, None]
    assert valley(rows(Z), y, np.arange(6)) == pytest.approx(several, abs=0.07)


def test_groups_cut_from_one_cloud_have_no_valley():
    X = np.random.default_rng(1).normal(size=(500, 3))
    assert valley(rows(X), (X[:, 0] > 0).astype(int), np.arange(3)) > 0.8
    assert valley(rows(np.exp(X)), (X[:, 0] > 1).astype(int), np.arange(3)) > 0.6
    assert np.isnan(valley(rows(X), (X[:, 0] > 0).astype(int), np.zeros(0, int)))


def test_the_closest_two_groups_count():
    X, _ = two(8.0)
    three = np.where(X[:, 0] > 4, 2, (X[:, 1] > 0).astype(int))
    assert valley(rows(X), three, np.arange(2)) > 0.6


def test_few_rows_between_two_groups_say_little():
    X, y = two(8.0, n=16)
    assert 1 / 9 <= valley(rows(X), y, np.array([0])) < 0.5  # one row is added to each count


# -- one group ---------------------------------------------------------------------------------------------------------


def one_group_p_value(data, seed, n_clusters=2):
    compared, gains = Compared.of(data), {}
    while new := [number for number in draws_needed(gains) if number not in gains]:
        gains |= {number: compared.gain(number, n_clusters, seed) for number in new}
    return p_value(gains)


@pytest.mark.parametrize("kind", ["spherical", "factor", "skewed"])
def test_noise_is_one_group(kind):
    # a test of size 1/20 refuses one group of twenty by chance: of three it may refuse one
    assert sum(one_group_p_value(rows(noise(kind, seed)), seed) > 0.05 for seed in range(3)) >= 2


@pytest.mark.parametrize("n", [40, 200])
def test_two_groups_are_not_one(n):
    X = np.random.default_rng(1).normal(size=(n, 10))
    X[: n // 2, :3] += 3
    assert one_group_p_value(rows(X), 0) == 0.05


def test_three_groups_are_not_one_although_two_of_them_gain_nothing():
    X, _ = datasets.simulate(300, 1.7, random_state=520001)
    assert one_group_p_value(rows(X), 0) > 0.05
    assert one_group_p_value(rows(X), 0, n_clusters=3) == 0.05


def test_rows_of_weight_0_and_constant_columns_do_not_count():
    values = noise("spherical", 3)
    more = np.column_stack([np.vstack([values, 100 + values[:5]]), np.ones(125)])
    weights = np.append(np.ones(120), np.zeros(5))
    assert one_group_p_value(Data.of(more, weights), 0) == one_group_p_value(rows(values), 0)


def test_a_seed_gives_the_same_p_value_and_too_few_rows_give_none():
    assert one_group_p_value(rows(noise("skewed", 4)), 7) == one_group_p_value(rows(noise("skewed", 4)), 7)
    assert Compared.of(rows(np.random.default_rng(0).normal(size=(5, 3)))) is None


def test_tables_are_drawn_until_four_gain_as_much_as_the_rows():
    gains = {0: 1.0}
    assert list(draws_needed({})) == [0, 1, 2, 3, 4]
    for number, gain in enumerate((0.0, 2.0, 2.0, 0.0, 2.0), start=1):
        assert np.isnan(p_value(gains))
        gains[number] = gain
    assert draws_needed(gains) == range(7)
    assert draws_needed(gains | {7: 2.0}) == range(7)  # which of the tables end first does not matter
    assert p_value(gains | {6: 1.0, 7: 2.0}) == 5 / 7
    assert p_value({0: 1.0} | dict.fromkeys(range(1, DRAWS + 1), 0.0)) == 0.05


def test_a_single_column_shows_its_groups():
    assert column_gain(rows(two(8.0, n=200, p=30)[0])) > 30
    rng = np.random.default_rng(0)
    six = rng.normal(size=(300, 20))
    six[:, 4] += 8 * (np.arange(300) % 6)
    assert column_gain(rows(six)) > 30
    assert column_gain(rows(np.exp(rng.normal(size=(300, 20))))) < 0
    assert column_gain(rows(rng.integers(2, size=(100, 3)).astype(float))) == -np.inf  # nothing to ask


@pytest.mark.parametrize("n", [60, 150, 1000])
def test_uniform_columns_and_outlying_rows_are_no_groups(n):
    rng = np.random.default_rng(n)
    assert column_gain(rows(rng.uniform(size=(n, 20)))) < -5
    assert column_gain(rows(np.exp(rng.normal(size=(n, 20))))) < 0
    X = rng.normal(size=(n, 20))
    X[: THRESHOLDS.number_of_groups.candidate_rows - 1, 3] += 50
    assert column_gain(rows(X)) < 0
    X[:, 5] += 8 * rng.integers(2, size=n)
    assert column_gain(rows(X)) > 0


def test_joint_tails_see_groups_that_differ_in_spread_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    assert abs(joint_tails(rows(X))) < 4
    assert abs(joint_tails(rows(np.exp(X)))) < 4
    assert abs(joint_tails(rows(rng.standard_t(3, size=(300, 5))))) < 4
    assert joint_tails(rows(X * np.where(np.arange(300) % 2, 1, 4)[:, None])) > 6
    assert np.isnan(joint_tails(rows(X[:15])))


def test_two_groups_that_were_put_together_show_inside():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), np.arange(300) % 3
    X[:, :2] += 10 * np.array([[0, 0], [1, 0], [0.7, 0.7]])[y]
    assert inner_gain(rows(X), y) < 0
    assert inner_gain(rows(X), np.minimum(y, 1)) > 30
    assert inner_gain(rows(X[:15]), y[:15]) == -np.inf  # too few rows to look into


def test_overlapping_groups_make_a_column_flat():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 10))
    assert flatness(rows(X)) < 2.5
    assert flatness(rows(np.exp(X))) < 0
    X[:, 3] += 3 * (np.arange(300) % 5)
    assert flatness(rows(X)) > 2.5
    assert flatness(rows(rng.integers(2, size=(100, 3)).astype(float))) == -np.inf  # nothing to ask


# -- candidates --------------------------------------------------------------------------------------------------------


def test_a_candidate_is_the_estimators_own_fit():
    X, _ = two(8.0, n=100, p=4)
    found = fit_candidate(rows(X), NOWHERE, FisherEM(), 2, 0)
    own = FisherEM(2, random_state=0).fit(X)
    np.testing.assert_array_equal(found.labels, own.labels_)
    assert found.values["bic"] == own.bic_
    assert found.gain > 0 > -found.valley
    assert fit_candidate(rows(X), NOWHERE, FisherEM(), 1, 0).gain == 0
    failed = fit_candidate(rows(X[:3]), NOWHERE, FisherEM(), 5, 0)
    assert failed.reason
    assert failed.gain == -np.inf


def yes_and_no(p, groups, n=300):
    """Answers of two groups, or of one: yes with a chance of 0.3 or 0.7 where they differ."""
    rng, y = np.random.default_rng(0), np.arange(n) % groups
    return (rng.random((n, p)) < np.where(rng.random((groups, p)) < 0.5, 0.3, 0.7)[y]).astype(float), y


def test_many_columns_of_few_values_are_judged_on_their_components():
    for p, q in ((60, 20), (12, 12)):  # components of few such columns have frequent values themselves
        X, y = yes_and_no(p, groups=2)
        assert rows(X).seen.values.shape == (300, q)
        assert (rows(X).judge.gain(y).value > 30) == (p == 60)
    X, _ = yes_and_no(60, groups=1)
    first = rows(X).seen.values[:, 0]
    np.testing.assert_allclose(first.var(), np.linalg.eigvalsh(np.cov(X.T, bias=True))[-1], rtol=1e-3)
    assert rows(X).judge.gain((first > 0).astype(int)).value < 0
    Z = np.random.default_rng(0).normal(size=(100, 60))
    np.testing.assert_array_equal(rows(Z).seen.values, Z)
    weights = np.r_[np.ones(300), np.zeros(5)]
    more = Data.of(np.vstack([X, np.full((5, 60), 9.0)]), weights).seen.values[:300, 0]
    np.testing.assert_allclose(np.abs(more), np.abs(first), atol=1e-6)


def test_slices_of_one_group_gain_nothing():
    X = np.random.default_rng(1).normal(size=(500, 2))
    for K in (2, 3, 4):
        labels = np.digitize(X[:, 0], norm.ppf(np.arange(1, K) / K))
        assert rows(X).judge.gain(labels).value < 0


def test_yeo_johnson_is_scikit_learns():
    x = np.random.default_rng(3).normal(size=50) * 3
    for exponent in (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0):
        theirs = PowerTransformer(standardize=False)
        theirs.lambdas_, theirs.n_features_in_ = np.array([exponent]), 1
        np.testing.assert_allclose(yeo_johnson(x, exponent), theirs.transform(x[:, None])[:, 0], rtol=1e-9)
