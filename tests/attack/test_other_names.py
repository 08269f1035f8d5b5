"""Given groups, displays, what pipelines of scikit-learn ask for, simulated tables and spectral libraries."""

import inspect
import warnings
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from scipy import sparse

from fisherem import FisherEM, SparseFisherEM, datasets, explain, plots
from fisherem.images import Library, read_library

from .invariants import check_any
from .outcomes import Case, attack
from .test_arguments import HOSTILE
from .test_every_estimator import RUN
from .test_public_names import REASONS
from .test_sparse_and_gaps import Drawn, tables

PALETTES = (None, None, "viridis", "tab10", ["red"], ["#fff", "0.5"], "nonsense", [], ["no colour"], 3)
LABELS = {
    "two": lambda n, rng: np.arange(n) % 2,
    "words": lambda n, rng: np.array(["=a", "b,c", "a"])[np.arange(n) % 3],
    "left out": lambda n, rng: np.where(rng.uniform(size=n) < 0.3, -1, np.arange(n) % 2),
    "none": lambda n, rng: np.array([None, "a", "b"] * n, object)[:n],
    "random": lambda n, rng: rng.integers(0, 3, n),
    "one": lambda n, rng: np.zeros(n, int),
    "alone": lambda n, rng: (np.arange(n) == 0).astype(int),
    "all": lambda n, rng: np.arange(n),
    "floats": lambda n, rng: np.where(np.arange(n) % 2, 0.5, np.nan),
    "short": lambda n, rng: np.arange(n - 1) % 2,
}
WORDS = (*REASONS, "labels", "palette", "colour", "group", "n_features", "two axes", "axes")


@dataclass(frozen=True)
class Explained:
    """A table, how it is given, its groups, and what is asked of the explanation."""

    table: Drawn
    rows: str  # "plain", "gaps", "frame" or "sparse"
    labels: str
    question: str
    palette: int

    def X(self):
        """The rows."""
        held = self.table.with_gaps() if self.rows == "gaps" else self.table.rows()
        if self.rows == "frame":
            return pd.DataFrame(held, columns=[f"=v {j}" for j in range(held.shape[1])])
        return sparse.csr_array(held) if self.rows == "sparse" else held


def _check_explained(found, X, asked: Explained, folder) -> None:
    n, palette = X.shape[0], PALETTES[asked.palette]
    kept = found.labels >= 0
    assert found.labels.shape == found.placed.shape == found.placed_elsewhere.shape == (n,)
    assert len(found.roles) == X.shape[1]
    assert len(found.values) == len(found.classes) == found.labels.max() + 1
    np.testing.assert_allclose(found.agreement, 1 - found.placed_elsewhere[kept].mean(), atol=1e-12)
    check_any(found.model, X, kept.astype(float))  # rows without a group have no part in the fit
    posteriors = np.sort(np.asarray(found.model.predict_proba(X)), axis=1)
    clear = posteriors[:, -1] > 0.5 + 1e-6
    np.testing.assert_array_equal(found.predict(X)[clear], found.values[found.placed][clear])
    if asked.question == "markers":
        assert set(found.markers(X)["group"]) <= set(found.values)
    elif asked.question == "table":
        table = found.table(X)
        assert len(table) == n
        assert table["posterior"].between(0, 1 + 1e-9).all()
        assert table["tail_probability"].between(0, 1).all()
    elif asked.question == "contributions":
        why = found.contributions(X)
        np.testing.assert_array_equal(why.groups[kept], found.labels[kept])
    elif asked.question == "summary":
        assert str(found.summary()).strip()
    elif asked.question == "report":
        text = found.report(X, folder / "page.html", palette=palette).read_text(encoding="utf-8")
        assert "</html>" in text
    else:
        found.plot(X if asked.question == "plot rows" else None, axes=(0, 0), palette=palette)
        plt.close("all")


