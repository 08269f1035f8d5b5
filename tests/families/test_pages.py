"""The new estimators on the report page."""

import pytest

from fisherem import BayesianFisherEM, FactorMixture, ModelSearch, datasets, report


@pytest.fixture(scope="module")
def frame():
    X, y = datasets.load("wine", as_frame=True)
    return (X - X.mean()) / X.std(), y


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # sparse axes lead to the odd cycle
@pytest.mark.parametrize("method", [None, "two-step"])
def test_the_page_of_a_bayesian_fit(frame, method, tmp_path):
    X, y = frame
    model = BayesianFisherEM(3, method=method, sparsity=0.5, random_state=0).fit(X)
    page = report(model, X, tmp_path / "page.html", labels=y).read_text()
    assert "Bayesian Fisher-EM" + ("" if method is None else f", {method}") in page
    assert "DLM[Sigma beta]" in page


def test_the_page_of_a_mixture_of_factor_models_shows_its_groups(frame, tmp_path):
    X, y = frame
    model = FactorMixture(3, 2, random_state=0, n_init=1, tol=1e-4).fit(X)
    page = report(model, X, tmp_path / "page.html", labels=y, notes=["columns were standardised"]).read_text()
    assert "a mixture of factor models, UUU (own loadings, own noise, one per variable), with 2 factors" in page
    assert f"BIC {model.bic_:.1f}" in page
    assert "columns were standardised" in page
    assert "given groups" in page.lower() or "the groups were given" in page.lower()


def test_the_page_of_a_search_says_how_it_was_chosen(frame, tmp_path):
    estimator = FactorMixture(structure="PPCA", random_state=0, n_init=1, tol=1e-4)
    search = ModelSearch(estimator, n_clusters=[2, 3], n_factors=[1, 2], progress=False, n_jobs=1).fit(frame[0])
    page = report(search, frame[0], tmp_path / "page.html").read_text()
    assert "number of groups, structure and factors were chosen by bic among 4 fits" in page
