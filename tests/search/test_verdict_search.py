"""ModelSearch by verdict: the same for any number of processes, after a checkpoint, on samples, and interrupted."""

import numpy as np
import pandas as pd
import pytest

from fisherem import FisherEM, ModelSearch, SparseFisherEM
from fisherem.core.engine.checkpoints import Store
from fisherem.core.starts.partitions import STARTS
from fisherem.policy.number_of_groups import agenda, gathering
from fisherem.policy.number_of_groups.candidates import Data
from fisherem.policy.number_of_groups.evidence import Evidence
from fisherem.search import verdict_search
from fisherem.search.search_tables import criterion_table

QUICK = {"n_clusters": [2, 3, 4], "n_splits": 2, "n_jobs": 1}


def estimator():
    return FisherEM(init="ward", random_state=0)


def comparable(search):
    return search.results_.drop(columns="seconds")


@pytest.fixture(scope="module")
def plain(iris):
    return ModelSearch(estimator(), **QUICK).fit(iris[0])


def test_the_number_of_jobs_does_not_matter(iris, plain, workers_at_once):
    two = ModelSearch(estimator(), **{**QUICK, "n_jobs": 2}).fit(iris[0])
    pd.testing.assert_frame_equal(comparable(plain), comparable(two))
    assert plain.verdict_.text == two.verdict_.text
    np.testing.assert_array_equal(plain.labels_, two.labels_)


def test_a_checkpoint_gives_the_same_without_fitting_again(iris, plain, tmp_path):
    grid = {**QUICK, "checkpoint": tmp_path}
    first = ModelSearch(estimator(), **grid).fit(iris[0])
    pd.testing.assert_frame_equal(comparable(plain), comparable(first))
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = ModelSearch(estimator(), **grid).fit(iris[0])
    pd.testing.assert_frame_equal(first.results_, again.results_)  # seconds included: nothing was fitted again
    assert files == {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    np.testing.assert_array_equal(first.labels_, again.labels_)
    before = len(list(tmp_path.iterdir()))
    ModelSearch(estimator(), **grid).fit(iris[0] * 2)  # other rows are other fits
    assert len(list(tmp_path.iterdir())) == 2 * before


def test_a_checkpoint_of_another_model_or_share_is_not_used(iris, tmp_path):
    few = {"n_clusters": [2], "n_splits": 2, "n_jobs": 1}
    one, other = (FisherEM(model=model, init="ward", random_state=0) for model in ("AB", "DkBk"))
    kept = ModelSearch(one, checkpoint=tmp_path, **few).fit(iris[0])
    again = ModelSearch(other, checkpoint=tmp_path, **few).fit(iris[0])
    assert again.best_estimator_.model_ == "DkBk"
    assert (again.results_["bic"][1:] != kept.results_["bic"][1:]).all()
    marks = {ModelSearch(SparseFisherEM(sparsity=share), **few)._settings() for share in (0.3, 0.9)}
    assert len(marks) == 2
    # a search by a criterion has the models and shares in the names of its fits
    marks = {ModelSearch(SparseFisherEM(sparsity=share), criterion="bic")._settings() for share in (0.3, 0.9)}
    assert len(marks) == 1


def interrupted_where(condition):
    """A start that is interrupted for some problems and numbers of groups, and Ward's clustering elsewhere."""

    def start(problem, n_clusters, n_init, rng):
        if condition(problem, n_clusters):
            raise KeyboardInterrupt
        return STARTS["ward"](problem, n_clusters, n_init, rng)

    return STARTS.having("interrupted", start)


def test_an_interrupted_search_says_what_it_knows(iris):
    search = ModelSearch(estimator().set_params(init="interrupted"), **QUICK)
    one_group = interrupted_where(lambda problem, n_clusters: n_clusters == 1)
    with one_group, pytest.raises(KeyboardInterrupt):  # the longest work goes first: one group was not fitted yet
        search.fit(iris[0])
    halves = interrupted_where(lambda problem, n_clusters: problem.rows.n < 100)
    with halves, pytest.warns(UserWarning, match="interrupted: the verdict rests on the 4 fits"):
        search.fit(iris[0])
    assert search.interrupted_
    assert search.verdict_.confidence == "not decided"
    assert "interrupted" in search.verdict_.text
    assert search.predict(iris[0]).shape == (150,)


def test_a_maximum_at_the_end_widens_the_range_once_and_warns():
    rng = np.random.default_rng(0)
    centres = 12 * rng.normal(size=(9, 4))
    X = centres[np.arange(270) % 9] + rng.normal(size=(270, 4))
    search = ModelSearch(estimator(), n_clusters=[2, 3], n_splits=2, n_jobs=1)
    with pytest.warns(UserWarning, match="6 is the largest number of groups that was tried"):
        search.fit(X)
    assert search.results_["n_clusters"].tolist() == [1, 2, 3, 4, 5, 6]
    assert "there may be more groups" in search.verdict_.text
    auto = ModelSearch(estimator(), n_splits=2, n_jobs=1).fit(X)
    assert auto.verdict_.n_clusters == 9
    assert auto.results_["n_clusters"].max() == 10


def test_the_choice_is_made_on_a_sample_and_the_fit_on_all_rows(iris):
    X = np.vstack([iris[0], iris[0] + 1e-3])
    search = ModelSearch(estimator(), sample_size=100, **QUICK).fit(X)
    assert search.evidence_.n == 100
    assert len(search.labels_) == 300
    assert "a sample of 100 of the 300 rows" in search.verdict_.text


def test_groups_below_the_least_size_are_no_candidates(iris):
    search = ModelSearch(estimator(), min_size=49, **QUICK).fit(iris[0])
    row = search.results_.set_index("n_clusters").loc[3]
    assert not row["candidate"]
    assert "fewer than 49" in row["stop_reason"]
    assert search.verdict_.n_clusters == 2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # iris may end in a cycle
def test_weights_names_and_random_state(iris):
    X = pd.DataFrame(iris[0], columns=list("abcd"))
    weights = 1 + np.arange(150) % 2
    search = ModelSearch(FisherEM(init="ward"), **QUICK).fit(X, sample_weight=weights)
    assert list(search.best_estimator_.feature_names_in_) == list("abcd")
    assert isinstance(search.best_estimator_.random_state, int)  # the fit can be made again
    assert search.best_estimator_.init == "ward"


def test_wide_tables_say_what_that_means():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 60))
    X[:20, :5] += 4
    search = ModelSearch(estimator(), n_clusters=[2], n_splits=2, n_jobs=1).fit(X)
    assert "fewer rows (40) than columns (60)" in search.verdict_.text


