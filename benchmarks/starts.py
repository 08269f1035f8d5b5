"""Twenty starts side by side: what the race costs, and how often it gives up the start that would have won.

`python benchmarks/starts.py` (about ten minutes); `--seeds 1` for less, `--tables wine,usps358` for some. For random
starts of one model it prints the iterations and CPU seconds of one start, of all starts one after the other, side by
side, and in the race, and what the race lost in log-likelihood per row.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from how_many import table

from fisherem import FisherEM
from fisherem.core.data.problem import prepare
from fisherem.core.engine.concurrent_runs import run_together
from fisherem.core.engine.loop import Run
from fisherem.core.engine.multistart import starting_points
from fisherem.estimators.fitting import specification

TABLES = ("iris", "wine", "wine27", "breast", "glass", "zoo", "satimage", "usps358", "digits")


def timed(work):
    """(CPU seconds, result)"""
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def one(name, seed, n_starts, means):
    """A line of the table."""
    X, y = table(name)
    estimator = FisherEM(
        len(np.unique(y)), model="AkB", init="random", n_init=n_starts, random_state=seed, means=means, noise_factors=0
    )
    problem = prepare(X, ridge="auto")
    spec = specification(estimator, *X.shape)
    starts = starting_points(problem, spec)
    family = spec.family.phases()[0].family

    def runs(some):
        for start in some:
            yield Run(problem, problem.start_states(start, spec.n_clusters), family, spec.settings, "")

    def sums(fits):
        fits = [fit for fit in fits if not isinstance(fit, Exception) and not fit.given_up]
        return max(fit.log_likelihood for fit in fits), sum(fit.n_iter for fit in fits)

    alone, _ = timed(lambda: [run.until_stopped() for run in runs(starts[:3])])
    with problem.rows.threads():
        turn, each = timed(lambda: run_together(list(runs(starts))))
        raced, winners = timed(lambda: run_together(list(runs(starts)), race=True))
    (best, iterations), (found, _) = sums(each), sums(winners)
    spent = sum(fit.n_iter for fit in winners if not isinstance(fit, Exception))
    lost = (best - found) / len(X)
    print(
        f"| {name} | {seed} | {iterations / len(starts):.0f} | {spent} | {turn / (alone / 3):.1f} | "
        f"{raced / (alone / 3):.1f} | {lost:.4f} |",
        flush=True,
    )
    return lost


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--means", default="latent")
    parser.add_argument("--tables", default=",".join(TABLES))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| table | seed | iterations of a start | of the race | time, all | time, race | lost per row |")
    print("|---|---|---|---|---|---|---|")
    lost = [
        one(name, seed, arguments.starts, arguments.means)
        for name in arguments.tables.split(",")
        for seed in range(arguments.seeds)
    ]
    print(f"\nthe race found the best fit in {sum(x < 1e-3 for x in lost)} of {len(lost)}")


if __name__ == "__main__":
    main()
