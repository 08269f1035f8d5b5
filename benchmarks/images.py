"""Images: speed, memory and agreement with the truth, as ratios and shares: `python benchmarks/images.py [parts]`.

Parts: mars, seeds, noisy, samson, pines, against, crism, bands, big (writes 3.2 GB to a temporary folder), all but
`seeds` and `big` by default. Real scenes are read from FISHEREM_DATA, Indian Pines from the package tensorly.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measure import report, resident, timed, watched
from scenes import CHOSEN_ON, DRAWN, OTHERS
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from fisherem import SparseKMeans, datasets
from fisherem.images import Cube, as_cube, clean, read, segment
from fisherem.search.scoring import accuracy, best_matching, contingency

# Rows of 2,000 pixels x 200 bands: 0.16, 1 and 4 million pixels.
BIG = (80, 500, 2000)


def agreement(truth, labels) -> float:
    """The share of the valid pixels in agreement under the best matching of groups to classes."""
    valid = labels >= 0
    return accuracy(truth[valid], labels[valid])


def mars() -> None:
    """Speed in turn with ten iterations of the diagonal mixture; agreement, bands, memory."""
    scene = datasets.mars_like()
    array = clean(scene.cube).rows
    for method in ("two-step", "svd"):
        ratios, ours, theirs = [], [], []
        for _ in range(5):
            found, t = timed(partial(segment, scene.cube, 5, method=method))
            _, g = timed(
                lambda: GaussianMixture(5, covariance_type="diag", max_iter=10, tol=0, init_params="random").fit(array)
            )
            ratios, ours, theirs = [*ratios, t / g], [*ours, t], [*theirs, g]
        ratio, t, g = (float(np.median(v)) for v in (ratios, ours, theirs))
        what = f"38,400 x 256, K=5, {method}: whole run / ten iterations of GaussianMixture(diag)"
        report(what, f"{ratio:.2f} ({t:.2f} s / {g:.2f} s)", "<= 1", ratio <= 1)
        share = agreement(scene.truth, found.labels)
        report("  demo scene: agreement", f"{share:.3f}", ">= 0.90", share >= 0.9)
        n = int(found.support.sum())
        report("  demo scene: bands", str(n), "5 to 15", 5 <= n <= 15)
        inside = float(scene.informative_bands[found.support].mean())
        report("  demo scene: selected bands inside a feature", f"{inside:.2f}", "1", inside == 1)
        peak = _child("mars-memory", method)
        report("  peak memory, cube included / cube", f"{peak + 1:.1f}", "<= 4", peak + 1 <= 4)


def seeds() -> None:
    """The same on ten made-up scenes: agreement, bands, share of them inside a feature."""
    for seed in range(10):
        scene = datasets.mars_like(seed=seed)
        for method in ("two-step", "svd"):
            found = segment(scene.cube, 5, method=method)
            n, inside = int(found.support.sum()), float(scene.informative_bands[found.support].mean())
            value = f"{agreement(scene.truth, found.labels):.3f} with {n} bands, {inside:.2f} inside"
            report(f"scene {seed}, {method}", value, "5 to 15, 1", 5 <= n <= 15 and inside == 1)


def mars_memory(method: str) -> None:
    """Print the peak memory of a run beyond what was there before, relative to the cube (in a process of its own)."""
    scene = datasets.mars_like()
    segment(scene.cube.data[:20, :20], 2, max_iter=2)  # imports and thread pools do not count
    before = resident()
    peak, _ = watched(lambda: segment(scene.cube, 5, method=method))
    print((peak - before) / scene.cube.data.nbytes)


def noisy() -> None:
    """What the spatial prior gains on a scene with much noise."""
    scene = datasets.mars_like(rows=150, noise=0.08)
    for method in ("two-step", "svd"):
        found = (segment(scene.cube, 5, method=method, spatial=s) for s in (0, "auto"))
        alone, together = (agreement(scene.truth, f.labels) for f in found)
        report(f"noise 0.08, {method}: agreement without and with the spatial prior", f"{alone:.3f}, {together:.3f}",
               "+ 0.03", together - alone >= 0.03)  # fmt: skip


def sparse_kmeans(rows: np.ndarray, K: int, *, choose: int = 2000, n_permutations: int = 5) -> SparseKMeans:
    """The bound by permutations of an even sample of rows (each permutation is a path of fits), the fit on all."""
    sample = rows[:: max(1, len(rows) // choose)]
    chosen = SparseKMeans(K, n_permutations=n_permutations, n_init=5, random_state=0).fit(sample)
    return SparseKMeans(K, bound=chosen.bound_, n_init=5, random_state=0).fit(rows)


def rivals(cube, truth, K: int, score, name: str, **options) -> None:
    """k-means, sparse k-means, the diagonal mixture and sparse Fisher-EM on the same cleaned rows, in turn."""
    cleaned = clean(cube)
    rows = np.asarray(cleaned.rows, float)

    def show(what, fit):
        found, seconds = timed(fit)
        labels = found.labels_ if hasattr(found, "labels_") else found.predict(rows)
        on_map = np.full(truth.shape, -1)
        on_map[cleaned.mask] = labels
        n = f" with {found.support_.sum()} of {cube.shape[2]} bands" if hasattr(found, "support_") else ""
        report(f"  {name}, {what}", f"{score(truth, on_map):.3f}{n}, {seconds:.1f} s")

    show("k-means", lambda: KMeans(K, n_init=10, random_state=0).fit(rows))
    show("sparse k-means", lambda: sparse_kmeans(rows, K))
    show("GaussianMixture(diag)", lambda: GaussianMixture(K, covariance_type="diag", random_state=0).fit(rows))
    for method in ("two-step", "svd"):
        found, seconds = timed(partial(segment, cube, K, method=method, **options))
        n = f"with {found.support.sum()} of {cube.shape[2]} bands, {seconds:.1f} s"
        report(f"  {name}, sparse Fisher-EM, {method}", f"{score(truth, found.labels):.3f} {n}")


def load_samson() -> tuple[Any, np.ndarray]:
    """The cube, and the material with the largest share of each pixel."""
    from scipy.io import loadmat

    folder = Path(os.environ["FISHEREM_DATA"]) / "hyperspectral"
    truth = loadmat(folder / "samson_end3.mat")["A"].argmax(axis=0).reshape(95, 95).T
    return read(folder / "samson_1.mat", shape=(95, 95)), truth


def load_pines() -> tuple[Any, np.ndarray]:
    """The cube, and the classes from 0, -1 for pixels without one."""
    from tensorly.datasets import load_indian_pines

    data = load_indian_pines()
    return Cube(np.asarray(data["tensor"])), np.asarray(data["ticks"][0], int) - 1


def samson() -> None:
    """Samson, three materials: agreement and bands, beside the rivals, and the effect of normalising."""
    cube, truth = load_samson()
    for options in ({}, {"spatial": "auto"}, {"method": "two-step"}, {"method": "two-step", "sparsity": 0.08}):
        found = segment(cube, 3, **options)
        share, n = agreement(truth, found.labels), int(found.support.sum())
        good = share >= 0.93 and n <= 12
        report(f"Samson, {options or 'as it comes'}", f"{share:.3f} with {n} bands", ">= 0.93, <= 12", good)
    rivals(cube, truth, 3, agreement, "Samson")
    for normalise in (True, False):
        for standardise in (False, True):
            found = segment(cube, 3, normalise=normalise, standardise=standardise)
            value = f"{agreement(truth, found.labels):.3f} with {found.support.sum()} bands"
            report(f"  normalise={normalise}, standardise={standardise}", value)


def pines() -> None:
    """16 classes; the pixels without a class are clustered too, but not scored. 30 iterations per phase: further ones
    change the index by less than 0.01."""
    cube, truth = load_pines()

    def score(truth, labels):
        known = (truth >= 0) & (labels >= 0)
        return adjusted_rand_score(truth[known], labels[known])

    rivals(cube, truth, 16, score, "Indian Pines (adjusted Rand index)", max_iter=30)
    found = segment(cube, 16, max_iter=30, spatial="auto")
    report("  with the spatial prior, svd", f"{score(truth, found.labels):.3f}")


def demo(*sizes: int, **options: Any) -> tuple[Any, np.ndarray]:
    """A demo scene and its classes."""
    scene = datasets.mars_like(*sizes, **options)
    return scene.cube, scene.truth


AGAINST = {
    "Samson": load_samson,
    "demo 80 x 72 x 160": partial(demo, 80, 72, 160),
    "demo 100 x 100 x 128, noise 0.08": partial(demo, 100, 100, 128, noise=0.08),
    "demo 60 x 90 x 100, noise 0.04": partial(demo, 60, 90, 100, 4, noise=0.04),
    **CHOSEN_ON,
    **OTHERS,
    **DRAWN,
    "Indian Pines": load_pines,
}


def against() -> None:
    """The default answer beside k-means on the cleaned pixels and on those divided by their norms: adjusted Rand index
    and accuracy on the pixels that have a class; and the pixels in doubt beside those that are wrong."""
    for name, make in AGAINST.items():
        source, truth = make()
        cube = as_cube(source)
        K = int(truth.max()) + 1
        found = segment(cube, K)
        way = "given" if found.normalisation is None else found.normalisation.normalised
        report(f"{name}, {K} classes", f"{_scores(truth, found.labels)}, {found.support.sum()} bands, divided: {way}")
        report("  pixels", _doubts(truth, found))
        for divide, what in ((False, "k-means"), (True, "k-means, divided")):
            cleaned = clean(cube, normalise=divide)
            labels = np.full(truth.shape, -1)
            labels[cleaned.mask] = KMeans(K, n_init=10, random_state=0).fit_predict(np.asarray(cleaned.rows, float))
            report(f"  {what}", _scores(truth, labels))


def _scores(truth: np.ndarray, labels: np.ndarray) -> str:
    known = (truth >= 0) & (labels >= 0)
    return f"{adjusted_rand_score(truth[known], labels[known]):.3f} {accuracy(truth[known], labels[known]):.3f}"


def _doubts(truth: np.ndarray, found) -> str:
    """The shares of the pixels with a class that are wrong, in doubt, and of the wrong ones those in doubt."""
    known = (truth >= 0) & (found.labels >= 0)
    labels, classes, doubt = found.labels[known], truth[known], found.in_doubt[known]
    K = int(max(classes.max(), labels.max())) + 1
    own, matched = best_matching(contingency(classes, labels, (K, K)))
    numbers = np.full(K, -1)
    numbers[matched] = own
    wrong = numbers[labels] != classes
    return f"{wrong.mean():.3f} wrong, {doubt.mean():.3f} in doubt, {doubt[wrong].mean():.3f} of the wrong ones"


def crism() -> None:
    """The CRISM tile, whose truth is not known: what is left out, and the sizes of the groups."""
    found = segment(Path(os.environ["FISHEREM_DATA"]) / "hyperspectral/crism_frt0000932c_subsampled.tif", 3)
    print(found.cleaning)
    report("CRISM: pixels per group", str(np.bincount(found.labels[found.labels >= 0])))


def big() -> None:
    """float32 bip files of 0.16, 1 and 4 million pixels x 200 bands: memory beyond the page cache, time per pixel."""
    columns, bands = 2000, 200
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "big.img"
        costs = {}
        for rows in BIG:
            with open(data, "wb") as file:
                for block in range(rows // 20):  # no two blocks are equal
                    scene = datasets.mars_like(20, columns, bands, seed=block % 10, n_bad_bands=0, dead_share=0)
                    (scene.cube.data * np.float32(1 + 1e-3 * block)).tofile(file)
            (Path(folder) / "big.hdr").write_text(
                f"ENVI\nsamples = {columns}\nlines = {rows}\nbands = {bands}\nheader offset = 0\n"
                "data type = 4\ninterleave = bip\nbyte order = 0\n"
            )
            peak, seconds = (float(v) for v in _child_text("big-run", folder).split())
            costs[rows] = seconds / (rows * columns)
            report(f"{rows * columns:,} x {bands}: peak anonymous memory", f"{peak:.2f} GB", "<= 1.5 GB", peak <= 1.5)
    ratio = costs[BIG[-1]] / costs[BIG[0]]
    shown = ", ".join(f"{1e6 * cost:.1f}" for cost in costs.values())
    report("CPU microseconds per pixel, files written", f"{shown}; ratio {ratio:.2f}", "<= 1.2", ratio <= 1.2)


def big_run(folder: str) -> None:
    """Print the peak of memory in GB and the CPU seconds of a call with its files (in a process of its own).

    Processor time, not wall time: how long the disk takes to read the file first is not our concern.
    """
    begin = time.process_time()
    peak, _ = watched(lambda: segment(Path(folder) / "big.hdr", 5, max_iter=10).save(Path(folder) / "out"))
    print(peak / 1e9, time.process_time() - begin)


def bands() -> None:
    """1,600 pixels of 44 to 2,200 bands: CPU seconds, which grow no faster than their number."""
    seconds = {}
    for p in (44, 220, 1100, 2200):
        scene = datasets.mars_like(40, 40, p, 4)
        begin = time.process_time()
        segment(scene.cube, 4)
        seconds[p] = time.process_time() - begin
    shown = ", ".join(f"{p} in {s:.1f} s" for p, s in seconds.items())
    good = seconds[2200] / seconds[44] <= 50
    report("1,600 pixels, bands", f"{shown}; ratio {seconds[2200] / seconds[44]:.0f}", "<= 50", good)


def _child_text(*arguments: str) -> str:
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def _child(*arguments: str) -> float:
    return float(_child_text(*arguments))


PARTS = {"mars": mars, "seeds": seeds, "noisy": noisy, "samson": samson, "pines": pines, "against": against,
         "crism": crism, "bands": bands, "big": big}  # fmt: skip
INNER = {"mars-memory": mars_memory, "big-run": big_run}

if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    if sys.argv[1:] and sys.argv[1] in INNER:
        INNER[sys.argv[1]](*sys.argv[2:])
    else:
        for part in sys.argv[1:] or [p for p in PARTS if p not in ("seeds", "big")]:
            PARTS[part]()
