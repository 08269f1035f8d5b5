"""Arguments that no one should give: wrong types, absurd counts, NaN, infinity, nothing at all."""

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fisherem import (
    BayesianFisherEM,
    Clustvarsel,
    FactorMixture,
    FisherEM,
    ModelSearch,
    SelectDiscriminative,
    Selvarclust,
    SparseFisherEM,
    SparseKMeans,
    compare,
    datasets,
    explain,
    load,
    save,
    significance,
    stability,
)

from .outcomes import Case, attack

HOSTILE = [
    None, True, False, 0, 1, -1, 2, 3.5, 0.5, -0.5, 10**18, -(10**18), 10**400, 1e300, 1e-300, float("nan"),
    float("inf"), -float("inf"), 2 + 1j, "", "auto", "nonsense", "3", b"3", [], [[]], (), {}, {"a": 1}, {1, 2}, [None],
    ["nonsense"], [0.5, float("nan")], [1, 2, 3], [0], [-1], [2, 10**18], range(10**12), iter(()), np.array([]),
    np.zeros((2, 2, 2)), np.array(["a"]), np.nan, np.float32(0.5), np.int8(3), np.bool_(True),
    np.datetime64("2020-01-01"), object(), len, int,
]  # fmt: skip


def rows() -> np.ndarray:
    """40 x 3, two groups."""
    return np.random.default_rng(0).normal(size=(40, 3)) + 4 * (np.arange(40) % 2)[:, None]


X, LABELS = rows(), np.arange(40) % 2
# What is called, with arguments that are quick and right; each one in turn is replaced by a hostile value.
QUICK: dict[str, tuple[Any, dict[str, Any]]] = {
    "FisherEM": (FisherEM, {"n_clusters": 2, "n_init": 1, "random_state": 0, "n_jobs": 1}),
    "SparseFisherEM": (SparseFisherEM, {"n_clusters": 2, "n_init": 1, "random_state": 0, "n_jobs": 1}),
    "SparseFisherEM, penalised": (
        SparseFisherEM, {"n_clusters": 2, "n_init": 1, "random_state": 0, "n_jobs": 1, "sparsity": 0.5},
    ),
    "FactorMixture": (FactorMixture, {"n_clusters": 2, "n_factors": 1, "n_init": 1, "random_state": 0, "n_jobs": 1}),
    "FactorMixture, MCFA": (
        FactorMixture,
        {"n_clusters": 2, "n_factors": 1, "structure": "MCFA", "n_init": 1, "random_state": 0, "n_jobs": 1},
    ),
    "BayesianFisherEM": (
        BayesianFisherEM,
        {"n_clusters": 2, "method": "svd", "sparsity": 0.5, "n_init": 1, "random_state": 0, "n_jobs": 1},
    ),
    "ModelSearch, factors": (
        ModelSearch,
        {"estimator": FactorMixture(n_factors=1, tol=1e-3, random_state=0), "n_clusters": [2], "models": ["UUU"],
         "n_factors": [1], "n_init": 1, "n_jobs": 1, "progress": False},
    ),
    "ModelSearch": (
        ModelSearch,
        {"estimator": FisherEM(random_state=0), "n_clusters": [2], "models": ["AB"], "n_init": 1, "n_jobs": 1,
         "progress": False},
    ),
    "ModelSearch, sparse": (
        ModelSearch,
        {"estimator": SparseFisherEM(random_state=0), "n_clusters": [2], "models": ["AB"], "sparsities": [1.0],
         "n_init": 1, "n_jobs": 1, "progress": False},
    ),
    "SelectDiscriminative": (SelectDiscriminative, {"estimator": SparseFisherEM(2, n_init=1, random_state=0)}),
    "SparseKMeans": (
        SparseKMeans, {"n_clusters": 2, "n_init": 1, "n_permutations": 2, "random_state": 0, "n_jobs": 1},
    ),
    "Clustvarsel": (Clustvarsel, {"n_clusters": 2, "models": ["EII"], "n_jobs": 1}),
    "Selvarclust": (Selvarclust, {"n_clusters": 2, "models": ["EII"], "n_jobs": 1}),
    "compare": (
        compare, {"X": X, "y": LABELS, "methods": {"one": FisherEM(2, n_init=1, random_state=0)}, "n_clusters": 2},
    ),
    "explain": (explain, {"X": X, "labels": LABELS}),
    "stability": (
        stability,
        {"estimator": SparseFisherEM(2, sparsity=0.5, n_init=1), "X": X, "n_subsamples": 2, "n_jobs": 1,
         "random_state": 0, "progress": False},
    ),
    "significance": (
        significance,
        {"model": SparseFisherEM(2, n_init=1, random_state=0, n_jobs=1).fit(X), "X": X, "draws": 2, "n_jobs": 1,
         "random_state": 0, "progress": False},
    ),
    "load": (load, {"path": "no such file"}),
}  # fmt: skip
# Words by which an argument may be named beside its own name.
ALSO = {
    "random_state": ("seed", "Seed"), "X": ("X", "table", "column", "row", "array", "feature", "sample"),
    "y": ("y must", "y has", "y:"), "path": ("path", "model file", "no such"), "model": ("model",),
    "checkpoint": ("checkpoint", "path"),
    "sparsity": ("sparsity", "starts led to a fit"), "estimator": ("estimator", "Estimator"), "models": ("model",),
    "labels": ("labels", "group"),
    "n_clusters": ("n_clusters", "distinct row", "number of groups"),
}  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """A call with one bad argument."""

    call: str
    argument: str
    number: int  # of the hostile value

    def run(self):
        """Construct and fit, or call."""
        what, given = QUICK[self.call]
        value = HOSTILE[self.number]
        given = given | {self.argument: iter(()) if isinstance(value, type(iter(()))) else value}
        return what(**given).fit(X) if inspect.isclass(what) else what(**given)