def test_given_groups(tmp_path):
    def case_of(asked: Explained) -> Case:
        X, rng = asked.X(), np.random.default_rng(asked.table.seed)
        labels = LABELS[asked.labels](asked.table.n, rng)

        def run():
            found = explain(X, labels)
            try:
                _check_explained(found, X, asked, tmp_path)
            except AssertionError as error:
                return error
            return None

        return Case(run, WORDS, _raise)

    drawn = st.builds(
        Explained, tables(), st.sampled_from(["plain", "plain", "gaps", "frame", "sparse"]),
        st.sampled_from(["two", "two", "words", *sorted(LABELS)]),
        st.sampled_from(["markers", "table", "contributions", "summary", "report", "plot", "plot rows"]),
        st.integers(0, len(PALETTES) - 1),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attack("given groups", drawn, case_of, default=20)


def _raise(wrong) -> None:
    if wrong is not None:
        raise wrong


def _frames(model, X):
    made = model.set_output(transform="pandas").fit_transform(X)
    assert isinstance(made, pd.DataFrame)
    assert list(made.columns) == list(model.get_feature_names_out())
    np.testing.assert_allclose(made, np.asarray(model.transform(X)), rtol=1e-9, atol=1e-9 * np.abs(made).max().max())
    # the labels of another fit of the same rows
    np.testing.assert_array_equal(model.fit_predict(X), model.labels_)


DISPLAYS = {
    "ProfilesDisplay": lambda model, X: plots.ProfilesDisplay.from_estimator(model, X),
    "LoadingsDisplay": lambda model, X: plots.LoadingsDisplay.from_estimator(model, n_variables=2),
    "ProjectionDisplay": lambda model, X: plots.ProjectionDisplay.from_estimator(model, X, axes=(0, 0)),
    "MergeDisplay": lambda model, X: plots.MergeDisplay.from_estimator(model, X),
    "MarkersDisplay": lambda model, X: plots.MarkersDisplay.from_estimator(model, X, n_variables=2),
    "SelectionDisplay": lambda model, X: plots.SelectionDisplay.from_models({"a": model, "b": model}),
}


def test_displays_and_pipelines():
    def case_of(drawn) -> Case:
        table, gaps, sparse_model, what, palette = drawn
        X = table.with_gaps() if gaps else table.rows()

        def run():
            model = (SparseFisherEM if sparse_model else FisherEM)(2, n_init=1, **RUN)
            try:
                if what == "pipelines":
                    _frames(model, X)
                else:
                    display = DISPLAYS[what](model.fit(X), X)
                    display.plot(palette=PALETTES[palette])
                    assert len(repr(display)) < 200
            except AssertionError as error:
                return error
            finally:
                plt.close("all")
            return None

        return Case(run, WORDS, _raise)

    drawn = st.tuples(tables(), st.booleans(), st.booleans(), st.sampled_from(["pipelines", *sorted(DISPLAYS)]),
                      st.integers(0, len(PALETTES) - 1))  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attack("displays", drawn, case_of, default=15)


SIMULATIONS = {
    "simulate": datasets.simulate, "simulate_chang": datasets.simulate_chang, "simulate_dlm": datasets.simulate_dlm,
    "simulate_roles": datasets.simulate_roles, "simulate_rotated": datasets.simulate_rotated,
    "simulate_snr": datasets.simulate_snr, "mars_like": datasets.mars_like,
}  # fmt: skip
# As many rows, or columns, are memory that is asked for, not a fault.
LARGE = (10**18, 1e300)


def test_simulations():
    calls = [(name, argument) for name, one in SIMULATIONS.items() for argument in inspect.signature(one).parameters]
    values = [
        v for v in HOSTILE if not isinstance(v, type(iter(()))) and not (isinstance(v, (int, float)) and v in LARGE)
    ]
    small = {"n": 30, "p": 30, "rows": 12, "cols": 12, "bands": 60}

    def case_of(drawn) -> Case:
        (name, argument), number = drawn
        given = {key: value for key, value in small.items() if key in inspect.signature(SIMULATIONS[name]).parameters}
        if name == "simulate":
            given["p"] = 10

        def check(found):
            rows = np.asarray(found[0] if isinstance(found, tuple) else getattr(found, "X", getattr(found, "cube", 0)))
            assert rows.dtype == object or np.isfinite(rows.astype(float)).any()

        also = (
            ("random_state", "seed", "Seed") if argument in ("random_state", "seed") else (argument, "n must", "p must")
        )
        return Case(lambda: SIMULATIONS[name](**(given | {argument: values[number]})), also, check)

    attack("simulations", st.tuples(st.sampled_from(calls), st.integers(0, len(values) - 1)), case_of, default=60)


@pytest.mark.filterwarnings("ignore")
def test_spectral_libraries(tmp_path):
    path = tmp_path / "library.csv"

    def case_of(lines) -> Case:
        path.write_text("\n".join(",".join(line) for line in lines), encoding="utf-8")

        def check(found):
            assert isinstance(found, Library)
            assert np.isfinite(found.wavelengths).all()
            assert found.spectra.shape == (len(found.names), len(found.wavelengths))

        return Case(lambda: read_library(path), ("library.csv",), check)

    cell = st.sampled_from(
        ["wavelength", "soil", "leaf", "0.4", "0.5", "0.6", "450", "-1", "nan", "", "x", "1e400", '"', "=1"]
    )
    lines = st.lists(st.lists(cell, min_size=1, max_size=4), max_size=6)
    usual = st.lists(st.tuples(st.floats(0.3, 2.5).map(str), st.floats(0, 1).map(str)), min_size=1, max_size=6).map(
        lambda rows: [["wavelength", "soil"], *map(list, rows)]
    )
    attack("libraries", lines | usual, case_of, default=40)
