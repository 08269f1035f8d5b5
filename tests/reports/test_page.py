"""The page: what it refuses, its text against what the data may hold, its size."""

import os
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

import fisherem
from fisherem import FisherEM, SparseFisherEM
from fisherem._utils.wording import shorten
from fisherem.reports.content import rows
from fisherem.reports.figures.svg import labelled, ticks
from fisherem.reports.page.table import render
from fisherem.reports.page.table_content import build
from fisherem.reports.text import clean, embedded, number

from .reading import Reader, data_of

HOSTILE = ["<script>alert(1)</script>", "</script>", "a & b <!--", "\"onload='x'", "{{ 7 * 7 }}"]


# -- what may be asked ------------------------------------------------------------------------------------------------


def test_other_estimators_are_refused(wines, tmp_path):
    X, _ = wines
    with pytest.raises(TypeError, match=r"FisherEM, SparseFisherEM, .* or ModelSearch.*got KMeans"):
        fisherem.report(KMeans(3, n_init=1).fit(X), X, tmp_path / "page.html")
    with pytest.raises(TypeError, match="got the class FisherEM"):
        fisherem.report(FisherEM, X, tmp_path / "page.html")
    with pytest.raises(NotFittedError):
        fisherem.report(FisherEM(3), X, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_ids_and_labels_are_checked(three, wines):
    with pytest.raises(ValueError, match=r"ids must have one value per row of X \(178\); got 2"):
        build(three, wines[0], ids=["a", "b"])
    with pytest.raises(ValueError, match=r"labels must have one class per row of X \(178\); got a text"):
        build(three, wines[0], labels="class")


def test_written_in_one_piece(three, wines, tmp_path, monkeypatch):
    X, _ = wines
    path = fisherem.report(three, X, tmp_path / "new" / "page.html", title="Wines")
    assert path == tmp_path / "new" / "page.html"
    before = path.read_text()
    assert path.stat().st_mode & 0o444 == 0o444 & ~_umask()
    monkeypatch.setattr(os, "replace", lambda *a: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        fisherem.report(three, X, path, title="Other")
    assert path.read_text() == before
    assert [f.name for f in path.parent.iterdir()] == ["page.html"]


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_nothing_is_loaded_from_elsewhere(search, wines):
    html = render(build(search, wines[0]))
    for tag, attributes in Reader(html).tags:
        assert not str(attributes.get("src", "")), tag
        assert attributes.get("href", "#").startswith(("#", "data:"))
    assert "http:" not in html.replace("http://www.w3.org/2000/svg", "")
    assert "https:" not in html
    assert "@import" not in html
    assert "url(" not in html.replace("url(#inside)", "")


def test_every_figure_has_a_description(search, wines):
    for tag, attributes in Reader(render(build(search, wines[0]))).tags:
        if tag == "svg":
            described = len(attributes.get("aria-label", "")) > 10
            assert described or attributes.get("aria-hidden") == "true"


def test_groups_are_counted_from_1(three, wines):
    X, y = wines
    html = render(build(three, X, labels=y))
    text = Reader(html).all_text
    for name in ("group 1", "group 2", "group 3"):
        assert name in text
    assert "group 0" not in html
    assert [group["name"] for group in data_of(html)["groups"]] == ["group 1", "group 2", "group 3"]
    assert set(data_of(html)["group"]) == {0, 1, 2}  # places in the list of groups


# -- rows in a file ---------------------------------------------------------------------------------------------------


def same_page(a, b):
    np.testing.assert_allclose(a.points.coordinates, b.points.coordinates)
    np.testing.assert_allclose(a.profile.values, b.profile.values)
    np.testing.assert_array_equal(a.groups.counts, b.groups.counts)
    assert [v.name for v in a.variables] == [v.name for v in b.variables]
    drawn = [
        (u.quantiles, v.quantiles) for u, v in zip(a.variables, b.variables, strict=True) if u.quantiles is not None
    ]
    assert len(drawn) == 24
    np.testing.assert_allclose(*zip(*drawn, strict=True))


def test_a_file_of_rows(blobs, tmp_path):
    X, _ = blobs(400, 3, 30)
    np.save(tmp_path / "rows.npy", X)
    model = FisherEM(3, model="AB", random_state=0, n_init=1).fit(X)
    fisherem.report(model, str(tmp_path / "rows.npy"), tmp_path / "page.html")
    assert "400 rows form 3 groups" in Reader((tmp_path / "page.html").read_text()).all_text
    same_page(build(model, tmp_path / "rows.npy"), build(model, X))


def test_a_file_larger_than_the_budget_is_read_in_blocks(blobs, tmp_path):
    X, _ = blobs(4000, 3, 30)
    np.save(tmp_path / "rows.npy", X)
    model = FisherEM(3, model="AB", random_state=0, n_init=1, memory="600kB").fit(X)
    same_page(build(model, tmp_path / "rows.npy"), build(model, X))


@pytest.mark.filterwarnings("ignore:without scaling")
def test_a_sparse_matrix(blobs):
    X, labels = blobs(400, 3, 30)
    X = np.where(np.abs(X) < 1, 0, X)
    model = FisherEM(3, model="AB", init=labels).fit(X)
    same_page(build(model, sparse.csr_matrix(X)), build(model, X))


# -- text from the data -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile_page(three, wines):
    X, y = wines
    X = X.iloc[:, :5].set_axis(HOSTILE, axis=1)
    X.index = pd.Index([f"</script><b>{i}</b>" for i in range(len(X))])
    model = SparseFisherEM(3, sparsity=0.6, random_state=0, n_init=1).fit(X)
    labels = np.array(["<i>one</i>", "two", "three"])[y]
    return render(build(model, X, labels=labels, title="<u>title</u>", notes=["<img src=x onerror=alert(1)>"]))


def test_text_from_the_data_stays_text(hostile_page):
    page = Reader(hostile_page)
    seen = {tag for tag, _ in page.tags}
    assert seen.isdisjoint({"img", "u"})
    assert len([tag for tag, _ in page.tags if tag == "script"]) == 2
    for text in (*HOSTILE, "<u>title</u>", "<img src=x onerror=alert(1)>", "<i>one</i>"):
        assert text in page.all_text
    assert hostile_page.count("</script>") == 2
    data = data_of(hostile_page)
    assert data["ids"][3] == "</script><b>3</b>"
    assert set(data["classes"]) == {"<i>one</i>", "two", "three"}
    raw = re.search(r'id="data">(.*?)</script>', hostile_page, flags=re.S).group(1)
    assert "<" not in raw


def test_clean():
    assert clean("a\nb\tc") == "a b c"
    assert clean("x" * 100, 10) == "x" * 9 + "…"
    assert clean("a\x00b\ud800c\u202ed") == "a\ufffdb\ufffdc\ufffdd"
    assert clean("Größe µm 🙂") == "Größe µm 🙂"
    clean("\ud800").encode()


def test_numbers():
    assert number(-1234.567, 1) == "−1,234.6"
    assert number(0.0004, 3, signed=True) == number(-0.0004, 3, signed=True) == "0.000"
    assert number(0.12, 2, signed=True) == "+0.12"
    assert number(float("nan")) == number(None) == "–"


def test_json_refuses_what_is_not_a_number():
    with pytest.raises(ValueError):
        embedded([float("nan")])


# -- shapes of data ---------------------------------------------------------------------------------------------------


def test_one_group_has_no_picture(wines):
    X, _ = wines
    content = build(FisherEM(1).fit(X), X)
    assert (content.K, content.d, content.n_doubts) == (1, 0, 0)
    page = Reader(render(content))
    assert "the model without groups" in page.all_text
    assert not page.scripts
    assert "Profile of the group means" in page.all_text


@pytest.mark.parametrize("limit", [8, 9, 30])
def test_long_names_keep_their_beginning_and_their_end(limit):
    names = [f"concentration of protein {j:03d} in the cytosol ({j:03d})" for j in range(20)]
    short = [shorten(name, limit) for name in names]
    assert max(map(len, short)) <= limit
    assert len(set(short)) == 20
    assert all(one.startswith("con") and one.endswith(name[-3:]) for one, name in zip(short, names, strict=True))
    assert shorten("x" * limit, limit) == "x" * limit


def test_two_groups_have_one_axis(wines):
    X, _ = wines
    model = SparseFisherEM(2, sparsity=0.3, random_state=0, n_init=1).fit(X)
    html = render(build(model, X))
    assert len(data_of(html)["axes"]) == 1
    assert "axis-x" not in {a.get("id") for _, a in Reader(html).tags}


def test_many_groups_keep_apart(blobs):
    X, _ = blobs(300, 10, 20)
    content = build(FisherEM(10, model="AB", random_state=0, n_init=1).fit(X), X)
    groups = data_of(render(content))["groups"]
    assert len({(g["colour"], g["shape"], g["hollow"]) for g in groups}) == 10


@pytest.mark.filterwarnings("ignore:constant columns")
def test_constant_columns(wines):
    X = wines[0].assign(still=3.0, zero=0.0)
    model = FisherEM(3, random_state=0, n_init=1).fit(X)
    content = build(model, X)
    np.testing.assert_array_equal(content.profile.values[:, -2:], 0)
    assert "still" not in {v.name for v in content.variables}
    data_of(render(content))


def test_wide_data_show_the_selected_variables_and_the_strongest_others(blobs):
    X, _ = blobs(60, 3, 5000)
    model = SparseFisherEM(3, sparsity=0.2, method="svd", random_state=0, n_init=1).fit(X)
    content = build(model, X)
    profile, support = content.profile, model.support_
    assert profile.values.shape == (3, 40)
    assert profile.names == [f"x{j + 1}" for j in profile.indices]
    z = (model.group_means_ - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(profile.values, z[:, profile.indices])
    chosen, others = profile.indices[profile.selected], profile.indices[~profile.selected]
    sizes = np.linalg.norm(model.loadings_, axis=1)
    assert set(chosen) == set(np.argsort(-sizes)[:36]) & set(np.flatnonzero(support))
    assert list(profile.selected) == sorted(profile.selected, reverse=True)  # the selected ones come first
    left = np.flatnonzero(~support)
    columns, groups = X[:, left], [model.labels_ == k for k in range(3)]
    away = [columns[rows].mean(axis=0) - columns.mean(axis=0) for rows in groups]
    between = sum(rows.mean() * mean**2 for rows, mean in zip(groups, away, strict=True))
    strongest = left[np.argsort(-between / columns.var(axis=0))[: len(others)]]
    np.testing.assert_array_equal(others, strongest)
    html = render(content)
    assert len(html) < 1_500_000
    words = f"selected variables and the {len(others)} strongest of the {len(left):,} others"
    assert words in Reader(html).all_text


def test_up_to_forty_variables_keep_the_order_of_the_table(three, wines):
    profile = build(three, wines[0]).profile
    assert profile.names == list(wines[0].columns)


def test_rows_other_than_those_of_the_fit(three, wines):
    content = build(three, wines[0].iloc[:50])
    assert dict(content.facts)["Shown here"] == "50 rows, not those of the fit"
    assert content.n == 50


def test_group_without_rows(three, wines):
    X, _ = wines
    content = build(three, X[three.labels_ != 1])
    assert content.groups.counts[1] == 0
    assert "no rows" in render(content)


def test_arrays_have_numbered_names(wines):
    X = wines[0].to_numpy()
    content = build(FisherEM(3, random_state=0, n_init=1).fit(X), X, ids=range(100, 278))
    assert content.points.ids[0] == "100"
    assert {v.name for v in content.variables} == {f"x{j}" for j in range(1, 14)}
    assert build(FisherEM(3, random_state=0, n_init=1).fit(X), X).points.ids[:2] == ["1", "2"]


@pytest.mark.parametrize(("factor", "offset"), [(1e-9, 0), (1e9, 0), (1, 1e6)])
def test_any_unit(wines, factor, offset):
    X = wines[0] * factor + offset
    content = build(FisherEM(3, model="AB", random_state=0, n_init=1).fit(X), X)
    spread = np.ptp(content.points.coordinates, axis=0)
    shown = np.array(data_of(render(content))["axes"]).T
    assert (np.abs(shown - content.points.coordinates).max(axis=0) < 1e-4 * spread).all()


def test_ticks_tell_neighbours_apart():
    values = ticks(273.1505, 273.1548, 5)
    assert [text for _, text in labelled(values)] == ["273.151", "273.152", "273.153", "273.154"]
    assert [text for _, text in labelled(ticks(-2e-9, 2.1e-9, 4))] == ["−2e−09", "−1e−09", "0", "1e−09", "2e−09"]
    assert [text for _, text in labelled(ticks(-2100, 1900, 2))] == ["−2,000", "0"]


# -- sizes ------------------------------------------------------------------------------------------------------------


def test_a_page_of_2000_rows_is_small(blobs, tmp_path):
    X, labels = blobs(2000, 10, 50)
    model = FisherEM(10, model="DkBk", random_state=0, n_init=1, max_iter=20, init=labels).fit(X)
    ids = [f"a rather long name of the row with number {i}" for i in range(2000)]
    path = fisherem.report(model, X, tmp_path / "page.html", ids=ids, labels=labels)
    assert path.stat().st_size < 1_500_000
    assert not build(model, X).points.sampled
    assert "rows are drawn" not in Reader(path.read_text()).all_text


def test_thirty_groups_fit_too(blobs):
    X, labels = blobs(2000, 30, 80)
    model = FisherEM(30, model="AB", random_state=0, init=labels, max_iter=5, tol=1e3).fit(X)
    assert len(render(build(model, X, labels=labels))) < 1_610_000


@pytest.mark.filterwarnings("ignore:without scaling")
def test_many_rows_are_sampled_and_the_page_says_so(blobs):
    X, labels = blobs(60_000, 4, 12)
    labels = np.where(np.arange(len(labels)) < 40, 3, labels % 3)  # a group of 40 rows among 60,000
    X = (X * 0.2 + 3 * np.eye(4, 12)[labels]).astype(np.float32)
    model = FisherEM(4, model="AB", init=labels, random_state=0, max_iter=30).fit(X)
    content = build(model, X)
    html = render(content)
    assert len(html.encode()) < 3_000_000
    points = content.points
    drawn = np.bincount(points.groups[: points.n_drawn], minlength=4)
    assert content.groups.counts.sum() == 60_000
    assert 3000 < drawn.sum() <= 4000
    assert drawn[content.groups.counts.argmin()] == min(content.groups.counts.min(), 250)
    text = Reader(html).all_text
    assert f"{drawn.sum():,} of 60,000 rows are drawn: a random sample of every group." in text
    assert len(points.rows) == 10_000
    assert "10,000 of 60,000 rows are listed: those that are drawn above, and the least certain of the others." in text
    assert "720 of 60,000 rows are shown" in text or "719 of 60,000 rows are shown" in text
    largest = model.predict_proba(X).max(axis=1)
    left_out = np.setdiff1d(np.arange(len(X)), points.rows)
    assert largest[points.rows[points.n_drawn :]].max() <= largest[left_out].min()


def test_the_sample_is_stratified():
    groups = np.repeat([0, 1, 2], [100_000, 9_000, 10])
    chosen = rows.stratified(groups, 3, 4000)
    counts = np.bincount(groups[chosen], minlength=3)
    assert counts.sum() <= 4000
    assert counts[2] == 10
    assert len(np.unique(chosen)) == len(chosen)
    np.testing.assert_array_equal(chosen, rows.stratified(groups, 3, 4000))
    np.testing.assert_array_equal(rows.stratified(groups[:50], 3, 4000), np.arange(50))
