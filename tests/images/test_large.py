"""Large scenes: a memory budget, progress, and checkpoints from which a run that was ended goes on."""

import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from functools import cache

import numpy as np
import pytest
import zarr
from click.testing import CliRunner

import fisherem.images.checkpoint as checkpoint
from fisherem._utils.passes import looking_on
from fisherem.cli import main
from fisherem.datasets import mars_like
from fisherem.images import as_cube, clean, segment
from fisherem.images.clean import CleanPixels

from .files import write_envi


class EndedError(Exception):
    pass


class EndAfter:
    """Ends the fit after some iterations over all pixels."""

    def __init__(self, kept, most):
        self.kept, self.left = kept, most

    def resume(self, n, phase):
        return self.kept.resume(n, phase)

    def passed(self, n, phase, history, posteriors):
        self.kept.passed(n, phase, history, posteriors)
        if n == self.kept.n:
            self.left -= 1
            if not self.left:
                raise EndedError


def end(monkeypatch, most, cube, path, **options):
    with monkeypatch.context() as patched:
        module = sys.modules["fisherem.images.segment"]
        patched.setattr(module, "Watching", lambda bar, kept: EndAfter(kept, most))
        with pytest.raises(EndedError):
            segment(cube, 4, checkpoint=path, **options)


@pytest.fixture(scope="module")
def scene():
    return mars_like(40, 36, 40, 4, seed=2, noise=0.03)


@pytest.fixture(scope="module")
def undisturbed(scene):
    return cache(lambda options: segment(scene.cube, 4, **dict(options)))


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("options", [{"sparsity": 0.3}, {"method": None}, {}, {"method": None, "spatial": 1.0}])
def test_a_run_that_was_ended_goes_on_where_it_was(scene, undisturbed, tmp_path, monkeypatch, most, options):
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "_TIMES", 0)
    whole = undisturbed(tuple(options.items()))
    path = tmp_path / "c.npz"
    end(monkeypatch, most, scene.cube, path, **options)
    assert path.exists()
    again = segment(scene.cube, 4, checkpoint=path, **options)
    assert any("went on from a checkpoint, after" in note for note in again.notes)
    assert not path.exists()
    np.testing.assert_array_equal(again.labels, whole.labels)
    np.testing.assert_allclose(again.posteriors, whole.posteriors, atol=1e-6)
    assert again.model.n_iter_ == whole.model.n_iter_


def test_checkpoints_of_other_pixels_or_settings_are_ignored(scene, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    path = tmp_path / "c.npz"
    end(monkeypatch, 2, scene.cube, path)
    for K, cube in ((3, scene.cube), (4, mars_like(40, 36, 40, 4, seed=3).cube)):
        kept = path.read_bytes()
        found = segment(cube, K, checkpoint=path)
        assert not any("checkpoint" in note for note in found.notes)
        path.write_bytes(kept)


def test_files_that_are_no_checkpoints_are_kept(scene, tmp_path):
    path = tmp_path / "c.npz"
    np.savez(tmp_path / "other.npz", posteriors=np.ones((2, 9)))
    for content in (b"precious", (tmp_path / "other.npz").read_bytes()):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"c.npz is not a checkpoint of a segmentation"):
            segment(scene.cube, 2, sparsity=0.5, checkpoint=path)
        assert path.read_bytes() == content
    with pytest.raises(ValueError, match="is not a checkpoint"):
        segment(scene.cube, 2, checkpoint=tmp_path)


@pytest.mark.parametrize("change", [
    {"posteriors": np.full((4, 1440), np.nan)}, {"posteriors": np.ones((4, 1440))}, {"posteriors": np.ones((4, 3))},
    {"posteriors": None}, {"history": [{}]}, {"history": 3},
])  # fmt: skip
def test_damaged_checkpoints_are_not_used(scene, tmp_path, monkeypatch, change):
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    path = tmp_path / "c.npz"
    end(monkeypatch, 2, scene.cube, path)
    with np.load(path) as file:
        about, posteriors = json.loads(file["about"].tobytes()), file["posteriors"]
    about |= {name: value for name, value in change.items() if name != "posteriors"}
    arrays = {"posteriors": change.get("posteriors", posteriors)}
    np.savez(
        path, about=np.frombuffer(json.dumps(about).encode(), np.uint8),
        **{name: value for name, value in arrays.items() if value is not None},
    )  # fmt: skip
    found = checkpoint.Checkpoint(path, about["key"], posteriors.shape[1])
    assert found.resume(posteriors.shape[1], about["phase"]) is None


