"""Series matrix files of the Gene Expression Omnibus (GEO): a table of genes by samples between lines of description.

!Series_title       "..."
!series_matrix_table_begin
"ID_REF"      "GSM1"   "GSM2"
"1007_s_at"   7.1      6.8
!series_matrix_table_end
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

__all__ = ["is_series", "sample_annotation", "without_description"]

_BEGIN, _END = re.compile(r"!\w*table_begin\s*$", re.IGNORECASE), re.compile(r"!\w*table_end\s*$", re.IGNORECASE)
# The header of the column of gene identifiers in every GEO file.
_ID = "ID_REF"
# A line of the description with a cell per sample; characteristics are written as "tissue: liver".
_SAMPLE, _CHARACTERISTIC = "!Sample_", re.compile(r"([^:]{1,60}):\s*(.*)", re.DOTALL)


def without_description(text: str) -> tuple[str, int]:
    """(the text with description lines left blank, so that line numbers do not change; the number of such lines).

    Description is everything outside the begin and end marks of the table; without marks, the leading lines that start
    with "!".
    """
    if not re.search("^!", text, re.MULTILINE):
        return text, 0
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    begin = next((i + 1 for i, line in enumerate(lines) if _BEGIN.match(line)), None)
    if begin is None:
        begin = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("!")), len(lines))
    end = next((i for i, line in enumerate(lines) if i >= begin and _END.match(line)), len(lines))
    outside = [*lines[:begin], *lines[end:]]
    return "\n".join([""] * begin + lines[begin:end]), sum(1 for line in outside if line.strip())


def is_series(frame: pd.DataFrame) -> bool:
    """Whether a table has the header of a series matrix: genes in its rows, a sample in every column but the first."""
    return frame.shape[1] > 1 and str(frame.columns[0]) == _ID


def sample_annotation(text: str, columns: Sequence[str]) -> tuple[pd.DataFrame | None, int]:
    """(what the lines !Sample_... say of each column of the table, or None; how many of them say the same of all).

    Characteristics become a column for each of their keys. What is the same for all samples is left out.
    """
    lines = [line.split("\t") for line in text.splitlines() if line.startswith(_SAMPLE)]
    cells: dict[str, list[str]] = {}
    for name, *values in lines:
        _enter(cells, name.removeprefix(_SAMPLE).strip(), [value.strip().strip('"').strip() for value in values])
    accessions = cells.pop("geo_accession", [])
    n = len(columns) - 1
    order = {name: i for i, name in enumerate(accessions)}
    places = [order.get(name, -1) for name in columns[1:]] if order else list(range(n))
    found, same = {}, 0
    for name, values in cells.items():
        if max(places, default=-1) >= len(values):
            continue  # a line with fewer cells than there are samples
        aligned = [values[i] if i >= 0 else "" for i in places]
        if len(set(aligned)) > 1:
            found[name] = ["", *aligned]
        else:
            same += 1
    return (pd.DataFrame(found) if found else None), same


def _enter(cells: dict[str, list[str]], name: str, values: list[str]) -> None:
    """Add a line of the description; the keys of characteristics may differ from sample to sample."""
    keyed = [_CHARACTERISTIC.fullmatch(value) for value in values]
    if not name.startswith("characteristics") or not all(
        pair or not value for pair, value in zip(keyed, values, strict=True)
    ):
        while name in cells:
            stem, _, number = name.partition(".")
            name = f"{stem}.{int(number or 0) + 1}"
        cells[name] = values
        return
    for i, pair in enumerate(keyed):
        if pair:
            column = cells.setdefault(pair[1].strip(), [""] * len(values))
            if i < len(column):
                column[i] = pair[2].strip()
