"""Forward-backward selection: gains against least squares, subsets against brute force, wide against dense."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh

from fisherem.core.data.problem import prepare
from fisherem.core.data.scatter import DenseScatter
from fisherem.policy.criterion import Partition
from fisherem.policy.forward_backward import Selector, relevant, select
from tests.naive import full_rank_criterion, group_matrices, prices, variance_given, within_centred

NOTHING = np.zeros(0, int)


def table(seed, *, n=None, K=None, most=8):
    """A random table of up to `most` variables, correlated or not, with few or many that differ: (Y, labels)."""
    rng = np.random.default_rng(seed)
    p, n = int(rng.integers(4, most + 1)), n or int(rng.choice([40, 100, 300]))
    K = K or int(rng.integers(2, 5))
    labels = np.arange(n) % K
    mixing = np.eye(p) + rng.choice([0, 0.5, 1]) * rng.normal(size=(p, p)) / np.sqrt(p)
    means, differ = np.zeros((K, p)), int(rng.integers(1, p + 1))
    means[:, :differ] = rng.choice([0.3, 1, 2]) * rng.normal(size=(K, differ))
    return (rng.normal(size=(n, p)) + means[labels]) @ mixing, labels


def partition(Y, labels, weights=None):
    return Partition.of_labels(prepare(Y, weights, ridge=1e-3), labels, labels.max() + 1)


def full_matrices(Y, labels):
    """A partition whose covariance is p x p, however few the rows are."""
    n, sizes, total, _ = group_matrices(Y, labels)
    means = np.array([Y[labels == k].mean(axis=0) for k in range(len(sizes))])
    H = ((means - Y.mean(axis=0)) * np.sqrt(sizes / n)[:, None]).T
    return Partition(DenseScatter(total, 0.1), H, sizes, total.diagonal() == 0, np.zeros(len(total)))


def chosen(Y, labels, weights=None):
    """The subset with all differences between the groups counted."""
    return select(partition(Y, labels, weights), NOTHING, labels.max())


def differs_alone(Y, labels):
    """Variables that pay BIC's price by themselves: the others are not candidates."""
    n, sizes, total, within = group_matrices(Y, labels)
    return n / 2 * np.log(np.diag(total) / np.diag(within)) >= (len(sizes) - 1) / 2 * np.log(n)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("support", [[], [2], [0, 3, 4]])
def test_conditional_gains_are_those_of_regressions(support, wide):
    """n/2 log(t / w) from least squares on all rows, and on the rows less their group's mean."""
    Y, labels = table(3, n=60, K=3)
    if wide:
        Y = np.column_stack([Y, np.random.default_rng(0).normal(size=(60, 80))])
    selector = Selector(partition(Y, labels), np.eye(3))
    selector.reset(support)
    gains = selector.conditional_gains()
    Z, inside = Y - Y.mean(axis=0), within_centred(Y, labels)
    for j in range(Y.shape[1]):
        if j in support:
            assert np.isneginf(gains[j])
            continue
        expected = len(Y) / 2 * np.log(variance_given(Z, j, support) / variance_given(inside, j, support))
        assert gains[j] == pytest.approx(expected, abs=1e-6)


def test_gains_and_losses_are_differences_of_the_criterion():
    Y, labels = table(12, n=100, K=3)
    support = [0, 1, 3]
    selector = Selector(partition(Y, labels), np.eye(3))
    selector.reset(support)
    here = full_rank_criterion(Y, labels, support)
    price = prices(100, Y.shape[1], 2, 4) - prices(100, Y.shape[1], 2, 3)
    for j in set(range(Y.shape[1])) - set(support):
        gained = full_rank_criterion(Y, labels, [*support, j]) - here
        assert selector.conditional_gains()[j] - price == pytest.approx(gained, abs=1e-6)
    price = prices(100, Y.shape[1], 2, 3) - prices(100, Y.shape[1], 2, 2)
    for loss, j in zip(selector.losses(), support, strict=True):
        lost = here - full_rank_criterion(Y, labels, [i for i in support if i != j])
        assert loss - price == pytest.approx(lost, abs=1e-5)


