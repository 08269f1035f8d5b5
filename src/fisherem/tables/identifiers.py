"""Recognise columns that are not measurements: identifiers, descriptions of genes, running numbers and dates.

In: the columns of a file as they were read, before the table is turned. Out: which of them name the rows, which
describe them, and a sentence about those that a user should check.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from .._utils.wording import listed

__all__ = [
    "ROW_NAMES", "UNNAMED", "as_names", "dates_for_names", "describes_genes", "is_running", "is_text",
    "looks_like_dates", "names_genes", "names_rows", "odd_columns", "whole_and_unique",
]  # fmt: skip

# The name given to a first column without a name, which is how R and pandas write row names.
ROW_NAMES = "(row)"
# That column, as it is read, and as pandas writes it again.
UNNAMED = (ROW_NAMES, "", "Unnamed: 0")
# The column in which pandas keeps the names of the rows of a Parquet file.
_INDEX = "__index_level_0__"
# Words in the names of columns: of identifiers of anything, of identifiers of genes, and of descriptions of genes.
_IDS = {
    "id", "ids", "idx", "uid", "uuid", "guid", "nr", "no", "num", "number", "index", "key", "identifier", "accession",
    "barcode", "row", "rowname", "rownames",
}  # fmt: skip
_GENES = {
    "gene", "genes", "probe", "probes", "probeset", "transcript", "ensembl", "entrez", "hgnc", "uniprot", "protein",
    "proteins", "mirna", "refseq", "unigene", "cpg",
}  # fmt: skip
_DESCRIPTIONS = {
    "description", "desc", "definition", "title", "name", "symbol", "symbols", "chr", "chromosome", "strand", "start",
    "end", "length", "biotype", "type", "band", "cytoband", "locus", "alias", "product", "acc", "gb", "gweight", "map",
}  # fmt: skip
# "ENTREZID" and "SAMPLEID" are two words; words such as ACID or COVID are one.
_JOINED = re.compile(
    r"(entrez|gene|probe|sample|patient|subject|customer|client|user|person|passenger|record|row|cell|case|object|"
    r"ensembl|transcript|protein|spot|clone|unit)s?(id|no|nr|number)",
    re.IGNORECASE,
)
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec"
_EXCEL_DATE = re.compile(rf"\d{{1,2}}-({_MONTHS})|({_MONTHS})-\d{{1,2}}", re.IGNORECASE)
_DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([T ]\d{1,2}:\d{2}(:[\d.]+)?Z?)?"
)
# A running number of fewer rows than this may be a measurement.
_LEAST_COUNTED = 5
# Whole numbers from 19000101 to 21001231 whose digits are a month and a day.
_FIRST_DAY, _LAST_DAY = 19_000_101, 21_001_231


def _words(name: str) -> list[str]:
    """The words of a name in lower case: "Gene.Symbol", "geneSymbol" and "gene_symbol" have the same two."""
    if found := _JOINED.fullmatch(name.strip()):
        return [found[1].lower(), found[2].lower()]
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word.lower() for word in re.split(r"[^A-Za-z0-9]+", split) if word]


def names_rows(name: str) -> bool:
    """Whether a column with this name is likely to hold identifiers: "id", "CustomerID", "probe"."""
    words = _words(name)
    return name == _INDEX or (bool(words) and (words[-1] in _IDS or names_genes(name)))


def names_genes(name: str) -> bool:
    """Whether a column with this name holds genes, probes or proteins: "Gene Symbol", "ENTREZID", "ID_REF"."""
    return name.strip().upper() == "ID_REF" or bool(set(_words(name)) & _GENES)


def describes_genes(name: str) -> bool:
    """Whether a column with this name says something of a gene: "Description", "Gene Title", "Chr", "SYMBOL"."""
    words = _words(name)
    return bool(words) and set(words) <= (_DESCRIPTIONS | _GENES | {"id", "ids", "ref"})


def is_text(column: pd.Series, gaps: bool = False) -> bool:
    """Whether every cell is text, or a date that Excel made of text, and none is a number; `gaps` may be left out."""
    if not (column.dtype == object or isinstance(column.dtype, pd.StringDtype)):
        return False
    column = column.dropna() if gaps else column
    if not all(isinstance(cell, (str, datetime.date)) for cell in column):
        return False
    words = column[[isinstance(cell, str) for cell in column]]
    return len(words) > 0 and bool(pd.to_numeric(words, errors="coerce").isna().all())


def whole_and_unique(column: pd.Series) -> bool:
    """Whether all cells are different whole numbers."""
    if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return False
    values = column.to_numpy(float, na_value=np.nan)
    return bool(np.isfinite(values).all() and (values == np.round(values)).all() and len(set(values)) == len(values))


def is_running(column: pd.Series) -> bool:
    """Whether a column counts the rows: 1, 2, 3, ... or 0, 1, 2, ..."""
    values = pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)
    return len(values) > 0 and bool(values[0] in (0, 1) and (np.diff(values) == 1).all())


def looks_like_dates(column: pd.Series) -> bool:
    """Whether a column holds dates: as text, or as whole numbers such as 20240131."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        values = column.to_numpy(float, na_value=np.nan)
        if not len(values) or not ((values >= _FIRST_DAY) & (values <= _LAST_DAY) & (values % 1 == 0)).all():
            return False
        day, month = values % 100, values // 100 % 100
        return bool(((day >= 1) & (day <= 31) & (month >= 1) & (month <= 12)).all())
    cells = column.dropna()
    return len(cells) > 0 and all(isinstance(cell, str) and _DATE.fullmatch(cell.strip()) for cell in cells)


