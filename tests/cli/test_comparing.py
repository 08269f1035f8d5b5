"""`fisherem compare`: rows as they finish, a time limit, what runs, and which methods there are."""

import re
import subprocess
import sys

import click
import pandas as pd
import pytest

from fisherem import datasets
from fisherem.search import comparison
from fisherem.search.comparison import methods
from tests.running import run


@pytest.fixture(scope="module")
def wine_csv(tmp_path_factory):
    X, y = datasets.load("wine", as_frame=True)
    path = tmp_path_factory.mktemp("wine") / "wine.csv"
    X.assign(cultivar=y).to_csv(path, index=False)
    return path


def test_rows_appear_as_they_finish_and_progress_says_which_runs(wine_csv, monkeypatch):
    """What is printed, in its order, between the moments at which the methods begin."""
    moments = []

    def fitted(worker, estimator, X, p, time_limit):
        moments.append((type(estimator).__name__, time_limit))
        click.echo(f"<fitting {type(estimator).__name__}>")
        return comparison._fit(estimator, X, p)

    monkeypatch.setattr(comparison, "_fitted", fitted)
    result = run(
        "compare", wine_csv, "-k", 3, "--methods", "K-Means,FisherEM", "--time-limit", 7, "--label-column", "cultivar"
    )
    assert moments == [("KMeans", 7.0), ("FisherEM", 7.0)]
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["method", "accuracy", "ari", "variables", "seconds"]
    assert [line.split()[0] for line in lines[1:]] == ["<fitting", "k-means", "<fitting", "FisherEM"]
    assert result.stderr.splitlines() == ["k-means runs (1 of 2)", "FisherEM runs (2 of 2)"]


def test_a_row_leaves_the_process_before_the_next_method_runs(wine_csv):
    """Nothing waits in a buffer of the pipe."""
    code = (
        "import time\nfrom fisherem.search import comparison\nfrom fisherem.cli import main\n"
        "fit = comparison._fit\n"
        "def fitted(worker, estimator, X, p, time_limit):\n"
        "    if type(estimator).__name__ == 'FisherEM': time.sleep(300)\n"
        "    return fit(estimator, X, p)\n"
        "comparison._fitted = fitted\n"
        f"main(['compare', {str(wine_csv)!r}, '-k', '3', '--methods', 'kmeans,FisherEM'])\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        lines = [process.stdout.readline().decode(), process.stdout.readline().decode()]
        process.kill()
    assert lines[1].startswith("k-means")


def test_a_method_past_its_limit_is_a_line_that_says_so(wine_csv, tmp_path):
    target = tmp_path / "table.csv"
    chosen = ("--methods", "kmeans,SparseKMeans", "--time-limit", 0.02)
    shown = run("compare", wine_csv, "-k", 3, *chosen, "--label-column", "cultivar", "-o", target).stdout
    assert "stopped at its time limit of 0.02 s" in shown
    table = pd.read_csv(target).set_index("method")
    assert list(table.index) == ["k-means", "SparseKMeans"]
    assert "stopped" in table.loc["SparseKMeans", "reason"]


def test_help_lists_the_methods_and_names_are_forgiving(wine_csv):
    shown = " ".join(re.sub(r"-\n\s*", "-", run("compare", "--help").output).split())
    for name in methods():
        assert name in shown
    assert "--time-limit" in shown
    said = run("compare", wine_csv, "-k", 3, "--methods", "magic", code=2).output
    assert "methods must be 'all', names among" in said
