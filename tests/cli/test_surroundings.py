"""What is around a command does not change its answer: other runs, a missing home or temporary folder, threads."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from fisherem.cli import main

FILES = {
    "criteria.csv", "labels.csv", "markers.csv", "model.skops", "report.html", "roles.csv", "run.json", "variables.csv",
}  # fmt: skip


def start(folder, *words, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "fisherem.cli", *words], cwd=folder, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=os.environ | environment,
    )  # fmt: skip


def run(folder, *words, **environment):
    process = start(folder, *words, **environment)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return said


def run_here(*words):
    """In this process, whose surroundings are the usual ones."""
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    centres = 5 * rng.normal(size=(3, 6))
    rows = rng.normal(size=(120, 6)) + centres[np.arange(120) % 3]
    pd.DataFrame(rows).add_prefix("v").to_csv(tmp_path / "d.csv", index=False)
    return tmp_path


def test_two_runs_into_one_folder(folder):
    """The files are those of one of the runs, or of both where these are equal; nothing half-written is left."""
    both = [start(folder, "fit", "d.csv", "-k", k, "-o", "out", "--force") for k in ("2", "3")]
    said = [process.communicate(timeout=300)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert {path.name for path in (folder / "out").iterdir()} == FILES
    assert {path.name for path in folder.iterdir()} == {"d.csv", "out"}
    run_here("predict", "out/model.skops", "d.csv", "-o", "p.csv")
    clusters = pd.read_csv(folder / "p.csv")["cluster"].nunique()
    assert clusters in (2, 3)
    assert pd.read_csv(folder / "out" / "labels.csv")["cluster"].nunique() in (2, 3)


def test_no_home_and_no_temporary_folder(folder):
    run_here("fit", "d.csv", "-k", "3", "-o", "usual")
    nowhere = str(folder / "d.csv" / "nowhere")  # below a file, where not even root can make a folder
    where = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "XDG_CONFIG_HOME": nowhere, "TMPDIR": nowhere}
    said = run(folder, "fit", "d.csv", "-k", "3", "-o", "other", "-q", **where)
    assert said == ""
    for name in ("labels.csv", "variables.csv", "roles.csv"):
        assert (folder / "other" / name).read_bytes() == (folder / "usual" / name).read_bytes()


def test_threads_of_blas_do_not_change_the_groups(folder):
    found = []
    for threads in ("1", "2"):
        run(folder, "fit", "d.csv", "-k", "3", "-o", threads, OMP_NUM_THREADS=threads, OPENBLAS_NUM_THREADS=threads)
        found.append(pd.read_csv(folder / threads / "labels.csv"))
    np.testing.assert_array_equal(found[0]["cluster"], found[1]["cluster"])
    numbers = [one.select_dtypes("number") for one in found]
    np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-6, atol=1e-9)
