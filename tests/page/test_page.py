"""The page: its content against the model, its text against what the data may hold, its size."""

import json
import os
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

import fisherem
from fisherem import FisherEM, SparseFisherEM, Stability
from fisherem.page import rows
from fisherem.page.content import build
from fisherem.page.render import render
from fisherem.page.text import clean, embedded, number

HOSTILE = ["<script>alert(1)</script>", "</script>", "a & b <!--", "\"onload='x'", "{{ 7 * 7 }}"]


class Reader(HTMLParser):
    """The page's elements, the text outside scripts and styles, and the scripts."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self.scripts, self._in = [], [], [], None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._in = tag

    def handle_endtag(self, tag):
        if tag == self._in:
            self._in = None

    def handle_data(self, data):
        if self._in == "script":
            self.scripts.append(data)
        elif self._in is None:
            self.text.append(data)

    @property
    def all_text(self):
        return re.sub(r"\s+", " ", " ".join(self.text))


def data_of(html):
    return json.loads(re.search(r'id="data">(.*?)</script>', html, flags=re.S).group(1), parse_constant=_refuse)


def _refuse(name):
    raise AssertionError(f"{name} in the JSON")


# -- content against the model ----------------------------------------------------------------------------------------


def test_points_are_the_models(three, wines):
    X, y = wines
    content = build(three, X, labels=y)
    posteriors = three.predict_proba(X)
    points = content.points
    assert not points.sampled
    assert points.ids == list(X.index)
    np.testing.assert_allclose(points.coordinates, X.to_numpy() @ three.loadings_)
    np.testing.assert_array_equal(points.groups, three.labels_)
    ordered = np.sort(posteriors, axis=1)
    np.testing.assert_allclose(points.posteriors, ordered[:, -1])
    np.testing.assert_allclose(points.second_posteriors, ordered[:, -2])
    np.testing.assert_allclose(posteriors[np.arange(len(X)), points.seconds], ordered[:, -2])
    assert points.classes == [str(c) for c in y]
    data = data_of(render(content))
    np.testing.assert_allclose(np.array(data["axes"]).T, points.coordinates, atol=1e-4)
    np.testing.assert_allclose(data["covariances"], three.covariances_, rtol=1e-5, atol=1e-12)


def test_groups_and_doubts(three, wines):
    X, _ = wines
    content = build(three, X)
    largest = three.predict_proba(X).max(axis=1)
    assert content.groups.counts.tolist() == np.bincount(three.labels_).tolist()
    for k in range(3):
        assert content.groups.confidence[k] == pytest.approx(largest[three.labels_ == k].mean())
        assert content.groups.doubtful[k] == (largest[three.labels_ == k] < 0.9).sum()
    assert content.n_doubts == (largest < 0.9).sum() == len(content.doubts)
    assert {d.id for d in content.doubts} == set(X.index[largest < 0.9])
    assert [d.posterior for d in content.doubts] == sorted(largest[largest < 0.9])


def test_doubts_are_limited_and_counted():
    posteriors = np.full((1000, 2), 0.5)
    posteriors[:400] = [0.95, 0.05]
    found, total = rows.doubts(posteriors, range(1000), None)
    assert (len(found), total) == (200, 600)
    assert found[0].id == "400"


def test_agreement_with_classes(three, wines):
    X, y = wines
    known = pd.Series([f"class {c}" for c in y], dtype=object)
    known[:5] = None
    found = build(three, X, labels=known).agreement
    assert found.rand == pytest.approx(adjusted_rand_score(y[5:], three.labels_[5:]))
    assert (found.n_scored, found.n_missing) == (173, 5)
    crossed = pd.crosstab(three.labels_[5:], y[5:]).to_numpy()
    np.testing.assert_array_equal(found.table, crossed)
    assert found.accuracy == pytest.approx(crossed.max(axis=1).sum() / 173)  # well separated: the largest cells match


def test_variables_and_profile(three, wines):
    X, _ = wines
    content = build(three, X)
    names = [v.name for v in content.variables]
    assert sorted(names) == sorted(X.columns[three.support_])
    sizes = np.linalg.norm(three.loadings_, axis=1)
    assert [v.size for v in content.variables] == sorted(sizes[three.support_], reverse=True)
    first = content.variables[0]
    np.testing.assert_array_equal(first.loadings, three.loadings_[X.columns.get_loc(first.name)])
    for k in range(3):
        expected = X.loc[three.labels_ == k, first.name].quantile([0.05, 0.25, 0.5, 0.75, 0.95])
        np.testing.assert_allclose(first.quantiles[k], expected)
    z = (three.means_ - X.mean().to_numpy()) / X.std(ddof=0).to_numpy()
    np.testing.assert_allclose(content.profile.values, z)
    np.testing.assert_array_equal(content.profile.selected, three.support_)


def test_facts_and_criteria(three, wines):
    content = build(three, wines[0], notes="columns were standardised")
    facts = dict(content.facts)
    assert facts["Groups K"] == "3"
    assert facts["Axes d"] == str(three.loadings_.shape[1])
    assert facts["Iterations"] == str(three.n_iter_)
    assert facts["Converged"].startswith("yes" if three.converged_ else "no")
    assert f"fisherem {fisherem.__version__}" in facts["Versions"]
    shown = {name: float(value.replace(",", "").replace("−", "-")) for name, value, _ in content.criteria}
    assert shown["BIC"] == pytest.approx(three.bic_, abs=0.06)
    assert shown["AIC"] == pytest.approx(three.aic_, abs=0.06)
    assert content.notes == ["columns were standardised"]


def test_a_search_says_how_it_chose(search, wines):
    X, _ = wines
    content = build(search, X)
    found = content.search
    dense = search.results_[search.results_["method"] == "dense"]
    for row in dense.itertuples():
        assert found.values.loc[row.model, row.n_clusters] == row.bic
    top = dense.loc[dense["bic"].idxmax()]
    assert found.best_dense == (top["n_clusters"], top["model"])
    assert search.best_params_["n_clusters"] == content.K
    sparse = search.results_[search.results_["method"] != "dense"]
    mine = sparse[sparse["n_clusters"] == content.K]
    line = found.path.lines["equal"]
    assert [s for s, _, _ in line] == [1, 0.3, 0.1]
    assert sorted(c for _, c, _ in line) == sorted(mine["selection_bic"])
    assert found.path.chosen == search.best_params_["sparsity"]
    text = Reader(render(content)).all_text
    assert "4 fits with K from 2 to 3 and 2 models were compared by BIC" in text
    assert "Along the sparsity path" in text


def test_failed_fits_are_told(search, wines):
    import copy

    spoilt = copy.copy(search)
    spoilt.results_ = search.results_.copy()
    spoilt.results_.loc[0, ["bic", "log_likelihood"]] = np.nan
    spoilt.results_.loc[0, "stop_reason"] = "a <b>group</b> was lost"
    content = build(spoilt, wines[0])
    assert content.search.failures == {"a <b>group</b> was lost": 1}
    assert "a <b>group</b> was lost" in Reader(render(content)).all_text


def test_stability(three, wines):
    X, _ = wines
    p = X.shape[1]
    frequencies = np.linspace(0, 1, p)
    result = Stability(
        frequencies, three.support_, list(X.columns), np.array([3, 3]), np.array([0.8, 0.6]), np.array([0.5]), ["lost"]
    )
    found = build(three, X, stability=result).stability
    assert found.rows[0] == (X.columns[-1], 1.0, bool(three.support_[-1]), True)
    assert [f for _, f, _, _ in found.rows] == sorted(frequencies, reverse=True)
    assert (found.agreement, found.pairwise, found.n_refits) == (pytest.approx(0.7), 0.5, 2)
    assert found.failures == {"lost": 1}
    assert "Stability of the selection" in Reader(render(build(three, X, stability=result))).all_text
    result.frequencies = frequencies[:4]
    with pytest.raises(ValueError, match="stability is of 4 variables, but X has 13"):
        build(three, X, stability=result)
    with pytest.raises(TypeError, match=r"fisherem\.stability"):
        build(three, X, stability=0.7)


@pytest.mark.parametrize("which", ["three", "search"])
def test_the_python_code_runs_and_gives_the_same_groups(which, wines, request):
    X, _ = wines
    model = request.getfixturevalue(which)
    scope = {"X": X, "X_new": X}
    exec(build(model, X).usage, scope)
    np.testing.assert_array_equal(scope["groups"], model.predict(X))


def test_code_leaves_out_what_cannot_be_written(wines):
    X, y = wines
    model = FisherEM(3, init=y, random_state=np.random.RandomState(0), model="AB").fit(X)
    assert "model = FisherEM(model='AB', init=..., random_state=...)" in build(model, X).usage


# -- what may be asked ------------------------------------------------------------------------------------------------


def test_other_estimators_are_refused(wines, tmp_path):
    X, _ = wines
    with pytest.raises(TypeError, match=r"FisherEM, SparseFisherEM or ModelSearch.*got KMeans"):
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


def test_wide_data(blobs):
    X, _ = blobs(60, 3, 20_000)
    model = SparseFisherEM(3, sparsity=0.2, method="svd", random_state=0, n_init=1).fit(X)
    content = build(model, X)
    profile = content.profile
    assert profile.binned
    assert profile.values.shape == (3, 400)
    assert (profile.first[0], profile.last[-1]) == (0, 19_999)
    np.testing.assert_array_equal(profile.first[1:], profile.last[:-1] + 1)
    z = (model.means_ - X.mean(axis=0)) / X.std(axis=0)
    for i in (0, 137, 399):
        inside = slice(profile.first[i], profile.last[i] + 1)
        assert profile.selected[i] == model.support_[inside].any()
        candidates = z[:, inside][:, model.support_[inside]] if profile.selected[i] else z[:, inside]
        assert np.abs(profile.values[:, i]).max() == pytest.approx(np.abs(candidates).max())
    html = render(content)
    assert len(html) < 1_500_000
    assert "20,000 variables share 400 points" in Reader(html).all_text


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
    assert {v.name for v in content.variables} <= {f"x{j}" for j in range(13)}


# -- sizes ------------------------------------------------------------------------------------------------------------


def test_a_page_of_2000_rows_is_small(blobs, tmp_path):
    X, labels = blobs(2000, 10, 50)
    model = FisherEM(10, model="DkBk", random_state=0, n_init=1, max_iter=20, init=labels).fit(X)
    ids = [f"a rather long name of the row with number {i}" for i in range(2000)]
    path = fisherem.report(model, X, tmp_path / "page.html", ids=ids, labels=labels)
    assert path.stat().st_size < 1_500_000
    assert not build(model, X).points.sampled
    assert "rows are drawn" not in Reader(path.read_text()).all_text


def test_many_rows_are_sampled_and_the_page_says_so(blobs, tmp_path):
    X, labels = blobs(200_000, 4, 50)
    labels = np.where(np.arange(len(labels)) < 40, 3, labels % 3)  # a group of 40 rows among 200,000
    X = (X * 0.2 + 3 * np.eye(4, 50)[labels]).astype(np.float32)
    model = FisherEM(4, model="AB", init=labels, random_state=0, max_iter=30).fit(X)
    content = build(model, X)
    path = fisherem.report(model, X, tmp_path / "page.html")
    assert path.stat().st_size < 3_000_000
    drawn = np.bincount(content.points.groups, minlength=4)
    assert content.groups.counts.sum() == 200_000
    assert 3000 < drawn.sum() <= 4000
    assert drawn[content.groups.counts.argmin()] == min(content.groups.counts.min(), 250)
    text = Reader(path.read_text()).all_text
    assert f"{drawn.sum():,} of 200,000 rows are drawn: a random sample of every group." in text


def test_the_sample_is_stratified():
    groups = np.repeat([0, 1, 2], [100_000, 9_000, 10])
    chosen = rows.stratified(groups, 3, 4000)
    counts = np.bincount(groups[chosen], minlength=3)
    assert counts.sum() <= 4000
    assert counts[2] == 10
    assert len(np.unique(chosen)) == len(chosen)
    np.testing.assert_array_equal(chosen, rows.stratified(groups, 3, 4000))
    np.testing.assert_array_equal(rows.stratified(groups[:50], 3, 4000), np.arange(50))
