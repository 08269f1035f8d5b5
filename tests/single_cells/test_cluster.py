"""fisherem.anndata.cluster: what it writes into an AnnData object. Run by `make test-cells`."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import fisherem
from fisherem import FisherEM, SparseFisherEM, explain, report
from tests.anndata_here import anndata_or_skip
from tests.tables.h5ad_files import NAMES, cells

ad = anndata_or_skip()
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
X, y = cells(600)
QUICK = SparseFisherEM(n_init=1, random_state=0)


@pytest.fixture
def adata():
    found = ad.AnnData(sparse.csr_matrix(X), var=pd.DataFrame(index=NAMES))
    found.obs["kind"] = pd.Categorical(np.array(list("abc"))[y])
    found.obs["batch"] = np.tile(["north", "south"], 300)
    found.var["highly_variable"] = [j < 8 for j in range(12)]
    return found


def test_groups_genes_and_coordinates_are_written(adata, tmp_path):
    model = fisherem.anndata.cluster(adata, 3, estimator=QUICK)
    assert list(adata.obs["fisherem"].cat.categories) == ["1", "2", "3"]
    np.testing.assert_array_equal(adata.obs["fisherem"].astype(int) - 1, model.labels_)
    assert adjusted_rand_score(y, adata.obs["fisherem"]) > 0.9
    np.testing.assert_array_equal(adata.obsm["fisherem_posteriors"], model.predict_proba(adata))
    np.testing.assert_array_equal(adata.obsm["X_fisherem"], model.transform(adata))
    np.testing.assert_array_equal(adata.obs["fisherem_posterior"], adata.obsm["fisherem_posteriors"].max(axis=1))
    np.testing.assert_array_equal(adata.var["fisherem_selected"], [*model.support_, *[False] * 4])
    assert list(adata.var["fisherem_role"]) == [*model.roles_["role"], *["not used"] * 4]
    about = adata.uns["fisherem"]
    assert about["params"]["n_clusters"] == 3
    assert about["bic"] == model.bic_
    adata.write_h5ad(tmp_path / "a.h5ad")
    again = ad.read_h5ad(tmp_path / "a.h5ad")
    pd.testing.assert_frame_equal(
        again.uns["fisherem"]["decisions"].reset_index(drop=True), about["decisions"], check_dtype=False
    )
    assert list(again.obs["fisherem"]) == list(adata.obs["fisherem"])


def test_all_genes_a_layer_and_another_name(adata):
    adata.layers["twice"] = adata.X * 2
    model = fisherem.anndata.cluster(adata, 3, "twice", False, "mine", estimator=FisherEM(n_init=1, random_state=0))
    assert model.n_features_in_ == 12
    np.testing.assert_allclose(model.centre_, 2 * X.mean(axis=0), rtol=1e-5)
    assert set(adata.var["mine_role"]) <= {"selected", "no evidence"}
    assert "fisherem" not in adata.uns
    assert adata.obsm["X_mine"].shape == (600, 2)


def test_the_number_is_chosen(adata):
    search = fisherem.anndata.cluster(adata[:150], estimator=QUICK, n_jobs=1)
    assert search.verdict_.n_clusters == search.best_estimator_.labels_.max() + 1
    cut = adata[:150].copy()
    fisherem.anndata.cluster(cut, estimator=QUICK, n_jobs=1)
    assert cut.uns["fisherem"]["verdict"]["confidence"] == search.verdict_.confidence


def test_results_of_this_tool_are_replaced_and_nothing_else(adata):
    fisherem.anndata.cluster(adata, 3, estimator=QUICK)
    fisherem.anndata.cluster(adata, 2, estimator=QUICK)
    assert adata.obsm["fisherem_posteriors"].shape == (600, 2)
    before = adata.obs["kind"].copy()
    with pytest.raises(ValueError, match=r"adata already has obs\['kind'\]"):
        fisherem.anndata.cluster(adata, 2, key_added="kind", estimator=QUICK)
    pd.testing.assert_series_equal(adata.obs["kind"], before)


def test_a_batch_is_taken_out(adata):
    moved = X + np.where(adata.obs["batch"] == "north", 4.0, 0.0)[:, None] * (np.arange(12) % 2)
    object_ = ad.AnnData(moved, obs=adata.obs, var=adata.var)
    model = fisherem.anndata.cluster(object_, 3, covariates="batch", estimator=QUICK)
    assert adjusted_rand_score(y, object_.obs["fisherem"]) > 0.9
    assert object_.uns["fisherem"]["covariates"]["share"][0] > 0.2
    np.testing.assert_array_equal(model.predict(object_, covariates="batch"), model.labels_)
    found = SparseFisherEM(3, n_init=1, random_state=0).fit(object_, covariates=["batch"])
    np.testing.assert_array_equal(found.labels_, model.labels_)
    with pytest.raises(ValueError, match="obs has no column 'lane'; its columns are 'kind', 'batch'"):
        model.predict(object_, covariates="lane")


def test_given_groups_by_their_column(adata, tmp_path):
    found = explain(adata, "kind")
    expected = explain(adata, adata.obs["kind"])
    np.testing.assert_array_equal(found.support, expected.support)
    assert found.classes == ["a", "b", "c"]
    with pytest.raises(ValueError, match="labels: obs has no column 'leiden'"):
        explain(adata, "leiden")
    page = found.report(adata, tmp_path / "page.html").read_text()
    assert "gene" in page
    assert report(found.model, adata, tmp_path / "other.html").exists()


def test_backed_objects_and_views(adata, tmp_path):
    adata.write_h5ad(tmp_path / "a.h5ad")
    backed = ad.read_h5ad(tmp_path / "a.h5ad", backed="r")
    fisherem.anndata.cluster(backed, 3, estimator=QUICK)
    assert adjusted_rand_score(y, backed.obs["fisherem"]) > 0.9
    view = adata[::2]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ad.ImplicitModificationWarning)
        fisherem.anndata.cluster(view, 3, estimator=QUICK)
    assert "fisherem" in view.obs
    assert "fisherem" not in adata.obs


@pytest.mark.filterwarnings("ignore")  # of what scanpy uses of matplotlib
def test_scanpy_draws_what_was_written(adata):
    sc = pytest.importorskip("scanpy")
    fisherem.anndata.cluster(adata, 3, estimator=QUICK)
    sc.pl.embedding(adata, "X_fisherem", color="fisherem", show=False)
