"""One register per kind: a new entry is known to the estimators, the search, the report, `compare`, model files and the
command line at once, wherever its kind has a meaning there."""

import ast
import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.base import BaseEstimator, ClusterMixin

import fisherem
from fisherem import FisherEM, ModelSearch, SelectDiscriminative, SparseFisherEM, compare, images, load, report, save
from fisherem._utils.register import Register
from fisherem.cli import main
from fisherem.core.dlm.f_step.sparse import SparseResult
from fisherem.core.dlm.f_step.step import AXIS_WEIGHTS, DISCRIMINANTS, SPARSE_STEPS, orthonormal
from fisherem.core.engine.loop import STOPPING
from fisherem.core.starts.partitions import STARTS, Start
from fisherem.images.read import READERS as IMAGE_READERS
from fisherem.images.read import ImageReader
from fisherem.images.write import WRITERS as IMAGE_WRITERS
from fisherem.model.criteria import CRITERIA, Criterion
from fisherem.model.dlm import DLM, MODELS, CovarianceShape
from fisherem.model.factors import STRUCTURES
from fisherem.policy.number_of_groups.rules import RULES
from fisherem.reports.writers import WRITERS, write_all
from fisherem.rivals import RIVALS, Rival
from fisherem.search.comparison import methods
from fisherem.tables.readers import READERS, Reader, Sheet
from fisherem.tables.table import Table

SHORT = {"n_init": 1, "random_state": 0, "scale": "none"}
REGISTERS = [
    MODELS, STRUCTURES, DISCRIMINANTS, SPARSE_STEPS, AXIS_WEIGHTS, STARTS, STOPPING, CRITERIA, RULES, RIVALS, READERS,
    WRITERS, IMAGE_READERS, IMAGE_WRITERS,
]  # fmt: skip


@pytest.fixture(scope="module")
def frame():
    """Three groups in the first two of five columns."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 30)
    X = rng.normal(size=(90, 5))
    X[:, :2] += 6 * np.array([[0, 0], [1, 0], [0, 1]])[labels]
    return pd.DataFrame(X, columns=list("abcde"))


@pytest.fixture
def data(frame, tmp_path):
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    return path


def command(*arguments, code=0):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == code, result.output + str(result.exception)
    return result.output


def fitted(*arguments):
    """The summary that a command for tables prints."""
    return json.loads(command(*arguments, "--n-init", 1, "--json"))


def page_of(model, X, folder):
    return report(model, X, folder / "page.html").read_text()


def kept(model, X, folder):
    """A model after it was saved and loaded; both say the same about X."""
    back = load(save(model, folder / "kept.skops"))
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    return back


def searched(estimator, X, **options):
    options = {"n_clusters": [2, 3], "models": ["AB"], "n_jobs": 1, "progress": False} | options
    return ModelSearch(estimator, **options).fit(X)


@pytest.mark.parametrize("register", REGISTERS, ids=lambda register: register.kind)
def test_a_register_refuses_what_it_has_and_lists_what_it_knows(register):
    assert isinstance(register, Register)
    name = next(iter(register))
    with pytest.raises(ValueError, match=f"already a {register.kind} named"):
        register.add(name, register[name])
    with pytest.raises(ValueError, match=f"unknown {register.kind} 'nonsense'; choose one of .*{name}"):
        register.find("nonsense")
    with register.having("nonsense", register[name]) as entry:
        assert register.find("nonsense") is entry
    assert "nonsense" not in register


def test_nothing_compares_the_names_of_variants():
    """Endings of files are compared with the names of files, and the experiments name the methods of the paper."""
    names = {name for register in REGISTERS for name in register if not name.startswith(".")} - {"model"}
    root = Path(fisherem.__file__).parent
    found = []
    for path in root.rglob("*.py"):
        text = path.read_text()
        if path.parent.name == "experiments" or not re.search(r"[=!]= *[\"']|[\"'] *[=!]=", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq):
                texts = [side.value for side in (node.left, *node.comparators) if isinstance(side, ast.Constant)]
                found += [f"{path.relative_to(root)}:{node.lineno}: {ast.unparse(node)}" for t in texts if t in names]
    assert not found


# -- the algorithm -------------------------------------------------------------------------------------------------


def halfway(covariances, proportions):
    """Between a covariance per group and one for all."""
    return (covariances + np.tensordot(proportions, covariances, 1)) / 2


def test_a_model(frame, data, tmp_path):
    shape = CovarianceShape("Hk", "eta_k", lambda K, d: K * d * (d + 1) // 2, halfway)
    new = DLM(shape, MODELS["DkB"].noise)
    with MODELS.having(new.name, new):
        model = FisherEM(3, model="eta_k beta", **SHORT).fit(frame)
        assert model.model_ == "HkB"
        assert model.n_parameters_ == MODELS["DkB"].n_parameters(3, 5, 2)
        own = FisherEM(3, model="DkB", init=model.labels_).fit(frame).covariances_
        spread = np.ptp(np.linalg.slogdet(own)[1])
        assert 0 < np.ptp(np.linalg.slogdet(model.covariances_)[1]) < spread
        assert "DLM[eta_k beta]" in page_of(model, frame, tmp_path)
        assert kept(model, frame, tmp_path).model_ == "HkB"
        search = searched(FisherEM(**SHORT), frame, models="all")
        assert set(search.results_["model"]) == set(MODELS)
        assert "HkB" in page_of(search, frame, tmp_path)
        assert compare(frame, methods={"new": FisherEM(3, model="HkB", **SHORT)}).table["reason"].tolist() == [""]
        assert fitted("fit", data, "-k", 3, "--model", "HkB", "-o", tmp_path / "fit")["model"] == "HkB"
        found = fitted("search", data, "-k", "3", "--models", "HkB", "--method", "dense", "-o", tmp_path / "search")
        assert found["model"] == "HkB"
        assert "DLM[eta_k beta]" in command("reproduce", "table1", "-o", tmp_path / "table1")
    assert "Invalid value for '--model'" in command("fit", data, "-k", 3, "--model", "HkB", code=2)


def test_a_model_is_a_candidate_of_auto_if_it_says_so(frame):
    shape = CovarianceShape("Hk", "eta_k", lambda K, d: K * d * (d + 1) // 2, halfway)
    for candidate in (False, True):
        new = DLM(shape, MODELS["DkB"].noise, candidate=candidate)
        with MODELS.having(new.name, new):
            told = FisherEM(3, **SHORT).fit(frame).decisions_.set_index("decision").loc["model", "alternatives"]
        assert ("HkB" in told) == candidate
        assert "DkB" in told
    with pytest.raises(ValueError, match="noise per group"):
        DLM(shape, MODELS["DkBk"].noise, candidate=True)


def swapped(between, d):
    """The paper's axes, last one first."""
    return orthonormal(between, d)[:, ::-1]


