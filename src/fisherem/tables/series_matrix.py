"""Series matrix files of the Gene Expression Omnibus (GEO): a table of genes by samples between lines of description.

!Series_title       "..."
!series_matrix_table_begin
"ID_REF"      "GSM1"   "GSM2"
"1007_s_at"   7.1      6.8
!series_matrix_table_end
"""

from __future__ import annotations

import re

import pandas as pd

__all__ = ["is_series", "without_description"]

_BEGIN, _END = re.compile(r"!\w*table_begin\s*$", re.IGNORECASE), re.compile(r"!\w*table_end\s*$", re.IGNORECASE)
# The header of the column of gene identifiers in every GEO file.
_ID = "ID_REF"


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
