"""Images: speed, memory and agreement with the truth, as ratios and shares: `python benchmarks/images.py [parts]`.

Parts: mars, noisy, samson, pines, crism, big (writes 0.8 GB to a temporary folder), all but `big` by default. Real
scenes are read from FISHEREM_DATA, Indian Pines from the package tensorly.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from fisherem import datasets
from fisherem.images import clean, read, segment

BIG = (1000, 1000, 200)


def report(what: str, value: str, target: str = "", good: bool = True) -> None:
    print(f"{'ok  ' if good else 'MISS'} {what}: {value}" + (f" (target {target})" if target else ""), flush=True)


def agreement(truth, labels) -> float:
    """Share of the valid pixels in agreement under the best matching of groups to classes."""
    valid = labels >= 0
    table = np.zeros((max(truth.max(), labels.max()) + 1,) * 2)
    np.add.at(table, (truth[valid], labels[valid]), 1)
    return float(table[linear_sum_assignment(-table)].sum() / valid.sum())


def timed(function):
    begin = time.perf_counter()
    result = function()
    return result, time.perf_counter() - begin


def mars() -> None:
    """Speed in turn with ten iterations of the diagonal mixture; agreement, bands, memory."""
    scene = datasets.mars_like()
    array = clean(scene.cube).rows
    ratios, ours, theirs = [], [], []
    for _ in range(3):
        found, t = timed(lambda: segment(scene.cube, 5))
        _, g = timed(
            lambda: GaussianMixture(5, covariance_type="diag", max_iter=10, tol=0, init_params="random").fit(array)
        )
        ratios, ours, theirs = [*ratios, t / g], [*ours, t], [*theirs, g]
    ratio, t, g = (float(np.median(v)) for v in (ratios, ours, theirs))
    what = "38,400 x 256, K=5: whole run / ten iterations of GaussianMixture(diag)"
    report(what, f"{ratio:.2f} ({t:.2f} s / {g:.2f} s)", "<= 1", ratio <= 1)
    share = agreement(scene.truth, found.labels)
    report("demo scene: agreement", f"{share:.3f}", ">= 0.90", share >= 0.9)
    n = int(found.support.sum())
    report("demo scene: bands", str(n), "5 to 15", 5 <= n <= 15)
    inside = float(scene.informative_bands[found.support].mean())
    report("demo scene: selected bands inside a feature", f"{inside:.2f}", "1", inside == 1)
    peak = _child("mars-memory")
    report("38,400 x 256: peak memory beyond the cube / cube", f"{peak:.1f}", "<= 4 in all", peak + 1 <= 4)


def mars_memory() -> None:
    scene = datasets.mars_like()
    segment(scene.cube.data[:20, :20], 2, max_iter=2)  # imports and thread pools are no part of it
    before = _anonymous()
    peak, _ = _watched(lambda: segment(scene.cube, 5))
    print((1e9 * peak - before) / scene.cube.data.nbytes)


def noisy() -> None:
    scene = datasets.mars_like(rows=150, noise=0.08)
    alone, together = (agreement(scene.truth, segment(scene.cube, 5, spatial=s).labels) for s in (0, "auto"))
    report("noise 0.08: agreement without and with the spatial prior", f"{alone:.3f}, {together:.3f}", "+ 0.03",
           together - alone >= 0.03)  # fmt: skip


def rivals(cube, truth, K: int, score, **options) -> None:
    """k-means, diagonal mixture and sparse Fisher-EM on the same cleaned rows."""
    cleaned = clean(cube)
    for name, labels in (
        ("k-means", KMeans(K, n_init=1, random_state=0).fit_predict(cleaned.rows)),
        ("GaussianMixture(diag)", GaussianMixture(K, covariance_type="diag", random_state=0).fit_predict(cleaned.rows)),
    ):
        on_map = np.full(truth.shape, -1)
        on_map[cleaned.mask] = labels
        report(f"  {name}", f"{score(truth, on_map):.3f}")
    found = segment(cube, K, **options)
    report(
        "  sparse Fisher-EM", f"{score(truth, found.labels):.3f} with {found.support.sum()} of {cube.shape[2]} bands"
    )


def samson() -> None:
    from scipy.io import loadmat

    folder = Path(os.environ["FISHEREM_DATA"]) / "hyperspectral"
    truth = loadmat(folder / "samson_end3.mat")["A"].argmax(axis=0).reshape(95, 95).T
    cube = read(folder / "samson_1.mat", shape=(95, 95))
    for sparsity in (0.1, 0.08):
        found = segment(cube, 3, sparsity=sparsity)
        share, n = agreement(truth, found.labels), int(found.support.sum())
        report(
            f"Samson, sparsity {sparsity}", f"{share:.3f} with {n} bands", ">= 0.93, <= 12", share >= 0.93 and n <= 12
        )
    rivals(cube, truth, 3, agreement, sparsity=0.08)
    for normalise in (True, False):
        for standardise in (False, True):
            labels = segment(cube, 3, normalise=normalise, standardise=standardise).labels
            report(f"  normalise={normalise}, standardise={standardise}", f"{agreement(truth, labels):.3f}")


def pines() -> None:
    """16 classes; the pixels without a class are clustered too, but not scored."""
    from tensorly.datasets import load_indian_pines

    data = load_indian_pines()
    truth = np.asarray(data["ticks"][0], int)

    def score(truth, labels):
        known = (truth > 0) & (labels >= 0)
        return adjusted_rand_score(truth[known], labels[known])

    from fisherem.images import Cube

    report("Indian Pines, 16 groups: adjusted Rand index", "")
    cube = Cube(np.asarray(data["tensor"]))
    rivals(cube, truth, 16, score, max_iter=15)
    found = segment(cube, 16, max_iter=15, spatial="auto")
    report("  sparse Fisher-EM with the spatial prior", f"{score(truth, found.labels):.3f}")


def crism() -> None:
    found = segment(Path(os.environ["FISHEREM_DATA"]) / "hyperspectral/crism_frt0000932c_subsampled.tif", 3)
    print(found.cleaning)
    report("CRISM: pixels per group", str(np.bincount(found.labels[found.labels >= 0])))


def big() -> None:
    """A float32 bip file of 1,000,000 pixels x 200 bands: memory beyond the page cache, time per pixel."""
    rows, columns, bands = BIG
    with tempfile.TemporaryDirectory() as folder:
        scene = datasets.mars_like(100, columns, bands, noise=0.015, n_bad_bands=0, dead_share=0)
        line_block = scene.cube.data
        with open(Path(folder) / "big.img", "wb") as file:
            for _ in range(rows // 100):
                line_block.tofile(file)
        (Path(folder) / "big.hdr").write_text(
            f"ENVI\nsamples = {columns}\nlines = {rows}\nbands = {bands}\nheader offset = 0\n"
            "data type = 4\ninterleave = bip\nbyte order = 0\n"
        )
        peak, per_large = (float(v) for v in _child_text("big-run", folder).split())
        per_small = float(_child_text("small-run", folder))
    report("1,000,000 x 200 file: peak anonymous memory", f"{peak:.2f} GB", "< 1 GB", peak < 1)
    ratio = per_large / per_small
    report("CPU time per pixel, large / Mars-size", f"{ratio:.2f}", "<= 1.2", ratio <= 1.2)


def _per_pixel(cube) -> float:
    """CPU seconds per pixel of a whole run of three dense and three sparse iterations, cleaning and start included.

    Of the processor and not of the clock: reading the file the first time is the disk's affair.
    """
    begin = time.process_time()
    segment(cube, 5, max_iter=3, tol=0)
    return (time.process_time() - begin) / (cube.shape[0] * cube.shape[1])


def big_run(folder: str) -> None:
    peak, seconds = _watched(lambda: _per_pixel(read(Path(folder) / "big.hdr")))
    print(peak, seconds)


def small_run(folder: str) -> None:
    print(_per_pixel(datasets.mars_like(192, 200, 200, n_bad_bands=0, dead_share=0).cube))


def _anonymous() -> int:
    """Resident memory that is not pages of a file."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["RssAnon"].split()[0]) * 1024


def _watched(function):
    """(peak of anonymous memory in GB, result), looked at every 20 ms."""
    import threading

    peak, done = [0], threading.Event()

    def watch():
        while not done.wait(0.02):
            peak[0] = max(peak[0], _anonymous())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        result = function()
    finally:
        done.set()
        thread.join()
    return peak[0] / 1e9, result


def _child_text(*arguments: str) -> str:
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def _child(*arguments: str) -> float:
    return float(_child_text(*arguments))


PARTS = {"mars": mars, "noisy": noisy, "samson": samson, "pines": pines, "crism": crism, "big": big}
INNER = {"mars-memory": mars_memory, "big-run": big_run, "small-run": small_run}

if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    if sys.argv[1:] and sys.argv[1] in INNER:
        INNER[sys.argv[1]](*sys.argv[2:])
    else:
        for part in sys.argv[1:] or [p for p in PARTS if p != "big"]:
            PARTS[part]()
