"""How far it scales, as ratios measured in one run: `make bench-scale`.

    python benchmarks/scale.py            all parts
    python benchmarks/scale.py file|cluster|rows

Memory is what the process has resident beyond pages of files (RssAnon + RssShmem of /proc/self/status, sampled every
20 ms). The 4 GB file would fit into the page cache of most machines, but a file larger than the memory would not. So
the pages of a block are given back (posix_fadvise) once it has been read, in the fit and in the plain reading that it
is compared with.
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

import numpy as np
from measure import report, timed, watched
from sklearn.exceptions import ConvergenceWarning

from fisherem import FisherEM
from fisherem.core.data.problem import prepare
from fisherem.core.data.sampling import Centres
from fisherem.core.dlm.family import DLMFamily
from fisherem.core.engine.loop import Settings, run
from fisherem.model.dlm import resolve
from fisherem.tables.file_table import FileTable
from fisherem.tables.parameters import parse_memory
from fisherem.tables.streamed_files import NpySource, open_source

K, P = 5, 256
FILE_ROWS = 2**22  # x 256 x 4 bytes: 4.3 GB
BUDGET = "1GB"
PLOT = Path(__file__).parents[1] / "docs" / "images" / "scaling.png"


def mixture(n: int, p: int, seed: int, dtype=np.float32) -> np.ndarray:
    """K groups that overlap, on ten of p variables; means are the same for every seed."""
    means = np.zeros((K, p))
    means[:, :10] = 2 * np.random.default_rng(0).normal(size=(K, 10))
    rng = np.random.default_rng([1, seed])
    rows = rng.standard_normal((n, p), dtype=np.float32)
    rows += means[rng.integers(K, size=n)].astype(np.float32)
    return rows.astype(dtype, copy=False)


def write(path: Path, n: int, p: int) -> None:
    """Write n rows of p columns; they repeat after 2^18, which makes no difference to time and memory."""
    block = mixture(min(n, 2**18), p, 0)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, p))
    for start in range(0, n, len(block)):
        out[start : start + len(block)] = block[: n - start]
    out.flush()


# -- a file of 4 GB ------------------------------------------------------------------------------------------------


def _forget_pages() -> None:
    """Make reading a block leave nothing of it in the page cache."""
    fill = NpySource._fill

    def forgetting(self, room, offset):
        fill(self, room, offset)
        os.posix_fadvise(self._file.fileno(), offset, room.nbytes, os.POSIX_FADV_DONTNEED)

    NpySource._fill = forgetting


def file_memory(path: str) -> None:
    model = FisherEM(K, model="AkjB", n_init=1, max_iter=2, tol=0, random_state=0, memory=BUDGET)
    peak, _ = watched(lambda: model.fit(path))
    print(peak)


def file_speed(path: str, cold: str) -> None:
    if cold == "cold":
        _forget_pages()
    source = open_source(path)
    problem = prepare(FileTable(source, parse_memory(BUDGET)), ridge=1e-3)
    rng = np.random.RandomState(0)
    start = Centres(problem.rows.take(np.sort(rng.choice(source.shape[0], K, replace=False))) - problem.centre)
    family = DLMFamily(K, K - 1, resolve("AkjB"), "orthonormal", 1e-4)

    def iterations(count: int) -> float:
        states = problem.start_states(start, K)
        return timed(lambda: run(problem, states, family, Settings(count, 0.0, "aitken")))[1]

    buffer = np.empty(problem.rows.block_bytes, np.uint8)

    def read_twice() -> None:
        for _ in range(2):
            for span in problem.rows.slices:
                source.read(span.start, span.stop, buffer)

    readings, per_iteration = [timed(read_twice)[1]], []
    for _ in range(2):
        per_iteration.append((iterations(3) - iterations(1)) / 2)
        readings.append(timed(read_twice)[1])
    print(min(per_iteration), min(readings), max(readings), problem.rows.spill.on_disk, len(problem.rows.slices))


def file_part() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        write(path, FILE_ROWS, P)
        peak = float(_child("file-memory", str(path)))
        budget = parse_memory(BUDGET)
        report(
            f"4.3 GB float32 file, memory={BUDGET}: peak resident memory",
            f"{peak / 1e6:.0f} MB",
            f"< {budget / 1e6 + 300:.0f} MB",
            peak < budget + 300e6,
        )
        for cold in ("cold", "cached"):
            ours, low, high, spilled, blocks = map(float, _child("file-speed", str(path), cold).split())
            ratio = ours / low
            report(
                f"iteration ({ours:.1f} s, {blocks:.0f} blocks, {spilled / 1e6:.0f} MB spilled) / reading the file "
                f"twice by blocks ({low:.1f} to {high:.1f} s), {cold}",
                f"{ratio:.2f}",
                "<= 1.5" if cold == "cold" else "for information",
                ratio <= 1.5 or cold == "cached",
            )


# -- two workers ---------------------------------------------------------------------------------------------------


# Dask starts workers with a malloc that gives every freed array back to the system, so each new array needs new pages.
MALLOC = {"MALLOC_TRIM_THRESHOLD_": str(2**30), "MALLOC_MMAP_THRESHOLD_": str(2**28)}


def cluster_part() -> None:
    import dask

    _two_workers("Dask's malloc settings", 2.5, "for information")
    with dask.config.set({f"distributed.nanny.pre-spawn-environ.{name}": v for name, v in MALLOC.items()}):
        _two_workers("malloc as in other processes", 1.4, "<= 1.4")


def _two_workers(how: str, most: float, target: str, n_blocks: int = 16, block_rows: int = 2**15) -> None:
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        parts = [
            da.from_delayed(dask.delayed(mixture)(block_rows, P, i), (block_rows, P), np.float32)
            for i in range(n_blocks)
        ]
        rows = da.concatenate(parts).persist()
        wait(rows)
        array = rows.compute()

        def fit(X, count: int) -> FisherEM:
            return FisherEM(K, model="AkjB", n_init=1, max_iter=count, tol=0, random_state=0).fit(X)

        fit(rows, 2), fit(array, 2)
        ours, rival = [], []
        for _ in range(3):
            ours.append(timed(partial(fit, rows, 20))[1])
            rival.append(timed(partial(fit, array, 20))[1])
        ratio = min(ours) / min(rival)
        report(
            f"{n_blocks * block_rows} x {P} float32, 20 iterations: 2 single-thread workers ({min(ours):.1f} s) "
            f"/ 2 threads in memory ({min(rival):.1f} s), {how}",
            f"{ratio:.2f}",
            target,
            bool(ratio <= most),
        )
        _bytes_sent(client, partial(fit, rows))


def _bytes_sent(client, fit) -> None:
    """Dask counts what each worker sends, to the others and to the client."""

    def sent() -> int:
        return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())

    counts = []
    for iterations in (5, 15):
        before = sent()
        done = fit(iterations).n_iter_
        counts.append((sent() - before, done))
    measured = (counts[1][0] - counts[0][0]) / (counts[1][1] - counts[0][1])
    expected = bytes_per_iteration(K, K - 1, P, 2)
    report(
        f"bytes sent per iteration: {measured:.0f}; by the model {expected}",
        f"{measured / expected:.2f}",
        "0.7 to 1.3",
        0.7 <= measured / expected <= 1.3,
    )


def bytes_per_iteration(K: int, d: int, p: int, threads: int) -> int:
    """Sums from every thread to the client; axes, means and covariances from one worker to the others.

    A result is a dataclass of arrays: Dask adds a few hundred bytes to the numbers.
    """
    sums = (K * d * d + K) + (K * p + K + 2)
    parameters = ((K + d) * p + K * d + K) + (2 * K * d * d + K * d + 3 * K)
    return 8 * (threads * sums + (threads - 1) * parameters)


# -- time against n ------------------------------------------------------------------------------------------------


def rows_part() -> None:
    """Processor time, not wall time: other work on the machine does not bend the line."""
    p, sizes = 64, (10**5, 3 * 10**5, 10**6, 2 * 10**6, 4 * 10**6, 7 * 10**6, 10**7)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        write(path, max(sizes), p)
        rows = np.load(path, mmap_mode="r")
        seconds = []
        for n in sizes:
            one = FisherEM(K, model="AkjB", n_init=1, max_iter=5, tol=0, random_state=0, memory="20MB")
            begin = time.process_time(), time.perf_counter()
            one.fit(rows[:n])
            seconds.append(time.process_time() - begin[0])
            print(f"     {n} rows: {seconds[-1]:.2f} s of CPU, {time.perf_counter() - begin[1]:.2f} s", flush=True)
    slope, base = np.polyfit(sizes, seconds, 1, w=1 / np.array(seconds))
    line = base + slope * np.array(sizes)
    share = 1 - ((seconds - line) ** 2).sum() / ((seconds - np.mean(seconds)) ** 2).sum()
    report(
        f"10^5 to 10^7 rows x {p}, 5 iterations, CPU: line {base:.2f} s + {slope * 1e6:.2f} s per million rows, "
        f"largest deviation {np.abs(line / seconds - 1).max():.0%}",
        f"R2 {share:.4f}",
        ">= 0.99",
        bool(share >= 0.99),
    )
    _plot(sizes, seconds, line)


def _plot(sizes, seconds, line) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
    axes.plot(np.array(sizes) / 1e6, line, color="0.6", label="straight line")
    axes.plot(np.array(sizes) / 1e6, seconds, "o", color="C0", label="measured")
    axes.set(xlabel="million rows", ylabel="CPU seconds, 5 iterations")
    axes.legend(frameon=False)
    figure.savefig(PLOT, dpi=110)


def _child(*arguments: str) -> str:
    done = subprocess.run([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


PARTS = {"file": file_part, "cluster": cluster_part, "rows": rows_part}
INNER = {"file-memory": file_memory, "file-speed": file_speed}

if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    if sys.argv[1:] and sys.argv[1] in INNER:
        INNER[sys.argv[1]](*sys.argv[2:])
    else:
        for part in sys.argv[1:] or PARTS:
            PARTS[part]()
