"""Tables from files: CSV and TSV (gz allowed), Parquet, Excel, NumPy. What is wrong is named by line and column."""

from __future__ import annotations

import csv
import gzip
import io
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

__all__ = ["Table", "TableError", "read_table"]

_SEPARATORS = (",", ";", "\t", "|")
_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"


class TableError(ValueError):
    """A file that is not what it says; the message names the file, the place and the remedy."""


@dataclass
class Table:
    """A numeric frame, the rows' ids, labels for scoring (or None), and notes on how the file was read."""

    X: pd.DataFrame
    ids: np.ndarray
    labels: np.ndarray | None
    notes: list[str] = field(default_factory=list)


def read_table(path, *, id_column=None, label_column=None, drop=(), only=None) -> Table:
    """Read a table; id, label and dropped columns are taken out, all others (or `only` these) must be numbers."""
    path = Path(path)
    if not path.is_file():
        raise TableError(f"{path}: no such file")
    suffixes = [s.lower() for s in path.suffixes]
    kind = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else (suffixes or [""])[-1]
    reader = _READERS.get(kind)
    if reader is None:
        raise TableError(f"{path}: unknown kind of file {kind!r}; known are {', '.join(_READERS)} (CSV also as .gz)")
    frame, notes, first_line = reader(path)
    if frame.shape[1] > 1 and frame.columns[0] in ("", "Unnamed: 0"):  # as R and pandas write the rows' names
        frame = frame.rename(columns={frame.columns[0]: "(row)"})
        if id_column is None:
            id_column = "(row)"
            notes.append("the first column has no name and was taken as the names of the rows")
    return _split(path, frame, notes, first_line, id_column, label_column, list(drop), only)


# -- text ----------------------------------------------------------------------------------------------------------


def _text(path: Path):
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix.lower() == ".gz" else path.read_bytes()
        # spreadsheets write "Unicode text" in UTF-16; its byte-order mark is no UTF-8
        text = raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    except (OSError, EOFError) as error:
        raise TableError(f"{path}: cannot be read ({error})") from None
    if not text.strip():
        raise TableError(f"{path}: the file is empty")
    lines = text.splitlines()
    separator = _separator(lines)
    _check_width(path, lines, separator)
    decimal = _decimal(path, lines, separator)
    cells = next(csv.reader([lines[0]], delimiter=separator))
    headless = all(re.fullmatch(_NUMBER, c.strip().replace(decimal, ".")) for c in cells)
    notes = [f"read with separator {separator!r} and decimal {decimal!r}"]
    if headless:
        notes.append("no header line: columns are named x1, x2, ...")
    elif len([line for line in lines[1:] if line.strip()]) == 0:
        raise TableError(f"{path}: only a header line, no rows")
    else:
        _check_names(path, [c.strip() for c in cells])
    try:
        frame = pd.read_csv(
            io.StringIO(text), sep=separator, decimal=decimal, header=None if headless else 0, skipinitialspace=True,
            low_memory=False,
        )  # fmt: skip
    except (pd.errors.ParserError, ValueError) as error:
        raise TableError(f"{path}: {str(error).strip()}") from None
    frame.columns = [f"x{j + 1}" for j in range(frame.shape[1])] if headless else [c.strip() for c in cells]
    return frame, notes, 1 if headless else 2


def _separator(lines: list[str]) -> str:
    """The separator that cuts the first line into columns, the other lines alike if possible."""
    sample = [line for line in lines[:50] if line.strip()]

    def score(separator: str) -> tuple[bool, bool, int]:
        widths = [len(row) for row in csv.reader(sample, delimiter=separator)]
        return (widths[0] > 1, len(set(widths)) == 1, widths[0])

    # decimal commas make a ;-separated file look comma-separated, too: where there is a semicolon, it separates
    return ";" if score(";")[0] else max(_SEPARATORS, key=score)


def _check_width(path: Path, lines: list[str], separator: str) -> None:
    expected = None
    if '"' in "".join(lines[:1000]):
        counted = ((i, len(row)) for i, row in enumerate(csv.reader(lines, delimiter=separator), 1) if row)
    else:
        counted = ((i, line.count(separator) + 1) for i, line in enumerate(lines, 1) if line.strip())
    for i, width in counted:
        expected = expected or width
        if width != expected:
            raise TableError(f"{path}: line {i} has {width} fields where the first line has {expected}; mend that line")


