"""How commands end: interruptions, faults, outputs that cannot be written, terminals that know few letters."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from fisherem import FisherEM, datasets, save
from fisherem.cli import main
from fisherem.model.criteria import CRITERIA
from fisherem.tables.readers import READERS, Reader
from tests.deciding import ctrl_c
from tests.running import run


@pytest.fixture
def iris_csv(tmp_path):
    X, y = datasets.load("iris", as_frame=True)
    X["kind"] = np.array(["a", "b", "c"])[y]
    path = tmp_path / "iris.csv"
    X.to_csv(path, index=False)
    return path


def one_line(*arguments, code):
    """The error of a command: one line, with the exit code."""
    lines = [line for line in run(*arguments, code=code).output.splitlines() if line.startswith("Error")]
    assert len(lines) == 1
    return lines[0]


@pytest.mark.filterwarnings("ignore:interrupted:UserWarning")
@pytest.mark.parametrize("as_json", [True, False])
def test_an_interrupted_search_says_so_everywhere(iris_csv, tmp_path, as_json):
    options = ("--label-column", "kind", "--models", "AB,DkB", "-k", "2:4", "--jobs", 1, "--method", "dense")
    options += ("--criterion", "pressed")
    output = tmp_path / "out"
    with CRITERIA.having("pressed", ctrl_c(3)):
        result = run("search", iris_csv, *options, "-o", output, *(["--json"] if as_json else []), code=130)
    assert "interrupted" in result.stderr
    if as_json:
        assert json.loads(result.stdout)["interrupted"] is True
    else:
        assert "interrupted" in result.stdout
    assert "interrupted" in (output / "report.html").read_text(encoding="utf-8")
    assert len(pd.read_csv(output / "results.csv")) == 2
    with CRITERIA.having("pressed", ctrl_c(0)):
        assert json.loads(run("search", iris_csv, *options, "-o", output, "--json").stdout)["interrupted"] is False


def test_a_fault_of_ours_is_one_line_that_names_command_and_file(iris_csv, tmp_path):
    def broken(path):
        raise KeyError("nothing\nlike this")

    table = iris_csv.rename(tmp_path / "iris.broken")
    with READERS.having(".broken", Reader(whole=broken)):
        said = one_line("fit", table, "-k", 3, "-o", tmp_path / "out", code=1)
        shown = CliRunner().invoke(main, ["--debug", "fit", str(table), "-k", "3", "-o", str(tmp_path / "out")])
    assert f"fit {table}: unexpected error (KeyError" in said
    assert "report it" in said
    assert isinstance(shown.exception, KeyError)


def test_absurd_ranges_of_numbers_of_groups(iris_csv):
    assert "at most 1,000 of them" in run("search", iris_csv, "-k", "2:1000000000", code=2).output


def test_outputs_are_checked_before_the_work(iris_csv, tmp_path):
    iris_csv.write_text("")  # a file that cannot be read: another error would be printed if it were opened first
    assert "the file is empty" in one_line("fit", iris_csv, "-k", 3, "-o", tmp_path / "other", code=2)
    out = tmp_path / "out"
    (out / "report.html").mkdir(parents=True)
    for command in ("fit", "search"):
        assert "report.html: is not a file" in one_line(command, iris_csv, "-k", 3, "-o", out, code=2)
    assert "report.html: is not a file" in one_line("explain", iris_csv, "--label-column", "kind", "-o", out, code=2)
    (tmp_path / "taken").write_text("a file")
    said = one_line("compare", iris_csv, "-k", 3, "-o", tmp_path / "taken" / "t.csv", code=2)
    assert "taken: cannot be written to" in said
    model = save(FisherEM(2, n_init=1, random_state=0).fit(datasets.load("iris")[0]), tmp_path / "m.skops")
    for command in ("predict", "report"):
        assert "is not a file" in one_line(command, model, iris_csv, "-o", out, code=2)
    assert [path.name for path in out.iterdir()] == ["report.html"]


def test_compare_writes_a_whole_file_into_a_new_folder(iris_csv, tmp_path):
    target = tmp_path / "new" / "table.csv"
    run("compare", iris_csv, "-k", 3, "--methods", "k-means", "--label-column", "kind", "-o", target)
    assert list(pd.read_csv(target)["method"]) == ["k-means"]
    assert [path.name for path in target.parent.iterdir()] == ["table.csv"]


FULL_DISK = """
import resource, sys
from fisherem.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
main(sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes")
def test_a_full_disk_is_named_and_leaves_nothing(iris_csv, tmp_path):
    out = tmp_path / "out"
    arguments = ["fit", iris_csv, "-k", 3, "--label-column", "kind", "--method", "dense", "-o", out]
    ended = subprocess.run(
        [sys.executable, "-c", FULL_DISK, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1, ended.stderr
    assert "Traceback" not in ended.stderr
    assert re.search(rf"Error: {re.escape(str(out))}/[a-z]+\.\w+: File too large", ended.stderr)
    assert list(out.iterdir()) == []


def test_an_ascii_terminal(tmp_path):
    X = datasets.load("iris", as_frame=True)[0].rename(columns=lambda name: name.replace("length", "длина"))
    X.to_csv(tmp_path / "iris.csv", index=False, encoding="utf-8")
    arguments = ["fit", tmp_path / "iris.csv", "-k", "3", "-o", tmp_path / "out"]
    ended = subprocess.run(
        [sys.executable, "-m", "fisherem.cli", *map(str, arguments)],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"},
    )
    assert ended.returncode == 0, ended.stderr
    assert b"petal ?????" in ended.stdout


def test_labels_with_gaps_are_scored_where_they_are(iris_csv, tmp_path):
    table = pd.read_csv(iris_csv)
    table.loc[::5, "kind"] = None
    table.to_csv(iris_csv, index=False)
    options = ("-k", 3, "--label-column", "kind")
    found = json.loads(run("fit", iris_csv, *options, "-o", tmp_path / "out", "--json").stdout)
    assert found["scores"]["accuracy"] > 0.8
    assert "k-means" in run("compare", iris_csv, *options, "--methods", "k-means").stdout


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_share_is_rounded(iris_csv, tmp_path):
    said = run("fit", iris_csv, "-k", 3, "--drop", "kind", "--sparsity", 0.3 + 1e-13, "-o", tmp_path / "out").stdout
    assert "sparsity 0.3" in said
    assert "sparsity 0.30" not in said


def test_commas_are_what_the_option_says(tmp_path):
    rng = np.random.default_rng(0)
    cells = rng.integers(1, 9, size=(30, 3)) + 8 * (np.arange(30) % 2)[:, None]
    thousands = [[f"{cell},{rng.integers(100, 999)}" for cell in row] for row in cells]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a;b;c", *(";".join(row) for row in thousands)]), encoding="utf-8")
    assert "--comma" in one_line("fit", path, "-k", 2, "-o", tmp_path / "no", code=2)
    means = {}
    for meaning in ("decimal", "thousands"):
        out = tmp_path / meaning
        run("fit", path, "-k", 2, "--no-scale", "--comma", meaning, "-o", out)
        means[meaning] = pd.read_csv(out / "variables.csv")["mean1"].to_numpy()
    assert means["decimal"].max() < 20 < 1000 < means["thousands"].min()
