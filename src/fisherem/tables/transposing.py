"""Which way round a table is: expression tables often have genes in their rows and samples in their columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from .._utils.wording import column_name, listed
from .identifiers import names_genes

__all__ = ["is_turned", "question_of_genes"]

# Names that are inspected, and the share of them that must look like genes, or like samples.
_LOOKED_AT, _SHARE = 500, 0.8
# Without names like those of genes, names like those of samples decide, and only for tables of this many rows, this
# many times as long as wide: expression tables have thousands of genes (Golub's 7,129 x 72). Tables of measurements
# with numbered columns (satimage, 4,435 x 36; usps, 1,756 x 256; spectra) have no names like samples.
_LEAST_GENES, _TIMES_MORE = 1000, 10
# Numbered columns that look like samples have few different words in front of the number ("ALL_1", "AML_2").
_MOST_STEMS = 10
# Unambiguous probe and gene identifiers, and gene symbols such as TP53 or Cdkn2a.
_IDENTIFIER = re.compile(
    r"\w+([-/.]\w+)*_at|AFFX.*|ENS[A-Z]*\d{6,}(\.\d+)?|ILMN_\d+|A_\d+_P\d+|N[MR]_\d+(\.\d+)?|AT[1-5CM]G\d{5}(\.\d+)?|"
    r"LOC\d+|GENE[ _.-]?\d+X?|gene[ _.-]?\d+|probe[ _.-]?\d+|IMAGE:\d+|cg\d{8}|hsa-\w+(-\w+)*|Hs\.\d+"
)
_SYMBOL = re.compile(r"[A-Z][A-Z0-9]{1,9}([-.][A-Z0-9]{1,6})?|[A-Z][a-z]{1,5}\d{1,4}[a-z]?|C\d{1,2}orf\d+")
# Gene symbols start with many different letters; C0001, C0002, ... are more likely customer numbers.
_LEAST_STEMS = 0.3
# Accessions of samples and words for them, with a number.
_SAMPLE = re.compile(
    r"(GSM|SRR|SRX|ERR|DRR|SAMN?|TCGA-|GTEX-)\w+([-.]\w+)*|"
    r"(.*[ _.-])?(sample|samples|patient|subject|array|chip|slide|tumou?r|normal|control|ctrl|case|donor|biopsy|"
    r"replicate|rep|ALL|AML)[ _.-]*\d+\w*",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(.*?)[ _.-]*\d+")


def _like(names: Sequence[str], pattern: re.Pattern) -> list[str]:
    return [name for name in names if pattern.fullmatch(name)]


def _many(found: Sequence[str], names: Sequence[str]) -> bool:
    return bool(names) and len(found) >= _SHARE * len(names)


def _stem(name: str) -> str:
    return re.sub(r"\d.*", "", name)


def question_of_genes(ids: Any, id_name: str, columns: Sequence[str], n: int) -> str:
    """A question if the rows of a table look like genes and its columns like samples; "" otherwise.

    `ids` (n) name the rows, under the header `id_name`; a range if nothing does.
    """
    p = len(columns)
    named = not isinstance(ids, range)
    names = list(dict.fromkeys(str(one) for one in islice(ids, _LOOKED_AT))) if named else []
    columns = [str(name) for name in columns[:_LOOKED_AT]]
    known = _like(names, _IDENTIFIER)
    symbols = _like(names, _SYMBOL)
    symbols = symbols if len({_stem(name) for name in symbols}) >= _LEAST_STEMS * len(symbols) else []
    counted = len({_stem(name) for name in names}) < _LEAST_STEMS * len(names)  # row1, row2, ...: anything
    genes = _many(known, names) or (named and names_genes(id_name))
    perhaps_genes = _many(known + symbols, names)
    samples = _many(_like(columns, _SAMPLE), columns)
    numbered = _like(columns, _NUMBERED)
    perhaps_samples = samples or (_many(numbered, columns) and len({_stem(name) for name in numbered}) <= _MOST_STEMS)
    # x1, x2, ... is how nameless columns are called: bands, pixels, anything
    nameless = columns == [column_name(j) for j in range(len(columns))]
    long = n >= _LEAST_GENES and n >= _TIMES_MORE * p
    if not (
        (genes and (n > p or perhaps_samples))
        or (perhaps_genes and perhaps_samples and n > p)
        or (long and samples)
        or (long and named and not counted and perhaps_samples and not nameless)
    ):
        return ""
    rows = f" ({listed(names, 3)})" if names else ""
    return (
        f"the {n:,} rows{rows} look like genes and the {p:,} columns ({listed(columns, 3)}) like samples: what is to "
        "be clustered? --transpose clusters the columns (samples), --no-transpose the rows (genes)"
    )


def is_turned(names: Sequence[str], columns: Sequence[str], ids: Any) -> bool:
    """Whether most of the columns that a model needs are row names of a table instead of column names."""
    needed = set(map(str, names))
    if isinstance(ids, range) or len(needed & set(columns)) * 2 > len(needed):
        return False
    return len(needed & {str(one) for one in np.asarray(ids, object)}) * 2 > len(needed)
