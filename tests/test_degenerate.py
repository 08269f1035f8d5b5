"""Degenerate tables: a clear error, or a fit that is consistent with itself."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from fisherem import FactorMixture, FisherEM, SparseFisherEM, SparseKMeans
from fisherem.cli import main
from fisherem.core.data.problem import prepare
from fisherem.core.engine.multistart import FitError
from fisherem.core.factors.starts import VariedStart, _continued, short_runs
from fisherem.estimators.fitting import specification

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:constant columns:UserWarning"),
]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 4)) + 6 * rng.integers(2, size=(40, 1))


@pytest.mark.parametrize("structure", ["UUU", "CCC", "MCFA"])
def test_factor_mixtures_refuse_starts_with_an_empty_group(rows, structure):
    split = rows[:, 0] > 3
    posteriors = np.column_stack([split, ~split, np.zeros(40)]).astype(float)
    with pytest.raises(FitError, match="the start leaves a group without rows"):
        FactorMixture(3, structure=structure, init=posteriors, random_state=0).fit(rows)
    labels = np.where(np.arange(40) < 3, 2, split)
    with pytest.raises(FitError, match="the start leaves a group without rows"):
        FactorMixture(3, structure=structure, init=labels).fit(rows, sample_weight=(labels < 2).astype(float))


@pytest.mark.parametrize("structure", ["UUU", "CCC", "UCU"])
def test_factor_mixtures_without_factors_have_no_coordinates(rows, structure):
    model = FactorMixture(2, n_factors=0, structure=structure, random_state=0).fit(rows)
    assert model.transform(rows).shape == (40, 0)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


@pytest.mark.parametrize("estimator", [FisherEM, SparseFisherEM])
def test_gaps_in_a_constant_table(estimator):
    X = np.ones((10, 3))
    X[2, 1] = np.nan
    with pytest.raises(ValueError, match="there is nothing to cluster"):
        estimator(2, random_state=0).fit(X)


def test_negative_zeros_are_zeros():
    X = np.zeros((6, 2))
    X[:3, 0] = -0.0
    X[5] = 1
    for estimator in (FisherEM(3), SparseFisherEM(3), SparseKMeans(3)):
        with pytest.raises(ValueError, match="only 2 distinct rows"):
            estimator.fit(X)


@pytest.mark.parametrize("seed", range(5))
def test_sparse_kmeans_with_a_far_row_predicts_its_labels(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 5)) + 4 * (np.arange(30) % 2)[:, None]
    X[seed] = 9e8 * rng.normal(size=5)
    for bound in (1.2, 2.0):
        model = SparseKMeans(3, bound=bound, random_state=0).fit(X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("factor", [1e160, 1e-170])
@pytest.mark.parametrize("kind", ["csv", "npy"])
def test_standardising_says_when_variances_overflow(rows, tmp_path, factor, kind):
    rows[:, 2] *= factor
    path = tmp_path / f"t.{kind}"
    pd.DataFrame(rows).add_prefix("v").to_csv(path, index=False) if kind == "csv" else np.save(path, rows)
    words = ["fit", path, "-k", 2, "--scale", "-o", tmp_path / "out", "--memory", "1MB" if kind == "csv" else "2KB"]
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == 2, result.output
    assert ("'v2'" if kind == "csv" else "'x3'") in result.output
    assert "cannot be standardised" in result.output


def test_a_column_and_its_negative_that_are_the_groups():
    """The variances within the groups are rounding, of either sign."""
    X = np.full((4, 5), [2.5, 1e12, 1e4, 1.7e9, -1e12])
    X[3, [1, 4]] += [-2.9, 2.9]
    for order in ([0, 1, 2, 3], [3, 0, 1, 2]):
        model = SparseFisherEM(2, method="two-step", sparsity=0.6, n_init=2, random_state=0).fit(X[order])
        np.testing.assert_array_equal(model.predict(X[order]), model.labels_)
        assert (model.labels_ == model.labels_[order.index(3)]).sum() == 1


def test_a_run_that_cannot_be_continued_stands(rows):
    """The posteriors leave a group without rows: an error of the loop, which must not end the other starts."""
    spec = specification(FactorMixture(2, 1, structure="MCFA", random_state=0), *rows.shape)
    problem = spec.family.prepared(prepare(rows, ridge=0.1))
    (fit,), _ = short_runs(problem, spec, [VariedStart((rows[:, 0] > 3).astype(int), 0)])
    fit.states = problem.start_states(np.zeros(40, int), 2)
    assert _continued(problem, spec, fit) is fit
