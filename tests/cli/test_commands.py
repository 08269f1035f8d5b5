"""The command line as its users meet it: files in, files out, exit codes, one-line errors."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import zarr
from click.testing import CliRunner
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fisherem import FisherEM, __version__, datasets, load, save
from fisherem.cli import main
from fisherem.core.dlm.f_step.step import SPARSE_STEPS
from fisherem.model.criteria import CRITERIA
from fisherem.model.dlm import MODELS
from fisherem.rivals import RIVALS
from fisherem.tables.file_table import FileTable
from fisherem.tables.readers import READERS, Reader, Sheet
from tests.deciding import failing_model
from tests.running import run


@pytest.fixture
def wine_csv(tmp_path):
    X, y = datasets.load("wine", as_frame=True)
    X.insert(0, "wine", [f"w{i}" for i in range(178)])
    X["cultivar"] = np.array(["Barolo", "Grignolino", "Barbera"])[y]
    path = tmp_path / "wine.csv"
    X.to_csv(path, index=False)
    return path


ROLES = ("--id-column", "wine", "--label-column", "cultivar")


def test_fit_writes_everything(wine_csv, tmp_path):
    out = tmp_path / "out"
    result = run("fit", wine_csv, "-k", 3, "-o", out, *ROLES)
    assert sorted(p.name for p in out.iterdir()) == [
        "criteria.csv", "labels.csv", "markers.csv", "model.skops", "report.html", "roles.csv", "run.json",
        "variables.csv",
    ]  # fmt: skip
    labels = pd.read_csv(out / "labels.csv")
    assert list(labels.columns) == ["id", "cluster", "posterior", "tail_probability"]
    assert list(labels["id"][:2]) == ["w0", "w1"]
    variables = pd.read_csv(out / "variables.csv")
    selected = list(variables["name"][variables["selected"]])
    assert 2 <= len(selected) <= 5
    assert all(name in result.output for name in selected)
    assert "standardised" in result.output
    assert "accuracy 0.9" in result.output
    criteria = pd.read_csv(out / "criteria.csv")
    assert criteria.loc[0, "n_selected"] == len(selected)
    # the model file works on the raw table
    X, _ = datasets.load("wine", as_frame=True)
    model = load(out / "model.skops")
    np.testing.assert_array_equal(model.predict(X) + 1, labels["cluster"])  # people count from 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # unscaled: one variable drowns the others
@pytest.mark.filterwarnings("ignore:without scaling")
def test_fit_as_json_quiet_dense_and_unscaled(wine_csv, tmp_path):
    out = run("fit", wine_csv, "-k", 3, "-o", tmp_path / "a", "--json", *ROLES).output
    result = json.loads(out)
    assert result["n_clusters"] == 3
    assert sum(result["sizes"]) == 178
    assert result["scores"]["accuracy"] > 0.9
    assert run("fit", wine_csv, "-k", 3, "-o", tmp_path / "b", "--quiet", *ROLES).output == ""
    out = run("fit", wine_csv, "-k", 3, "-o", tmp_path / "c", "--method", "dense", "--no-scale", *ROLES).output
    assert "13 of 13" in out
    assert "used unchanged" in out


def test_search(wine_csv, tmp_path):
    out = tmp_path / "out"
    run("search", wine_csv, "-k", "2:3", "--models", "DB,AkB", "--n-init", 2, "-o", out, *ROLES)
    results = pd.read_csv(out / "results.csv")
    assert set(results["n_clusters"]) == {2, 3}
    assert set(results["model"]) == {"DB", "AkB"}
    assert (out / "report.html").exists()
    for bad in ("8:2", "1:3", "two", "2;3"):
        assert "Invalid value" in run("search", wine_csv, "-k", bad, code=2).output


def test_search_says_how_many_groups_in_words(wine_csv, tmp_path):
    out = tmp_path / "out"
    said = run("search", wine_csv, "-k", "2:4", "--jobs", 1, "-o", out, *ROLES).output
    assert "3 groups" in said
    assert "halves of the rows agree" in " ".join(said.split())
    results = pd.read_csv(out / "results.csv")
    assert results["n_clusters"].tolist() == [1, 2, 3, 4]
    assert {"agreement", "score_gain", "bic"} <= set(results.columns)
    found = json.loads(run("search", wine_csv, "-k", "2:3", "--jobs", 1, "-o", out, "--force", "--json", *ROLES).output)
    assert found["verdict"]["n_clusters"] == found["n_clusters"] == 3
    assert found["verdict"]["confidence"] in ("clear", "leaning")
    refused = run(
        "search", wine_csv, "--criterion", "verdict", "--models", "AB", "-o", tmp_path / "not", *ROLES, code=2
    ).output
    assert "give criterion='bic'" in refused


def test_predict_matches_columns_by_name(wine_csv, tmp_path):
    run("fit", wine_csv, "-k", 3, "-o", tmp_path / "out", *ROLES)
    model = tmp_path / "out" / "model.skops"
    table = pd.read_csv(wine_csv)
    shuffled = tmp_path / "new.csv"
    table[table.columns[::-1]].iloc[:20].to_csv(shuffled, index=False)
    target = tmp_path / "labels.csv"
    out = run("predict", model, shuffled, "--id-column", "wine", "-o", target).output
    assert "20 rows" in out
    expected = pd.read_csv(tmp_path / "out" / "labels.csv")["cluster"][:20]
    np.testing.assert_array_equal(pd.read_csv(target)["cluster"], expected)
    table.drop(columns=["proline", "hue"]).to_csv(shuffled, index=False)
    assert "columns that are missing: 'hue', 'proline'" in run("predict", model, shuffled, code=2).output
    assert json.loads(run("predict", model, wine_csv, "-o", target, "--json").output)["rows"] == 178


def test_compare(wine_csv, tmp_path):
    target = tmp_path / "table.csv"
    out = run("compare", wine_csv, "-k", 3, "--methods", "k-means,SparseKMeans", "-o", target, *ROLES).output
    table = pd.read_csv(target)
    assert list(table["method"]) == ["k-means", "SparseKMeans"]
    assert (table["accuracy"] > 0.9).all()
    assert "k-means" in out
    assert "methods" in run("compare", wine_csv, "-k", 3, "--methods", "magic", *ROLES, code=2).output


def test_report_from_a_model_file(wine_csv, tmp_path):
    run("fit", wine_csv, "-k", 3, "-o", tmp_path / "out", *ROLES)
    page = tmp_path / "page.html"
    run("report", tmp_path / "out" / "model.skops", wine_csv, "-o", page, *ROLES)
    assert "flavanoids" in page.read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("a,b\n", "a header line but no rows"),
        ("a,b\n1,2\n3\n", "line 3 has 1 field "),
        ("a;b\n1,5;2\n1.5;3\n", "mixed"),
        ("a,a\n1,2\n", "two columns are named 'a'"),
        ("Mg,b\n" + "1,2\n" * 16 + "x,2\n" + "1,2\n", "line 18, column 'Mg': 'x'"),
    ],
)
def test_bad_tables_are_one_line_and_exit_code_2(tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    out = tmp_path / "out"
    result = run("fit", path, "-k", 3, "-o", out, code=2)
    assert message in result.output
    assert result.output.count("\n") == 1
    assert not list(out.iterdir())  # nothing written half


def test_bad_parameters_and_places(wine_csv, tmp_path):
    assert "n_clusters=178" in run("fit", wine_csv, "-k", 178, "-o", tmp_path / "o", *ROLES, code=2).output
    assert "--label-column names 'x'" in run("fit", wine_csv, "-k", 3, "--label-column", "x", code=2).output
    run("fit", wine_csv, "-k", 1, code=2)
    run("fit", wine_csv, "-k", 3, "--sparsity", 0, code=2)
    run("fit", wine_csv, "-k", 3, "--model", "XX", code=2)
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    result = run("fit", wine_csv, "-k", 3, "-o", blocked / "out", *ROLES, code=2)
    assert "choose another folder with -o" in result.output
    model = tmp_path / "model.skops"
    model.write_bytes(b"\x80\x04N.")
    assert "pickle" in run("predict", model, wine_csv, code=2).output
    assert "no such" in run("predict", tmp_path / "none", wine_csv, code=2).output


def test_damaged_binaries_are_one_line_and_exit_code_2(wine_csv, tmp_path):
    import zipfile

    run("fit", wine_csv, "-k", 3, "--n-init", 1, "-o", tmp_path / "out", *ROLES)
    good = (tmp_path / "out" / "model.skops").read_bytes()
    cut, bomb, table = tmp_path / "cut.skops", tmp_path / "bomb.skops", tmp_path / "cut.parquet"
    cut.write_bytes(good[: len(good) // 2])
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", "{}")
        archive.writestr("0.npy", b"\0" * 200_000_000)
    pd.read_csv(wine_csv).to_parquet(table)
    table.write_bytes(table.read_bytes()[:4000])
    target = tmp_path / "labels.csv"
    for arguments, words in (
        (("predict", cut, wine_csv, "-o", target), "cut.skops"),
        (("predict", bomb, wine_csv, "-o", target), "it contains compressed data"),
        (("report", cut, wine_csv, "-o", tmp_path / "page.html"), "cut.skops"),
        (("fit", table, "-k", 3, "-o", tmp_path / "new"), "not a readable Parquet file"),
    ):
        result = run(*arguments, code=2)
        assert words in result.output
        assert result.output.count("\n") == 1
    assert not target.exists()
    assert not (tmp_path / "page.html").exists()
    assert list((tmp_path / "new").iterdir()) == []


def test_debug_shows_the_traceback(tmp_path):
    result = CliRunner().invoke(
        main, ["--debug", "fit", str(tmp_path / "none.csv"), "-k", "3", "-o", str(tmp_path / "o")]
    )
    assert isinstance(result.exception, ValueError)


def test_failed_computation_is_exit_code_1(wine_csv, tmp_path):
    with failing_model("AB", "no luck"):
        result = run("fit", wine_csv, "-k", 3, "-o", tmp_path / "out", *ROLES, code=1)
    assert "none of the 10 starts led to a fit: no luck" in result.output


def test_version_help_and_completion():
    assert __version__ in run("--version").output
    out = run("--help").output
    for command in ("fit", "search", "predict", "significance", "compare", "report", "segment", "demo"):
        assert command in out
        assert "Usage" in run(command, "--help").output
    for shell in ("bash", "zsh", "fish"):
        assert "_FISHEREM_COMPLETE" in run("completion", shell).output


def test_the_list_of_commands_has_whole_sentences():
    _, listed = run("--help").output.split("Commands:")
    assert all(line.endswith(".") and not line.endswith("..") for line in listed.strip().splitlines())


def test_help_loads_nothing_heavy():
    """The promise is 0.4 s over a bare interpreter; loading none of these is what keeps it."""
    heavy = ("numpy", "scipy", "sklearn", "pandas", "matplotlib", "rich", "skops")
    code = (
        "import sys\nfrom fisherem.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"sys.exit(any(m in sys.modules for m in {heavy}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, stdout=subprocess.DEVNULL).returncode == 0


# -- registers -----------------------------------------------------------------------------------------------------


def test_new_names_are_in_the_help_of_their_command():
    for register, command in (
        (MODELS, "fit"), (MODELS, "search"), (MODELS, "segment"), (SPARSE_STEPS, "fit"), (SPARSE_STEPS, "segment"),
        (CRITERIA, "search"), (RIVALS, "compare"),
    ):  # fmt: skip
        assert "newcomer" not in run(command, "--help").output
        with register.having("newcomer", next(iter(register.values()))):
            assert "newcomer" in run(command, "--help").output


def test_models_go_by_all_their_names(wine_csv, tmp_path):
    out = run("fit", wine_csv, "-k", 3, "--model", "alpha_kj beta", "--n-init", 1, "-o", tmp_path, "--json", *ROLES)
    assert json.loads(out.output)["model"] == "AkjB"


# -- tables that are larger than memory ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """3000 x 8 (192 kB) with ids and classes, whose columns have very different scales; and the same as .npy."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(2)
    truth = np.arange(3000) % 3
    X = (rng.normal(size=(3000, 8)) + 5 * rng.normal(size=(3, 8))[truth]) * 10.0 ** np.arange(-3, 5) + 100
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    np.save(folder / "large.npy", X)
    frame.insert(3, "who", [f"r{i}" for i in range(3000)])
    frame["kind"] = np.array(["x", "y", "z"])[truth]
    frame.to_parquet(folder / "large.parquet", row_group_size=100)
    return folder