def test_every_iteration_is_seen(scene):
    seen = []

    class Watcher:
        def resume(self, n, phase):
            return None

        def passed(self, n, phase, history, posteriors):
            seen.append((n, len(history), posteriors().shape))

    from fisherem import FisherEM

    rows = np.asarray(clean(scene.cube).rows, float)
    with looking_on(Watcher()):
        fitted = FisherEM(4, n_init=1, random_state=0).fit(rows)
    assert len(seen) >= fitted.n_iter_
    assert seen[0] == (len(rows), 1, (4, len(rows)))


def test_progress_is_shown_with_a_given_number_of_groups(scene, capfd):
    segment(scene.cube, 4, progress=True)
    shown = capfd.readouterr().err
    assert "passes" in shown
    assert "iteration" in shown
    segment(scene.cube, 4)  # not a terminal
    assert capfd.readouterr().err == ""


def test_the_memory_budget_decides_what_is_kept(scene):
    assert isinstance(clean(scene.cube).rows, np.ndarray)
    small = clean(scene.cube, memory="100kB")
    assert isinstance(small.rows, CleanPixels)
    np.testing.assert_array_equal(
        segment(scene.cube, 4, memory=5 * 10**5).labels, segment(scene.cube, 4, memory="2GB").labels
    )
    with pytest.raises(ValueError, match="memory must be a budget like '1GB'"):
        segment(scene.cube, 4, memory="much")


def test_what_is_kept_of_each_pixel_has_to_fit(scene, tmp_path):
    """30 + 8 K bytes of each pixel for maps, and 110 + 14 K of those that are used, or 110 + 40 K with a prior."""
    pixels, used = 40 * 36, clean(scene.cube).rows.shape[0]
    maps, fit, prior = pixels * 62, pixels * 62 + used * 166, pixels * 62 + used * 270
    refused = r"1,440 pixels in 4 groups take about .* GB, more than the memory budget of .*: give more memory"
    with pytest.raises(ValueError, match=refused):
        segment(scene.cube, 4, memory=maps - 1)
    for most, options in ((fit, {}), (prior, {"spatial": 1.0})):
        with pytest.raises(ValueError, match=refused):
            segment(scene.cube, 4, memory=most - 1, **options)
    model = segment(scene.cube, 4, memory=fit).scene_model
    with pytest.raises(ValueError, match=refused):
        model.predict(scene.cube, memory=maps - 1)
    with pytest.raises(ValueError, match="in 9 groups"):
        segment(scene.cube, [2, 9], memory=fit)
    # a file of a few bytes that declares ten thousand million pixels
    zarr.open_array(tmp_path / "x.zarr", mode="w", shape=(10**5, 10**5, 3), chunks=(1000, 1000, 3), dtype="f4")
    with pytest.raises(ValueError, match=r"10,000,000,000 pixels in 4 groups take about 620 GB"):
        segment(tmp_path / "x.zarr", 4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("K", "spatial"), [(2, 0.0), (6, 1.0)])
def test_segment_takes_about_as_much_as_is_said(K, spatial):
    """On a large image, of which no start looks at every pixel."""
    rng = np.random.default_rng(0)
    spectra, of = rng.uniform(0.2, 1, (K, 8)), np.arange(800 * 660).reshape(800, 660) * K // (800 * 660)
    cube = as_cube((spectra[of] + 0.02 * rng.normal(size=(800, 660, 8))).astype(np.float32))
    size = 800 * 660 * (140 + 22 * K + 26 * K * bool(spatial))
    tracemalloc.start()
    try:
        segment(cube, K, spatial=spatial, memory=size, max_iter=3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.6 * size < peak < 1.25 * size  # cleaned pixels take up to a quarter more


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_sigterm_leaves_a_checkpoint_and_nothing_broken(scene, tmp_path):
    path = write_envi(tmp_path / "a.hdr", np.tile(scene.cube.data, (3, 3, 1)), data_ignore_value=-9999)
    out = tmp_path / "out"
    program = (
        "import time, fisherem.images.checkpoint as c; c.SECONDS = 0; c._TIMES = 0\n"
        "old = c.Watching.passed\n"
        "def slow(self, *a):\n    old(self, *a); time.sleep(0.2)\n"
        "c.Watching.passed = slow\n"
        "from fisherem.cli import main; main()"
    )
    arguments = ["segment", str(path), "-k", "4", "-o", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    until = time.monotonic() + 60
    while not (out / ".checkpoint.npz").exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert [p.name for p in out.iterdir()] == [".checkpoint.npz"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert "went on from a checkpoint" in done.output
    assert (out / "labels.tif").exists()
    assert not (out / ".checkpoint.npz").exists()
