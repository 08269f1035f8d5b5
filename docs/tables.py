"""The short tables of docs/reproduce.md from those of `fisherem reproduce`: python docs/tables.py writes docs/results/.

table2-short.csv has a row per method and a column per setting, table3-both.csv both readings of the means side by side.
"""

from __future__ import annotations

import csv
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
SETTINGS = (("30", "0.6"), ("30", "1.7"), ("300", "0.6"), ("300", "1.7"))


def read(name: str) -> list[dict[str, str]]:
    """The rows of a table of `fisherem reproduce`."""
    with (RESULTS / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table2() -> list[list[str]]:
    """Error and number of variables, the paper's in brackets."""
    found = {(row["n"], row["mu"], row["method"]): row for row in read("table2")}
    rows = [["method", *(f"n = {n}, mu = {mu}" for n, mu in SETTINGS)]]
    for method in dict.fromkeys(method for *_, method in found):
        cells = []
        for setting in SETTINGS:
            row = found[*setting, method]
            printed = row["paper_error"] and f" [{float(row['paper_error']):.2f}, {float(row['paper_variables']):.1f}]"
            cells.append(f"{float(row['error']):.3f}, {float(row['variables']):.1f}{printed}")
        rows.append([method, *cells])
    best = [next(r["bayes_error"] for (n, mu, _), r in found.items() if (n, mu) == setting) for setting in SETTINGS]
    return [*rows, ["the best possible rule", *best]]


def table3() -> list[list[str]]:
    """Accuracy, its deviation and the number of variables; a star: within the paper's deviation or above."""
    rows = [["table", "algorithm", "paper", "full means", "latent means"]]
    found = {(row["data"], row["method"], row["means"]): row for row in read("published")}
    for data, method in dict.fromkeys((data, method) for data, method, _ in found):
        cells = []
        for means in ("full", "latent"):
            row = found[data, method, means]
            star = " *" if row["verdict"] in ("within", "above") else ""
            cells.append(
                f"{float(row['accuracy']):.3f} ± {float(row['accuracy_sd']):.3f} ({float(row['variables']):.1f}){star}"
            )
        paper = f"{float(row['paper']):.3f} ± {float(row['paper_sd']):.3f} ({float(row['paper_variables']):g})"
        rows.append([data, method[-1], paper, *cells])
    return rows


def tables() -> dict[str, list[list[str]]]:
    """Name -> rows."""
    return {"table2-short": table2(), "table3-both": table3()}


if __name__ == "__main__":
    for name, rows in tables().items():
        with (RESULTS / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
