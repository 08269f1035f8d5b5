"""Summaries of the tables in sentences."""

from __future__ import annotations

import pandas as pd

from .paper import SPARSE
from .plan import CALLS, DEFAULT, DENSE, selecting

__all__ = ["of_models", "of_table_1", "of_table_2", "of_table_3", "of_table_4"]

# Accuracies are compared with the printed precision of three digits.
_PRINTED = 5e-4


def of_table_1(numbers: pd.DataFrame) -> list[str]:
    """How many counts match the paper's, and which do not."""
    printed = numbers.dropna(subset="paper")
    off = printed[printed["difference"] != 0]
    lines = [f"{len(printed) - len(off)} of {len(printed)} counts match the paper's."]
    if len(off):
        what = ", ".join(f"{r.model} ({r.ours} where {r.paper} is printed)" for r in off.itertuples())
        lines.append(f"The others, {what}: the printed numbers do not follow from the paper's own formulas.")
    return lines


def of_models(numbers: pd.DataFrame) -> list[str]:
    """Which model is the most accurate on each table, and which BIC prefers."""
    lines = ["Every cell is accuracy · BIC (larger is better) · seconds, with the table's number of groups."]
    done = numbers.dropna(subset="accuracy")
    for data in dict.fromkeys(done["data"]):
        rows = done[done["data"] == data].to_dict("records")
        accurate, likely = max(rows, key=lambda r: r["accuracy"]), max(rows, key=lambda r: r["bic"])
        text = f"{data}: {accurate['model']} is the most accurate ({accurate['accuracy']:.3f}); "
        lines.append(text + f"BIC prefers {likely['model']} (accuracy {likely['accuracy']:.3f}).")
    return lines


def of_table_2(numbers: pd.DataFrame) -> list[str]:
    """How the errors and the numbers of variables compare with the paper's."""
    done = numbers.dropna(subset="error")
    ours = done[done["method"].isin(list(SPARSE))]
    over = ours[ours["error"] > ours["paper_error"] + ours["paper_error_sd"]]
    kmeans = numbers[numbers["method"] == "k-means"].set_index(["n", "mu"])["error"].to_dict()
    lines = [
        f"{len(ours) - len(over)} of {len(ours)} sparse rows have an error of at most the paper's plus one of its "
        "standard deviations."
    ]
    lines += [
        f"Above that: {r.method} at n={r.n}, mu={r.mu:g}: {r.error:.3f} against {r.paper_error:.2f} ± "
        f"{r.paper_error_sd:.2f} (k-means here: {kmeans[r.n, r.mu]:.3f})."
        for r in over.itertuples()
    ]
    lines += _of_default(done[done["method"] == DEFAULT])
    if len(ours):
        what = f"{ours['variables'].min():.1f} to {ours['variables'].max():.1f} variables"
        lines.append(f"The paper's penalised BIC keeps {what}, means over the replications; five are informative.")
    return lines


def _of_default(rows: pd.DataFrame) -> list[str]:
    """The default call in every setting; five variables are informative."""
    if rows.empty:
        return []
    what = "; ".join(
        f"n={r.n}, mu={r.mu:g}: {r.error:.3f} with {r.variables:.1f} (Bayes error {r.bayes_error:.3f})"
        for r in rows.itertuples()
    )
    return [f"The default call (five variables are informative): {what}."]


def of_table_3(numbers: pd.DataFrame) -> list[str]:
    """How the accuracies compare with the paper's and with the rivals, by data set."""
    sparse = numbers["method"].isin(list(SPARSE))
    cells = numbers[sparse & numbers["paper"].notna() & numbers["accuracy"].notna()]
    kinds = cells["reading"].str.split(":").str[0].value_counts()
    protocol = (
        f"The paper's protocol, {len(cells)} sparse cells: "
        + ", ".join(f"{count} {kind or 'not read'}" for kind, count in kinds.items())
        + ". *within* and *above* compare with the paper's mean and standard deviation; the others have a "
        "reason: *starts* means that the default starts reach the paper's accuracy, *choice* that another model or "
        "level does, *out of reach* that none does."
    )
    done = {
        str(data): part
        for data, part in numbers.groupby("data", sort=False)
        if part[part["method"].isin(list(CALLS))]["default"].notna().any()
    }
    return _beside_rivals(done) + [_of_data(data, part) for data, part in done.items()] + [protocol]


def _row(part: pd.DataFrame, method: str) -> pd.Series:
    return part[part["method"] == method].iloc[0]


def _others(part: pd.DataFrame) -> pd.DataFrame:
    return part[~part["method"].isin([*SPARSE, *CALLS])]


def _beside_rivals(done: dict[str, pd.DataFrame]) -> list[str]:
    """On how many data sets (each with one scaling) the default call is at or above its rivals."""
    asked = [data for data in done if not data.endswith(" raw")]
    if not asked:
        return []
    own = {data: _row(done[data], DEFAULT) for data in asked}
    rivals = {data: _others(done[data]) for data in asked}
    best = {data: rows[rows["method"].isin(selecting())]["default"].max() for data, rows in rivals.items()}
    above = [data for data in asked if not own[data]["default"] < best[data] - 1e-9]
    above_all = [data for data in above if not own[data]["default"] < rivals[data]["default"].max() - 1e-9]
    return [
        f"{DEFAULT}: at or above every rival that selects variables on {len(above)} of {len(asked)} data sets "
        f"({', '.join(above)}), at or above all rivals on {len(above_all)} ({', '.join(above_all)})."
    ]


def _of_data(data: str, part: pd.DataFrame) -> str:
    own, dense, others = _row(part, DEFAULT), _row(part, DENSE), _others(part)
    text = f"{data}: {own['default']:.3f} with {own['default_variables']:.0f} variables, {dense['default']:.3f} dense"
    rivals = others.dropna(subset="default")
    if len(rivals):
        first = rivals.sort_values("default").iloc[-1]
        how = "at or above" if own["default"] >= first["default"] - 1e-9 else "below"
        text += f"; {how} the best rival here, {first['method']} with {first['default']:.3f}"
    printed = others.dropna(subset="paper")
    if len(printed):
        first = printed.sort_values("paper").iloc[-1]
        how = "at or above" if own["default"] >= first["paper"] - _PRINTED else "below"
        text += f", and {how} the best rival in the paper, {first['method']} with {first['paper']:.3f}"
    unfinished = others[others["reason"].str.startswith("not finished")]["method"].tolist()
    return text + (f"; {' and '.join(unfinished)} did not finish." if unfinished else ".")


def of_table_4(numbers: pd.DataFrame) -> list[str]:
    """How the times compare with the paper's and with the rivals'."""
    done = numbers.dropna(subset="times_faster")
    if done.empty:
        return []
    lines = [
        f"Our times are {done['times_faster'].min():.0f} to {done['times_faster'].max():.0f} times shorter than the "
        "paper's, on a machine some fifteen years newer."
    ]
    own = done[done["method"].isin(list(SPARSE))]["seconds"]
    rivals = done[~done["method"].isin(list(SPARSE))]["seconds"]
    if len(own) and len(rivals):
        lines.append(
            f"In the same run the sparse versions take {own.min():.2f} to {own.max():.2f} s and the rivals "
            f"{rivals.min():.2f} to {rivals.max():.2f} s; twenty k-means runs are included in ours."
        )
    call = numbers[numbers["method"] == DEFAULT].dropna(subset="seconds")
    if len(call):
        lines.append(
            f"The default call chooses the model and the variables itself and takes {call['seconds'].iloc[0]:.2f} s."
        )
    return lines
