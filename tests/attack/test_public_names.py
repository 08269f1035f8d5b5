"""What is asked of a fitted model, and every other function for tables, on degenerate tables.

Whatever comes back agrees with the model: contributions add up to the log-odds and a changed value moves its row, tail
probabilities and p-values lie in [0, 1], a saved model gives the same posteriors, and the paper's algorithms keep what
holds of every fit.
"""

import warnings
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import sparse

from fisherem import (
    FisherEM,
    ModelSearch,
    SelectDiscriminative,
    SparseFisherEM,
    explain,
    load,
    report,
    save,
    search_as_published,
    significance,
    stability,
)

from .invariants import check_any, check_fit
from .outcomes import Case, attack
from .test_every_estimator import ALSO, ESTIMATORS, RUN
from .test_sparse_and_gaps import WORDS, Drawn, tables

QUIET = {"n_jobs": 1, "progress": False, "random_state": 0}
SEARCH = {"models": ["DkB", "AkB"], "n_jobs": 1, "progress": False}
# Why the tables do not allow an answer, beside the reasons of fits.
REASONS = (
    *WORDS, *ALSO, "complete rows", "one group only", "sparse", "draws", "selected variables", "n_subsamples", "rows",
    "weights", "memory", "gaps", "dense",
    "to split it", "axes", "axis",
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """A table, how it is given, what is fitted to it, and what is asked."""

    table: Drawn
    rows: str  # "plain", "gaps" or "sparse"
    estimator: str
    question: str

    def X(self):
        """The rows."""
        if self.rows == "sparse":
            return sparse.csr_array(self.table.rows())
        return self.table.with_gaps() if self.rows == "gaps" else self.table.rows()


def _outlyingness(model, X, folder):
    found = np.asarray(model.outlyingness(X))
    assert found.shape == model.labels_.shape
    assert ((found >= 0) & (found <= 1)).all()
    labels, plain = model.predict(X, noise_label=True), model.predict(X)
    np.testing.assert_array_equal(labels[labels >= 0], plain[labels >= 0])


def _contributions(model, X, folder):
    found = model.contributions(X)
    posteriors = np.asarray(model.predict_proba(X), float)
    at = np.arange(len(posteriors))
    np.testing.assert_array_equal(found.groups, posteriors.argmax(axis=1))
    size = np.abs(found.values).sum(axis=1) + np.abs(found.baseline)
    np.testing.assert_allclose(found.log_odds, found.baseline + found.values.sum(axis=1), atol=1e-9, rtol=1e-9)
    first, second = posteriors[at, found.groups], posteriors[at, found.against]
    told = second > 1e-250
    error = np.abs(np.log(first[told]) - np.log(second[told]) - found.log_odds[told])
    assert (error <= 1e-5 + 1e-6 * size[told]).all()
    rows, changes = np.array(X, float), found.changes
    moved = np.flatnonzero(changes["variable"] != "")
    for i in moved:
        rows[i, found.names.index(changes["variable"][i])] = changes["becomes"][i]
    if len(moved):
        told = [f"group {k + 1}" for k in model.predict(rows[moved])]
        assert told == changes["to"][moved].tolist()
    found.pairs(0)
    assert found.frame().shape == (len(at), 4 + rows.shape[1])


def _saved(model, X, folder):
    again = load(save(model, folder / "model.skops"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def _imputed(model, X, folder):
    filled = np.asarray(model.impute(X))
    given = np.asarray(X, float)
    assert np.isfinite(filled).all()
    np.testing.assert_array_equal(filled[~np.isnan(given)], given[~np.isnan(given)])


def _sampled(model, X, folder):
    rows, labels = model.sample(7, random_state=0)
    assert rows.shape == (7, X.shape[1])
    assert np.isfinite(rows).all()
    assert set(labels) <= set(range(len(model.weights_)))


def _explained(model, X, folder):
    roles = explain(X, model.labels_).roles
    assert len(roles) == X.shape[1]


def _described(model, X, folder):
    assert str(model.summary()).strip()
    assert model.summary()._repr_html_().strip()


def _reported(model, X, folder):
    path = folder / "report.html"
    report(model, X, path)
    text = path.read_text(encoding="utf-8")
    assert "</html>" in text


def _significance(model, X, folder):
    found = significance(model, X, draws=2, **QUIET)
    assert len(found) == X.shape[1]
    assert found["p"].between(0, 1).all()
    assert (found["q"] >= found["p"] - 1e-12).all()


def _markers(model, X, folder):
    found, labels = model.markers(X), np.asarray(model.predict(X))
    rows = np.asarray(X.toarray() if sparse.issparse(X) else X, float)
    assert np.isfinite(found[["effect", "effect_nearest"]]).all(axis=None)
    assert found["share_beyond"].dropna().between(0, 1).all()
    assert set(found["group"]) == {f"group {k + 1}" for k in labels}
    for (group, variable), value in found.set_index(["group", "variable"])["mean_inside"].items():
        inside = rows[labels == int(group.split()[1]) - 1, int(variable[1:]) - 1]
        size = np.abs(inside[~np.isnan(inside)]).max(initial=0)
        if not np.isnan(inside).all():
            np.testing.assert_allclose(value / (size or 1), np.nanmean(inside / (size or 1)), atol=1e-9)


def _split(model, X, folder):
    found = model.subcluster(X, 1, 2, random_state=0)
    labels = np.asarray(model.predict(X))
    np.testing.assert_array_equal(found.inside, labels == 0)
    outside = [str(k + 1) for k in labels[labels != 0]]
    assert found.labels[labels != 0].tolist() == outside
    assert set(found.labels[labels == 0]) <= set(found.names)
    check_any(found.model, found.rows(X))
    found.markers(X)
    found.report(X, folder / "inside.html")


def _named(model, X, folder):
    names = [f"=group, {k}" for k in range(len(model.weights_))]
    again = load(save(model.name_groups(names), folder / "model.skops"))
    assert again.group_names_.tolist() == names
    assert set(again.markers(X)["group"]) <= set(names)
    model.name_groups()


def _drawn(model, X, folder):
    for axes in ((0, 1), (0, 0)) if model.loadings_.shape[1] > 1 else ((0, 0),):
        model.plot(X, axes=axes)
    plt.close("all")


def _stable(model, X, folder):
    found = stability(model, X, n_subsamples=2, **QUIET)
    assert ((found.frequencies >= 0) & (found.frequencies <= 1)).all()
    assert found.frequencies.shape == (X.shape[1],)
    if found.row_frequencies is not None:
        assert np.nanmax(found.row_frequencies, initial=0) <= 1
        assert np.nanmin(found.row_frequencies, initial=1) >= 0


def _selected(model, X, folder):
    kept = SelectDiscriminative(SparseFisherEM(2, **RUN)).fit(X)
    assert kept.transform(X).shape == (X.shape[0], kept.get_support().sum())


def _published(model, X, folder):
    for algorithm in (1, 2, 3):
        check_fit(SparseFisherEM.as_published(2, algorithm=algorithm, sparsity=0.6, random_state=0).fit(X), X)


def _published_dense(model, X, folder):
    for means in ("full", "latent"):
        check_fit(FisherEM.as_published(2, means=means, random_state=0).fit(X), X)


def _published_search(model, X, folder):
    found = search_as_published(
        X, 2, algorithm=3, models=["DkB", "AkB"], sparsities=[0.5, 1.0], n_starts=2, random_state=0
    )
    assert found.model in ("DkB", "AkB")
    check_any(found.best_estimator, X)


def _searched(model, X, folder):
    found = ModelSearch(FisherEM(n_init=2, random_state=0), n_clusters=[2, 3], criterion="bic", **SEARCH).fit(X)
    check_fit(found.best_estimator_, X)


QUESTIONS = {
    "outlyingness": _outlyingness, "contributions": _contributions, "save": _saved, "impute": _imputed,
    "sample": _sampled, "explain": _explained, "summary": _described, "report": _reported,
    "significance": _significance, "stability": _stable, "markers": _markers, "subcluster": _split, "names": _named,
    "plot": _drawn,
}  # fmt: skip
# These fit models of their own.
CALLS = {
    "select": _selected, "published": _published, "published, dense": _published_dense,
    "published search": _published_search, "search": _searched,
}  # fmt: skip
# What rivals cannot be asked.
_HAS = {
    "outlyingness": "outlyingness", "contributions": "contributions", "impute": "impute", "sample": "sample",
    "summary": "summary", "markers": "markers", "subcluster": "subcluster", "names": "name_groups", "plot": "plot",
}  # fmt: skip


def _case(asked: Asked, folder) -> Case:
    X = asked.X()

    def run():
        if asked.question in CALLS:
            return None
        return ESTIMATORS[asked.estimator].__class__(**ESTIMATORS[asked.estimator].get_params()).fit(X)

    def answered():
        model = run()
        needed = _HAS.get(asked.question)
        if needed is None or model is None or hasattr(model, needed):
            try:
                (QUESTIONS | CALLS)[asked.question](model, X, folder)
            except AssertionError as error:
                return error
        return None

    def check(wrong):
        if wrong is not None:
            raise wrong

    return Case(answered, REASONS, check)


@pytest.mark.parametrize("group", ["of a model", "functions"])
def test_public_names(group, tmp_path):
    questions = sorted(QUESTIONS if group == "of a model" else CALLS)
    drawn = st.builds(
        Asked, tables(), st.sampled_from(["plain", "plain", "gaps", "sparse"]), st.sampled_from(sorted(ESTIMATORS)),
        st.sampled_from(questions),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attack(f"public names, {group}", drawn, lambda asked: _case(asked, tmp_path), default=20)
