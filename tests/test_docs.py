"""Every Python block of the README and the docs runs, and so does every script of the gallery."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.name)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_code_blocks_run(page, tmp_path, monkeypatch):
    import matplotlib

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    scope: dict = {"__name__": page.stem}
    with threadpool_limits(1):  # k-means on tiny data: two threads only wait for each other
        for block in blocks(page):
            exec(compile(block, str(page), "exec"), scope)  # one page, one scope: blocks go on from those before


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def lookup(dotted: str):
    """The module or attribute of a dotted path; an error if there is none."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(dotted)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_names_of_the_package_exist(page):
    text = page.read_text()
    found = set(re.findall(r"\bfisherem(?:\.[A-Za-z_]\w*)+", text))
    for module, listing in re.findall(r"currentmodule:: (\S+)(.*?)(?=currentmodule::|\Z)", text, flags=re.S):
        for names in re.findall(r"autosummary::\n(?:   :.*\n)*\n((?:   \S+\n)+)", listing):
            found.update(f"{module}.{name}" for name in names.split())
    for dotted in sorted(found):
        assert lookup(dotted) is not None, f"{page.name} names {dotted}"


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda p: p.stem)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_gallery_scripts_run(script, tmp_path, monkeypatch):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    monkeypatch.delenv("FISHEREM_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    with threadpool_limits(1):
        exec(compile(script.read_text(), str(script), "exec"), {"__name__": "__main__"})
    assert plt.get_fignums(), f"{script.name} draws nothing"
    plt.close("all")