def test_axes(frame, tmp_path):
    with DISCRIMINANTS.having("swapped", swapped):
        model = FisherEM(3, discriminant="swapped", **SHORT).fit(frame)
        plain = FisherEM(3, discriminant="orthonormal", **SHORT).fit(frame)
        np.testing.assert_allclose(model.loadings_, plain.loadings_[:, ::-1], atol=1e-6)
        assert "swapped" in page_of(model, frame, tmp_path)
        assert kept(model, frame, tmp_path).discriminant == "swapped"
        sparse = SparseFisherEM(discriminant="swapped", **SHORT)
        search = searched(sparse, frame)
        assert search.best_estimator_.discriminant == "swapped"
        assert "swapped" in page_of(search, frame, tmp_path)
        assert compare(frame, methods={"new": sparse}).table["reason"].tolist() == [""]
    with pytest.raises(ValueError, match=r"discriminant must be .*svd"):
        FisherEM(3, discriminant="swapped").fit(frame)


def hard_threshold(between, d, sparsity, dense, *, scale_penalty=False, warm=None):
    """The dense axes, of which each keeps its share of the loadings, the largest."""
    loadings = np.array(between.scatter.to_variables(dense(between, d)))
    for axis, share in zip(loadings.T, sparsity, strict=False):
        least = np.sort(np.abs(axis))[-max(1, math.ceil(share * len(axis)))]
        axis[np.abs(axis) < least] = 0
    return SparseResult(loadings, 0.0)


