"""The page in a real browser: its tables are saved as CSV files, its pictures as SVG and PNG."""

import csv
import io
import time
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PIL import Image
from selenium.webdriver.common.by import By

from fisherem import SparseFisherEM, report
from fisherem._utils.spreadsheets import unmarked
from fisherem.reports.page.table_content import build

from .browsing import click, needs_browser, one, visit

pytestmark = needs_browser
SVG = "{http://www.w3.org/2000/svg}"


def saved(browser, downloads, holder, kind):
    """The bytes of the file that a button saves: of a table (CSV) or a picture (SVG, PNG)."""
    button = one(browser, f"{holder} + .saves button[aria-label$='as {kind}']")
    for step in range(600):
        if step % 200 == 0:  # a browser that has just started may lose its first download
            click(browser, button)
        time.sleep(0.05)
        done = [f for f in downloads.iterdir() if f.suffix == f".{kind.lower()}"]
        if done and done[0].stat().st_size:
            content = done[0].read_bytes()
            done[0].unlink()
            return done[0].name, content
    raise AssertionError(f"nothing was saved; the folder has {list(downloads.iterdir())}")


def as_rows(content):
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))


def test_tables_are_saved_as_csv(browser, pages, downloads, three, wines):
    X, _ = wines
    visit(browser, pages["three"])
    name, content = saved(browser, downloads, "[data-table='loadings']", "CSV")
    assert name == "loadings.csv"
    head, *lines = as_rows(content)
    assert head == ["variable", "axis 1", "axis 2"]
    order = [X.columns.get_loc(line[0]) for line in lines]
    np.testing.assert_allclose(np.array([line[1:] for line in lines], float), three.loadings_[order], rtol=1e-5)
    one(browser, "#row-search").send_keys("wine 1")
    name, content = saved(browser, downloads, "[data-table='rows']", "CSV")
    head, *lines = as_rows(content)
    assert (name, head) == ("rows.csv", ["no.", "row", "group", "posterior", "next", "tail", "class"])
    wanted = [i for i, row in enumerate(X.index) if "wine 1" in row]  # all that were found, not the page alone
    assert [line[1] for line in lines] == [X.index[i] for i in wanted]
    assert [line[2] for line in lines] == [f"group {three.labels_[i] + 1}" for i in wanted]
    _, content = saved(browser, downloads, "[data-table='criteria']", "CSV")
    values = {line[0]: line[1] for line in as_rows(content)}
    assert float(values["BIC"]) == pytest.approx(three.bic_, abs=0.06)  # a plain minus sign, no thousands separator


def test_names_in_csv_files_are_quoted(browser, pages, downloads):
    visit(browser, pages["hostile"])
    _, content = saved(browser, downloads, "[data-table='roles']", "CSV")
    assert {"<script>alert(1)</script>", "a & b"} & {line[0] for line in as_rows(content)}


@pytest.mark.parametrize("picture", ["subspace", "heatmap", "profile"])
def test_pictures_are_saved_as_svg_that_stands_alone(browser, pages, downloads, picture, three):
    visit(browser, pages["three"])
    name, content = saved(browser, downloads, f"[data-picture='{picture}']", "SVG")
    assert name == f"{picture}.svg"
    root = ET.fromstring(content)
    assert root.tag == f"{SVG}svg"
    ids = {e.get("id") for e in root.iter() if e.get("id")}
    uses = {e.get("href") for e in root.iter(f"{SVG}use")}
    assert {u.removeprefix("#") for u in uses} <= ids
    assert b"class=" not in content
    assert b"var(--" not in content
    said = " ".join(e.text or "" for e in root.iter(f"{SVG}text"))
    assert "178 rows in 3 groups; not checked on other rows" in said
    assert all(f"group {k + 1} ({size})" in said for k, size in enumerate(np.bincount(three.labels_)))
    if picture == "heatmap":
        assert "+2.5 standard deviations or more" in said
    assert "fill:rgb(0, 114, 178)" in content.decode()  # the first group's colour
    if picture == "subspace":
        assert len([e for e in root.iter(f"{SVG}path") if (e.get("transform") or "").endswith("scale(1)")]) == 178


