"""model="auto" with full means: the quantities it compares, and each way to decide, before the noise has factors."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fisherem import FisherEM, ModelSearch, SparseFisherEM
from fisherem.core.data.problem import prepare
from fisherem.core.engine import multistart
from fisherem.core.engine.multistart import FitError
from fisherem.estimators.fitting import specification
from fisherem.model.dlm import MODELS, candidates
from fisherem.policy import model as choice
from fisherem.policy.decisions import Chosen, model_decision
from fisherem.policy.model import dispersion, fit_best, separation
from fisherem.reports.words.summary import model_words
from tests.deciding import compared, decided, failing_model, records
from tests.naive import fisher, scatters
from tests.same import same

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
PAIR = candidates("auto")


def dense(**changes):
    """Fisher-EM with means that may differ in every variable."""
    return FisherEM(**{"n_clusters": 3, "means": "full", "noise_factors": 0} | changes)


def sparse(**changes):
    """The same, sparse: a tenth of the full solution's norm."""
    given = {"n_clusters": 3, "means": "full", "sparsity": 0.1, "random_state": 0, "noise_factors": 0}
    return SparseFisherEM(**given | changes)


def three_groups(noise=(1.0, 1.0, 1.0), *, p=15, n=400, seed=0):
    """Groups that differ on three variables, each with its own spherical noise: as the models suppose."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    means = np.zeros((3, p))
    means[:, :3] = 4 * np.eye(3)
    return means[labels] + rng.normal(size=(n, p)) * np.array(noise)[labels][:, None], labels


def correlated(X, strength=2.0, seed=1):
    """The same rows with two common factors on top: noise that no model of the family knows."""
    rng = np.random.default_rng(seed)
    loads = rng.normal(size=(2, X.shape[1]))
    loads[:, :3] = 0
    return X + strength * rng.normal(size=(len(X), 2)) @ loads


def chosen_from(X, weights=None, **changes):
    one = sparse(**changes)
    problem = prepare(np.asarray(X, float), weights, ridge=one.ridge)
    return problem, fit_best(problem, specification(one, *X.shape), PAIR)


def test_auto_stands_for_the_most_compact_and_the_most_flexible_model():
    counts = {name: model.n_parameters(4, 100, 3) for name, model in MODELS.items()}
    assert [model.name for model in PAIR] == [min(counts, key=counts.get), max(counts, key=counts.get)]
    assert candidates("alpha_k beta") == (MODELS["AkB"],)


def test_separation_is_the_largest_value_of_fishers_criterion(groups):
    Y, T = groups
    model = dense(model="AB", init=T, ridge=0, max_iter=200, tol=1e-10).fit(Y)
    problem = prepare(Y, ridge=0)
    fit, _ = multistart.fit(problem, specification(model, *Y.shape))
    total, between, _ = scatters(Y, model.predict_proba(Y))
    best = np.linalg.eig(np.linalg.solve(total, between))
    axes = np.linalg.qr(np.real(best.eigenvectors[:, np.argsort(-np.real(best.eigenvalues))[:2]]))[0]
    assert separation(problem, fit) == pytest.approx(fisher(axes, total, between), rel=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_dispersion_by_loops(weighted):
    X, _ = three_groups((0.5, 1.0, 2.0), n=90)
    weights = np.random.default_rng(3).integers(1, 4, size=90).astype(float) if weighted else None
    problem, found = chosen_from(X, weights)
    model = sparse(model=found.model.name).fit(X, sample_weight=weights)
    T = model.predict_proba(X) * (1 if weights is None else weights[:, None])
    beyond = np.eye(15) - model.loadings_ @ model.loadings_.T
    total = 0.0
    for k in range(3):
        squares = [float((beyond @ (x - model.means_[k])) @ (beyond @ (x - model.means_[k]))) for x in X]
        mean = np.average(squares, weights=T[:, k])
        variance = np.average((np.array(squares) - mean) ** 2, weights=T[:, k])
        beta = mean / 13
        total += T[:, k].sum() / T.sum() * variance / (2 * 13 * beta**2)
    assert dispersion(problem, found.fit) == pytest.approx(total, rel=1e-6)


def test_dispersion_knows_independent_noise_from_correlated_and_heavy_tailed():
    X, labels = three_groups(n=3000)
    tails = three_groups((0, 0, 0), n=3000)[0] + np.random.default_rng(2).standard_t(5, size=X.shape)
    found = {}
    for name, rows in (("independent", X), ("correlated", correlated(X)), ("tails", tails)):
        problem = prepare(rows, ridge=1e-3)
        fit, _ = multistart.fit(problem, specification(dense(model="DkBk", init=labels), *rows.shape))
        found[name] = dispersion(problem, fit)
    assert found["independent"] == pytest.approx(1, abs=0.1)
    assert found["correlated"] > 2
    assert found["tails"] > 1.4


def test_bic_decides_where_the_noise_is_as_supposed():
    """Groups with noise of their own: the flexible model is right, though it does not separate the groups better."""
    X, _ = three_groups((0.5, 1.0, 2.0))
    model = sparse(sparsity=0.3).fit(X)
    assert model.model_ == "DkBk"
    assert decided(model, "model").reason == "BIC"
    bic = compared(model, "model")
    assert bic["DkBk"] > bic["AB"]
    assert "BIC" in model_words(model)
    same_noise, _ = three_groups()
    assert sparse(sparsity=0.3).fit(same_noise).model_ == "AB"


def test_fishers_criterion_decides_elsewhere(iris, wine):
    for (X, _), expected in ((iris, "AB"), (wine, "DkBk")):
        model = sparse(method="regression").fit(X)
        found = {record["model"]: record for record in records(sparse(method="regression"), X, "model")}
        assert model.model_ == expected
        assert found[expected]["reason"] == "fisher"
        assert found["DkBk"]["dispersion"] > 1.25
        assert found["DkBk"]["bic"] > found["AB"]["bic"]  # BIC would take the flexible one on both
        assert (found["DkBk"]["fisher"] > 1.01 * found["AB"]["fisher"]) == (expected == "DkBk")
        assert "Fisher's criterion" in model_words(model)


def test_a_little_better_separated_is_not_enough():
    """What is said where the more flexible model is better, but not by enough."""
    records = [
        {"model": "AB", "fisher": 2.0, "kept": True, "reason": "fisher"},
        {"model": "DkBk", "fisher": 2.019, "kept": False, "reason": ""},
    ]
    decision = model_decision(records)
    assert decision.alternatives == "AB 2.000, DkBk 2.019"
    assert decision.reason == "Fisher's criterion, by which DkBk is only slightly better,"


def test_the_kept_fit_is_that_of_its_model(iris):
    X, _ = iris
    auto = sparse().fit(X)
    given = sparse(model=auto.model_).fit(X)
    same(auto, given)
    assert auto.bic_ == given.bic_
    assert decided(given, "model") is None
    assert model_words(given) == ""


def test_sparsity_one_gives_fisher_em_here_too(iris):
    X, _ = iris
    all_variables = sparse(sparsity=1.0, start="cold").fit(X)
    fisher_em = dense(random_state=0).fit(X)
    assert all_variables.model_ == fisher_em.model_
    np.testing.assert_array_equal(all_variables.labels_, fisher_em.labels_)


def test_weights_are_repetitions():
    X, _ = three_groups((0.5, 1.0, 2.0), n=120)
    weights = np.random.default_rng(0).integers(1, 4, size=len(X))
    weighted = records(sparse(), X, "model", weights)
    repeated = records(sparse(), np.repeat(X, weights, axis=0), "model")
    for one, other in zip(weighted, repeated, strict=True):
        assert (one["model"], one["kept"]) == (other["model"], other["kept"])
        assert one["fisher"] == pytest.approx(other["fisher"], rel=1e-6)
        assert one["dispersion"] == pytest.approx(other["dispersion"], rel=1e-6)


def test_few_rows_take_the_compact_model():
    X, _ = three_groups((0.5, 1.0, 2.0), n=29)
    model = sparse().fit(X)
    assert model.model_ == "AB"
    assert model_words(model) == "chosen: fewer than 2 rows per variable"
    assert dense(n_clusters=1).fit(X).model_ == "AB"


def test_a_model_that_fails_is_not_kept():
    X = correlated(three_groups((0.5, 1.0, 2.0))[0])
    for name, other in (("AB", "DkBk"), ("DkBk", "AB")):
        with failing_model(name):
            model = sparse().fit(X)
        assert model.model_ == other
        assert decided(model, "model").reason == "no other model could be fitted"
    with failing_model("AB"), failing_model("DkBk"), pytest.raises(FitError, match="it did not work"):
        sparse().fit(X)


def test_a_model_that_loses_a_group_is_not_kept():
    whole, lost = (Chosen(SimpleNamespace(whole=one), [], MODELS["AB"]) for one in (True, False))
    values = {"fisher": 1.0, "bic": 1.0, "dispersion": 1.0}
    for pair in (((whole, values), (lost, values)), ((lost, values), (whole, values))):
        kept, reason = choice._better(*pair)
        assert kept[0] is whole
        assert reason == "the other lost a group"


def test_large_data_choose_on_a_sample(treat_as_large):
    X, labels = three_groups((0.5, 1.0, 2.0), n=6000)
    treat_as_large(80_000)
    model = sparse().fit(X)
    assert len(model.labels_) == 6000
    assert list(model.decisions_["decision"])[1] == "rows"
    assert decided(model, "rows").choice == "a sample of 2,000 of 6,000 rows"
    assert list(compared(model, "model")) == ["AB", "DkBk"]
    given = sparse(init=labels, random_state=None).fit(X)  # given posteriors are of all rows
    assert given.model_ == "DkBk"
    assert decided(given, "rows") is None


def test_files_and_blocks_choose_the_same(tmp_path):
    X, _ = three_groups((0.5, 1.0, 2.0), n=900)
    np.save(tmp_path / "rows.npy", X)
    in_memory = sparse().fit(X)
    from_file = sparse(memory="120kB").fit(tmp_path / "rows.npy")
    same(in_memory, from_file)
    assert in_memory.model_ == from_file.model_ == "DkBk"
    assert decided(from_file, "model").equals(decided(in_memory, "model"))


def test_a_search_names_the_model_of_its_best_fit(iris):
    X, _ = iris
    search = ModelSearch(SparseFisherEM(random_state=0, n_init=1), n_clusters=[3], models=["AB", "DB"], progress=False)
    best = search.fit(X).best_estimator_
    assert best.model_ == search.best_params_["model"]
    assert decided(best, "model") is None


def test_the_convergence_warning_is_of_the_kept_model(iris):
    X, _ = iris
    with pytest.warns(ConvergenceWarning, match="max_iter=2 "):
        sparse(max_iter=2).fit(X)


def test_a_group_of_equal_rows_has_no_noise():
    X, labels = three_groups(n=300)
    X[labels == 0] = X[labels == 0][0]
    problem = prepare(X, ridge=1e-3)
    fit, _ = multistart.fit(problem, specification(dense(model="DkBk", init=labels, max_iter=1), *X.shape))
    assert dispersion(problem, fit) == np.inf
    assert sparse(init=labels, random_state=None).fit(X).model_ in ("AB", "DkBk")
