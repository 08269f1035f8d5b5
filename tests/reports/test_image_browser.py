"""The page of a segmented image in a real browser: the colour view, known classes and their table, on every screen."""

import csv
import io

import numpy as np
import pytest
from PIL import Image
from selenium.webdriver.common.by import By

from fisherem import datasets
from fisherem.images import segment

from .browsing import assert_loads_alone_and_fits, needs_browser, visit
from .test_saving import saved

pytestmark = needs_browser


@pytest.fixture(scope="module")
def found():
    scene = datasets.mars_like(40, 30, 60, 3, dead_share=0.01)
    truth = scene.truth + 1
    truth[::3] = 0
    return segment(scene.cube, 3, sparsity=0.3, truth=truth, stability=2, min_size=10, n_jobs=1)


@pytest.fixture(scope="module")
def page(found, tmp_path_factory):
    return found.report(tmp_path_factory.mktemp("image") / "report.html")


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (390, False), (1200, True)], ids=["wide", "phone", "dark"])
def test_view_and_classes_stand_beside_the_map(browser, page, width, dark):
    visit(browser, page, width, dark)
    assert_loads_alone_and_fits(browser)
    boxes = {name: browser.find_element(By.ID, name).rect for name in ("label-map", "colour-map", "known-map")}
    for box in boxes.values():
        assert box["height"] / box["width"] == pytest.approx(40 / 30, rel=0.02)
        assert box["width"] == pytest.approx(boxes["label-map"]["width"], rel=0.02)
    beside = abs(boxes["colour-map"]["y"] - boxes["label-map"]["y"]) < 5
    assert beside == (width > 500)  # below each other on a phone


def test_the_colours_of_known_classes_follow_the_page(browser, page, found):
    script = """
        const image = document.getElementById(arguments[0]), canvas = document.createElement("canvas");
        canvas.width = image.naturalWidth; canvas.height = image.naturalHeight;
        const context = canvas.getContext("2d"); context.drawImage(image, 0, 0);
        return [...context.getImageData(arguments[2], arguments[1], 1, 1).data];
    """
    same = (found.comparison.classes >= 0) & (found.labels >= 0)
    same[same] = found.comparison.group[found.comparison.classes[same]] == found.labels[same]
    row, column = (int(v[0]) for v in np.nonzero(same))
    for dark in (False, True):
        visit(browser, page, dark=dark)
        colours = [browser.execute_script(script, name, row, column) for name in ("label-map", "known-map")]
        assert colours[0] == colours[1]


def test_the_table_and_the_view_can_be_saved(browser, page, found, downloads):
    visit(browser, page)
    name, content = saved(browser, downloads, "[data-table='classes']", "CSV")
    head, *lines = list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))
    assert name == "classes.csv"
    assert head == ["class / group", *found.group_names, "matched with"]
    np.testing.assert_array_equal([[int(v) for v in line[1:-1]] for line in lines], found.comparison.table)
    _, content = saved(browser, downloads, "[data-table='bands']", "CSV")
    head, *lines = list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))
    assert "reproducibility" in head
    assert len(lines) == found.support.sum()
    _, content = saved(browser, downloads, "[data-table='neighbours']", "CSV")
    head, *lines = list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))
    assert head == ["number", "band", "instead", "redundant"]
    assert [int(line[0]) - 1 for line in lines] == [e.band for e in found.exchanges if e.instead or e.redundant]
    name, content = saved(browser, downloads, "[data-picture='colours'] > :nth-last-child(2)", "PNG")
    assert name == "colours.png"
    assert Image.open(io.BytesIO(content)).size == (30, 40)