NAMED = ("--id-column", "who", "--label-column", "kind")
BLOCKS = ("--memory", "200kB")


def written(folder):
    """The tables of a fit: labels, variables, criteria."""
    return [pd.read_csv(folder / name) for name in ("labels.csv", "variables.csv", "criteria.csv")]


@pytest.mark.parametrize("scale", ["--scale", "--no-scale"])
@pytest.mark.parametrize(("name", "roles"), [("large.parquet", NAMED), ("large.npy", ())])
@pytest.mark.filterwarnings("ignore:without scaling")
def test_a_streamed_fit_is_the_same_as_a_whole_one(large, tmp_path, monkeypatch, scale, name, roles):
    options = ("-k", 3, "--model", "AkB", "--n-init", 2, scale, *roles)
    whole = run("fit", large / name, *options, "-o", tmp_path / "whole").output
    monkeypatch.setattr(FileTable, "whole", lambda self: None)  # the rows are never in memory together
    streamed = run("fit", large / name, *options, *BLOCKS, "-o", tmp_path / "streamed").output
    assert "read in blocks" in streamed
    assert "read in blocks" not in whole
    for one, other in zip(written(tmp_path / "streamed"), written(tmp_path / "whole"), strict=True):
        pd.testing.assert_frame_equal(one, other, rtol=1e-6)
    assert ("accuracy" in streamed) == bool(roles)
    monkeypatch.undo()
    # the model file takes raw rows, and the page is there
    X = pd.read_parquet(large / "large.parquet").drop(columns=["who", "kind"])
    if not roles:
        X.columns = [f"x{j + 1}" for j in range(8)]
    labels = pd.read_csv(tmp_path / "streamed" / "labels.csv")
    np.testing.assert_array_equal(load(tmp_path / "streamed" / "model.skops").predict(X) + 1, labels["cluster"])
    assert set(labels["cluster"]) == {1, 2, 3}
    assert "read in blocks" in (tmp_path / "streamed" / "report.html").read_text()


