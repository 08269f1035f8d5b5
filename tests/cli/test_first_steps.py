"""What new users stumble over: no -k, ids at the front, a folder with other results, genes by samples, gaps."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from fisherem import SparseFisherEM, datasets, save
from fisherem.cli import folders
from tests.running import run

QUICK = ("--n-init", 1, "--method", "dense", "--jobs", 1)


@pytest.fixture
def iris_csv(tmp_path):
    X, _ = datasets.load("iris", as_frame=True)
    X.insert(0, "flower", [f"f{i}" for i in range(150)])
    X.to_csv(tmp_path / "iris.csv", index=False)
    return tmp_path / "iris.csv"


# -- no -k, ids ----------------------------------------------------------------------------------------------------


def test_fit_without_k_chooses_the_number_and_says_so(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[:30] += 6
    np.save(tmp_path / "two.npy", X)
    result = run("fit", tmp_path / "two.npy", *QUICK, "-o", tmp_path / "out", "--json")
    assert "no -k was given: the number of groups is chosen first" in result.stderr
    found = json.loads(result.stdout)
    assert found["verdict"]["n_clusters"] == found["n_clusters"] == 2
    assert (tmp_path / "out" / "results.csv").exists()
    assert "number of groups is chosen first" in (tmp_path / "out" / "report.html").read_text()


def test_numbers_of_groups_that_are_none(iris_csv):
    for bad in ("1", "two", "2.5"):
        assert "is not a number of groups" in run("fit", iris_csv, "-k", bad, code=2).output


def test_a_unique_text_column_at_the_front_is_the_ids(iris_csv, tmp_path):
    shown = " ".join(run("fit", iris_csv, "-k", 2, *QUICK, "-o", tmp_path / "out").output.split())
    assert "first column, 'flower', was used as row names (--id-column selects another)" in shown
    assert pd.read_csv(tmp_path / "out" / "labels.csv")["id"].tolist()[:2] == ["f0", "f1"]
    target = tmp_path / "labels.csv"
    run("predict", tmp_path / "out" / "model.skops", iris_csv, "-o", target)
    assert pd.read_csv(target)["id"].tolist()[:2] == ["f0", "f1"]


# -- folders with other results ------------------------------------------------------------------------------------


def test_other_results_are_not_replaced_without_force(iris_csv, tmp_path):
    out = tmp_path / "out"
    run("fit", iris_csv, "-k", 2, *QUICK, "-o", out)
    kept = (out / "labels.csv").read_bytes()
    refused = run("fit", iris_csv, "-k", 3, *QUICK, "-o", out, code=2).output
    assert f"{out} holds the results of another run (fit {iris_csv})" in refused
    assert "replace them with --force" in refused
    assert (out / "labels.csv").read_bytes() == kept
    run("fit", iris_csv, "-k", 2, *QUICK, "-o", out)  # the same command again
    run("fit", iris_csv, "-k", 3, *QUICK, "-o", out, "--force")
    assert (out / "labels.csv").read_bytes() != kept
    made = json.loads((out / "run.json").read_text())
    assert made["command"] == "fit"
    assert made["options"]["clusters"] == 3
    assert "explain" not in made
    labelled = tmp_path / "labelled.csv"
    pd.read_csv(iris_csv).assign(kind=np.arange(150) // 50).to_csv(labelled, index=False)
    assert "--force" in run("explain", labelled, "--label-column", "kind", "-o", out, code=2).output


def test_files_that_nothing_is_known_of_count_as_other_results(iris_csv, tmp_path):
    (tmp_path / "labels.csv").write_text("mine")
    refused = run("fit", iris_csv, "-k", 2, *QUICK, "-o", tmp_path, code=2).output
    assert "another run (labels.csv)" in refused
    assert (tmp_path / "labels.csv").read_text() == "mine"


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 2)])
def test_a_terminal_is_asked(iris_csv, tmp_path, monkeypatch, answer, code):
    out = tmp_path / "out"
    run("fit", iris_csv, "-k", 2, *QUICK, "-o", out)

    class Terminal:
        @staticmethod
        def isatty():
            return True

    class System:
        stdin = stderr = Terminal

    monkeypatch.setattr(folders, "sys", System)
    result = run("fit", iris_csv, "-k", 3, *QUICK, "-o", out, input=f"{answer}\n", code=code)
    assert "replace them?" in result.output
    assert json.loads((out / "run.json").read_text())["options"]["clusters"] == (3 if answer == "y" else 2)


# -- genes by samples ----------------------------------------------------------------------------------------------


@pytest.fixture
def expression():
    """60 samples of two kinds x 40 genes, the first five of which differ."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40))
    X[:30, :5] += 4
    return pd.DataFrame(X, columns=[f"{200000 + j}_at" for j in range(40)], index=[f"GSM{i}" for i in range(60)])


