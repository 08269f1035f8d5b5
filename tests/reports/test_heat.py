"""The heat map: its levels against the rows, its order, what it leaves out."""

import base64
import io
import re

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fisherem import FisherEM, SparseFisherEM
from fisherem.reports.content.heat import HALF, MISSING, RANGE
from fisherem.reports.content.tracks import STEPS, tracks
from fisherem.reports.content.tree import group_tree
from fisherem.reports.figures.pixels import colour_scale, indexed_png
from fisherem.reports.page.table import render
from fisherem.reports.page.table_content import build
from fisherem.tables.rows_by_group import table_rows

from .reading import Reader, data_of


def test_levels_are_the_rows_in_standard_deviations(three, wines):
    X, _ = wines
    content = build(three, X)
    heat = content.heat
    assert sorted(heat.indices) == list(np.flatnonzero(three.support_))
    assert heat.names == [X.columns[j] for j in heat.indices]
    z = ((X - X.mean()) / X.std(ddof=0)).to_numpy()
    rows = content.points.rows[heat.places]
    shown = (heat.levels.astype(float) - HALF) * RANGE / HALF
    expected = np.clip(z[np.ix_(rows, heat.indices)].T, -RANGE, RANGE)
    assert np.abs(shown - expected).max() <= 0.5 * RANGE / HALF + 1e-9


def test_rows_are_ordered_by_group_and_along_the_first_axis(three, wines):
    content = build(three, wines[0])
    heat = content.heat
    assert sorted(heat.places) == list(range(178))
    assert sorted(heat.tree.order) == [0, 1, 2]
    np.testing.assert_array_equal(heat.groups, np.repeat(heat.tree.order, np.bincount(three.labels_)[heat.tree.order]))
    along = content.points.coordinates[heat.places, 0]
    for k in range(3):
        inside = along[heat.groups == k]
        np.testing.assert_array_equal(inside, np.sort(inside))


def test_variables_that_are_high_in_the_same_group_stand_together(three, wines):
    X, _ = wines
    z = (X - X.mean()) / X.std(ddof=0)
    heat = build(three, X).heat
    highest = [heat.tree.order.index(z.iloc[:, j].groupby(three.labels_).mean().argmax()) for j in heat.indices]
    assert highest == sorted(highest)


def test_the_browser_and_the_picture_have_the_same_levels(three, wines):
    content = build(three, wines[0])
    html = render(content)
    data = data_of(html)["heat"]
    np.testing.assert_array_equal([[ord(c) - ord("A") for c in line] for line in data["levels"]], content.heat.levels)
    assert data["places"] == content.heat.places.tolist()
    packed = re.search(r'id="heat-cells" href="data:image/png;base64,([^"]+)"', html).group(1)
    picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(packed))).convert("RGB"))
    scale = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in colour_scale("RdBu_r", 2 * HALF + 1)])
    np.testing.assert_array_equal(picture, scale[content.heat.levels])


def test_a_png_without_a_transparent_level():
    codes = np.array([[0, 1], [1, 0]], np.uint8)
    packed = indexed_png(codes, ["#000000", "#ffffff"]).removeprefix("data:image/png;base64,")
    picture = Image.open(io.BytesIO(base64.b64decode(packed)))
    assert "transparency" not in picture.info
    np.testing.assert_array_equal(np.asarray(picture.convert("L")), 255 * codes)


def test_many_rows_and_variables_are_thinned_and_the_page_says_so(blobs):
    X, labels = blobs(3000, 3, 80)
    model = FisherEM(3, model="AB", init=labels, max_iter=5, tol=1e3).fit(X)
    content = build(model, X)
    heat = content.heat
    assert heat.levels.shape[0] == 60
    assert 700 < heat.levels.shape[1] <= 720
    largest = np.argsort(-np.linalg.norm(model.loadings_, axis=1))[:60]
    assert set(heat.indices) == set(largest)
    text = Reader(render(content)).all_text
    assert "The 60 variables with the largest loadings of 80 are shown." in text
    assert f"{heat.levels.shape[1]} of 3,000 rows are shown: a random sample of every group." in text


def test_one_group_has_none(wines):
    assert build(FisherEM(1).fit(wines[0]), wines[0]).heat is None