def test_streamed_rows_are_predicted_searched_and_reported(large, tmp_path):
    options = ("-k", "3", "--models", "AkB", "--n-init", 1, "--method", "dense", "--jobs", 1)
    for out, memory in (("whole", ()), ("streamed", BLOCKS)):
        run("search", large / "large.parquet", *options, *memory, *NAMED, "-o", tmp_path / out)
    one, other = (pd.read_csv(tmp_path / out / "results.csv")["bic"] for out in ("whole", "streamed"))
    np.testing.assert_allclose(one, other, rtol=1e-6)
    model = tmp_path / "whole" / "model.skops"
    frame = pd.read_parquet(large / "large.parquet")
    frame[frame.columns[::-1]].to_parquet(tmp_path / "shuffled.parquet", row_group_size=100)
    target = tmp_path / "labels.csv"
    found = run("predict", model, tmp_path / "shuffled.parquet", "--id-column", "who", *BLOCKS, "-o", target, "--json")
    assert sum(json.loads(found.output)["sizes"]) == 3000
    pd.testing.assert_frame_equal(pd.read_csv(target), pd.read_csv(tmp_path / "whole" / "labels.csv"))
    run("report", model, large / "large.parquet", *NAMED, *BLOCKS, "-o", tmp_path / "page.html")
    assert "read in blocks" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("memory", [(), BLOCKS])