def test_gains_of_means_of_lower_rank():
    """Rows less what one direction of the groups explains, the direction being the first discriminant's."""
    Y, labels = table(21, n=90, K=4)
    support = [0, 1, 2]
    n, sizes, total, within = group_matrices(Y, labels)
    S = np.ix_(support, support)
    vector = eigh(total[S] - within[S], within[S])[1][:, -1]
    member = np.eye(4)[labels] / np.sqrt(sizes)  # orthonormal columns
    Z = Y - Y.mean(axis=0)
    direction = member @ (member.T @ Z[:, support] @ vector)
    direction /= np.linalg.norm(direction)
    rest = Z - np.outer(direction, direction @ Z)
    found = partition(Y, labels)
    selector = Selector(found, found.directions(np.array(support), 1))
    selector.reset(support[:2])
    for j in range(2, Y.shape[1]):
        expected = n / 2 * np.log(variance_given(Z, j, support[:2]) / variance_given(rest, j, support[:2]))
        assert selector.conditional_gains()[j] == pytest.approx(expected, abs=1e-5)


def test_no_single_change_is_better():
    """A subset that is found cannot be improved by one variable more or less, by determinants."""
    for seed in range(60):
        Y, labels = table(seed)
        support, here = chosen(Y, labels), full_rank_criterion(Y, labels, chosen(Y, labels))
        differs = differs_alone(Y, labels)
        for j in range(Y.shape[1]):
            if j in support and len(support) > 1:
                other = [i for i in support if i != j]
            elif j not in support and differs[j]:
                other = sorted([*support, j])
            else:
                continue
            assert full_rank_criterion(Y, labels, other) <= here + 1e-3


def test_the_subset_is_nearly_always_the_best_of_all():
    """Against all subsets of variables that differ by themselves.

    Greedy steps from nothing may miss a better subset where many variables are strongly correlated. Over 900 such
    tables the best was found in 96 of 100; in 99 of 100 the gap was below 12% of what the best subset explains net of
    its price, and at most 37%.
    """
    gaps = []
    for seed in range(200):
        Y, labels = table(1000 + seed, most=9)
        allowed = np.flatnonzero(differs_alone(Y, labels))
        if not len(allowed):
            allowed = np.arange(Y.shape[1])
        n, sizes, total, within = group_matrices(Y, labels)
        paid = [prices(n, Y.shape[1], len(sizes) - 1, m) for m in range(Y.shape[1] + 1)]

        def net(support):
            S = np.ix_(support, support)
            return n / 2 * np.log(np.linalg.det(total[S]) / np.linalg.det(within[S])) - paid[len(support)]  # noqa: B023

        best = max(net(subset) for m in range(1, len(allowed) + 1) for subset in combinations(allowed, m))
        gaps.append((best - net(chosen(Y, labels))) / max(best, 1.0))
    gaps = np.array(gaps)
    assert (gaps > -1e-3).all()
    assert (gaps < 1e-3).mean() >= 0.94
    assert np.quantile(gaps, 0.98) < 0.25


def test_wide_is_dense_on_the_same_numbers():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        labels = np.arange(40) % 3
        Y = rng.normal(size=(40, 120)) + 3
        Y[:, :12] += 1.5 * rng.normal(size=(3, 12))[labels]
        wide, dense = partition(Y, labels), full_matrices(Y, labels)
        assert wide.scatter.rank < 40
        for rank in (1, 2):
            support = select(wide, NOTHING, rank)
            np.testing.assert_array_equal(support, select(dense, NOTHING, rank))
            np.testing.assert_array_equal(select(wide, support, 1), select(dense, support, 1))
            np.testing.assert_array_equal(relevant(wide, NOTHING, rank), relevant(dense, NOTHING, rank))
        one, other = Selector(wide, np.eye(3)), Selector(dense, np.eye(3))
        for selector in (one, other):
            selector.reset([3, 70])
        np.testing.assert_allclose(one.conditional_gains(), other.conditional_gains(), atol=1e-6)


@pytest.mark.parametrize("p", [6, 80])
def test_constant_and_duplicated_columns(p):
    """Of equal columns one can be selected, of combinations not all; constant ones never."""
    rng = np.random.default_rng(2)
    labels = np.arange(60) % 3
    Y = rng.normal(size=(60, p))
    Y[:, :3] += 2 * rng.normal(size=(3, 3))[labels]
    doubled = np.column_stack([Y, Y[:, 0], -2 * Y[:, 1] + 4, Y[:, 0] + Y[:, 1], np.full(60, 3.0), np.zeros(60)])
    support = chosen(doubled, labels)
    assert not {p + 3, p + 4} & set(support)
    for same in ({0, p}, {1, p + 1}, {0, 1, p + 2}, {p, p + 1, p + 2}):
        assert not same <= set(support)
    assert len(support) == len(chosen(np.column_stack([Y, rng.normal(size=(60, 3))]), labels))
    wider = relevant(partition(doubled, labels), NOTHING, 2)
    assert {0, 1, 2, p, p + 1} <= set(wider)
    assert not {p + 3, p + 4} & set(wider)


