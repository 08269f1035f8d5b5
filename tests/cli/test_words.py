"""Errors of the command line in plain words: none of these is a bug, and none says so."""

import os
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from click.testing import CliRunner

from fisherem.cli import main
from fisherem.tables.errors import FileChangedError, TableError
from fisherem.tables.parquet import ParquetSource
from fisherem.tables.readers import READERS, Reader


def fails(*words):
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == 2, result.output
    assert "bug" not in result.output
    return result.output


def _npz(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X", "hello")


EMPTY = {
    "t.npy": (lambda path: np.save(path, np.zeros((10, 0))), "no columns"),
    "u.npy": (lambda path: np.save(path, np.zeros((0, 3))), "no rows"),
    "t.npz": (lambda path: np.savez(path, X=np.zeros((10, 0))), "no columns"),
    "u.npz": (_npz, "is not an array of numbers"),
    "t.parquet": (lambda path: pq.write_table(pa.table({}), path), "has no"),
    "u.parquet": (lambda path: pd.DataFrame({"a": np.zeros(0), "b": np.zeros(0)}).to_parquet(path), "no rows"),
    "v.parquet": (lambda path: pd.DataFrame(index=list("abc")).to_parquet(path), "no columns"),
    "t.zarr": (lambda path: zarr.open_array(path, mode="w", shape=(0, 3), chunks=(1, 3), dtype="f8"), "no rows"),
}


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("options", [[], ["--transpose"], ["--scale", "--memory", "20KB"]])
def test_empty_tables(tmp_path, name, options):
    make, words = EMPTY[name]
    make(tmp_path / name)
    assert words in fails("fit", tmp_path / name, "-k", 2, "-o", tmp_path / "out", *options)


def test_seeds(tmp_path):
    for command in (["fit", "x.csv"], ["search", "x.csv"], ["segment", "x.npy", "-k", 2], ["reproduce", "all"]):
        for seed in (-1, 2**32):
            assert "--seed" in fails(*command, "--seed", seed)


def test_damaged_parquet_has_not_changed(tmp_path):
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(2000, 2)), columns=["a", "b"])
    frame.to_parquet(path, compression="gzip")
    content = bytearray(path.read_bytes())
    content[200:2000] = bytes(1800)
    path.write_bytes(content)
    with pytest.raises(TableError, match="not a readable Parquet file") as caught:
        ParquetSource(path).read(0, 2000)
    assert not isinstance(caught.value, FileChangedError)


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), ImportError("failed to map segment")])
def test_too_little_memory_is_no_bug(tmp_path, error):
    def broken(path):
        raise error

    (tmp_path / "x.broken").write_text("1,2\n")
    with READERS.having(".broken", Reader(whole=broken)):
        result = CliRunner().invoke(main, ["fit", "x.broken", "-k", "2", "-o", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert "not enough memory or processes" in result.output
    assert "bug" not in result.output


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX systems")
def test_sigterm_leaves_nothing_behind(tmp_path):
    code = (
        "import time\n"
        "from fisherem.cli import main\n"
        "import fisherem.images\n"
        "fisherem.images.segment = lambda *a, **k: (print('runs', flush=True), time.sleep(60))\n"
        f"main(['segment', {str(tmp_path / 'x.npy')!r}, '-k', '2', '-o', {str(tmp_path / 'out')!r}])"
    )
    np.save(tmp_path / "x.npy", np.zeros((4, 4, 3)))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "runs\n"
        assert list((tmp_path / "out").glob(".writing-*"))
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 143
    assert not list((tmp_path / "out").iterdir())


def test_a_note_is_shown_once(tmp_path):
    """Rows without a value are noticed by the fit, the page and the tables; the terminal says it once."""
    X = np.random.default_rng(0).normal(size=(60, 3)) + 6 * (np.arange(60) % 2)[:, None]
    X[:2] = np.nan
    np.savetxt(tmp_path / "d.csv", X, delimiter=",", header="a,b,c", comments="")
    shown = subprocess.run(
        [sys.executable, "-m", "fisherem.cli", "fit", "d.csv", "-k", "2", "-o", "out"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (shown.stdout + shown.stderr).count("2 rows have no observed value") == 1