def test_models_of_arrays_and_other_kinds_of_files(large, tmp_path, recwarn, memory):
    X = np.load(large / "large.npy")
    model = make_pipeline(StandardScaler(), FisherEM(3, model="AkB", n_init=1, random_state=0)).fit(X)
    save(model, tmp_path / "model.skops")
    zarr.create_array(str(tmp_path / "large.zarr"), shape=X.shape, chunks=(100, 8), dtype="f8")[:] = X
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    (tmp_path / "parts.parquet").mkdir()
    for i in range(3):
        frame[1000 * i : 1000 * (i + 1)].to_parquet(tmp_path / f"parts.parquet/{i}.parquet", row_group_size=100)
    for path in (large / "large.npy", tmp_path / "large.zarr", tmp_path / "parts.parquet"):
        run("predict", tmp_path / "model.skops", path, *memory, "-o", tmp_path / "labels.csv")
        np.testing.assert_array_equal(pd.read_csv(tmp_path / "labels.csv")["cluster"], model[-1].labels_ + 1)
    assert not [w for w in recwarn if "feature names" in str(w.message)]


def test_a_bad_value_in_a_streamed_table_is_named(large, tmp_path):
    frame = pd.read_parquet(large / "large.parquet")
    frame.loc[2345, "c"] = np.nan
    frame.to_parquet(tmp_path / "gap.parquet", row_group_size=100)
    options = ("-k", 3, "--n-init", 1, *NAMED, "-o", tmp_path / "out")
    assert "row 2345, column 'c'" in run("fit", tmp_path / "gap.parquet", *options, *BLOCKS, code=2).output
    refused = run("fit", tmp_path / "gap.parquet", *options, "--missing", "refuse", code=2)
    assert "row 2346, column 'c': the cell is empty" in refused.output
    assert "memory must be a budget" in run("fit", large / "large.npy", "-k", 3, "--memory", "lots", code=2).output


