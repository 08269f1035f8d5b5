"""`fisherem segment` as a user meets it."""

import json

import numpy as np
from click.testing import CliRunner

from fisherem.cli import main
from fisherem.datasets import mars_like


def run(*arguments, code=0):
    result = CliRunner().invoke(main, ["segment", *map(str, arguments)])
    assert result.exit_code == code, result.output + str(result.exception)
    return result.output


def test_a_cube_becomes_maps_bands_and_spectra(tmp_path):
    scene = mars_like(rows=40, cols=30, bands=60, n_classes=3, seed=0)
    data = scene.cube if isinstance(scene.cube, np.ndarray) else np.asarray(scene.cube.data)
    np.save(tmp_path / "scene.npy", data)
    out = tmp_path / "out"
    result = json.loads(run(tmp_path / "scene.npy", "-k", 3, "-o", out, "--json"))
    assert result["n_clusters"] == 3
    assert {"labels.png", "labels.hdr", "labels.tif", "spectra.csv", "bands.csv"} <= {p.name for p in out.iterdir()}
    assert 0 < len(result["bands"]) < 60
    assert "3 groups by" in run(tmp_path / "scene.npy", "-k", 3, "-o", out)


def test_bad_files_are_one_line_and_exit_code_2(tmp_path):
    assert "scene.hdr" in run(tmp_path / "scene.hdr", "-k", 3, "-o", tmp_path / "out", code=2)
    np.save(tmp_path / "flat.npy", np.zeros((4, 4)))
    out = run(tmp_path / "flat.npy", "-k", 3, "-o", tmp_path / "out", code=2)
    assert out.count("\n") == 1
    np.save(tmp_path / "cube.npy", np.random.default_rng(0).random((5, 5, 6)))
    assert "wavelengths" in run(tmp_path / "cube.npy", "-k", 2, "--bands", "0.5-1um", "-o", tmp_path / "out", code=2)
    assert "95x95" in run(tmp_path / "cube.npy", "-k", 2, "--shape", "a", code=2)
    assert "--spatial" in run(tmp_path / "cube.npy", "-k", 2, "--spatial", "much", code=2)