def test_a_series_matrix_is_clustered_by_its_samples(expression, tmp_path):
    path = tmp_path / "GSE9_series_matrix.txt.gz"
    body = expression.T.to_csv(sep="\t", index_label="ID_REF", quoting=2)
    about = '!Series_title\t"x"\n!series_matrix_table_begin\n'
    path.write_bytes(gzip.compress(f"{about}{body}!series_matrix_table_end\n".encode()))
    out = tmp_path / "out"
    shown = " ".join(run("fit", path, "-k", 2, "-o", out).output.split())
    assert "the table was transposed" in shown
    labels = pd.read_csv(out / "labels.csv")
    assert labels["id"].tolist() == list(expression.index)
    assert labels["cluster"].nunique() == 2
    assert (labels["cluster"][:30] == labels["cluster"][0]).all()
    assert (labels["cluster"][30:] != labels["cluster"][0]).all()


def test_transpose_and_predict_on_a_transposed_table(expression, tmp_path):
    turned, model = tmp_path / "turned.csv", tmp_path / "model.skops"
    expression.T.to_csv(turned, index_label="gene")
    save(SparseFisherEM(2, random_state=0).fit(expression), model)
    said = run("predict", model, turned, "-o", tmp_path / "labels.csv", code=2).output
    assert "the table is transposed" in said
    assert "are rows of the table; use --transpose" in said
    run("predict", model, turned, "--transpose", "-o", tmp_path / "labels.csv")
    assert pd.read_csv(tmp_path / "labels.csv")["id"].tolist() == list(expression.index)


