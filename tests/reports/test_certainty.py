"""How sure the groups are: what the page says where posteriors carry no information, and what came back."""

import numpy as np
import pandas as pd
import pytest

from fisherem import FisherEM, Stability, stability
from fisherem.reports.content.stability import stability_record
from fisherem.reports.page.table import render
from fisherem.reports.page.table_content import build
from fisherem.reports.words.certainty import certainty

from .reading import Reader, data_of


@pytest.fixture(scope="module")
def wide():
    """(frame of 40 rows of noise and 60 columns, a fit that "separates" it perfectly)."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 60)), index=[f"r{i}" for i in range(40)])
    X.columns = [f"gene {j}" for j in range(60)]
    return X, FisherEM(3, model="AB", init="ward", noise_factors=0, ridge=0.01, random_state=0).fit(X)


@pytest.fixture(scope="module")
def counted(wide):
    X, model = wide
    rng = np.random.default_rng(1)
    return Stability(
        frequencies=np.ones(60), selected=np.ones(60, bool), names=list(X.columns), n_selected=np.full(4, 60),
        agreement=np.full(4, 0.1), pairwise=np.full(6, 0.2), failures=[],
        row_frequencies=rng.integers(0, 5, size=40) / 4, labels=model.labels_,
    )  # fmt: skip


def text_of(*arguments, **keywords):
    return Reader(render(build(*arguments, **keywords))).all_text


@pytest.mark.parametrize(
    ("mean", "K", "n", "p", "saturated"),
    [(0.98, 3, 100, 10, False), (0.9995, 3, 100, 10, True), (0.9, 3, 63, 2000, True), (1.0, 1, 10, 100, False)],
    ids=["overlap", "saturated", "wide", "one group"],
)
def test_where_posteriors_carry_no_information(mean, K, n, p, saturated):
    found = certainty(mean, K, n, p)
    assert found.saturated == saturated == bool(found.reasons)
    assert ("fewer rows (63) than variables (2,000)" in found.text) == (p == 2000)


def test_a_wide_table_is_not_said_to_be_certain(wide):
    X, model = wide
    assert model.predict_proba(X).max(axis=1).mean() > 0.999  # in pure noise
    text = text_of(model, X)
    assert "rows in doubt unknown" in text
    assert "fewer rows (40) than variables (60)" in text
    assert "--stability 20" in text
    assert "Every row has a group with a posterior" not in text
    assert "mean posterior in doubt" not in text  # the column of the groups


def test_what_came_back_stands_in_its_place(wide, counted):
    X, model = wide
    content = build(model, X, stability=counted)
    back, shares = content.stability.back, counted.row_frequencies
    assert back.mean == pytest.approx(shares.mean())
    for k in range(3):
        assert back.groups[k] == pytest.approx(shares[model.labels_ == k].mean())
    assert back.n_shaky == (shares < 0.75).sum() == len(back.shaky)
    assert [row.share for row in back.shaky] == sorted(shares[shares < 0.75])
    assert {row.id for row in back.shaky} == set(X.index[shares < 0.75])
    assert back.n_moved == 0
    html = render(content)
    text = Reader(html).all_text
    assert f"stable rows {100 * shares.mean():.0f}%" in text
    assert "rows in doubt unknown" not in text
    assert "--stability" not in text
    assert "mean posterior reproducibility" in text
    np.testing.assert_allclose(data_of(html)["reproducibility"], shares[content.points.rows], atol=5e-4)


def test_overlapping_groups_keep_their_rows_in_doubt(three, wines):
    X, _ = wines
    assert "rows in doubt unknown" not in text_of(three, X)
    counted = stability(three, X, n_subsamples=2, fitted=three, random_state=0, n_jobs=1)
    content = build(three, X, stability=counted)
    text = Reader(render(content)).all_text
    assert f"rows in doubt {content.n_doubts}" in text
    assert "stable rows" in text
    assert "axis 1 axis 2 reproducibility" in text  # of the selected variables
    record = stability_record(counted, list(X.index))
    assert record["rows"] == pytest.approx(counted.row_frequencies.mean())
    assert set(record["variables"]) == set(X.columns[three.support_])
    assert len(record["shaky_rows"]) == record["n_shaky"] == (counted.row_frequencies < 0.75).sum()


def test_rows_of_another_table_and_other_groups(wide, counted):
    X, model = wide
    with pytest.raises(ValueError, match="stability covers 40 rows, but X has 30"):
        build(model, X.iloc[:30], stability=counted)
    moved = Stability(**{**vars(counted), "labels": np.where(np.arange(40) < 4, 2, model.labels_)})
    n_moved = int((model.labels_[:4] != 2).sum())
    assert build(model, X, stability=moved).stability.back.n_moved == n_moved > 0
    assert "in another group on this page" in text_of(model, X, stability=moved)