def odd_columns(frame: pd.DataFrame) -> list[str]:
    """A sentence for the columns that count the rows, and one for those that are dates written as numbers."""
    if not len(frame):
        return []
    counted, dated = [], []
    # the first cell rules out nearly every one of very many columns
    first = pd.to_numeric(frame.iloc[0], errors="coerce").to_numpy(float, na_value=np.nan)
    possible = (first == 0) | (first == 1) | ((first >= _FIRST_DAY) & (first <= _LAST_DAY))
    for j in np.flatnonzero(possible).tolist():
        column = frame.iloc[:, j]
        if len(column) >= _LEAST_COUNTED and is_running(column):
            counted.append(str(frame.columns[j]))
        elif pd.api.types.is_numeric_dtype(column.dtype) and looks_like_dates(column):
            dated.append(str(frame.columns[j]))
    said = []
    for names, what in ((counted, "the numbers of the rows (1, 2, 3, ...)"), (dated, "dates written as numbers")):
        if names:
            one = len(names) == 1
            drop = " ".join(f"--drop {name!r}" for name in names[:5])
            said.append(
                f"{'column' if one else 'columns'} {listed(names)} {'holds' if one else 'hold'} {what} and "
                f"{'takes' if one else 'take'} part like a measurement: {drop} leaves {'it' if one else 'them'} out"
            )
    return said


def as_names(cells: Iterable) -> list[str]:
    """Cells as names: whole numbers without a decimal point, and dates as Excel shows them ("1-Mar")."""
    names = []
    for cell in cells:
        if isinstance(cell, datetime.date):
            names.append(f"{cell.day}-{cell:%b}")
        elif isinstance(cell, (float, np.floating)) and float(cell).is_integer():
            names.append(str(int(cell)))
        else:
            names.append(str(cell))
    return names


def dates_for_names(names: Sequence[str]) -> str:
    """A sentence about names that Excel has turned into dates; "" if there are none."""
    found = [name for name in dict.fromkeys(map(str, names)) if _EXCEL_DATE.fullmatch(name)]
    if not found:
        return ""
    return (
        f"the names {listed(found)} are dates: Excel turns gene symbols such as MARCH1 or SEPT2 into them; restore the "
        "symbols from the original table"
    )
