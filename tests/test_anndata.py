"""fisherem.anndata without anndata: it can be imported, and says what it needs."""

import subprocess
import sys

import numpy as np
import pytest

import fisherem
from fisherem import FisherEM


def test_the_module_needs_no_anndata():
    code = "import sys; sys.modules['anndata'] = None; import fisherem.anndata; fisherem.anndata.cluster"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_other_tables_are_refused_with_a_way_out():
    with pytest.raises(TypeError, match=r"adata must be an AnnData object; got ndarray: .*single-cell"):
        fisherem.anndata.cluster(np.zeros((5, 3)), 2)


def test_names_stand_for_columns_of_an_annotated_object_only():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match="covariates='batch' names a column of obs"):
        FisherEM(2).fit(X, covariates="batch")
    with pytest.raises(ValueError, match="labels='leiden' names a column of obs"):
        fisherem.explain(X, "leiden")