def test_the_legends_of_a_picture_are_saved_with_it(browser, wines, three, downloads, tmp_path):
    """The dot plot: names and sizes of the groups, shares, the range of the colours, and the marks themselves."""
    X, _ = wines
    report(three, X, tmp_path / "page.html", group_names=["Barolo", "Grignolino", "Barbera"])
    visit(browser, tmp_path / "page.html")
    _, content = saved(browser, downloads, "[data-picture='markers']", "SVG")
    root = ET.fromstring(content)
    texts = [e.text for e in root.iter(f"{SVG}text") if e.text]
    places = [texts.index(word) for word in ("Barolo", "Grignolino", "Barbera", "beyond:", "25%", "100%")]
    assert places == sorted(places)
    limit = build(three, X).markers.dots.limit
    assert texts.index(f"+{limit:g} or more") > places[-1]
    keys = [e for e in root.iter(f"{SVG}svg") if e is not root]
    assert len(keys) == 3 + 4
    height = float(root.get("viewBox").split()[3])
    assert all(float(key.get("y")) + float(key.get("height")) < height for key in keys)
    ramp = [e for e in root.iter(f"{SVG}rect") if (e.get("fill") or "").startswith("rgb")]
    assert len({e.get("fill") for e in ramp}) > 20


def test_box_plots_are_saved_together(browser, pages, downloads, three, wines):
    X, _ = wines
    visit(browser, pages["three"])
    _, content = saved(browser, downloads, "[data-picture='distributions']", "SVG")
    root = ET.fromstring(content)
    drawings = [e for e in root if e.tag == f"{SVG}svg" and float(e.get("width")) > 100]
    names = [e.text for e in root if e.tag == f"{SVG}text" and e.text in set(X.columns)]
    assert len(drawings) == len(names) == int(three.support_.sum())
    places = {(e.get("x"), e.get("y")) for e in drawings}
    assert len(places) == len(drawings)
    said = " ".join(e.text or "" for e in root.iter(f"{SVG}text"))
    assert "group 3 (" in said
    assert "not checked on other rows" in said


def test_the_values_of_pictures_are_saved_as_csv(browser, pages, downloads, three, wines):
    X, _ = wines
    visit(browser, pages["three"])

    def values(name):
        called, content = saved(browser, downloads, f"[data-values='{name}']", "CSV")
        assert called == f"{name}.csv"
        return as_rows(content)

    head, *lines = values("profile")
    assert head == ["variable", "group 1", "group 2", "group 3"]
    means = (three.group_means_ - X.to_numpy().mean(axis=0)) / X.to_numpy().std(axis=0)
    expected = means.T[[X.columns.get_loc(line[0]) for line in lines]]
    np.testing.assert_allclose(np.array([line[1:] for line in lines], float), expected, rtol=1e-3, atol=1e-8)
    head, *lines = values("distributions")
    assert head == ["variable", "group", "5%", "25%", "50%", "75%", "95%"]
    for line in lines:
        mine = X[line[0]].to_numpy()[three.labels_ == int(line[1].removeprefix("group ")) - 1]
        wanted = np.quantile(mine, [0.05, 0.25, 0.5, 0.75, 0.95])
        np.testing.assert_allclose(np.array(line[2:], float), wanted, rtol=1e-3, atol=1e-8)
    head, *lines = values("heatmap")
    chosen = X.columns[three.support_]
    assert head[:2] == ["row", "group"]
    assert sorted(head[2:]) == sorted(chosen)
    order = [X.index.get_loc(line[0]) for line in lines]
    assert sorted(order) == list(range(178))
    assert [line[1] for line in lines] == [f"group {three.labels_[i] + 1}" for i in order]
    z = ((X - X.mean()) / X.std(ddof=0)).loc[:, head[2:]].clip(-2.5, 2.5).to_numpy()[order]
    np.testing.assert_allclose(np.array([line[2:] for line in lines], float), z, atol=2.5 / 30 + 0.01)
    head, *lines = values("subspace")
    assert head == ["row", "group", "axis 1", "axis 2"]
    found = np.array([line[2:] for line in lines], float)
    order = [X.index.get_loc(line[0]) for line in lines]
    np.testing.assert_allclose(found, three.transform(X)[order], atol=1e-4)


