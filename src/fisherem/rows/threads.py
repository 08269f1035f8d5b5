"""The number of threads, and limits on the threads of BLAS."""

from __future__ import annotations

import os

from threadpoolctl import ThreadpoolController, threadpool_limits

__all__ = ["n_threads", "one_blas_thread", "one_thread_each"]

_blas: ThreadpoolController | None = None


def n_threads(n_jobs: int | None) -> int:
    """Threads for `n_jobs`: None means all cores (as for BLAS and KMeans), and negative numbers count from the end."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    if n_jobs is None:
        return cores
    return max(1, cores + 1 + n_jobs) if n_jobs < 0 else max(1, n_jobs)


def one_blas_thread():
    """A context in which BLAS uses one thread; the libraries are looked up once per process."""
    global _blas
    if _blas is None:
        _blas = ThreadpoolController()
    return _blas.limit(limits=1, user_api="blas")


def one_thread_each():
    """A context in which BLAS and OpenMP (k-means) use one thread each."""
    return threadpool_limits(1)