def test_a_copy_of_a_selected_variable_gains_nothing():
    """Also where the residue of a near copy, a thousandth of its spread, would name the groups."""
    Y, labels = table(7, n=100, K=3)
    p = Y.shape[1]
    copies = np.column_stack([Y, 3 * Y[:, 0] - 1, Y[:, 0] + 1e-3 * (labels + 0.1 * Y[:, 1])])
    selector = Selector(partition(copies, labels), np.eye(3))
    selector.reset([0])
    assert np.isneginf(selector.gains()[p:]).all()
    assert np.isfinite(selector.conditional_gains()[1:p]).all()


def test_a_column_that_is_the_label_has_a_finite_gain():
    """It has no variance within the groups: nothing that is computed from it may overflow."""
    Y, labels = table(5, n=100, K=2)
    selector = Selector(partition(np.column_stack([Y, labels.astype(float)]), labels), np.eye(2))
    selector.run()
    assert np.isfinite(selector.losses()).all()
    assert not np.isposinf(selector.alone).any()


def test_losses_where_nothing_is_left_within_the_groups():
    """The groups' means explain a column and its negative up to rounding, and a bit more: variances below 0."""
    total = np.array([[1.0, -1.0, 0.5], [-1.0, 1.0, -0.5], [0.5, -0.5, 1.0]])
    H = np.array([[1 + 2e-16, 0.0], [-1 - 2e-16, 0.0], [0.5, 0.0]])
    groups = Partition(DenseScatter(total, 0.1), H, np.array([3.0, 1.0]), np.zeros(3, bool), np.zeros(3))
    selector = Selector(groups, np.eye(2))
    for support in ([0, 1], [0, 2], [0, 1, 2]):
        selector.reset(support)
        assert np.isfinite(selector.losses()).all()
    selector.reset([0, 1])
    assert (selector.losses() < selector.alone[0]).all()  # each column has the other in its place


def test_weights_are_repetitions():
    for seed in range(5):
        Y, labels = table(seed, n=100, K=3)
        counts = np.random.default_rng(seed).integers(0, 4, size=100)
        repeated = chosen(np.repeat(Y, counts, axis=0), np.repeat(labels, counts))
        np.testing.assert_array_equal(chosen(Y, labels, counts.astype(float)), repeated)


@pytest.mark.parametrize("n", [100, 12])
def test_a_redundant_variable_is_not_selected(n):
    """It differs between the groups more than any other, and a selected one explains that."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 2
    Y = rng.normal(size=(n, 20))
    Y[:, 0] += 6 * labels
    Y[:, 1] = Y[:, 0] + 0.5 * rng.normal(size=n)
    np.testing.assert_array_equal(chosen(Y, labels), [0])
    np.testing.assert_array_equal(relevant(partition(Y, labels), NOTHING, 1)[:2], [0, 1])


def test_groups_that_do_not_differ_still_have_a_variable():
    rng = np.random.default_rng(1)
    Y, labels = rng.normal(size=(50, 10)), np.arange(50) % 3
    assert len(chosen(Y, labels)) == 1


@settings(max_examples=30, derandomize=True, deadline=None)
@given(st.integers(0, 10**6), st.floats(1e-5, 1e5))
def test_order_and_units_of_the_columns_do_not_matter(seed, factor):
    Y, labels = table(seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(Y.shape[1])
    scales = np.where(rng.random(Y.shape[1]) < 0.5, factor, 1.0)
    found = chosen((Y * scales + scales)[:, order], rng.permutation(labels.max() + 1)[labels])
    np.testing.assert_array_equal(np.sort(order[found]), chosen(Y, labels))


@pytest.mark.parametrize("p", [60, 300])  # more and fewer than rows
def test_variables_that_do_not_differ_can_be_left_out_of_the_sums(p):
    rng = np.random.default_rng(3)
    labels = np.arange(150) % 3
    Y = rng.normal(size=(150, p))
    Y[:, :4] += 1.2 * rng.normal(size=(3, 4))[labels]
    partition = Partition.of_labels(prepare(Y, ridge=1e-3), labels, 3)
    whole = Selector(partition, np.eye(3))
    assert whole.alike.mean() > 0.5
    for start in ([], [7, 2]):
        chosen = select(partition, np.array(start, int), 2)
        np.testing.assert_array_equal(chosen, Selector(partition, np.eye(3)).run(start))
        assert set(chosen) <= set(np.flatnonzero(~whole.alike))
