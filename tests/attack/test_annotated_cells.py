"""`fisherem.anndata.cluster` on objects that contradict themselves; what is in them already is never replaced.

anndata itself may be missing: what is clustered is a small object with the attributes of an AnnData object in memory.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from scipy import sparse

from fisherem import FactorMixture, FisherEM, SparseFisherEM
from fisherem.anndata import cluster

from .invariants import check_any
from .outcomes import Case, attack
from .test_sparse_and_gaps import WORDS


class Cells:
    """n cells of p genes in memory, as an AnnData object has them."""

    isbacked = is_view = False

    def __init__(self, X, obs: pd.DataFrame, var: pd.DataFrame):
        self.X, self.obs, self.var = X, obs, var
        self.layers: dict = {}
        self.obsm: dict = {}
        self.uns: dict = {}

    obs_names = property(lambda self: self.obs.index)
    var_names = property(lambda self: self.var.index)
    n_obs = property(lambda self: len(self.obs))
    n_vars = property(lambda self: len(self.var))
    shape = property(lambda self: (self.n_obs, self.n_vars))


Cells.__module__ = "anndata"  # by which such objects are recognised

HOLDERS = {
    "array": lambda X: X, "float32": lambda X: X.astype("f4"), "counts": lambda X: X.astype(np.int64),
    "csr": sparse.csr_matrix, "csc": sparse.csc_matrix, "csr array": sparse.csr_array, "coo": sparse.coo_matrix,
    "none": lambda X: None, "frame": pd.DataFrame,
}  # fmt: skip
MARKS = {
    "unmarked": None, "some": lambda p: np.arange(p) % 2 == 0, "all": lambda p: np.ones(p, bool),
    "nobody": lambda p: np.zeros(p, bool), "gaps": lambda p: np.array([True, None] * p, object)[:p],
    "one": lambda p: np.arange(p) == 1, "words": lambda p: np.array(["yes", "no"] * p, object)[:p],
}  # fmt: skip
TAKEN = ("obs", "var", "obsm", "uns", "ours")
COVARIATES = (*[None] * 9, "batch", "depth", ("batch", "depth"), "nothing", ("batch", "nothing"), "same", "ids")
ESTIMATORS = (None, None, FisherEM(n_init=1, random_state=0), SparseFisherEM(sparsity=0.5, n_init=1, random_state=0),
              FactorMixture(n_factors=1, n_init=1), FisherEM(transformation="log-counts", n_init=1))  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """Cells, what is wrong with the object, and how it is clustered."""

    n: int
    p: int
    seed: int
    held: str
    marks: str
    taken: str | None
    names: str
    layer: str | None
    covariates: object
    n_clusters: object
    estimator: int
    damage: str | None

    def cells(self) -> Cells:
        """The object."""
        rng = np.random.default_rng(self.seed)
        odd = np.arange(self.n) % 2
        X = rng.poisson(np.where(odd[:, None] * (np.arange(self.p) < 3), 12.0, 3.0), (self.n, self.p)).astype(float)
        if self.damage == "NaN":
            X[0, 0] = np.nan
        elif self.damage == "infinite":
            X[-1, -1] = np.inf
        elif self.damage == "empty cell":
            X[1] = 0
        elif self.damage == "silent gene":
            X[:, 1] = 0
        elif self.damage == "far":
            X[0, 0] = 1e30 if self.held == "float32" else 2.0**60
        with np.errstate(invalid="ignore"):  # NaN as a count
            held = HOLDERS[self.held](X)
        names = {
            "usual": [f"gene{j}" for j in range(self.p)], "twice": ["gene"] * self.p, "numbers": list(range(self.p)),
            "formulas": [f"=SUM({j})" for j in range(self.p)],
        }[self.names]  # fmt: skip
        cells = [f"c{i}" for i in range(self.n)]
        about = {"batch": rng.choice(["a", "b"], self.n), "depth": rng.normal(size=self.n), "same": 1, "ids": cells}
        obs = pd.DataFrame(about, index=cells)
        found = Cells(held, obs, pd.DataFrame(index=names))
        if MARKS[self.marks] is not None:
            found.var["highly_variable"] = MARKS[self.marks](self.p)
        found.layers["logs"] = sparse.csr_matrix(np.log1p(X))
        place = {"obs": found.obs, "var": found.var, "obsm": found.obsm, "uns": found.uns}
        if self.taken == "ours":
            found.uns["fisherem"] = {"method": "fisherem"}
            found.obs["fisherem"] = "old"
        elif self.taken is not None:
            name = {"obs": "fisherem_posterior", "var": "fisherem_role", "obsm": "X_fisherem", "uns": "fisherem"}
            value = {"obs": 1.0, "var": "mine", "obsm": np.ones((self.n, 1)), "uns": {"method": "mine"}}
            place[self.taken][name[self.taken]] = value[self.taken]
        return found


REASONS = (
    *WORDS, "adata", "layer", "genes have the same name", "covariate", "no X", "key_added", "infinity", "NaN", "Sparse",
    "counts", "n_clusters", "one feature", "feature(s)", "obs has no column", "needs", "column", "covariates", "gene",
    "highly_variable", "log-counts", "without", "estimator must be",
)  # fmt: skip


def _snapshot(adata: Cells) -> dict:
    return {
        "obs": adata.obs.copy(), "var": adata.var.copy(), "obsm": dict(adata.obsm), "uns": dict(adata.uns),
        "X": None if adata.X is None else adata.X.copy(),
    }  # fmt: skip


def _unchanged(adata: Cells, before: dict, added: set[str]) -> None:
    """Everything but what was added is as it was."""
    for name in ("obs", "var"):
        now, then = getattr(adata, name), before[name]
        kept = [column for column in then if column not in added]
        assert [column for column in now if column not in added] == kept
        assert all(now[column].equals(then[column]) for column in kept)
    for name in ("obsm", "uns"):
        assert {k: id(v) for k, v in getattr(adata, name).items() if k not in added} == {
            k: id(v) for k, v in before[name].items() if k not in added
        }
    if before["X"] is not None:
        np.testing.assert_array_equal(_dense(adata.X), _dense(before["X"]))


def _dense(X) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


ADDED = {
    "fisherem", "fisherem_posterior", "fisherem_selected", "fisherem_role", "X_fisherem", "fisherem_posteriors",
}  # fmt: skip


def test_annotated_cells():
    def case_of(asked: Asked) -> Case:
        adata = asked.cells()
        before = _snapshot(adata)
        options = {"layer": asked.layer, "covariates": asked.covariates, "estimator": ESTIMATORS[asked.estimator]}

        def run():
            try:
                return cluster(adata, asked.n_clusters, n_jobs=1, **options)
            except Exception:
                _unchanged(adata, before, set())
                raise

        def check(found):
            assert asked.taken in (None, "ours")
            best = getattr(found, "best_estimator_", found)
            assert adata.obs["fisherem"].astype(int).tolist() == (best.labels_ + 1).tolist()
            assert adata.obs["fisherem_posterior"].between(0, 1 + 1e-9).all()
            posteriors = adata.obsm["fisherem_posteriors"]
            np.testing.assert_allclose(posteriors.sum(axis=1), 1, atol=1e-6)
            assert np.isfinite(adata.obsm["X_fisherem"]).all()
            assert adata.obsm["X_fisherem"].shape[0] == asked.n
            marked = asked.marks == "some" or asked.marks in ("gaps", "one")
            assert (adata.var["fisherem_role"] == "not used").any() == marked
            assert adata.uns["fisherem"]["n_clusters"] == len(best.weights_)
            _unchanged(adata, before, ADDED)
            if asked.covariates is None and asked.layer is None:
                check_any(best, adata)

        return Case(run, REASONS, check)

    drawn = st.builds(
        Asked, st.integers(4, 8) | st.integers(20, 40) | st.integers(20, 40), st.integers(2, 8), st.integers(0, 10**6),
        st.sampled_from([*sorted(HOLDERS), "array", "csr", "csr"]),
        st.sampled_from([*["unmarked"] * 4, *sorted(MARKS)]),
        st.sampled_from([None] * 15 + [*TAKEN]), st.sampled_from(["usual"] * 12 + ["twice", "numbers", "formulas"]),
        st.sampled_from([None] * 6 + ["logs", "logs", "nothing"]), st.sampled_from(COVARIATES),
        st.sampled_from([*[2] * 12, 3, 3, 1, None, 0, "2", 2.0, 10**6]), st.integers(0, len(ESTIMATORS) - 1),
        st.sampled_from([*[None] * 8, "NaN", "infinite", "empty cell", "silent gene", "far"]),
    )  # fmt: skip
    attack("annotated cells", drawn, case_of, default=20)