def test_a_sparse_step(frame, data, tmp_path):
    with SPARSE_STEPS.having("hard", hard_threshold):
        model = SparseFisherEM(3, method="hard", sparsity=0.2, **SHORT).fit(frame)
        assert set(np.flatnonzero(model.support_)) == {0, 1}
        assert "sparse Fisher-EM, hard" in page_of(model, frame, tmp_path)
        assert kept(model, frame, tmp_path).method == "hard"
        search = searched(SparseFisherEM(method="hard", **SHORT), frame)
        assert set(search.results_["method"]) == {"dense", "hard"}
        assert "hard" in page_of(search, frame, tmp_path)
        assert "SparseFisherEM hard" in methods()
        found = compare(frame, methods=["sparsefisherem HARD"])
        assert list(found.table["method"]) == ["SparseFisherEM hard"]
        assert found.models["SparseFisherEM hard"].method == "hard"
        fit = fitted("fit", data, "-k", 3, "--sparsity", 0.2, "--method", "hard", "-o", tmp_path / "fit")
        assert fit["variables"] in (["a", "b"], ["b", "a"])
        options = ("--models", "AB", "--method", "hard", "-o", tmp_path / "search")
        assert fitted("search", data, "-k", "3", *options)["method"] == "hard"
        assert "SparseFisherEM hard" in command("compare", data, "-k", 3, "--methods", "SparseFisherEM hard")
    assert "Invalid value for '--method'" in command("fit", data, "-k", 3, "--method", "hard", code=2)


def test_a_sparse_step_is_given_the_parameters_that_it_has(frame):
    seen = set()

    def penalised(between, d, sparsity, dense, *, scale_penalty=False, warm=None, penalty=None):
        seen.add(penalty)
        return hard_threshold(between, d, np.full(d, 0.4), dense)

    for step, refused in ((penalised, False), (hard_threshold, True)):
        with SPARSE_STEPS.having("own", step):
            model = SparseFisherEM(3, method="own", penalty=0.7, rho=2.0, **SHORT)
            if refused:
                with pytest.raises(ValueError, match="method 'own' has no penalty"):
                    model.fit(frame)
            else:
                assert model.fit(frame).support_.sum() == 2
    assert seen == {0.7}


def test_a_sparse_step_on_an_image(cube, tmp_path):
    np.save(tmp_path / "scene.npy", cube)
    with SPARSE_STEPS.having("hard", hard_threshold):
        found = images.segment(tmp_path / "scene.npy", 2, method="hard", sparsity=0.1)
        assert found.model.method == "hard"
        arguments = (tmp_path / "scene.npy", "-k", 2, "--method", "hard", "-o", tmp_path / "out", "--json")
        assert json.loads(command("segment", *arguments))["n_clusters"] == 2


def first_axis_only(shares, between, d):
    return np.where(np.arange(d) == 0, shares, 0.01)


def test_a_weighting_of_the_axes(frame, tmp_path):
    with AXIS_WEIGHTS.having("first", first_axis_only):
        model = SparseFisherEM(3, sparsity=0.9, axis_weights="first", **SHORT).fit(frame)
        assert (np.count_nonzero(model.sparse_loadings_, axis=0)[1:] == 1).all()
        assert "first" in page_of(model, frame, tmp_path)
        search = searched(SparseFisherEM(**SHORT), frame, axis_weights=("equal", "first"))
        assert {"equal", "first"} <= set(search.results_["axis_weights"])
        assert kept(model, frame, tmp_path).axis_weights == "first"


