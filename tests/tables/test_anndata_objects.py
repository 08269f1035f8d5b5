"""AnnData objects as tables. `make test-cells` and CI run this with anndata; elsewhere the tests are skipped."""

import numpy as np
import pytest
from scipy import sparse

from fisherem import FisherEM, SparseFisherEM, SparseKMeans
from fisherem.tables.checking import open_rows
from fisherem.tables.file_table import FileTable
from fisherem.tables.sparse_table import SparseTable
from tests.anndata_here import anndata_or_skip
from tests.tables.h5ad_files import NAMES, cells

ad = anndata_or_skip()
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:Variable names are not unique"),
]
X, y = cells(600)


@pytest.fixture
def adata():
    import pandas as pd

    found = ad.AnnData(sparse.csr_matrix(X), var=pd.DataFrame(index=NAMES))
    found.obs["kind"] = pd.Categorical(np.array(list("abc"))[y])
    return found


def fitted(rows, **changes):
    return SparseFisherEM(3, **({"scale": "none", "n_init": 1, "random_state": 0} | changes)).fit(rows)


def test_a_fit_ends_and_is_that_of_the_matrix(adata):
    model = fitted(adata)
    assert isinstance(open_rows(FisherEM(), adata), SparseTable)
    expected = fitted(sparse.csr_matrix(X))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert list(model.feature_names_in_) == NAMES
    np.testing.assert_array_equal(model.predict(adata), model.labels_)
    np.testing.assert_array_equal(model.predict_proba(adata[5:9]), model.predict_proba(adata)[5:9])
    assert model.score(adata) == pytest.approx(expected.score(sparse.csr_matrix(X)))


def test_genes_are_taken_by_name(adata):
    model = fitted(adata)
    turned = adata[:, ::-1].copy()
    np.testing.assert_array_equal(model.predict(turned), model.labels_)
    assert not model.support_.all()
    few = adata[:, np.flatnonzero(model.support_)[::-1]].copy()
    np.testing.assert_array_equal(model.predict(few), model.labels_)
    with pytest.raises(ValueError, match="lacks genes that the model needs: 'gene0'"):
        model.predict(adata[:, 1:])


def test_marked_genes_take_part(adata):
    adata.var["highly_variable"] = [j < 6 for j in range(12)]
    model = fitted(adata)
    assert list(model.feature_names_in_) == NAMES[:6]
    np.testing.assert_array_equal(model.predict(adata), model.labels_)


def test_dense_objects_and_rivals(adata):
    dense = ad.AnnData(X, var=adata.var)
    np.testing.assert_array_equal(fitted(dense).labels_, fitted(X).labels_)
    assert SparseKMeans(3, bound=1.5, random_state=0).fit(dense).labels_.shape == (600,)
    with pytest.raises(TypeError, match=r"SparseKMeans needs dense rows"):
        SparseKMeans(3, bound=1.5).fit(adata)


@pytest.mark.parametrize("thin", [True, False])
def test_backed_objects_stay_on_disk(adata, tmp_path, thin):
    if not thin:
        adata.X = X
    adata.write_h5ad(tmp_path / "t.h5ad")
    backed = ad.read_h5ad(tmp_path / "t.h5ad", backed="r")
    rows = open_rows(FisherEM(memory="40kB"), backed)
    assert isinstance(rows, FileTable)
    assert isinstance(open_rows(FisherEM(), backed), SparseTable if thin else FileTable)
    expected = fitted(adata)
    np.testing.assert_array_equal(fitted(backed, memory="40kB", n_jobs=1).labels_, expected.labels_)
    np.testing.assert_array_equal(expected.predict(backed), expected.labels_)
    np.testing.assert_array_equal(expected.predict(backed[:20]), expected.labels_[:20])
    backed.file.close()


def test_what_cannot_be_fitted_is_said(adata):
    adata.var_names = ["a", "a", *NAMES[2:]]
    with pytest.raises(ValueError, match="var_names_make_unique"):
        fitted(adata)
    adata.var_names = NAMES
    with pytest.raises(ValueError, match="has no X"):
        fitted(ad.AnnData(obs=adata.obs, var=adata.var))
