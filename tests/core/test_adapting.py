"""Ridge and axes from a start: against scikit-learn's Ledoit-Wolf intensity, and against p x p matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.covariance import ledoit_wolf_shrinkage

from fisherem import FisherEM, SparseFisherEM, datasets
from fisherem.core.data.problem import prepare
from fisherem.core.dlm.ridge_and_axes import GroupMeans, automatic_ridge, useful_axes
from tests.deciding import decided
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


def said_ridge(model):
    """The ridge of the record: its number, and the words after it; None if there is none."""
    choice = getattr(decided(model, "ridge"), "choice", None)
    return None if choice is None else (float(choice.split()[0]), choice.partition(" times the ")[2])


def test_the_record_has_the_ridge_of_the_run():
    Y, labels = table(120, 8, spread=0.3)
    dense = FisherEM(3, scale="none", init=labels, model="AkB").fit(Y)
    assert said_ridge(dense) == (pytest.approx(expected_ridge(Y, labels), rel=5e-3), "mean variance")
    row = dense.decisions_.iloc[-1]
    assert (row["decision"], row["alternatives"]) == ("ridge", "")
    assert "Ledoit and Wolf" in row["reason"]
    share = SparseFisherEM(3, scale="none", init=labels, model="AkB", sparsity=0.5, method="svd").fit(Y)
    expected = expected_ridge(Y, dense.labels_)  # the sparse run starts from the dense fit
    assert said_ridge(share) == (pytest.approx(expected, rel=5e-3), "mean variance")


def test_the_record_has_the_ridge_of_the_selected_variables(iris):
    model = SparseFisherEM(3, random_state=0).fit(iris[0])
    assert 1 < model.support_.sum() < 4
    there = (iris[0] / model.scales_)[:, model.support_]
    value, whose = said_ridge(model)
    assert whose == "mean variance of the selected variables"
    assert value == pytest.approx(expected_ridge(there, model.labels_), rel=0.02)  # the run began with other groups


@pytest.mark.parametrize("kind", [FisherEM, SparseFisherEM])
def test_the_record_has_the_ridge_of_all_rows(kind, treat_as_large):
    """A sample of a third of the rows would have three times the ridge."""
    Y, _ = table(6000, 12, spread=0.3)
    treat_as_large(60_000)
    model = kind(3, scale="none", random_state=0).fit(Y)
    assert "2,000 of 6,000" in decided(model, "rows").choice
    columns = model.support_ if kind is SparseFisherEM else slice(None)
    assert said_ridge(model)[0] == pytest.approx(expected_ridge(Y[:, columns], model.labels_), rel=0.05)


@pytest.mark.parametrize("kind", [FisherEM, SparseFisherEM])
def test_the_record_of_rows_with_gaps_has_the_ridge_once(kind):
    Y, _ = table(150, 8, spread=0.3)
    Y[np.random.default_rng(1).random(Y.shape) < 0.05] = np.nan
    decisions = list(kind(3, random_state=0).fit(Y).decisions_["decision"])
    assert decisions.count("ridge") == 1
    assert decisions[-1] == "ridge"


@pytest.mark.parametrize("given", [{"ridge": 0.01}, {"means": "full"}, {"n_clusters": 1}])
def test_a_ridge_that_was_not_estimated_is_no_decision(iris, given):
    assert said_ridge(FisherEM(**{"n_clusters": 3, "random_state": 0} | given).fit(iris[0])) is None


def test_a_sparse_step_in_the_metric_of_the_noise_has_no_estimated_ridge(iris):
    """It inverts S itself; the ridge is estimated in that metric, for the dense step."""
    options = {"noise_factors": 1, "random_state": 0}
    assert said_ridge(SparseFisherEM(3, sparsity=0.5, method="svd", **options).fit(iris[0])) is None
    assert said_ridge(FisherEM(3, **options).fit(iris[0])) is not None
