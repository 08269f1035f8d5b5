"""Fits with covariates that are constant, confounded, repeated, in absurd units, or not of these rows.

What is fitted keeps what holds of every fit, with its covariates and, as a model of adjusted rows, without them.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st
from sklearn.base import clone

from fisherem import BayesianFisherEM, FactorMixture, FisherEM, ModelSearch, SparseFisherEM, explain, load, report, save

from .invariants import check_any
from .outcomes import Case, attack
from .test_sparse_and_gaps import WORDS, Drawn, tables

RUN = {"n_init": 2, "random_state": 0, "n_jobs": 1}
ESTIMATORS = {
    "FisherEM": FisherEM(2, **RUN),
    "FisherEM, standardised": FisherEM(2, scale="standardise", model="DkBk", **RUN),
    "SparseFisherEM": SparseFisherEM(2, **RUN),
    "SparseFisherEM, svd": SparseFisherEM(2, method="svd", sparsity=0.6, **RUN),
    "ModelSearch": ModelSearch(
        FisherEM(random_state=0), n_clusters=[2, 3], criterion="bic", models=["DkB"], n_init=2, n_jobs=1, progress=False
    ),
}
WITHOUT = {
    "BayesianFisherEM": BayesianFisherEM(2, **RUN),
    "FactorMixture": FactorMixture(2, n_factors=1, **RUN),
    "FisherEM, power": FisherEM(2, transformation="power", **RUN),
    "FisherEM, log-counts": FisherEM(2, transformation="log-counts", **RUN),
}
# What no table can be fitted with.
REFUSED = ("same", "gap", "infinite", "twice", "short", "nothing", "deep")


def column(kind: str, n: int, rng) -> np.ndarray:
    """The values (n) of a covariate."""
    size = rng.normal(size=n)
    return {
        "batch": np.array(["north", "south", "east"], object)[rng.integers(0, 3, n)],
        "codes": rng.integers(0, 2, n),
        "truth": rng.integers(0, 2, n).astype(bool),
        "size": size,
        "groups": np.arange(n) % 2,
        "nearly groups": np.where(rng.uniform(size=n) < 0.05, 1 - np.arange(n) % 2, np.arange(n) % 2),
        "ids": np.array([f"row {i}" for i in range(n)], object),
        "rare": np.r_[1, np.zeros(n - 1, int)],
        "huge": 1e300 * size,
        "tiny": 1e-310 * size,
        "far": 1e15 + size,
        "outlier": np.r_[1e12, size[1:]],
        "mixed": np.array([1, "1", 2.0, "x"], object)[rng.integers(0, 4, n)],
        "strange": np.array(["", " ", "=1+1", "=north", "字"], object)[rng.integers(0, 5, n)],
        "dates": pd.to_datetime(rng.choice(["2020-01-01", "2021-02-03"], n)).to_numpy(),
        "same": np.full(n, "one", object),
        "gap": np.r_[np.nan, size[1:]],
        "infinite": np.r_[np.inf, size[1:]],
    }[kind]


@dataclass(frozen=True)
class Asked:
    """A table, its covariates and how they are held, what is fitted, and what is asked of it then."""

    table: Drawn
    kinds: tuple[str, ...]
    broken: str | None
    held: str
    estimator: str
    question: str

    def covariates(self):
        """What is given as covariates; also a frame of the same columns."""
        rng = np.random.default_rng(self.table.seed + 3)
        n = self.table.n
        frame = pd.DataFrame({f"{kind} {j}": column(kind, n, rng) for j, kind in enumerate(self.kinds)})
        if self.broken == "twice":
            frame["again"] = frame.iloc[:, 0]
        elif self.broken == "short":
            frame = frame.iloc[:-1]
        elif self.broken == "nothing":
            frame = frame.iloc[:, :0]
        elif self.broken == "deep":
            return np.zeros((n, 1, 1))
        elif self.broken is not None:
            frame["broken"] = column(self.broken, n, rng)
        if self.held == "array" and len(frame.columns) == 1:
            return frame.iloc[:, 0].to_numpy()
        if self.held == "series" and len(frame.columns):
            return frame.iloc[:, 0] if len(frame.columns) == 1 else frame
        if self.held == "dict":
            return {name: frame[name].to_numpy() for name in frame}
        if self.held == "polars" and not any(kind in ("mixed", "dates") for kind in self.kinds):
            return pl.DataFrame({name: frame[name].to_list() for name in frame})
        return frame


def _plain(model, X, Z, folder):
    """The model of adjusted rows says the same."""
    plain, rows = model.adjusted(X, Z)
    np.testing.assert_array_equal(plain.predict(rows), model.predict(X, covariates=Z))
    check_any(getattr(plain, "best_estimator_", plain), rows)


def _saved(model, X, Z, folder):
    again = load(save(model, folder / "model.skops"))
    np.testing.assert_array_equal(again.predict_proba(X, covariates=Z), model.predict_proba(X, covariates=Z))


def _markers(model, X, Z, folder):
    found = model.markers(X, covariates=Z)
    assert np.isfinite(found["effect"]).all()
    assert set(found["variable"]) == {f"x{j + 1}" for j in range(X.shape[1])}


def _contributions(model, X, Z, folder):
    found = model.contributions(X, covariates=Z)
    np.testing.assert_array_equal(found.groups, np.asarray(model.predict_proba(X, covariates=Z)).argmax(axis=1))


def _outlying(model, X, Z, folder):
    found = np.asarray(model.outlyingness(X, covariates=Z))
    assert ((found >= 0) & (found <= 1)).all()


def _split(model, X, Z, folder):
    found = model.subcluster(X, 1, 2, covariates=Z)
    np.testing.assert_array_equal(found.predict(X, covariates=Z) == found.labels, True)


def _explained(model, X, Z, folder):
    labels = np.asarray(model.predict(X, covariates=Z))
    assert len(explain(X, labels, covariates=Z).roles) == X.shape[1]


def _reported(model, X, Z, folder):
    report(model, X, folder / "report.html", covariates=Z)
    assert "</html>" in (folder / "report.html").read_text(encoding="utf-8")


def _refused_without(model, X, Z, folder):
    for ask in (model.predict, model.predict_proba, model.transform, model.score_samples, model.markers):
        try:
            ask(X)
        except ValueError as error:
            assert "covariates" in str(error)  # noqa: PT017
        else:
            raise AssertionError(f"{ask.__name__} took rows without their covariates")


QUESTIONS = {
    "adjusted": _plain, "save": _saved, "markers": _markers, "contributions": _contributions,
    "outlyingness": _outlying, "subcluster": _split, "explain": _explained, "report": _reported,
    "without": _refused_without,
}  # fmt: skip
# Beside those of the tables: why covariates, or questions, are refused.
REASONS = (
    *WORDS, "covariate", "one group only", "rows of X", "to split it", "groups need", "labels", "complete rows",
    "variance_floor", "no convergence", "model.impute", "log-counts", "counts", "power",
)  # fmt: skip


def _with_rows(table: Drawn) -> Drawn:
    """Rather enough rows for effects and groups; few rows now and then."""
    return table if table.n > 9 or table.seed % 8 == 0 else replace(table, n=table.n + 12)


def test_covariates(tmp_path):
    def case_of(asked: Asked) -> Case:
        X, Z = asked.table.with_gaps() if asked.table.seed % 12 == 0 else asked.table.rows(), asked.covariates()

        def run():
            model = clone((ESTIMATORS | WITHOUT)[asked.estimator]).fit(X, covariates=Z)
            try:
                best = getattr(model, "best_estimator_", model)
                check_any(best, X, covariates=Z)
                QUESTIONS[asked.question](model, X, Z, tmp_path)
            except AssertionError as error:
                return error
            return None

        def check(wrong):
            if wrong is not None:
                raise wrong

        valid = False if asked.broken is not None or asked.estimator in WITHOUT else None
        return Case(run, REASONS, check, valid)

    usual = sorted(
        {"batch", "codes", "truth", "size", "groups", "nearly groups", "ids", "rare", "huge", "tiny", "far", "outlier",
         "mixed", "strange", "dates"}
    )  # fmt: skip
    drawn = st.builds(
        Asked, tables().map(_with_rows), st.lists(st.sampled_from(usual), min_size=1, max_size=2).map(tuple),
        st.sampled_from([None] * 30 + [*REFUSED]), st.sampled_from(["frame", "array", "series", "dict", "polars"]),
        st.sampled_from([*sorted(ESTIMATORS) * 8, *sorted(WITHOUT)]), st.sampled_from(sorted(QUESTIONS)),
    )  # fmt: skip
    attack("covariates", drawn, case_of, default=25)
