"""Every Python block of README and docs runs and prints what the page says; so do the gallery and the notebook."""

import contextlib
import csv
import doctest
import io
import json
import os
import re
import runpy
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
REAL = sorted((ROOT / "examples").glob("real_*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


# A ```text block right below a Python block is what that block prints; "..." stands for anything.
BLOCK = re.compile(r"```python\n(.*?)```(?:\n+```text\n(.*?)```)?", flags=re.S)
SAME = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def blocks(page):
    """(code, what the page says it prints or "") of every Python block."""
    return BLOCK.findall(page.read_text())


def check_output(code, expected, printed):
    if not doctest.OutputChecker().check_output(expected, printed, SAME):
        pytest.fail(f"this block\n\n{code}\nprints\n\n{printed}\nand the page says\n\n{expected}", pytrace=False)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.name)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_code_blocks_run(page, tmp_path, monkeypatch):
    import matplotlib

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    scope: dict = {"__name__": page.stem}
    with threadpool_limits(1):  # k-means on tiny data: two threads only wait for each other
        for code, expected in blocks(page):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, str(page), "exec"), scope)  # one page, one scope: blocks go on from those before
            if expected:
                check_output(code, expected, printed.getvalue())


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


@pytest.mark.parametrize("name", ["fisherem", "fisherem.plots", "fisherem.images", "fisherem.datasets"])
def test_the_api_page_lists_every_public_name(name):
    page = (ROOT / "docs/api.md").read_text()
    described = {"anndata", "datasets", "images", "NAMES"}  # in sections and sentences of their own
    listed = set(re.findall(r"^   (\w+)$", page, flags=re.M))
    assert set(import_module(name).__all__) - listed - described == set()


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


@pytest.mark.parametrize("script", REAL, ids=lambda p: p.stem)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scripts_of_real_data_find_what_their_page_says(script, capsys, monkeypatch):
    """Every accuracy that a script prints, or writes above a map, is on the page."""
    if "FISHEREM_DATA" not in os.environ:
        pytest.skip("FISHEREM_DATA is not set")
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    assert "Needs ``FISHEREM_DATA``" in script.read_text().replace("\n", " ")
    with threadpool_limits(1):
        exec(compile(script.read_text(), str(script), "exec"), {"__name__": "__main__"})
    titles = [ax.get_title() for number in plt.get_fignums() for ax in plt.figure(number).axes]
    plt.close("all")
    found = set(re.findall(r"\b0\.\d{3}\b", " ".join([capsys.readouterr().out, *titles])))
    said = (ROOT / "docs/real-data.md").read_text()
    assert found, f"{script.name} scores nothing"
    assert not {number for number in found if number not in said}


def test_the_readme_begins_with_a_picture_the_install_line_and_six_lines():
    text = (ROOT / "README.md").read_text()
    head = text[: text.index("iterations ")]
    assert head.count("![") == 1
    assert "\npip install fisherem\n" in head
    code = BLOCK.search(head + "```")[1]
    assert len([line for line in code.splitlines() if line]) == 6
    assert re.findall(r"^make (\w+)", text, flags=re.M) == ["demo", "test"]
    assert len(text.split()) <= 700


def test_the_pages_stay_short():
    """28,000 words in all; long tables stand as CSV files beside the pages."""
    pages = [*PAGES, *(ROOT / "docs/results").glob("*.md")]
    assert sum(len(page.read_text().split()) for page in pages) <= 28_000


def test_tables_that_pages_show_exist():
    for page in PAGES:
        for target in re.findall(r"^:file: (\S+)$", page.read_text(), flags=re.M):
            assert (page.parent / target).exists(), f"{page.name} shows {target}"


def test_tables_of_figures_name_the_command_that_makes_them():
    """In the section of the page that shows them."""
    command = re.compile(r"`(make|fisherem|python benchmarks/|benchmarks/)[ \w]|^fisherem reproduce", flags=re.M)
    for page in PAGES:
        for section in re.split(r"^#+ ", page.read_text(), flags=re.M):
            shown = re.findall(r"^:file: (\S+)$", section, flags=re.M)
            assert not shown or command.search(section), f"{page.name} shows {shown} and names no command"


def test_short_tables_are_those_of_the_long_ones():
    for name, rows in runpy.run_path(str(ROOT / "docs/tables.py"))["tables"]().items():
        with (ROOT / "docs/results" / f"{name}.csv").open(encoding="utf-8") as file:
            assert list(csv.reader(file)) == rows


# A process of its own: the kernel's sockets and threads are no business of the tests' warnings.
RUN_NOTEBOOK = """
import json, sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
print(json.dumps(notebook))
"""


def texts(notebook):
    """What the code cells of a notebook show as text, cell by cell."""
    outputs = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    shown = [[part.get("data", {}).get("text/plain", part.get("text", "")) for part in parts] for parts in outputs]
    return ["\n".join("".join(part) for part in parts) for parts in shown]


@pytest.mark.parametrize("path", sorted((ROOT / "docs/notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_notebooks_run_and_show_what_they_hold(path, tmp_path):
    pytest.importorskip("nbclient")
    done = subprocess.run(
        [sys.executable, "-c", RUN_NOTEBOOK, str(path)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    held = json.loads(path.read_text())
    assert texts(json.loads(done.stdout)) == texts(held)
    assert path.stat().st_size < 100_000