def test_missing_cells_are_grey_and_left_out_of_every_mean(wines):
    X = wines[0].copy()
    gaps = np.random.default_rng(0).random(X.shape) < 0.05
    X = X.mask(gaps)
    model = SparseFisherEM(3, random_state=0, n_init=1).fit(X)
    labels = model.predict(X)
    content = build(model, X)
    heat = content.heat
    missing = gaps[np.ix_(content.points.rows[heat.places], heat.indices)].T
    np.testing.assert_array_equal(heat.levels == MISSING, missing)
    moments = table_rows(model, X).moments(labels, 3)
    np.testing.assert_allclose(moments.means, X.groupby(labels).mean())
    np.testing.assert_allclose(moments.deviation, X.std(ddof=0))
    assert moments.n_missing == gaps.sum()
    first = content.variables[0]
    np.testing.assert_allclose(first.quantiles[:, 2], X[first.name].groupby(labels).median())
    text = Reader(render(content)).all_text
    assert "grey cells are missing" in text
    assert (
        f"{gaps.sum()} cells ({100 * gaps.mean():.1f}%) are missing: figures and means use the observed cells." in text
    )


def test_the_dendrogram_is_average_linkage_of_the_means():
    rng = np.random.default_rng(0)
    means = rng.normal(size=(6, 4))
    tree = group_tree(means)
    clusters, heights = [[k] for k in range(6)], []
    while len(clusters) > 1:
        pairs = [(a, b) for i, a in enumerate(clusters) for b in clusters[i + 1 :]]
        away = [np.mean([np.linalg.norm(means[i] - means[j]) for i in a for j in b]) for a, b in pairs]
        heights.append(min(away))
        a, b = pairs[int(np.argmin(away))]
        clusters = [c for c in clusters if c not in (a, b)] + [a + b]
        places = sorted(tree.order.index(k) for k in a + b)
        assert places == list(range(places[0], places[0] + len(places)))  # branches do not cross
    np.testing.assert_allclose([join[4] for join in tree.joins], heights)
    assert tree.order[0] == 0
    assert group_tree(means[:2]).joins == []


def test_all_variables_in_the_order_of_the_same_tree(three, wines):
    content = build(three, wines[0])
    assert sorted(content.heat_all.indices) == list(range(13))
    assert content.heat_all.tree == content.heat.tree
    assert content.heat_all.places.tolist() == content.heat.places.tolist()
    data = data_of(render(content))
    assert data["heatAll"]["variables"] == content.heat_all.indices


def test_annotations_are_lines_above_the_map(three, wines):
    X, y = wines
    kind = pd.Series([None, *np.array(["a", "b", "c"])[y[1:]]], index=X.index)
    frame = pd.DataFrame({"kind": kind, "height": np.arange(178.0)}, index=X.index).iloc[::-1]  # matched by name
    content = build(three, X, annotate=frame)
    rows = content.points.rows[content.heat.places]
    first, second = content.heat.tracks
    assert first.categories == ["a", "b", "c"]
    assert first.texts == list(kind.fillna("missing").iloc[rows])
    assert (first.levels == -1).sum() == 1
    np.testing.assert_array_equal(second.levels, np.round(rows / 177 * (STEPS - 1)))
    assert (second.low, second.high) == ("0", "177")
    assert [t["name"] for t in data_of(render(content))["heat"]["tracks"]] == ["kind", "height"]
    many = tracks(pd.DataFrame({"x": [f"c{i % 30}" for i in range(178)]}), np.arange(178))[0]
    assert many.categories[:3] == ["c0", "c1", "c2"]  # c10 comes after c9
    assert len(many.categories) == 12
    assert many.categories[-1] == "other"


def test_annotations_that_do_not_belong_to_the_rows_are_refused(three, wines):
    X, _ = wines
    with pytest.raises(ValueError, match=r"one row per row of X \(178\); got 5"):
        build(three, X, annotate=pd.DataFrame({"a": range(5)}))
    with pytest.raises(ValueError, match="no row for 'wine 1'"):
        build(three, X, annotate=pd.DataFrame({"a": range(177)}, index=X.index.delete(1)))
    with pytest.raises(TypeError, match="must be a frame"):
        build(three, X, annotate=[1, 2])
    with pytest.raises(ValueError, match="at most 12"):
        build(three, X, annotate=pd.DataFrame(np.zeros((178, 13))))