def _decimal(path: Path, lines: list[str], separator: str) -> str:
    if separator == ",":
        return "."
    cells = [c.strip() for row in csv.reader(lines[:2000], delimiter=separator) for c in row]
    commas = sum(bool(re.fullmatch(r"[+-]?\d+,\d+([eE][+-]?\d+)?", c)) for c in cells)
    points = sum(bool(re.fullmatch(r"[+-]?\d+\.\d+([eE][+-]?\d+)?", c)) for c in cells)
    if commas and points:
        raise TableError(f"{path}: decimal commas ({commas} cells) and points ({points}) are mixed; use one of them")
    return "," if commas else "."


def _check_names(path: Path, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TableError(f"{path}: two columns are named {name!r}; rename or remove one")
        seen.add(name)


# -- other kinds ---------------------------------------------------------------------------------------------------


def _parquet(path: Path):
    try:
        frame = pd.read_parquet(path)
    except ImportError:
        raise TableError(f"{path}: reading Parquet needs an extra: pip install 'fisherem[tables]'") from None
    except Exception as error:  # pyarrow has exceptions of its own
        raise TableError(f"{path}: not a whole Parquet file ({str(error).splitlines()[0]})") from None
    return _named(path, frame), ["read from Parquet"], 1


def _excel(path: Path):
    try:
        frame = pd.read_excel(path)
    except ImportError:
        raise TableError(f"{path}: reading Excel needs an extra: pip install 'fisherem[tables]'") from None
    except Exception as error:
        raise TableError(f"{path}: not a readable Excel file ({str(error).splitlines()[0]})") from None
    return _named(path, frame), ["read the first sheet"], 2


def _numpy(path: Path):
    try:
        loaded = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise TableError(f"{path}: not a readable NumPy file ({error})") from None
    if path.suffix == ".npz":
        with loaded:
            if "X" not in loaded.files and len(loaded.files) != 1:
                names = ", ".join(loaded.files)
                raise TableError(f"{path}: holds several arrays ({names}) and none is called X; name the table X")
            array = loaded["X" if "X" in loaded.files else loaded.files[0]]
    else:
        array = loaded
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise TableError(f"{path}: expected a numeric table of rows x columns; got shape {array.shape}, {array.dtype}")
    return (
        pd.DataFrame(array, columns=[f"x{j + 1}" for j in range(array.shape[1])]),
        ["columns are named x1, x2, ..."],
        1,
    )


def _named(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    frame.columns = [str(c) for c in frame.columns]
    _check_names(path, list(frame.columns))
    return frame


_READERS = {
    ".csv": _text, ".tsv": _text, ".txt": _text, ".parquet": _parquet, ".xlsx": _excel, ".xls": _excel,
    ".npy": _numpy, ".npz": _numpy,
}  # fmt: skip


# -- from a frame to numbers ---------------------------------------------------------------------------------------


def _split(path, frame, notes, first_line, id_column, label_column, drop, only) -> Table:
    for option, name in (("--id-column", id_column), ("--label-column", label_column), *(("--drop", d) for d in drop)):
        if name is not None and name not in frame.columns:
            known = ", ".join(map(repr, list(frame.columns)[:10]))
            raise TableError(f"{path}: {option} names {name!r}, but the columns are {known}" + (
                " ..." if frame.shape[1] > 10 else ""))  # fmt: skip
    ids = frame[id_column].to_numpy() if id_column else np.arange(1, len(frame) + 1)
    labels = frame[label_column].to_numpy() if label_column else None
    kept = frame.drop(columns=[c for c in (id_column, label_column, *drop) if c is not None])
    if only is not None:
        kept = kept[[name for name in kept.columns if name in set(only)]]
    if kept.shape[1] == 0:
        raise TableError(f"{path}: no column is left to cluster")
    numbers = {str(name): _numeric(path, kept[name], first_line) for name in kept.columns}
    return Table(pd.DataFrame(numbers), ids, labels, notes)


def _numeric(path: Path, column: pd.Series, first_line: int) -> np.ndarray:
    values = pd.to_numeric(column, errors="coerce").to_numpy(float)
    bad = ~np.isfinite(values)
    if not bad.any():
        return values
    row = int(np.argmax(bad))
    cell = column.iloc[row]
    where = f"{path}: line {row + first_line}, column {column.name!r}"
    if pd.isna(cell):
        raise TableError(f"{where}: the cell is empty; fill it, remove the row or use --drop {column.name!r}")
    if bad.all():
        raise TableError(
            f"{path}: column {column.name!r} holds text ({cell!r}, ...); "
            f"use --drop, --id-column or --label-column {column.name!r}"
        )
    raise TableError(f"{where}: {str(cell)!r} is not a finite number; mend the cell or remove the row")