def test_a_new_reader_drives_a_fit(tmp_path):
    frame, _ = datasets.load("iris", as_frame=True)
    frame.to_json(tmp_path / "x.foo")
    assert "unknown kind of file '.foo'" in run("fit", tmp_path / "x.foo", "-k", 3, code=2).output
    with READERS.having(".foo", Reader(whole=lambda path: Sheet(pd.read_json(path), ["read from JSON"]))):
        out = run("fit", tmp_path / "x.foo", "-k", 3, "--n-init", 1, "-o", tmp_path / "out").output
    assert "read from JSON" in out
    assert len(pd.read_csv(tmp_path / "out" / "labels.csv")) == 150


def test_many_rows_make_a_small_page(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=60_000)
    X = (rng.normal(size=(60_000, 12)) + 3 * rng.normal(size=(3, 12))[labels]).astype(np.float32)
    # whole hundredths: digits are what writing and reading text takes its time for
    pd.DataFrame(np.rint(100 * X).astype(np.int16)).add_prefix("v").to_csv(tmp_path / "big.csv", index=False)
    run("fit", tmp_path / "big.csv", "-k", 3, "--n-init", 1, "-o", tmp_path / "out")
    page = tmp_path / "out" / "report.html"
    assert page.stat().st_size < 3_000_000
    assert "sample" in page.read_text()
    assert os.path.getsize(tmp_path / "out" / "labels.csv") > 1_000_000
