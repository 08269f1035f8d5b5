"""How small a difference the role "no evidence" misses: `python benchmarks/power.py`, for docs/sure.md.

Two groups of the same size differ by ten standard deviations in one variable, so that there is no doubt about the
groups, and by less in another one. Eight further variables carry nothing. Printed is the share of the draws in which
the other variable is not called "no evidence", and that share for the eight.
"""

from __future__ import annotations

import argparse

import numpy as np

from fisherem import explain

DIFFERENCES = (0.25, 0.5, 0.75, 1.0)
ROWS = (50, 100, 200, 500, 1000)


def table(n: int, difference: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(X (n x 10), labels (n)): the first variable makes the groups, the second differs a little."""
    labels = np.arange(n) % 2
    X = rng.normal(size=(n, 10))
    X[:, 0] += 10 * labels
    X[:, 1] += difference * labels
    return X, labels


def named(n: int, difference: float, draws: int) -> tuple[float, float]:
    """The shares of the draws in which the small difference, and a variable without one, is named."""
    found = np.zeros((draws, 9))
    for draw in range(draws):
        X, labels = table(n, difference, np.random.default_rng([draw, n]))
        found[draw] = explain(X, labels).roles["role"].to_numpy()[1:] != "no evidence"
    return float(found[:, 0].mean()), float(found[:, 1:].mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=60)
    draws = parser.parse_args().draws
    print("| rows | " + " | ".join(f"{d} sd" for d in DIFFERENCES) + " | none |")
    print("|" + "---|" * (len(DIFFERENCES) + 2))
    for n in ROWS:
        shares = [named(n, d, draws) for d in DIFFERENCES]
        cells = [f"{share:.2f}" for share, _ in shares] + [f"{np.mean([wrong for _, wrong in shares]):.3f}"]
        print(f"| {n:,} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
