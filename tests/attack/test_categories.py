"""Tables of numbers, text, booleans, ordered levels and codes, with gaps and odd levels, through every public name."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st
from sklearn.base import clone

from fisherem import BayesianFisherEM, FisherEM, ModelSearch, SparseFisherEM, explain, load, report, save, stability

from .invariants import check_any, check_same_groups
from .outcomes import Case, attack
from .test_every_estimator import ALSO
from .test_sparse_and_gaps import WORDS

RUN = {"n_init": 2, "random_state": 0, "n_jobs": 1}
ESTIMATORS = {
    "FisherEM": FisherEM(2, **RUN),
    "FisherEM, standardised": FisherEM(2, scale="standardise", model="DkBk", **RUN),
    "FisherEM, raw": FisherEM(3, scale="none", noise_factors=0, **RUN),
    "SparseFisherEM": SparseFisherEM(2, **RUN),
    "SparseFisherEM, svd": SparseFisherEM(2, method="svd", sparsity=0.6, **RUN),
    "SparseFisherEM, regression": SparseFisherEM(2, method="regression", sparsity=0.6, **RUN),
    "BayesianFisherEM": BayesianFisherEM(2, **RUN),
    "ModelSearch": ModelSearch(
        SparseFisherEM(random_state=0), n_clusters=[2], criterion="bic", models=["DkB"], sparsities=[0.5], n_init=2,
        n_jobs=1, progress=False,
    ),
}  # fmt: skip
# Levels as people write them: blanks, formulas, marks of missing cells, numbers and the mark of an indicator's column.
LEVELS = ("red", "blue", "green", " red", "", "=1+1", "a=b", "1", "1.0", "NA", "字", "x" * 300, "tab\there", "-0")
KINDS = ("number", "text", "category", "ordered", "boolean", "codes", "constant", "one row", "unused", "objects")


@dataclass(frozen=True)
class Asked:
    """A table of n rows with a column of each kind, what is missing from it, what is fitted, and what is asked."""

    n: int
    seed: int
    kinds: tuple[str, ...]
    levels: tuple[str, ...]
    gaps: float
    estimator: str
    question: str
    held: str

    def frame(self) -> pd.DataFrame:
        """The table; its groups are the even and the odd rows."""
        rng = np.random.default_rng(self.seed)
        odd = np.arange(self.n) % 2
        frame = pd.DataFrame({"first": rng.normal(size=self.n) + 5 * odd})
        for j, kind in enumerate(self.kinds):
            frame[f"{kind} {j}"] = self._column(kind, np.where(rng.uniform(size=self.n) < 0.8, odd, 1 - odd), rng)
        if self.gaps:
            gone = rng.uniform(size=frame.shape) < self.gaps
            for j, name in enumerate(frame.columns):
                if frame[name].dtype.kind not in "biu":
                    frame[name] = frame[name].where(~gone[:, j])
        return frame

    def _column(self, kind: str, near: np.ndarray, rng):
        levels = [*self.levels, "other"]
        text = np.array(levels, object)[
            np.where(rng.uniform(size=self.n) < 0.7, near, rng.integers(len(levels), size=self.n))
        ]
        text = np.where(text == None, "other", text)  # noqa: E711 (elementwise)
        return {
            "number": lambda: rng.normal(size=self.n) + 4 * near,
            "text": lambda: text,
            "category": lambda: pd.Categorical(text),
            "ordered": lambda: pd.Categorical(text, sorted(set(levels)), ordered=True),
            "boolean": lambda: near.astype(bool),
            "codes": lambda: near + rng.integers(0, 3, self.n),
            "constant": lambda: np.full(self.n, "one", object),
            "one row": lambda: np.r_[["rare"], np.full(self.n - 1, "usual")].astype(object),
            "unused": lambda: pd.Categorical(np.array(["a", "b"])[near], ["c", "b", "a", "d"]),
            "objects": lambda: near.astype(object),
        }[kind]()

    def given(self):
        """(the table as it is given, the categories that are asked for)."""
        frame = self.frame()
        codes = [name for name in frame if name.startswith("codes")]
        if self.held == "polars" and not any(kind in ("objects", "unused", "ordered") for kind in self.kinds):
            return pl.DataFrame({name: frame[name].astype(object).where(frame[name].notna(), None).to_list()
                                 for name in frame}), codes  # fmt: skip
        if self.held == "index":
            return frame.set_index(np.array(["row"] * len(frame))), codes
        if self.held == "array":
            return frame.to_numpy(object), [j for j, name in enumerate(frame) if frame[name].dtype.kind not in "f"]
        return frame, codes


def _order(fit, model, X, folder):
    """A start that goes with the rows: the same groups in another order."""
    n = len(model.labels_)
    start, order = np.arange(n) % 2, np.random.default_rng(0).permutation(n)
    one, other = fit(X, start), fit(X.iloc[order] if isinstance(X, pd.DataFrame) else X[order], start[order])
    if one.converged_ and other.converged_ and "cycle" not in (one.stop_reason_, other.stop_reason_):
        check_same_groups(one, other, order)


def _saved(fit, model, X, folder):
    again = load(save(model, folder / "model.skops"))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def _imputed(fit, model, X, folder):
    filled = model.impute(X)
    if isinstance(X, pd.DataFrame):
        assert filled.shape == X.shape
        assert not filled.isna().to_numpy().any()
        there = X.notna()
        assert (filled.astype(object).where(there, 0) == X.astype(object).where(there, 0)).to_numpy().all()


def _sampled(fit, model, X, folder):
    rows = model.sample(5, random_state=0)[0]
    assert np.shape(rows) == (5, np.shape(X)[1])
    assert model.predict(rows).shape == (5,)


def _markers(fit, model, X, folder):
    found = model.markers(X)
    assert np.isfinite(found["effect"]).all()
    assert found["share_beyond"].dropna().between(0, 1).all()


def _contributions(fit, model, X, folder):
    found = model.contributions(X)
    np.testing.assert_array_equal(found.groups, np.asarray(model.predict_proba(X)).argmax(axis=1))
    size = np.abs(found.values).sum(axis=1) + np.abs(found.baseline)
    assert (np.abs(found.baseline + found.values.sum(axis=1) - found.log_odds) <= 1e-9 * (1 + size)).all()


def _split(fit, model, X, folder):
    found = model.subcluster(X, 1, 2)
    assert (found.predict(X) == found.labels).all()


def _explained(fit, model, X, folder):
    categories = None if not isinstance(X, np.ndarray) else list(range(1, X.shape[1]))
    assert len(explain(X, model.labels_, categories=categories).roles) == np.shape(X)[1]


def _reported(fit, model, X, folder):
    report(model, X, folder / "report.html")
    assert "</html>" in (folder / "report.html").read_text(encoding="utf-8")


def _stable(fit, model, X, folder):
    found = stability(model, X, n_subsamples=2, random_state=0, n_jobs=1, progress=False)
    assert found.frequencies.shape == (np.shape(X)[1],)


def _unknown(fit, model, X, folder):
    """A level that the fit has not seen is refused."""
    if not isinstance(X, pd.DataFrame):
        return
    encoding = getattr(model, "encoding_", None)
    for name, known in zip(encoding.names if encoding else (), encoding.levels if encoding else (), strict=True):
        if known is not None:
            other = X.copy()
            other[name] = other[name].astype(object)
            other.loc[other.index[0], name] = "never seen"
            try:
                model.predict(other)
            except ValueError as error:
                assert "never seen" in str(error) or "category" in str(error)  # noqa: PT017
            else:
                raise AssertionError(f"{name}: a level that the fit has not seen was taken")


QUESTIONS = {
    "order": _order, "save": _saved, "impute": _imputed, "sample": _sampled, "markers": _markers,
    "contributions": _contributions, "subcluster": _split, "explain": _explained, "report": _reported,
    "stability": _stable, "unknown": _unknown,
}  # fmt: skip
REASONS = (
    *WORDS, *ALSO, "categor", "column", "complete rows", "to split it", "labels", "groups need", "n_subsamples",
    "indicators are named", "one group only", "BayesianFisherEM", "rows", "text",
)  # fmt: skip


def test_categories(tmp_path):
    def case_of(asked: Asked) -> Case:
        X, codes = asked.given()
        made = ESTIMATORS[asked.estimator]

        def fit(rows, start=None):
            model = clone(made)
            inner = model.estimator if isinstance(model, ModelSearch) else model
            if codes and hasattr(inner, "categories"):
                inner.set_params(categories=codes)
            if start is not None:
                model = inner.set_params(init=start, n_clusters=2)
            return model.fit(rows)

        def run():
            model = fit(X)
            best = getattr(model, "best_estimator_", model)
            try:
                check_any(best, X)
                if hasattr(best, asked.question) or asked.question not in ("impute", "sample"):
                    QUESTIONS[asked.question](fit, best, X, tmp_path)
            except AssertionError as error:
                return error
            return None

        def check(wrong):
            if wrong is not None:
                raise wrong

        return Case(run, REASONS, check)

    drawn = st.builds(
        Asked, st.integers(5, 9) | st.integers(20, 40) | st.integers(20, 40), st.integers(0, 10**6),
        st.lists(st.sampled_from(KINDS), min_size=1, max_size=4).map(tuple),
        st.lists(st.sampled_from(LEVELS), min_size=1, max_size=4, unique=True).map(tuple),
        st.sampled_from([0.0, 0.0, 0.05, 0.3]), st.sampled_from(sorted(ESTIMATORS)), st.sampled_from(sorted(QUESTIONS)),
        st.sampled_from(["frame", "frame", "index", "polars", "array"]),
    )  # fmt: skip
    attack("categories", drawn, case_of, default=25)
