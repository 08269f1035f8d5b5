import copy
import json
import pickle
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fisherem
from fisherem import (
    Clustvarsel,
    FisherEM,
    ModelSearch,
    SelectDiscriminative,
    Selvarclust,
    SparseFisherEM,
    SparseKMeans,
    load,
    save,
)
from fisherem.cli.data import open_for
from fisherem.cli.options import TableOptions
from fisherem.persistence import ModelFileError
from fisherem.rivals import RIVALS

KEPT = Path(__file__).parent / "files"


@pytest.fixture
def frame(wine):
    return pd.DataFrame(wine[0], columns=[f"v{j}" for j in range(13)])


@pytest.mark.parametrize(
    "model",
    [
        FisherEM(random_state=0),
        SparseFisherEM(random_state=0, method="svd"),
        SelectDiscriminative(SparseFisherEM(random_state=0)),
    ],
)
def test_round_trip(frame, model, tmp_path):
    model.fit(frame)
    path = save(model, tmp_path / "deep" / "model.skops")
    back = load(path)
    np.testing.assert_array_equal(back.transform(frame), model.transform(frame))
    assert list(back.feature_names_in_) == list(frame.columns)
    assert back.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert not list(tmp_path.rglob("*.part"))


def test_pipelines_and_searches(frame, tmp_path):
    pipeline = make_pipeline(StandardScaler(), SparseFisherEM(random_state=0)).fit(frame)
    back = load(save(pipeline, tmp_path / "pipeline.skops"))
    np.testing.assert_array_equal(back.predict(frame), pipeline.predict(frame))
    search = ModelSearch(FisherEM(random_state=0), n_clusters=[2, 3], models=["AB"], n_init=1, n_jobs=1).fit(frame)
    best = load(save(search, tmp_path / "search.skops"))
    assert isinstance(best, FisherEM)
    np.testing.assert_array_equal(best.predict(frame), search.predict(frame))


def test_files_of_this_version_stay_readable():
    """Kept from version 0.1.0: wine, standardised, as in the demo."""
    with np.load(KEPT / "model-0.1.0.npz") as kept:
        X, posteriors = kept["X"], kept["posteriors"]
    model = load(KEPT / "model-0.1.0.skops")
    np.testing.assert_allclose(model.predict_proba(X), posteriors, atol=1e-10)
    assert model.decisions_.empty


def test_parameters_that_an_old_file_lacks_get_their_defaults(frame, tmp_path):
    model = SparseFisherEM(random_state=0).fit(frame)
    del model.axis_weights, model.roles_, model.decisions_
    path = tmp_path / "old.skops"
    skops.io.dump({"format": 1, "fisherem": "0.0.9", "model": model}, path)
    assert load(path).axis_weights == "equal"


@pytest.mark.parametrize(
    "estimator", [FisherEM(3, random_state=0), SelectDiscriminative(SparseFisherEM(random_state=0))]
)
def test_old_files_have_the_choices_of_model_and_noise_as_records(frame, tmp_path, estimator):
    old = estimator.fit(frame)
    held = getattr(old, "estimator_", old)
    table = held.decisions_
    held.decisions_ = table[~table["decision"].isin(["model", "noise"])].reset_index(drop=True)
    held.model_choice_ = [
        {"model": "AkB", "value": -12.34, "kept": True, "reason": "value"},
        {"model": "DkB", "value": -13.0, "kept": False, "reason": ""},
    ]
    held.noise_choice_ = [
        {"n_factors": 0, "bic": -20.0, "kept": False, "reason": ""},
        {"n_factors": 1, "bic": -10.0, "kept": True, "reason": ""},
    ]
    back = load(save(old, tmp_path / "old.skops"))
    back = getattr(back, "estimator_", back)
    assert not hasattr(back, "model_choice_")
    assert not hasattr(back, "noise_choice_")
    assert list(back.decisions_["decision"])[:-2] == list(held.decisions_["decision"])
    found = back.decisions_.set_index("decision")
    assert (found.loc["model", "choice"], found.loc["model", "alternatives"]) == ("AkB", "AkB -12.3, DkB -13.0")
    assert found.loc["noise", "choice"] == "1 common factor"
    held.decisions_ = "none"
    with pytest.raises(ModelFileError, match="decisions_ must be a table of text"):
        load(save(old, tmp_path / "wrong.skops"))