def by_the_first_column(problem, n_clusters, n_init, rng):
    """Groups of equal size along the first column: one start."""
    order = problem.given.everything()[:, 0].argsort().argsort()
    return [order * n_clusters // len(order)]


def test_a_start(frame, tmp_path):
    with STARTS.having("first column", by_the_first_column):
        model = FisherEM(3, init="first column", random_state=0, scale="none").fit(frame)
        labels = frame["a"].rank().sub(1).mul(3).floordiv(90).astype(int).to_numpy()
        np.testing.assert_allclose(
            model.log_likelihood_, FisherEM(3, init=labels, scale="none").fit(frame).log_likelihood_
        )
        assert len(model.starts_) == 1
        assert "first column" in page_of(model, frame, tmp_path)
        assert kept(model, frame, tmp_path).init == "first column"
        search = searched(FisherEM(init="first column", scale="none"), frame)
        assert search.best_estimator_.init == "first column"
        assert compare(frame, methods={"new": FisherEM(3, init="first column", scale="none")}).table[
            "reason"
        ].tolist() == [""]
    with pytest.raises(ValueError, match=r"init must be .*kmeans"):
        FisherEM(3, init="first column").fit(frame)


@pytest.mark.parametrize("best_first", [False, True])
def test_a_start_says_whether_its_first_partition_is_the_best(frame, best_first):
    def two(problem, n_clusters, n_init, rng):
        return 2 * by_the_first_column(problem, n_clusters, n_init, rng)

    with STARTS.having("two", Start(two, best_first=best_first)):
        model = FisherEM(3, init="two", model="AB", random_state=0, scale="none").fit(frame)
    assert len(model.starts_) == (1 if best_first else 2)


def test_a_start_says_whether_it_tells_groups_apart(frame):
    """Three groups on a line need one axis only: a start that tells nothing of groups leaves it at K - 1."""
    line = frame.assign(a=np.repeat([0.0, 10.0, 20.0], 30) + frame["c"] / 10, b=frame["d"])
    for separates, d in ((True, 1), (False, 2)):
        with STARTS.having("first column", Start(by_the_first_column, separates=separates)):
            model = FisherEM(3, init="first column", model="AB", random_state=0, scale="none").fit(line)
        assert model.loadings_.shape[1] == d


class Five:
    """Stop after five iterations, whatever they did."""

    def __init__(self, tol):
        self.count = 0

    def __call__(self, mean_log_likelihood, fisher):
        self.count += 1
        return self.count >= 5


def test_a_stopping_rule(frame, tmp_path):
    with STOPPING.having("five", Five):
        model = FisherEM(3, stopping="five", model="AB", **SHORT).fit(frame)
        assert (model.n_iter_, model.converged_, str(model.stop_reason_)) == (5, True, "five")
        assert "&#39;five&#39; was met" in page_of(model, frame, tmp_path).replace("'", "&#39;")
        assert kept(model, frame, tmp_path).stopping == "five"
        search = searched(FisherEM(stopping="five", **SHORT), frame)
        assert set(search.results_["stop_reason"].astype(str)) == {"five"}
        assert "five" in page_of(search, frame, tmp_path)
    with pytest.raises(ValueError, match=r"stopping must be .*aitken"):
        FisherEM(3, stopping="five").fit(frame)


# -- criteria ------------------------------------------------------------------------------------------------------


def hannan_quinn(log_likelihood, n_parameters, n, entropy=0.0):
    return log_likelihood - n_parameters * np.log(np.log(n))


def test_a_criterion(frame, data, tmp_path):
    formula = "log-likelihood − parameters · log log n"
    with CRITERIA.having("hq", Criterion("hq", "HQ", formula, hannan_quinn)):
        model = SparseFisherEM(3, model="AB", **SHORT).fit(frame)
        expected = model.log_likelihood_ - model.n_parameters_ * np.log(np.log(90))
        assert model.hq_ == pytest.approx(expected)
        assert model.criterion("hq", frame) == pytest.approx(expected)
        page = page_of(model, frame, tmp_path)
        assert "HQ" in page
        assert formula in page
        assert kept(model, frame, tmp_path).hq_ == model.hq_
        search = searched(SparseFisherEM(**SHORT), frame, criterion="hq")
        assert {"hq", "selection_hq"} <= set(search.results_)
        best = search.results_.loc[search.best_index_]
        assert best["selection_hq"] == search.results_["selection_hq"][search.results_["method"] != "dense"].max()
        assert search.best_score_ == best["hq"] == search.best_estimator_.hq_
        assert "HQ" in page_of(search, frame, tmp_path)
        out = tmp_path / "out"
        found = fitted("search", data, "-k", "2:3", "--models", "AB", "--criterion", "hq", "-o", out)
        assert found["hq"] == pytest.approx(pd.read_csv(out / "criteria.csv")["hq"][0])
        assert {"hq", "selection_hq"} <= set(pd.read_csv(out / "results.csv"))
        assert "HQ" in command("fit", data, "-k", 3, "--model", "AB", "--n-init", 1, "-o", tmp_path / "fit")
    assert "Invalid value for '--criterion'" in command("search", data, "--criterion", "hq", code=2)
    page_of(search, frame, tmp_path)  # a page about a search of before is still made


# -- rivals --------------------------------------------------------------------------------------------------------


class Slices(ClusterMixin, BaseEstimator):
    """Groups of equal size along the column with the largest variance, which is the one it selects."""

    def __init__(self, n_clusters=3):
        self.n_clusters = n_clusters

    def fit(self, X, y=None):
        X = np.asarray(X, float)
        self.n_features_in_ = X.shape[1]
        variances = X.var(axis=0)
        self.support_ = variances == variances.max()
        shares = np.arange(1, self.n_clusters) / self.n_clusters
        self.cuts_ = pd.DataFrame({"share": shares, "cut": np.quantile(X[:, self.support_], shares)})
        self.labels_ = self.predict(X)
        return self

    def predict(self, X):
        return np.searchsorted(self.cuts_["cut"], np.asarray(X, float)[:, self.support_][:, 0])


def test_a_rival(frame, data, tmp_path):
    with RIVALS.having("Slices", Rival("Slices", lambda K, seed: Slices(K), Slices)):
        found = compare(frame, methods=["slices", "KMEANS"])
        assert list(found.table["method"]) == ["Slices", "k-means"]
        assert found.table["n_variables"].tolist() == [1, 5]
        model = found.models["Slices"]
        back = kept(model, frame, tmp_path)
        assert type(back) is Slices
        pd.testing.assert_frame_equal(back.cuts_, model.cuts_)
        assert "Slices" in compare(frame, n_clusters=2, methods="all").table["method"].tolist()
        selected = SelectDiscriminative(Slices(3)).fit(frame)
        assert load(save(selected, tmp_path / "selected.skops")).transform(frame).shape == (90, 1)
        assert "Slices" in command("compare", data, "-k", 3, "--methods", "slices,k-means")
    with pytest.raises(TypeError, match=r"cannot be saved.*tests\.test_registers\.Slices"):
        save(model, tmp_path / "refused.skops")
    with pytest.raises(ValueError, match=r"contains types.*tests\.test_registers\.Slices"):
        load(tmp_path / "kept.skops")
    assert "names among" in command("compare", data, "-k", 3, "--methods", "slices", code=2)


# -- files ---------------------------------------------------------------------------------------------------------


def read_colons(path):
    return Sheet(pd.read_csv(path, sep=":"), ["read with colons"], 2)


def test_a_reader_of_tables(frame, tmp_path):
    path = tmp_path / "data.colons"
    frame.to_csv(path, sep=":", index=False)
    with READERS.having(".colons", Reader(whole=read_colons)):
        out = tmp_path / "out"
        found = fitted("fit", path, "-k", 3, "-o", out)
        assert set(found["variables"]) <= set(frame.columns)
        assert "read with colons" in (out / "report.html").read_text()
        model = FisherEM(3, **SHORT).fit(str(path))
        assert list(model.feature_names_in_) == list(frame.columns)
        np.testing.assert_array_equal(model.labels_, FisherEM(3, **SHORT).fit(frame).labels_)
        np.testing.assert_array_equal(model.predict(path), model.labels_)
        assert "group 3" in page_of(model, path, tmp_path)
        labels = tmp_path / "labels.csv"
        command("predict", out / "model.skops", path, "-o", labels)
        assert len(pd.read_csv(labels)) == 90
        command("report", out / "model.skops", path, "-o", tmp_path / "again.html")
    assert "unknown kind of file '.colons'" in command("fit", path, "-k", 3, "-o", tmp_path / "not", code=2)


def test_a_writer(frame, data, tmp_path):
    def sizes(done, path):
        path.write_text(" ".join(map(str, np.bincount(done.model.labels_))))

    model = FisherEM(3, **SHORT).fit(frame)
    search = searched(FisherEM(**SHORT), frame)
    usual = {"labels.csv", "variables.csv", "markers.csv", "criteria.csv", "model.skops", "report.html"}
    with WRITERS.having("sizes.txt", sizes):
        written = write_all(tmp_path / "one", model, model, Table(frame, range(1, 91), notes=["as it is"]), frame)
        assert {path.name for path in written} == usual | {"sizes.txt"}
        assert {path.name for path in (tmp_path / "one").iterdir()} == usual | {"sizes.txt"}
        assert (tmp_path / "one" / "sizes.txt").read_text() == "30 30 30"
        np.testing.assert_array_equal(load(tmp_path / "one" / "model.skops").predict(frame), model.labels_)
        table = Table(frame, range(1, 91), notes=["as it is"])
        write_all(tmp_path / "search", search, search.best_estimator_, table, frame)
        assert {path.name for path in (tmp_path / "search").iterdir()} == usual | {"sizes.txt", "results.csv"}
        fitted("fit", data, "-k", 3, "-o", tmp_path / "out")
        assert {path.name for path in (tmp_path / "out").iterdir()} == usual | {"sizes.txt", "roles.csv", "run.json"}


def test_a_writer_that_fails_leaves_no_file(frame, tmp_path):
    def fails(done, path):
        raise OSError("no room")

    model = FisherEM(3, **SHORT).fit(frame)
    with WRITERS.having("large.bin", fails), pytest.raises(OSError, match="no room"):
        write_all(tmp_path / "out", model, model, Table(frame, range(1, 91), notes=["as it is"]), frame)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.fixture
def cube():
    """12 x 9 pixels of 24 bands; two materials that differ in bands 10 to 12."""
    rng = np.random.default_rng(3)
    values = np.full((12, 9, 24), 0.3) + 0.004 * rng.normal(size=(12, 9, 24))
    values[:, 5:, 10:13] -= 0.1
    return values


def test_a_reader_of_images(cube, tmp_path):
    path = tmp_path / "scene.raw64"
    cube.tofile(path)
    reader = ImageReader(lambda path, shape: images.Cube(np.fromfile(path).reshape(*shape, -1)), ("shape",))
    with IMAGE_READERS.having(".raw64", reader):
        np.testing.assert_array_equal(images.read(path, shape=(12, 9)).data, cube)
        with pytest.raises(ValueError, match=r"variable: not used for \.raw64"):
            images.read(path, variable="x")
        arguments = ("segment", path, "-k", 2, "--shape", "12x9", "-o", tmp_path / "out", "--json")
        assert json.loads(command(*arguments))["n_clusters"] == 2
    with pytest.raises(ValueError, match=r"scene\.raw64: the format is recognised by the ending"):
        images.read(path)


def test_a_writer_of_images(cube, tmp_path):
    def text(found, folder):
        path = folder / "labels.txt"
        np.savetxt(path, found.labels + 1, fmt="%d")
        return [path]

    np.save(tmp_path / "scene.npy", cube)
    with IMAGE_WRITERS.having("text", text):
        found = images.segment(cube, 2)
        written = found.save(tmp_path / "saved")
        assert written[-1] == tmp_path / "saved" / "labels.txt"
        assert {"labels.hdr", "labels.tif", "bands.csv", "cleaning.txt", "report.html"} <= {p.name for p in written}
        np.testing.assert_array_equal(np.loadtxt(written[-1]), found.labels + 1)
        result = json.loads(command("segment", tmp_path / "scene.npy", "-k", 2, "-o", tmp_path / "out", "--json"))
        assert "labels.txt" in result["files"]


def test_entries_that_were_added_reach_worker_processes(workers_at_once):
    """Workers import the package afresh: an entry of this process goes along with its tasks."""
    from fisherem._utils import parallel
    from fisherem._utils.register import added_entries

    assert added_entries() == {}
    with SPARSE_STEPS.having("hard", _keep_largest):
        assert list(added_entries()) == ["sparse step"]
        results = dict(parallel.run_tasks(_step_names, [(0,), (1,), (2,)], 2))
    assert all("hard" in names for names in results.values())
    assert added_entries() == {}


def _keep_largest(between, d, sparsity, dense, *, scale_penalty=False, warm=None):
    loadings = between.scatter.to_variables(dense(between, d))
    return SparseResult(np.where(np.abs(loadings) >= np.abs(loadings).max(), loadings, 0.0), 0.0)


def _step_names(number):
    from fisherem.core.dlm.f_step.step import SPARSE_STEPS

    return list(SPARSE_STEPS)


def test_a_reader_appears_in_the_help_of_the_commands(frame, tmp_path):
    path = tmp_path / "rows.columns"
    frame.to_csv(path, index=False)
    for packed in (False, True):
        with READERS.having(".columns", Reader(whole=lambda path: Sheet(pd.read_csv(path)), packed=packed)):
            for name in ("fit", "search", "explain", "predict", "report", "compare"):
                shown = " ".join(command(name, "--help").split())
                assert ".parquet" in shown
                assert ".columns" in shown
                assert (".columns.gz" in shown) == packed
            assert fitted("fit", path, "-k", 3, "-o", tmp_path / "out", "--force")["n_clusters"] == 3
    assert ".columns" not in command("fit", "--help")
    assert "unknown kind of file '.columns'" in command("fit", path, "-k", 3, "-o", tmp_path / "other", code=2)
