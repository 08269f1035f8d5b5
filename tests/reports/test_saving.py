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
def test_pictures_are_saved_as_svg_that_stands_alone(browser, pages, downloads, picture):
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
    assert "fill:rgb(0, 114, 178)" in content.decode()  # the first group's colour
    if picture == "subspace":
        assert len([e for e in root.iter(f"{SVG}path") if (e.get("transform") or "").endswith("scale(1)")]) == 178


@pytest.mark.parametrize("picture", ["subspace", "heatmap"])
def test_pictures_are_saved_as_png(browser, pages, downloads, picture):
    visit(browser, pages["three"])
    name, content = saved(browser, downloads, f"[data-picture='{picture}']", "PNG")
    assert name == f"{picture}.png"
    image = Image.open(io.BytesIO(content)).convert("RGB")
    drawings = browser.find_elements(By.CSS_SELECTOR, f"[data-picture='{picture}'] svg")
    size = next(e.rect for e in drawings if e.rect["width"] > 100)  # not the marks of the legend
    assert image.size[0] == pytest.approx(2 * size["width"], abs=2)
    line = image.size[1] / 2 - size["height"]  # what the picture must say when it leaves the page
    assert 10 < line < 60
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
    assert ET.fromstring(content).tag == f"{SVG}svg"
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