def as_of_old(path, cls, home):
    """Rewrite a model file as one of version 0.1.0, whose schema names a class by the module it was in."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    now = json.dumps({"__class__": cls, "__module__": "fisherem"})[1:-1]
    schema = json.dumps(json.loads(content["schema.json"]))
    assert now in schema
    content["schema.json"] = schema.replace(now, now.replace('"fisherem"', f'"{home}"')).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)


@pytest.mark.parametrize(
    ("model", "home"),
    [
        (FisherEM(n_init=1, random_state=0), "fisherem.estimators"),
        (SelectDiscriminative(SparseFisherEM(n_init=1, random_state=0)), "fisherem.selection"),
        (Clustvarsel(3, models=("EEI",), random_state=0), "fisherem.rivals.clustvarsel"),
        (Selvarclust(3, ranking="lasso", models=("EEI",), random_state=0), "fisherem.rivals.selvarclust"),
        (SparseKMeans(3, bound=2.0, random_state=0), "fisherem.rivals.sparse_kmeans"),
    ],
)
def test_old_files_name_classes_by_the_modules_they_were_in(frame, tmp_path, model, home):
    path = save(model.fit(frame), tmp_path / "old.skops")
    as_of_old(path, type(model).__name__, home)
    back = load(path)
    assert type(back) is type(model)
    np.testing.assert_array_equal(back.transform(frame), model.transform(frame))


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a selector"])
def test_old_files_name_attributes_as_they_were_named(frame, tmp_path, inside):
    """Sparse k-means of version 0.1.0 had `weights_` of the variables."""
    model = SparseKMeans(3, bound=2.0, random_state=0).fit(frame)
    old = SelectDiscriminative(SparseKMeans(3, bound=2.0, random_state=0)).fit(frame) if inside else model
    held = old.estimator_ if inside else old
    expected, labels = held.feature_weights_.copy(), model.predict(frame)
    held.weights_ = vars(held).pop("feature_weights_")
    back = load(save(old, tmp_path / "old.skops"))
    back = back.estimator_ if inside else back
    np.testing.assert_array_equal(back.feature_weights_, expected)
    assert not hasattr(back, "weights_")
    np.testing.assert_array_equal(back.predict(frame), labels)


def test_public_classes_say_that_they_live_in_the_package():
    """Model files name them by that, wherever their module goes."""
    classes = [c for c in (getattr(fisherem, name) for name in fisherem.__all__) if isinstance(c, type)]
    assert {FisherEM, SparseFisherEM, SelectDiscriminative, ModelSearch, Clustvarsel} <= set(classes)
    saved = [c for c in classes if issubclass(c, BaseEstimator)]
    assert {c.__module__ for c in saved} == {"fisherem"}
    for cls in saved:
        assert getattr(fisherem, cls.__qualname__) is cls


def test_classes_of_rivals_may_be_saved():
    names = {f"{rival.cls.__module__}.{rival.cls.__qualname__}" for rival in RIVALS.values() if rival.cls}
    assert names == {"fisherem.SparseKMeans", "fisherem.Clustvarsel", "fisherem.Selvarclust"}


@pytest.mark.parametrize("name", RIVALS)
def test_every_rival_can_be_saved(name, frame, tmp_path):
    X = frame.iloc[:, :4]
    model = RIVALS[name].make(2, 0).fit(X)
    back = load(save(model, tmp_path / "rival.skops"))
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    assert vars(back).keys() == vars(model).keys()
    for frame_name in ("path_", "gap_"):
        if hasattr(model, frame_name):
            pd.testing.assert_frame_equal(getattr(back, frame_name), getattr(model, frame_name))


def test_frames_are_kept_wherever_they_are(frame, tmp_path):
    inner = SelectDiscriminative(Clustvarsel(2, models=("EEI",))).fit(frame)
    pipeline = make_pipeline(StandardScaler(), inner)
    path = inner.estimator_.path_
    back = load(save(pipeline, tmp_path / "frame.skops"))
    pd.testing.assert_frame_equal(back[-1].estimator_.path_, path)
    assert inner.estimator_.path_ is path  # saving changes nothing


def test_many_names_take_little_room(tmp_path):
    rng = np.random.default_rng(0)
    names = ["a\x00", "字;\n", *(f"gene{j}" for j in range(5000))]
    X = pd.DataFrame(rng.normal(size=(12, len(names))), columns=names)
    model = SparseFisherEM(2, sparsity=0.5, noise_factors=0, n_init=1, random_state=0).fit(X)
    path = save(make_pipeline(StandardScaler(), model), tmp_path / "wide.skops")
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo("schema.json").file_size < 200_000  # skops would describe every single name
    back = load(path)[-1]
    assert list(back.feature_names_in_) == names
    assert back.feature_names_in_.dtype == object
    pd.testing.assert_frame_equal(back.roles_, model.roles_)


class Evil:
    def __reduce__(self):
        return (print, ("executed",))


def refused(path, match):
    with pytest.raises(ModelFileError, match=match):
        load(path)


def test_files_that_are_not_what_they_say(frame, tmp_path, capsys):
    path = tmp_path / "model.skops"
    path.write_bytes(pickle.dumps(Evil()))
    refused(path, "a pickle file, which could run code")
    path.write_text("hello")
    refused(path, "not a model file")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme", "x")
    refused(path, "no schema.json")
    good = save(FisherEM(random_state=0).fit(frame), tmp_path / "good.skops").read_bytes()
    path.write_bytes(good[: len(good) // 2])
    refused(path, "model.skops")
    damaged = bytearray(good)
    at = good.index(b"NUMPY")
    damaged[at : at + 5] = b"XXXXX"
    path.write_bytes(damaged)
    refused(path, "damaged|not a fisherem")
    skops.io.dump({"something": 1}, path)
    refused(path, "not a fisherem model")
    skops.io.dump({"format": 99, "fisherem": "9.0", "model": 1}, path)
    refused(path, r"written by fisherem 9\.0.*upgrade")
    with pytest.raises(FileNotFoundError, match="no such model file"):
        load(tmp_path / "missing.skops")
    assert "executed" not in capsys.readouterr().out


def test_zip_bombs_are_refused_before_they_are_unpacked(tmp_path):
    path = tmp_path / "bomb.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", "{}")
        archive.writestr("0.npy", b"\0" * 20_000_000)
    refused(path, "it contains compressed data")
    small = path.read_bytes().replace((20_000_000).to_bytes(4, "little"), (20_000).to_bytes(4, "little"))
    path.write_bytes(small)  # the directory lies about the size
    refused(path, "it contains compressed data")


def test_members_that_overlap_are_refused(tmp_path):
    """Many names for the same data: a directory that promises more than the file holds."""
    path = tmp_path / "bomb.skops"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", "{}")
        archive.writestr("0.npy", b"\0" * 2**20)
        archive.filelist += [copy.copy(archive.filelist[-1]) for _ in range(50)]
    refused(path, r"would unpack to 51 MB, more than its own size")


def test_a_large_file_that_is_no_archive_is_not_read(tmp_path):
    path = tmp_path / "large.skops"
    with path.open("wb") as file:
        file.truncate(2**40)  # a hole: reading it would take a terabyte
    refused(path, "not a model file; model files are written by")


@pytest.mark.parametrize(
    ("held", "name"), [(None, "NoneType"), ("text", "str"), (3, "int"), (StandardScaler(), "StandardScaler"),
                       (make_pipeline(StandardScaler(), StandardScaler()), "Pipeline that ends in StandardScaler")],
)  # fmt: skip
def test_other_types_than_models_are_refused(tmp_path, held, name):
    path = tmp_path / "other.skops"
    skops.io.dump({"format": 1, "fisherem": "0.1.0", "model": held}, path)
    refused(path, f"other.skops: holds a {name} where a model is expected")
    skops.io.dump({"format": "new", "model": held}, path)
    refused(path, "not a fisherem model")


def test_models_without_posteriors_are_refused_by_the_commands(frame, tmp_path):
    path = save(SparseKMeans(2, bound=2.0, random_state=0).fit(frame), tmp_path / "model.skops")
    frame.to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(ValueError, match="holds a fitted SparseKMeans, which has no posteriors"):
        open_for(load(path), TableOptions(tmp_path / "x.csv"), "1GB")


def test_damaged_directories_are_named(frame, tmp_path):
    good = save(FisherEM(random_state=0, n_init=1).fit(frame), tmp_path / "good.skops").read_bytes()
    path = tmp_path / "model.skops"
    directory = good.index(b"PK\x01\x02")
    # the version that is needed, flags, the way of packing, sizes, lengths, the name, and where the member stands
    for place, bit in (
        (6, 64),
        (8, 1),
        (8, 32),
        (8, 64),
        (10, 1),
        (10, 8),
        (20, 1),
        (24, 64),
        (28, 1),
        (42, 4),
        (46, 2),
    ):
        damaged = bytearray(good)
        damaged[directory + place] ^= bit
        path.write_bytes(damaged)
        refused(path, r"model\.skops: (damaged|not a|refused|a zip archive)")


def test_unknown_types_are_refused_by_name(tmp_path):
    path = tmp_path / "foreign.skops"
    skops.io.dump({"format": 1, "fisherem": "0.1.0", "model": Evil}, path)
    refused(path, "Evil")
    with pytest.raises(TypeError, match=r"cannot be saved.*Evil"):
        save(Evil, path)


# -- files whose attributes were changed -------------------------------------------------------------------------------


def _set(name, place, value):
    def change(model):
        array = getattr(model, name).astype(type(value)) if isinstance(value, float) else getattr(model, name)
        array = array.copy()
        array[place] = value
        setattr(model, name, array)

    return change


def _give(name, value):
    def change(model):
        setattr(model, name, value(getattr(model, name)) if callable(value) else value)

    return change


CHANGES = {
    "nan weights": _set("weights_", 0, np.nan), "nan loadings": _set("loadings_", (0, 0), np.nan),
    "nan covariances": _set("covariances_", (0, 0, 0), np.nan), "infinite means": _set("means_", (1, 2), np.inf),
    "nan noise": _set("noise_variances_", 1, np.nan), "negative noise": _set("noise_variances_", 0, -1.0),
    "weights": _give("weights_", lambda w: 2 * w), "fewer weights": _give("weights_", lambda w: w[:-1] / w[:-1].sum()),
    "axes": _give("loadings_", lambda a: 2 * a), "fewer rows": _give("loadings_", lambda a: a[:-1]),
    "transposed": _give("means_", lambda m: m.T), "text": _give("means_", "text"),
    "columns": _give("n_features_in_", 7), "no columns": _give("n_features_in_", -1),
    "names": _give("feature_names_in_", lambda n: n[:-1]), "equal names": _set("feature_names_in_", 0, "v1"),
    "labels": _set("labels_", 0, 99), "model": _give("model_", "XYZ"), "scales": _set("scales_", 0, 0.0),
    "centre": _set("centre_", 3, np.nan), "likelihood": _give("log_likelihood_", float("nan")),
    "definite": _give("covariances_", lambda c: -c), "jobs": _give("n_jobs", "many"),
    "bending": _set("bending_", (0, 0), np.nan), "support": _give("support_", lambda s: s[:-1]),
    "factors": _give("noise_loadings_", lambda f: f[:-1]), "latent": _give("latent_means_", lambda m: m[:, :0]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("piped", [False, True])
def test_changed_attributes_are_refused(frame, tmp_path, name, piped):
    model = FisherEM(3, model="DkBk", init="random", n_init=1, max_iter=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = make_pipeline(StandardScaler().set_output(transform="pandas"), model).fit(frame)
    CHANGES[name](model)
    path = save(fitted if piped else model, tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match=r"m.skops: damaged model file \("):
        load(path)


def test_changed_transformers_are_refused(frame, tmp_path):
    fitted = make_pipeline(StandardScaler(), FisherEM(2, random_state=0)).fit(frame)
    fitted[0].scale_ = fitted[0].scale_ * np.nan
    path = save(fitted, tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match=r"m.skops: damaged model file \("):
        load(path)


def test_models_that_are_not_fitted_are_loaded(tmp_path):
    assert load(save(FisherEM(4), tmp_path / "m.skops")).n_clusters == 4


@pytest.mark.filterwarnings("ignore")
def test_factors_without_variance_in_a_group_are_loaded(tmp_path):
    """The covariance of a group of one row, up to rounding, in any unit of the factors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5)) + 6 * (np.arange(30) % 2)[:, None]
    model = fisherem.FactorMixture(2, n_factors=1, structure="MCFA", n_init=1, random_state=0).fit(X)
    largest = float(model.covariances_.max())
    assert largest > 0
    fitted, loadings, means = model.covariances_, model.factor_loadings_, model.latent_means_
    for unit in (1e-6, 1.0, 1e6):
        model.factor_loadings_, model.latent_means_ = loadings / unit, means * unit
        for share in (0.0, -1e-13):
            model.covariances_ = np.full_like(fitted, share * largest * unit**2)
            back = load(save(model, tmp_path / "m.skops"))
            np.testing.assert_array_equal(back.predict(X), model.predict(X))
        for share in (-1e-3, -1.0):
            model.covariances_ = np.full_like(fitted, share * largest * unit**2)
            with pytest.raises(fisherem.persistence.ModelFileError, match="covariances_ must be positive semidefinite"):
                load(save(model, tmp_path / "m.skops"))


def test_axes_without_variance_are_refused(frame, tmp_path):
    """No noise is added inside the axes."""
    model = FisherEM(2, random_state=0).fit(frame)
    model.covariances_ = np.zeros_like(model.covariances_)
    with pytest.raises(fisherem.persistence.ModelFileError, match="covariances_ must be positive definite"):
        load(save(model, tmp_path / "m.skops"))