def test_genes_by_samples_are_a_question(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    X[:150] += 6
    frame = pd.DataFrame(X, columns=["s1", "s2", "s3"])
    frame.insert(0, "gene", [f"ENSG{i:011}" for i in range(300)])
    frame.to_csv(tmp_path / "genes.csv", index=False)
    said = run("fit", tmp_path / "genes.csv", "-k", 2, *QUICK, "-o", tmp_path / "out", code=2).output
    assert "the 300 rows ('ENSG00000000000'" in said
    assert "--transpose clusters the columns (samples), --no-transpose the rows (genes)" in said
    run("fit", tmp_path / "genes.csv", "-k", 2, *QUICK, "-o", tmp_path / "out", "--no-transpose")
    assert len(pd.read_csv(tmp_path / "out" / "labels.csv")) == 300


def test_numbers_of_genes_are_no_sample(tmp_path):
    """ENTREZID is the name of the genes, not a sample of its own, and names them in the results."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 63))
    X[:6, :30] += 4
    frame = pd.DataFrame(X, columns=[f"s{j}" for j in range(63)])
    frame.insert(0, "ENTREZID", 1000 + 7 * np.arange(40))
    frame.to_csv(tmp_path / "entrez.csv", index=False)
    out = tmp_path / "out"
    run("fit", tmp_path / "entrez.csv", "--transpose", "-k", 2, *QUICK, "-o", out)
    labels = pd.read_csv(out / "labels.csv")
    assert labels["id"].tolist() == [f"s{j}" for j in range(63)]
    assert sorted(labels["cluster"].value_counts()) == [30, 33]
    assert pd.read_csv(out / "variables.csv")["name"].tolist() == frame["ENTREZID"].tolist()


def test_columns_that_count_or_date_the_rows_are_named(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    frame["order"] = np.arange(1, 41)
    frame["visit"] = 20240101 + np.arange(40) % 28
    frame.to_csv(tmp_path / "x.csv", index=False)
    result = run("fit", tmp_path / "x.csv", "-k", 2, *QUICK, "-o", tmp_path / "out")
    assert "column 'order' holds the numbers of the rows (1, 2, 3, ...) and takes part" in result.stderr
    assert "--drop 'order' leaves it out" in result.stderr
    assert "column 'visit' holds dates written as numbers" in result.stderr
    assert "numbers of the rows" in (tmp_path / "out" / "report.html").read_text()
    dropped = ("--drop", "order", "--drop", "visit")
    assert "column" not in run("fit", tmp_path / "x.csv", "-k", 2, *QUICK, "-o", tmp_path / "o", *dropped).stderr
    frame["visit"] = [f"2024-01-{i % 28 + 1:02}" for i in range(40)]
    frame.to_csv(tmp_path / "x.csv", index=False)
    said = run("fit", tmp_path / "x.csv", "-k", 2, *QUICK, "-o", tmp_path / "o", "--force", code=2).output
    assert "column 'visit' holds dates ('2024-01-01', ...): leave it out" in said


# -- gaps ----------------------------------------------------------------------------------------------------------


def test_missing_cells_are_counted_and_placed(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("who,Mg,ash\na,1,2\nb,NA,4\nc,5,6\nd,,\n")
    said = run("fit", path, "-k", 2, "--missing", "refuse", "-o", tmp_path / "out", code=2).output
    assert "line 3, column 'Mg': the cell is empty (it contains 'NA')" in said
    assert "3 of 8 cells are missing, in 2 of 2 columns ('Mg' 2, 'ash' 1) and 2 of 4 rows (line 3, line 5)" in said
    assert "fill them in" in said
    assert said.count("\n") == 1


# -- sample sheets ---------------------------------------------------------------------------------------------------


@pytest.fixture
def genes(tmp_path):
    """12 genes with descriptions by 40 samples, and a sheet with a class, a batch and weights for the samples."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 40))
    X[:4, :20] += 5
    frame = pd.DataFrame(X, columns=[f"s{j}" for j in range(40)])
    frame.insert(0, "probe", [f"{i}_at" for i in range(12)])
    frame.insert(1, "symbol", [f"SYM{i}" for i in range(12)])
    frame.to_csv(tmp_path / "genes.csv", index=False)
    sheet = pd.DataFrame({"sample": [f"s{j}" for j in range(40)], "class": ["a"] * 20 + ["b"] * 20, "batch": "x"})
    sheet["w"] = np.where(np.arange(40) % 2, 1.0, 0.0)
    sheet.sample(frac=1, random_state=0).to_csv(tmp_path / "sheet.csv", index=False)
    return tmp_path


def test_a_sample_sheet_gives_classes_and_columns(genes):
    out = genes / "out"
    options = ("--transpose", "--samples", genes / "sheet.csv", "--label-column", "class", "-k", 2, *QUICK)
    result = run("fit", genes / "genes.csv", *options, "-o", out)
    assert "accuracy 1.000" in result.output
    labels = pd.read_csv(out / "labels.csv")
    assert list(labels.columns[-3:]) == ["class", "batch", "w"]
    assert labels["class"].tolist() == ["a"] * 20 + ["b"] * 20
    variables = pd.read_csv(out / "variables.csv")
    assert variables["symbol"].tolist() == [f"SYM{i}" for i in range(12)]
    again = ("--transpose", "--samples", genes / "sheet.csv", "-o", genes / "new.csv")
    run("predict", out / "model.skops", genes / "genes.csv", *again)
    assert pd.read_csv(genes / "new.csv")["batch"].tolist() == ["x"] * 40


def test_weights_are_used(genes):
    """Rows of weight 0 change nothing: the fit is that of the others."""
    options = ("--transpose", "--samples", genes / "sheet.csv", "-k", 2, *QUICK)
    run("fit", genes / "genes.csv", *options, "--weight-column", "w", "-o", genes / "weighted")
    frame = pd.read_csv(genes / "genes.csv")
    frame.drop(columns=[f"s{j}" for j in range(0, 40, 2)]).to_csv(genes / "half.csv", index=False)
    run("fit", genes / "half.csv", "--transpose", "-k", 2, *QUICK, "-o", genes / "half")
    weighted, half = (pd.read_csv(genes / name / "variables.csv") for name in ("weighted", "half"))
    np.testing.assert_allclose(weighted[["mean1", "mean2"]], half[["mean1", "mean2"]], atol=1e-6)
    for command, more in (("compare", ("-k", 2)), ("fit", ("-k", 2, "--stability", 2, "-o", genes / "s"))):
        said = run(command, genes / "genes.csv", *options[:3], "--weight-column", "w", *more, code=2).output
        assert "--weight-column is for fit, search and explain, without --stability" in said
