"""Importing an estimator costs little more than scikit-learn's KMeans: nothing is loaded that a fit need not have.

Times are measured by `benchmarks/import_time.py`; a test of them would fail on a busy machine.
"""

import subprocess
import sys

import pytest


def loaded(statement: str) -> set[str]:
    """The modules of a fresh interpreter after a statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.fixture(scope="module")
def beyond():
    """What SparseFisherEM loads beyond KMeans."""
    return loaded("from fisherem import SparseFisherEM") - loaded("from sklearn.cluster import KMeans")


def test_no_package_that_kmeans_does_without(beyond):
    packages = {name.partition(".")[0] for name in beyond} - set(sys.stdlib_module_names)
    assert packages <= {"fisherem", "sklearn"}
    assert len([name for name in beyond if name.startswith("sklearn.")]) <= 5


@pytest.mark.parametrize(
    "part",
    [
        "fisherem.tables.opening", "fisherem.tables.text", "fisherem.tables.parquet", "fisherem.rows.on_dask",
        "fisherem.rivals", "fisherem.search", "fisherem.plots", "fisherem.reports", "fisherem.images",
        "fisherem.persistence", "fisherem.cli", "fisherem.estimators.factor_mixture", "fisherem.core.factors.family",
    ],
)  # fmt: skip
def test_parts_that_a_fit_to_an_array_need_not_have(beyond, part):
    assert not [name for name in beyond if name == part or name.startswith(f"{part}.")]


def test_files_are_read_all_the_same():
    """The readers come with the first path that is given."""
    from fisherem.tables.kinds import is_path, is_stored
    from fisherem.tables.readers import READERS

    code = (
        "import numpy as np, tempfile, pathlib\nfrom fisherem import FisherEM\n"
        "X = np.random.default_rng(0).normal(size=(20, 2)); X[:10] += 5\n"
        "path = pathlib.Path(tempfile.mkdtemp()) / 'x.csv'; np.savetxt(path, X, delimiter=',')\n"
        "assert len(FisherEM(2, n_init=1).fit(path).labels_) == 20"
    )
    assert "fisherem.tables.text" in loaded(code)
    assert is_path("x.csv")
    assert is_stored("x.csv")
    assert not is_stored([[1, 2]])
    assert READERS.kind == "kind of file"
