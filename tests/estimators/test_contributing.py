"""Why a row is in its group: sums over variables against the posteriors, terms against explicit inverse covariances."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.mixture import GaussianMixture

import fisherem
from fisherem import FisherEM, ModelSearch, SparseFisherEM
from fisherem.cli import main

from .. import naive
from .test_outlying import KINDS, covariance

MORE = KINDS | {"power": lambda: FisherEM(3, transformation="power", random_state=0, n_init=1)}


@pytest.fixture(scope="module")
def rows(wine):
    return wine[0] + np.arange(wine[0].shape[1])


@pytest.fixture(scope="module")
def fitted(rows):
    return {name: make().fit(rows) for name, make in MORE.items()}


@pytest.mark.parametrize("name", MORE)
def test_terms_add_up_to_the_log_odds(name, fitted, rows):
    model = fitted[name]
    found = model.contributions(rows)
    T = model.predict_proba(rows)
    order = np.argsort(-T, axis=1, kind="stable")
    assert (found.groups == model.labels_).all()
    assert (found.against == order[:, 1]).all()
    at = np.arange(len(rows))
    assert found.baseline + found.values.sum(axis=1) == pytest.approx(found.log_odds, abs=1e-12)
    known = T[at, found.against] > 1e-200
    odds = np.log(T[at, found.groups]) - np.log(np.maximum(T[at, found.against], 1e-300))
    assert known.sum() > 50
    assert np.abs(found.log_odds - odds)[known].max() < 1e-9
    frame = found.frame(index=at)
    assert list(frame.columns[:4]) == ["group", "against", "log_odds", "baseline"]
    assert list(frame["group"]) == [f"group {k + 1}" for k in model.labels_]
    assert list(frame["against"]) == [f"group {k + 1}" for k in order[:, 1]]
    assert frame.iloc[:, 3:].sum(axis=1).to_numpy() == pytest.approx(found.log_odds)


@pytest.mark.parametrize("name", ["full", "factors", "standardised", "MFA", "MCFA", "sparse"])
def test_terms_are_those_of_explicit_inverses(name, fitted, rows):
    """u_j [(P_a + P_b) h]_j + 1/2 u_j [(P_b - P_a) u]_j, with the pairs as what is not on the diagonal."""
    model = fitted[name]
    found = model.contributions(rows[:12])
    P = [np.linalg.inv(covariance(model, k)) for k in range(3)]
    Y, M = rows[:12] / model.scales_, model.means_ / model.scales_
    for i, y in enumerate(Y):
        a, b = found.groups[i], found.against[i]
        h, u, D = (M[a] - M[b]) / 2, y - (M[a] + M[b]) / 2, P[b] - P[a]
        pairs = u[:, None] * D * u
        np.fill_diagonal(pairs, 0)
        assert found.values[i] == pytest.approx(u * ((P[a] + P[b]) @ h) + 0.5 * u * (D @ u), abs=1e-7)
        assert found.interactions[i] == pytest.approx(0.5 * pairs.sum(axis=1), abs=1e-7)
        named = found.pairs(i, most=3)
        for one in named.itertuples():
            j, other = (found.names.index(name) for name in (one.variable, one.other))
            assert one.value == pytest.approx(pairs[j, other], abs=1e-7)
        if pairs.any() and len(named):
            assert abs(named["value"][0]) == pytest.approx(np.abs(pairs).max(), abs=1e-7)


def test_a_common_covariance_has_no_interactions(rows):
    model = FisherEM(3, model="DB", random_state=0, n_init=1).fit(rows)
    found = model.contributions(rows)
    assert not found.interactions.any()
    assert not len(found.pairs(0))
    # linear in the variable: a step of one changes the term by its weight, and no other term
    moved = rows.copy()
    moved[:, 2] += 0.01
    again = model.contributions(moved)
    same = (again.groups == found.groups) & (again.against == found.against)
    off = (again.values - found.values)[same]
    assert np.abs(np.delete(off, 2, axis=1)).max() < 1e-12
    for k in range(3):
        mine = (found.groups[same] == k) & (found.against[same] == (k + 1) % 3)
        assert np.ptp(off[mine, 2]) < 1e-12 if mine.any() else True


def test_only_selected_variables_have_terms_where_they_make_the_groups(fitted, rows):
    model = fitted["sparse"]
    assert not model.support_.all()
    assert not model.contributions(rows).values[:, ~model.support_].any()


@pytest.mark.parametrize("name", MORE)
def test_the_smallest_change_moves_the_row_and_a_smaller_one_does_not(name, fitted, rows):
    model = fitted[name]
    changes = model.contributions(rows).changes
    moved, nearly, seen = rows.copy(), rows.copy(), changes["to"].to_numpy() != ""
    assert seen.mean() > 0.8
    names = list(model.contributions(rows[:1]).names)
    for i in np.flatnonzero(seen):
        j = names.index(changes["variable"][i])
        assert model.support_[j]
        assert changes["value"][i] == rows[i, j]
        moved[i, j] = changes["becomes"][i]
        nearly[i, j] = rows[i, j] + 0.99 * (changes["becomes"][i] - rows[i, j])
    assert [f"group {k + 1}" for k in model.predict(moved)[seen]] == list(changes["to"][seen])
    assert (model.predict(nearly)[seen] == model.labels_[seen]).all()


def test_no_other_selected_variable_needs_a_smaller_step(fitted, rows):
    """By steps of a grid: the first that moves a row is no shorter than the change that was found."""
    model = fitted["standardised"]
    changes = model.contributions(rows[:5]).changes
    for i in range(5):
        j = int(changes["variable"][i][1:]) - 1
        length = abs(changes["becomes"][i] - changes["value"][i]) / model.scales_[j]
        for t in np.linspace(-0.98, 0.98, 15) * length:
            tried = rows[i] + np.diag(t * model.scales_)
            assert (model.predict(tried) == model.labels_[i]).all()


def test_rows_that_cannot_be_explained(rows):
    gappy = rows.copy()
    gappy[3, 2] = np.nan
    model = FisherEM(3, model="AkB", random_state=0, n_init=1).fit(gappy)
    with pytest.raises(ValueError, match=r"row 3 .*impute"):
        model.contributions(gappy)
    assert len(model.contributions(model.impute(gappy)).log_odds) == len(rows)
    with pytest.raises(ValueError, match="one group only"):
        FisherEM(1).fit(rows).contributions(rows)
    with pytest.raises(ValueError, match="row"):
        model.contributions(rows).pairs(len(rows))


def test_a_search_explains_its_best_fit(rows):
    frame = pd.DataFrame(rows, columns=[f"v{j}" for j in range(rows.shape[1])])
    search = ModelSearch(SparseFisherEM(random_state=0), n_clusters=[3], models=["DB"], sparsities=[0.5], n_init=1,
                         n_jobs=1, progress=False).fit(frame)  # fmt: skip
    found = search.contributions(frame)
    assert found.names == list(frame.columns)
    assert found.log_odds == pytest.approx(search.best_estimator_.contributions(frame).log_odds)


def test_the_naive_covariance_is_that_of_the_model(fitted, rows):
    model = fitted["full"]
    odds = naive.estimator_log_densities(model, rows)
    found = model.contributions(rows)
    at = np.arange(len(rows))
    assert odds[at, found.groups] - odds[at, found.against] == pytest.approx(found.log_odds, abs=1e-6)


def test_the_largest_pair_of_each_row(fitted, rows):
    found = fitted["full"].contributions(rows)
    one, other, values = found.largest_pairs(np.arange(len(found.names)))
    for i in range(0, len(rows), 10):
        named = found.pairs(i, most=1)
        assert (found.names[one[i]], found.names[other[i]]) == (named["variable"][0], named["other"][0])
        assert values[i] == named["value"][0]
    assert not found.largest_pairs([0])[2].any()


def test_selected_columns_are_enough_where_they_are_for_predict(rows):
    frame = pd.DataFrame(rows, columns=[f"v{j}" for j in range(rows.shape[1])])
    model = SparseFisherEM(3, random_state=0, n_init=1).fit(frame)
    assert not model.support_.all()
    whole, part = model.contributions(frame), model.contributions(frame.loc[:, model.support_])
    assert part.names == [name for name, chosen in zip(whole.names, model.support_, strict=True) if chosen]
    assert part.values == pytest.approx(whole.values[:, model.support_], abs=1e-9)
    assert part.log_odds == pytest.approx(whole.log_odds, abs=1e-9)
    assert (part.changes["variable"] == whole.changes["variable"]).all()


def test_rows_elsewhere(fitted, rows, tmp_path):
    import dask.array as da
    import scipy.sparse

    model = fitted["latent"]
    np.save(tmp_path / "rows.npy", rows)
    there = model.contributions(tmp_path / "rows.npy")
    assert there.log_odds == pytest.approx(model.contributions(rows).log_odds, abs=1e-9)
    with pytest.raises(TypeError, match="compute"):
        model.contributions(da.from_array(rows))
    with pytest.raises(TypeError, match="toarray"):
        model.contributions(scipy.sparse.csr_matrix(rows))


def test_the_command_line_writes_the_table(rows, tmp_path):
    frame = pd.DataFrame(rows, columns=[f"v{j}" for j in range(rows.shape[1])])
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = FisherEM(3, random_state=0, n_init=1).fit(frame)
    fisherem.save(model, tmp_path / "m.skops")
    call = ["predict", str(tmp_path / "m.skops"), str(tmp_path / "t.csv"), "-o", str(tmp_path / "labels.csv")]
    done = CliRunner().invoke(main, [*call, "--contributions", str(tmp_path / "why.csv")])
    assert done.exit_code == 0, done.output
    table, found = pd.read_csv(tmp_path / "why.csv"), model.contributions(frame)
    assert list(table["cluster"]) == list(pd.read_csv(tmp_path / "labels.csv")["cluster"])
    assert list(table["against"]) == list(found.against + 1)
    assert table[["baseline", *frame.columns]].sum(axis=1).to_numpy() == pytest.approx(found.log_odds, abs=1e-9)
    assert list(table["change"]) == list(found.changes["variable"])
    assert [f"group {k}" for k in table["to"]] == list(found.changes["to"])
    assert table["becomes"].to_numpy() == pytest.approx(found.changes["becomes"].to_numpy())
    done = CliRunner().invoke(main, [*call, "--contributions", str(tmp_path / "named.csv"), "--group-names", "a,b,c"])
    assert done.exit_code == 0, done.output
    named, found = pd.read_csv(tmp_path / "named.csv"), model.name_groups(list("abc")).contributions(frame)
    assert list(named["cluster"]) == list(table["cluster"])
    assert ["abc"[k - 1] for k in table["cluster"]] == list(named["group"])
    assert ["abc"[k - 1] for k in table["against"]] == list(named["against"])
    assert list(named["to"]) == list(found.changes["to"])
    for other, said in (("labels.csv", "two files"), ("t.csv", "t.csv")):
        before = (tmp_path / other).read_bytes()
        done = CliRunner().invoke(main, [*call, "--contributions", str(tmp_path / other)])
        assert done.exit_code == 2
        assert said in done.output
        assert (tmp_path / other).read_bytes() == before


def test_models_without_densities_are_refused_by_the_command_line(rows, tmp_path):
    rival = GaussianMixture(3, random_state=0).fit(rows)
    fisherem.save(rival, tmp_path / "m.skops")
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    call = ["predict", str(tmp_path / "m.skops"), str(tmp_path / "t.csv"), "-o", str(tmp_path / "labels.csv")]
    done = CliRunner().invoke(main, [*call, "--contributions", str(tmp_path / "why.csv")])
    assert done.exit_code == 2
    assert "--contributions needs a Fisher-EM model" in done.output
    assert not (tmp_path / "labels.csv").exists()
