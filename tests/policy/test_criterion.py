"""C(K, S) against rows, determinants and generalised eigenvalues; what must not change it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import comb

from fisherem.core.data.problem import prepare
from fisherem.policy.criterion import Partition, judge, price, ratios
from tests.naive import criterion, full_rank_criterion, group_matrices

# In nats: the ridge of 1e-9 that keeps the matrices definite is felt where variables nearly depend on each other.
ROUNDING = 1e-3


def table(n=120, p=7, K=3, *, seed=0, separation=1.5, informative=4):
    """Groups that differ in some of p correlated variables: (Y, labels)."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % K)
    Y = rng.normal(size=(n, p)) @ (np.eye(p) + 0.4 * rng.normal(size=(p, p)))
    Y[:, :informative] += separation * rng.normal(size=(K, informative))[labels]
    return Y + 10, labels


def partition(Y, labels, weights=None, **keywords):
    return Partition.of_labels(prepare(Y, weights, ridge=1e-3, **keywords), labels, labels.max() + 1)


def value(Y, labels, support, weights=None):
    return judge(partition(Y, labels, weights), np.array(support)).value


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("support", [[0], [0, 3], [1, 2, 5, 6], list(range(7))])
def test_values_and_ranks_are_those_of_the_rows(K, support):
    for seed in range(5):
        Y, labels = table(K=K, seed=seed, separation=[0.1, 1.0, 3.0][seed % 3])
        judged = judge(partition(Y, labels), np.array(support))
        expected, rank = criterion(Y, labels, support)
        assert judged.value == pytest.approx(expected, abs=ROUNDING)
        assert judged.rank == rank


@pytest.mark.parametrize("K", [2, 3, 4])
def test_at_full_rank_it_is_a_ratio_of_determinants(K):
    """n/2 log(|T_S| / |W_S|) less its price: well separated groups in as many directions as there are groups."""
    Y, labels = table(300, K=K, seed=2, separation=6)
    support = [0, 1, 2, 3]
    judged = judge(partition(Y, labels), np.array(support))
    assert judged.rank == K - 1
    assert judged.value == pytest.approx(full_rank_criterion(Y, labels, support), abs=ROUNDING)


def test_ratios_are_the_eigenvalues_of_between_against_within():
    Y, labels = table(K=4)
    support = [0, 2, 3, 4, 6]
    _, _, total, within = group_matrices(Y, labels)
    S = np.ix_(support, support)
    values = np.sort(np.real(np.linalg.eigvals(np.linalg.solve(within[S], total[S] - within[S]))))[::-1]
    np.testing.assert_allclose(ratios(partition(Y, labels), np.array(support)), values[:3], rtol=1e-6)


def test_one_group_and_no_variables():
    Y, labels = table()
    assert judge(partition(Y, np.zeros_like(labels)), np.array([0, 1])).value == 0
    empty = judge(partition(Y, labels), np.zeros(0, int))
    assert empty.value == pytest.approx(120 * np.log(1 / 3) - 2 * np.log(120))
    assert empty.rank == 0


@pytest.mark.parametrize("seed", range(4))
def test_linear_maps_of_the_selected_variables_change_nothing(seed):
    Y, labels = table(seed=seed)
    support = [0, 2, 3, 5]
    rng = np.random.default_rng(seed)
    mapped = Y.copy()
    mapped[:, support] = Y[:, support] @ rng.normal(size=(4, 4)) + 100 * rng.normal(size=4)
    assert value(mapped, labels, support) == pytest.approx(value(Y, labels, support), abs=ROUNDING)