def arguments() -> list[tuple[str, str]]:
    """Every call with every argument of it."""
    skip = {"n_jobs"}  # any number is taken, and None
    return [
        (name, argument)
        for name, (what, _) in QUICK.items()
        for argument in inspect.signature(what).parameters
        if argument not in skip
    ]


def test_arguments():
    calls = arguments()
    drawn = st.builds(
        lambda call, number: Drawn(*call, number), st.sampled_from(calls), st.integers(0, len(HOSTILE) - 1)
    )

    def case_of(one: Drawn) -> Case:
        names = ALSO.get(one.argument, (one.argument,))
        return Case(one.run, names)

    attack("arguments", drawn, case_of, default=120)


METHODS = (
    "predict",
    "predict_proba",
    "transform",
    "score_samples",
    "outlyingness",
    "contributions",
    "bic",
    "icl",
    "aic",
    "score",
)


def test_rows_for_a_fitted_model():
    model = FisherEM(2, n_init=1, random_state=0, n_jobs=1).fit(X)
    values = [value for value in HOSTILE if not isinstance(value, type(iter(())))]
    drawn = st.tuples(st.sampled_from(METHODS), st.integers(0, len(values) - 1))

    def case_of(one: tuple[str, int]) -> Case:
        return Case(lambda: getattr(model, one[0])(values[one[1]]), ALSO["X"], valid=False)

    attack("rows for a model", drawn, case_of, default=40)


def test_other_arguments_of_methods():
    model = FisherEM(2, n_init=1, random_state=0, n_jobs=1).fit(X)
    calls = {
        "n_samples": lambda value: model.sample(value),
        "sample_weight": lambda value: model.fit(X, sample_weight=value),
        "criterion": lambda value: model.criterion(value, X),
        "name": lambda value: datasets.load(value),
        "path": lambda value: save(model, value),
    }
    bad = [value for value in HOSTILE if not isinstance(value, (str, bytes, bool, np.bool_)) and value is not None]
    drawn = st.tuples(st.sampled_from(sorted(calls)), st.integers(0, len(bad) - 1))

    def case_of(one: tuple[str, int]) -> Case:
        names = {"name": ("name", "data set"), "path": ("path",)}.get(one[0], (one[0],))
        return Case(lambda: calls[one[0]](bad[one[1]]), names)

    attack("methods", drawn, case_of, default=40)