def test_a_verdict_has_no_grid(plain):
    assert plain.criterion_ == "verdict"
    assert plain.paths_ == {}
    with pytest.raises(ValueError, match="a verdict compares no models"):
        criterion_table(plain)
    assert set(verdict_search.verdict_columns()) == set(plain.results_.columns)


def test_progress_says_what_is_done(iris, capfd):
    ModelSearch(estimator(), progress=True, **QUICK).fit(iris[0])
    err = capfd.readouterr().err
    assert "how many groups" in err
    assert "halves of the rows" in err


@pytest.mark.parametrize("groups", [1, 2])
def test_progress_counts_what_is_left(groups):
    class Bar:
        total, steps, behind = 0, 0, False

        def add(self, count):
            self.total += count

        def step(self, note):
            self.steps += 1
            self.behind |= self.steps > self.total

    X = np.random.default_rng(0).normal(size=(120, 4))
    X[:60] += 6 * (groups - 1)
    bar, plan, data = Bar(), agenda.Plan(estimator(), None, 5, 3, 0, 1), Data.of(X, None)
    for _ in gathering.gather(plan, data, Store(None, ""), bar, Evidence(data, 5)):
        pass
    assert bar.total == bar.steps
    assert not bar.behind


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_numbers_that_could_not_be_fitted_are_named(iris):
    def fails_for_three(problem, n_clusters, *others):
        if n_clusters == 3:
            raise FloatingPointError("the variance became nan")
        return STARTS["ward"](problem, n_clusters, *others)

    with STARTS.having("not three", fails_for_three):
        said = ModelSearch(FisherEM(init="not three", random_state=0), **QUICK).fit(iris[0]).verdict_.cautions
    assert (
        "No fit with 3 groups succeeded (the variance became nan): the verdict does not consider this number." in said
    )


def test_halves_are_only_fitted_where_they_can_change_the_verdict():
    rng = np.random.default_rng(0)
    search = ModelSearch(estimator(), n_splits=5, n_jobs=1).fit(rng.normal(size=(200, 4)))
    assert [len(halves.splits) for halves in search.evidence_.halves.values()] == [1]  # noise does not come near
    X = rng.normal(size=(200, 4))
    X[:100] += 6
    search = ModelSearch(estimator(), n_splits=3, n_jobs=1).fit(X)
    assert search.verdict_.n_clusters == 2
    assert len(search.evidence_.halves[2].splits) == 3


def test_the_consensus_matrix_is_that_of_the_chosen_number(iris, plain):
    K = plain.verdict_.n_clusters
    shares, groups = plain.evidence_.consensus(K, most=60)
    assert shares.shape == (60, 60)
    np.testing.assert_array_equal(np.sort(groups), groups)
    np.testing.assert_array_equal(np.diag(shares), 1)
    inside = groups[:, None] == groups
    assert shares[inside].mean() > shares[~inside].mean() + 0.4
    assert plain.evidence_.consensus(1) is None
