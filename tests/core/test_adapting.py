"""Ridge and axes from a start: against scikit-learn's Ledoit-Wolf intensity, and against p x p matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.covariance import ledoit_wolf_shrinkage

from fisherem import FisherEM, SparseFisherEM, datasets
from fisherem.core.data.problem import prepare
from fisherem.core.dlm.ridge_and_axes import GroupMeans, automatic_ridge, useful_axes
from tests.naive import count_useful_axes, within_centred

LEAST, MOST = 1e-3, 10.0


def table(n, p, seed=0, spread=1.0):
    """Three groups in p variables of different scales, with an offset: (Y, labels)."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    mixing = rng.normal(size=(p, p)) / np.sqrt(p) + np.diag(np.exp(spread * rng.normal(size=p)))
    return (rng.normal(size=(n, p)) + 2 * rng.normal(size=(3, p))[labels]) @ mixing + 5, labels


def expected_ridge(Y, labels):
    """intensity / (1 - intensity) trace W / trace S of the rows, with scikit-learn's intensity."""
    inside = within_centred(Y, labels)
    intensity = ledoit_wolf_shrinkage(inside, assume_centered=True)
    if intensity >= 1:
        return MOST
    share = (inside**2).sum() / ((Y - Y.mean(axis=0)) ** 2).sum()
    return np.clip(intensity / (1 - intensity) * share, LEAST, MOST)


def ridge_of(Y, labels, weights=None, support=None, **keywords):
    problem = prepare(Y, weights, ridge=1e-3, **keywords)
    states = problem.start_states(labels, labels.max() + 1)
    return automatic_ridge(problem, states, GroupMeans.of(problem, states), support)


@pytest.mark.parametrize(("n", "p"), [(500, 8), (90, 8), (60, 30), (40, 40), (30, 100), (12, 300)])
def test_the_ridge_is_ledoit_and_wolfs(n, p):
    Y, labels = table(n, p)
    expected = expected_ridge(Y, labels)
    assert LEAST < expected < MOST
    assert ridge_of(Y, labels) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("n", "p"), [(120, 20), (30, 100)])
@pytest.mark.parametrize("support", [[3], [0, 4, 7, 11, 19], list(range(20))])
def test_the_ridge_on_some_variables(n, p, support):
    Y, labels = table(n, p)
    expected = expected_ridge(Y[:, support], labels) if len(support) > 1 else MOST  # one variable is a sphere
    assert ridge_of(Y, labels, support=np.array(support)) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("p", [6, 80])
@pytest.mark.parametrize("support", [None, np.array([0, 2, 5])])
def test_weights_are_repetitions(p, support):
    Y, labels = table(40, p)
    counts = np.random.default_rng(1).integers(0, 4, size=40)
    repeated = np.repeat(Y, counts, axis=0), np.repeat(labels, counts)
    columns = slice(None) if support is None else support
    expected = expected_ridge(repeated[0][:, columns], repeated[1])
    assert ridge_of(Y, labels, counts.astype(float), support) == pytest.approx(expected, rel=1e-8)
    assert ridge_of(*repeated, support=support) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_ridge_is_a_share(factor):
    Y, labels = table(60, 12)
    assert ridge_of(factor * Y + 1e3 * factor, labels) == pytest.approx(expected_ridge(Y, labels), rel=1e-5)


def test_blocks_and_float32():
    Y, labels = table(200, 10)
    assert ridge_of(Y, labels, block_rows=13, n_jobs=2) == pytest.approx(expected_ridge(Y, labels), rel=1e-8)
    rows = (Y + 1e4).astype(np.float32)
    assert ridge_of(rows, labels) == pytest.approx(expected_ridge(rows.astype(float), labels), rel=1e-6)


def test_the_ridge_stays_within_its_limits():
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3
    spherical = rng.normal(size=(300, 25))
    assert 5 < ridge_of(spherical, labels) <= MOST
    elongated = rng.normal(size=(20_000, 2)) * [100, 1]
    assert ridge_of(elongated, np.arange(20_000) % 3) == LEAST


def axes_of(Y, labels, ridge, n, most):
    problem = prepare(Y, ridge=ridge)
    groups = GroupMeans.of(problem, problem.start_states(labels, labels.max() + 1))
    return useful_axes(groups.between(problem), n, most, 3.0)


@pytest.mark.parametrize(
    ("n", "p", "ridge"),
    [(300, 8, 1e-3), (300, 8, 0.3), (300, 8, 10.0), (60, 30, 1e-3), (60, 30, 0.3), (30, 90, 0.3), (30, 90, 10.0)],
)
def test_axes_are_counted_as_on_full_matrices(n, p, ridge):
    """The number of rows is varied for the same matrices, so that the threshold crosses each eigenvalue."""
    rng = np.random.default_rng(n)
    labels = np.arange(n) % 5
    means = rng.normal(size=(5, p)) * np.array([3.0, 1.0, 0.3, 0.1] + [0.03] * (p - 4))
    Y = rng.normal(size=(n, p)) + means[labels]
    counts = set()
    for rows in np.geomspace(6, 1e5, 40):
        expected = count_useful_axes(Y, labels, ridge, rows, 4)
        assert axes_of(Y, labels, ridge, rows, 4) == expected
        counts.add(expected)
    assert len(counts) > 2
    assert axes_of(Y, labels, ridge, 1e9, 2) == 2


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(2, 12), st.floats(1e-3, 10))
def test_any_table_has_the_axes_of_full_matrices(seed, K, p, ridge):
    rng = np.random.default_rng(seed)
    labels = np.arange(60) % K
    Y = rng.normal(size=(60, p)) + rng.exponential(1.0) * rng.normal(size=(K, p))[labels]
    assert axes_of(Y, labels, ridge, 60, K - 1) == count_useful_axes(Y, labels, ridge, 60, K - 1)


LINE = np.array([[4.0, 4.0], [-4.0, -4.0], [0.0, 0.0]])
TRIANGLE = np.array([[4.0, 4.0], [-4.0, 4.0], [0.0, -4.0]])


@pytest.mark.parametrize(("corners", "d"), [(LINE, 1), (TRIANGLE, 2)])
@pytest.mark.parametrize("p", [10, 400])
def test_means_on_a_line_have_one_axis_and_a_triangle_has_two(corners, d, p):
    rng = np.random.default_rng(3)
    labels = np.arange(150) % 3
    Y = rng.normal(size=(150, p))
    Y[:, :2] += corners[labels]
    assert axes_of(Y, labels, ridge_of(Y, labels), 150, 2) == d
    if p == 10:
        for kind, reason in ((FisherEM, "3 times as much as chance"), (SparseFisherEM, "of the selected variables")):
            model = kind(3, random_state=0).fit(Y)
            assert model.loadings_.shape[1] == d
            record = model.decisions_[model.decisions_["decision"] == "axes"]
            assert record["choice"].tolist() == (["1 of 2"] if d == 1 else [])
            assert record["reason"].str.contains(reason).all()


def test_the_papers_simulation_has_one_axis():
    """Its three means lie on a line."""
    for seed in range(3):
        X, _ = datasets.simulate(300, mu=1.7, random_state=100 + seed)
        assert FisherEM(3, random_state=0).fit(X).loadings_.shape[1] == 1


def test_axes_and_ridge_that_are_given_are_kept():
    X, _ = datasets.simulate(300, mu=1.7, random_state=100)
    assert FisherEM(3, n_axes=2, random_state=0).fit(X).loadings_.shape[1] == 2