@pytest.mark.parametrize(("n", "p", "most"), [(120, 7, 1e6), (30, 60, 1e3)])
def test_units_change_nothing(n, p, most):
    """Also where one variable is in nanometres and another in kilometres; dense, and wide in the row space."""
    Y, labels = table(n, p, seed=1)
    support = [0, 1, 2, 4]
    expected = criterion(Y, labels, support)[0]
    scaled = Y * np.geomspace(1 / most, most, 7)[np.arange(p) % 7]
    assert value(scaled, labels, support) == pytest.approx(expected, abs=ROUNDING)
    assert value(1e-6 * Y + 1e3, labels, support) == pytest.approx(expected, abs=ROUNDING)
    assert value(1e5 * Y - 1e8, labels, support) == pytest.approx(expected, abs=ROUNDING)


def test_weights_are_repetitions():
    Y, labels = table()
    counts = np.random.default_rng(3).integers(0, 4, size=len(Y))
    for support in ([0, 1], [0, 2, 3, 6]):
        expected = criterion(np.repeat(Y, counts, axis=0), np.repeat(labels, counts), support)[0]
        assert value(Y, labels, support, counts.astype(float)) == pytest.approx(expected, abs=ROUNDING)
        assert criterion(Y, labels, support, counts.astype(float))[0] == pytest.approx(expected)


@pytest.mark.parametrize("weights", [None, np.random.default_rng(5).uniform(0.5, 2, size=30)])
def test_wide_tables(weights):
    Y, labels = table(30, p=90, separation=4)
    for support in ([0, 1], [2, 3, 50, 88]):
        judged = judge(partition(Y, labels, weights), np.array(support))
        expected, rank = criterion(Y, labels, support, weights)
        assert judged.value == pytest.approx(expected, abs=ROUNDING)
        assert judged.rank == rank


@pytest.mark.parametrize(("corners", "rank"), [([[-3, -3], [0, 0], [3, 3]], 1), ([[-3, 0], [3, 0], [0, 4]], 2)])
def test_means_on_a_line_have_rank_one(corners, rank):
    """Two parameters per variable are not paid for one direction."""
    rng = np.random.default_rng(1)
    labels = np.arange(300) % 3
    Y = rng.normal(size=(300, 6))
    Y[:, :2] += np.array(corners)[labels]
    judged = judge(partition(Y, labels), np.array([0, 1]))
    assert judged.rank == rank
    assert (judged.value > full_rank_criterion(Y, labels, [0, 1]) + 1) == (rank == 1)


def test_groups_of_different_sizes():
    Y, labels = table(200)
    labels = np.where(np.arange(200) < 150, 0, labels)
    labels[:2] = [1, 2]
    assert value(Y, labels, [0, 1, 2]) == pytest.approx(criterion(Y, labels, [0, 1, 2])[0], abs=ROUNDING)


def test_many_columns_pay_for_the_number_of_subsets():
    """Where thousands compete, the prices beyond BIC add up to the logarithm of the number of subsets."""
    n, p = 60, 20_000
    total = sum(price(n, p, 1, i) for i in range(5))
    assert total == pytest.approx(5 / 2 * np.log(n) + np.log(comb(p, 5)))
    few = sum(price(n, 10, 2, i) for i in range(5))
    assert few == pytest.approx(2 * 5 * np.log(n))


def test_it_prefers_the_partition_and_the_variables_that_made_the_data():
    Y, labels = table(300, separation=4, seed=4)
    best = value(Y, labels, [0, 1, 2, 3])
    shuffled = np.random.default_rng(0).permutation(labels)
    assert best > 50
    assert value(Y, shuffled, [0, 1, 2, 3]) < 0
    assert value(Y, labels, [4, 5, 6]) < 0
    assert value(Y, np.minimum(labels, 1), [0, 1, 2, 3]) < best


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 6), st.floats(0, 3))
def test_any_table(seed, K, m, separation):
    Y, labels = table(60, 6, K, seed=seed, separation=separation)
    support = np.sort(np.random.default_rng(seed).permutation(6)[:m])
    assert judge(partition(Y, labels), support).value == pytest.approx(criterion(Y, labels, support)[0], abs=ROUNDING)