@pytest.mark.parametrize("picture", ["subspace", "heatmap"])
def test_pictures_are_saved_as_png(browser, pages, downloads, picture):
    visit(browser, pages["three"])
    name, content = saved(browser, downloads, f"[data-picture='{picture}']", "PNG")
    assert name == f"{picture}.png"
    image = Image.open(io.BytesIO(content)).convert("RGB")
    drawings = browser.find_elements(By.CSS_SELECTOR, f"[data-picture='{picture}'] svg")
    size = next(e.rect for e in drawings if e.rect["width"] > 100)  # not the marks of the legend
    assert image.size[0] == pytest.approx(2 * size["width"], abs=2)
    lines = image.size[1] / 2 - size["height"]  # what the picture must say when it leaves the page
    assert lines == pytest.approx({"subspace": 48, "heatmap": 68}[picture], abs=2)  # groups, scale, caveat
    seen_colours = {colour for _, colour in image.getcolors(10**7)}
    assert (255, 255, 255) in seen_colours
    assert len(seen_colours) > 50
    assert browser.get_log("browser") == []


def test_maps_are_saved_as_they_are_stored(browser, downloads, tmp_path):
    from fisherem import datasets
    from fisherem.images import segment

    found = segment(datasets.mars_like(20, 16, 30, 3).cube, 3, method=None, model="AB")
    visit(browser, found.report(tmp_path / "page.html"))
    holder = "[data-picture='map'] > :nth-last-child(2)"
    name, content = saved(browser, downloads, holder, "PNG")
    picture = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    assert name == "map.png"
    assert picture.shape == (20, 16, 3)
    for k in range(3):
        assert len(np.unique(picture[found.labels == k], axis=0)) == 1
    name, content = saved(browser, downloads, "[data-picture='spectra']", "SVG")
    said = " ".join(e.text or "" for e in ET.fromstring(content).iter(f"{SVG}text"))
    assert "320 pixels in 3 groups; not checked on other pixels" in said
    name, content = saved(browser, downloads, "[data-table='groups']", "CSV")
    counts = [int(line[1]) for line in as_rows(content)[1:]]
    assert counts == np.bincount(found.labels[found.labels >= 0]).tolist()


def test_names_that_begin_like_formulas_are_marked_as_text(browser, wines, downloads, tmp_path):
    X, _ = wines
    names = ["=1+1", "+cmd", "-a", "@b", "'=c"]
    hostile = X.iloc[:, :5].set_axis(names, axis=1)
    model = SparseFisherEM(2, sparsity=0.6, random_state=0, n_init=1).fit(hostile)
    ids = [f"=row{i}" for i in range(len(X))]
    report(model, hostile, tmp_path / "page.html", ids=ids)
    visit(browser, tmp_path / "page.html")
    _, content = saved(browser, downloads, "[data-table='loadings']", "CSV")
    found = [line[0] for line in as_rows(content)[1:]]
    assert set(found) <= {f"'{name}" for name in names}
    assert {unmarked(name) for name in found} <= set(names)
    _, content = saved(browser, downloads, "[data-table='criteria']", "CSV")
    values = {line[0]: line[1] for line in as_rows(content)}
    assert float(values["BIC"]) < 0  # numbers are not marked
    _, content = saved(browser, downloads, "[data-table='rows']", "CSV")
    assert all(line[1].startswith("'=row") for line in as_rows(content)[1:])
