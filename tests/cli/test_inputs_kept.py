"""No command overwrites what it reads, whatever the name by which the output leads there."""

import os
import warnings

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from fisherem import FisherEM, save
from fisherem.cli import main
from fisherem.images.write import FILES
from tests.images.files import write_envi


@pytest.fixture
def folder(tmp_path):
    """A folder with d.csv, the model m.skops and, in od, the table labels.csv."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)) + 6 * rng.integers(2, size=(40, 1)), columns=list("abc"))
    frame.to_csv(tmp_path / "d.csv", index=False)
    (tmp_path / "od").mkdir()
    frame.assign(g=frame["a"] > 3).to_csv(tmp_path / "od" / "labels.csv", index=False)
    frame.assign(g=frame["a"] > 3).to_csv(tmp_path / "od" / "roles.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whether it converges does not matter here
        save(FisherEM(2, init="random", n_init=1, random_state=0, n_jobs=1).fit(frame), tmp_path / "m.skops")
    os.symlink(tmp_path / "d.csv", tmp_path / "soft.csv")
    os.link(tmp_path / "d.csv", tmp_path / "hard.csv")
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("words", [
    "predict m.skops d.csv -o d.csv", "predict m.skops d.csv -o m.skops", "predict m.skops d.csv -o soft.csv",
    "predict m.skops soft.csv -o d.csv", "predict m.skops d.csv -o hard.csv", "predict m.skops d.csv -o od/../d.csv",
    "significance m.skops d.csv -o d.csv",
    "report m.skops d.csv -o d.csv", "report m.skops d.csv -o m.skops", "compare d.csv -k 2 -o d.csv",
    "compare d.csv -k 2 --methods k-means -o hard.csv", "fit od/labels.csv -k 2 -o od --force",
    "search od/labels.csv -k 2,3 -o od --force", "explain od/roles.csv --label-column g -o od --force",
])  # fmt: skip
def test_output_that_is_an_input_is_refused(folder, monkeypatch, words):
    monkeypatch.chdir(folder)
    before = contents(folder)
    result = CliRunner().invoke(main, words.split())
    assert result.exit_code == 2, result.output
    assert "would be overwritten: choose another place with -o" in result.output
    assert contents(folder) == before


def test_outputs_inside_a_folder_that_is_read_are_refused(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "t.parquet").mkdir()
    pd.read_csv(folder / "d.csv").to_parquet(folder / "t.parquet" / "1.parquet")
    before = contents(folder)
    for words in ("fit t.parquet -k 2 -o t.parquet --force", "predict m.skops t.parquet -o t.parquet/2.parquet"):
        result = CliRunner().invoke(main, words.split())
        assert result.exit_code == 2
        assert "lies inside the input t.parquet" in result.output
    assert contents(folder) == before


def test_images_are_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    image = rng.normal(size=(8, 8, 6)).astype(np.float32) + 5 * (np.arange(8) > 3)[:, None, None]
    write_envi(tmp_path / "labels.hdr", image)
    np.save(tmp_path / "x.npy", image)
    write_envi(tmp_path / "mask.hdr", np.ones((8, 8, 1), np.uint8))
    os.symlink(tmp_path / "mask.img", tmp_path / "labels.png")
    before = contents(tmp_path)
    for words in ("labels.hdr -k 2 -o .", "labels.img -k 2 -o .", "x.npy -k 2 -o . --mask mask.hdr"):
        result = CliRunner().invoke(main, ["segment", *words.split()])
        assert result.exit_code == 2, result.output
        assert "would be overwritten" in result.output
    assert contents(tmp_path) == before
    result = CliRunner().invoke(main, ["segment", "x.npy", "-k", "2", "-o", "out"])
    assert result.exit_code == 0, result.output
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written | {"truth.csv", "library.csv", "other.png"} == set(FILES)
