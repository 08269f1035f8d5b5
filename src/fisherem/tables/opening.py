"""Open a table from a path, for the estimators and the command line alike.

`READERS` says how each kind of file is read. Kinds that can only be read whole become a frame; kinds that can be
streamed become a `FileTable`, which is read once if it fits in half of the memory budget and in blocks otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from .._utils.wording import column_name, listed
from . import h5ad, matrix_market, text, whole_files  # noqa: F401 (they register their readers)
from .annotated import annotated_table
from .arranging import ColumnRoles, arrange, table_of
from .duplicates import DUPLICATES, REFUSE
from .errors import TableError
from .file_table import FileTable
from .identifiers import names_rows
from .kinds import is_path
from .parameters import DEFAULT_MEMORY, parse_memory
from .readers import READERS, Sheet, reader_of
from .sample_sheets import joined
from .sources import Source
from .streamed_files import check_numbers, open_source
from .table import Table
from .transposing import question_of_genes
from .weights import weights_of

__all__ = ["Table", "open_table"]

# A name of a column and its places in lists.
_NAME_BYTES = 80


def open_table(
    source: Any, *, id_column: str | None = None, label_column: str | None = None, drop: Sequence[str] = (),
    only: Sequence[str] | None = None, memory: Any = DEFAULT_MEMORY, comma: str | None = None,
    find_ids: bool = False, transpose: bool | None = None, missing: bool = False, weight_column: str | None = None,
    duplicates: str = REFUSE, sheet: str | None = None, samples: Path | str | None = None,
    annotate: Sequence[str] = (), mixed: bool = False, categories: Sequence[str] = (), covariates: Sequence[str] = (),
) -> Table:  # fmt: skip
    """Open a path, a memory map or a Zarr array, and separate the columns that are not clustered.

    Parameters
    ----------
    source : path, memory map or Zarr array
    id_column, label_column, weight_column : str, optional
        The columns with the names of the rows, with their known classes and with their weights. They are columns of the
        file, before it is turned; of a file that is turned, classes and weights are rows. Both may also be columns of
        the sample sheet.
    drop : names of columns of the file to leave out
    only : names of the columns that may be kept, optional
        All other columns are ignored, whatever they contain.
    memory : str or int, default="1GB"
        The memory budget. Files that can be streamed are read in blocks if they do not fit in half of it; others
        that unpack to more are refused.
    comma : {"decimal", "thousands"}, optional
        The meaning of a comma inside a number of a text file. By default it is detected; an ambiguous file raises an
        error.
    find_ids : bool, default=False
        Look for identifiers: a first column of unique text, columns of different whole numbers that are named like
        identifiers. A table that looks like genes by samples is then refused, unless `transpose` says which way round
        it is.
    transpose : bool, optional
        Make the columns of the file the rows. By default only GEO series matrix files are transposed, because they have
        samples in columns.
    missing : bool, default=False
        Read empty cells as NaN. Otherwise, and always when rows are read in blocks, they raise an error.
    duplicates : {"error", "first", "mean", "max"}, default="error"
        What is done about variables of the same name.
    sheet : str, optional
        The sheet of a workbook; the first by default.
    mixed : bool, default=False
        Let columns of text take part, as categories; otherwise they raise an error. Of a file that is turned, and of
        rows that are read in blocks, all columns are numbers.
    categories : names of columns of the file with numbers that are categories
    samples : path, optional
        A sample sheet, which is joined by the ids of the rows: see `Table.annotation`.
    annotate : names of columns that describe the rows, of the file, its sample sheet or what it says of its samples
        They do not take part and are in `Table.annotation`.
    covariates : names of columns that do not take part as variables, such as a batch
        They are columns of the file, before it is turned, or of the sample sheet.

    Returns
    -------
    Table
        All columns that are kept are numeric, or categories of a frame.
    """
    DUPLICATES.find(duplicates)
    needed = None if only is None else frozenset(only)
    roles = ColumnRoles(
        id_column, label_column, weight_column, tuple(drop), needed, find_ids, duplicates, tuple(covariates),
        elsewhere=samples is not None, annotate=tuple(annotate), mixed=mixed or bool(categories),
        categories=tuple(categories),
    )  # fmt: skip
    table = _opened(source, roles, memory, comma, transpose, missing, sheet)
    places = None
    if samples is not None:
        found = joined(table.ids, Path(samples), parse_memory(memory), table.notes)
        known, places, table.annotation = table.annotation, found.places, found.frame
        if known is not None:
            others = known.drop(columns=[name for name in known if name in found.frame])
            table.annotation = pd.concat([found.frame, others], axis=1)
    _check_annotation(source, table, annotate)
    return _with_labels(table, roles, samples, places)


def _check_annotation(source: Any, table: Table, names: Sequence[str]) -> None:
    known = [] if table.annotation is None else list(map(str, table.annotation.columns))
    missing = [name for name in names if name not in known]
    if missing:
        among = f"; there are {listed(known, 10)}" if known else ""
        raise TableError(
            f"{source}: --annotate names {missing[0]!r}, which is neither a column of a text file or workbook nor "
            f"known of the rows from a sample sheet or the file itself{among}"
        )


def _opened(source: Any, roles: ColumnRoles, memory: Any, comma, transpose: bool | None, missing: bool, sheet) -> Table:
    if not is_path(source):
        opened = open_source(source)
        if opened is None:
            raise TypeError(f"expected a path, a memory map or a Zarr array; got {type(source).__name__}")
        return _from_source(None, opened, roles, memory, missing)
    path = Path(source)
    reader = reader_of(path)
    for option, given, where in (("comma", comma, "text files"), ("sheet", sheet, "workbooks")):
        if given is not None and option not in reader.options:
            kinds = ", ".join(kind for kind, one in READERS.items() if option in one.options)
            raise TableError(
                f"{path}: {option} (--{option}) applies to {where} only ({kinds}); leave it out for this kind of file"
            )
    if reader.annotated is not None:
        limit = parse_memory(memory)
        return annotated_table(path, reader.annotated(path, memory=limit), roles, limit, missing, transpose)
    if reader.streamed is not None:
        opened = reader.streamed(path)
        levels = {"text", "categories"} & set(opened.text_columns.values()) or opened.yes_no_columns
        held = roles.mixed and (roles.categories or levels)
        if not transpose and not (held and _fits(opened, parse_memory(memory))):
            return _from_source(path, opened, roles, memory, missing, asks=transpose is None)
        read = _whole_source(path, opened, parse_memory(memory))
    else:
        assert reader.whole is not None  # a reader has one of the two
        options = {
            "as_text": () if roles.id_column is None else (roles.id_column,), "comma": comma, "sheet": sheet,
            "memory": parse_memory(memory), "repeats": roles.duplicates != REFUSE,
        }  # fmt: skip
        read = reader.whole(path, **{name: options[name] for name in reader.options})
        _check_not_empty(path, read.frame.shape)
    return table_of(path, read, roles, parse_memory(memory), missing, transpose)


def _with_labels(table: Table, roles: ColumnRoles, samples: Any, places: list[str] | None) -> Table:
    """The table with labels, weights and covariates from its annotation, where its own columns do not have them."""
    known = table.annotation
    own = [] if table.covariates is None else list(table.covariates)
    for option, name, missing in (
        ("--label-column", roles.label_column, table.labels is None),
        ("--weight-column", roles.weight_column, table.weights is None),
        *(("--covariate", name, name not in own) for name in roles.covariates),
    ):
        if name is None or not missing:
            continue
        if known is None or name not in known:
            columns = table.names if known is None else list(known)
            where = table.path if samples is None else samples
            raise TableError(f"{where}: {option} names {name!r}, but the columns are {listed(columns, 10)}")
        if option == "--label-column":
            table.labels = known[name].to_numpy()
        elif option == "--covariate":
            table.covariates = pd.concat([table.covariates, known[[name]]], axis=1)
        else:
            table.weights = weights_of(known[name].to_numpy(),
                lambda i: places[i] if places is not None else f"{table.path}: column {str(table.ids[i])!r}", name,
            )  # fmt: skip
    return table


def _fits(source: Source, memory: int) -> bool:
    n, p = source.shape
    return n > 0 and p > 0 and 2 * n * p * source.dtype.itemsize <= memory


def _whole_source(path: Path, source: Source, memory: int) -> Sheet:
    """All rows of a source as a sheet, so that it can be transposed."""
    n, p = source.shape
    _check_size(path, source, memory)
    names = source.names or [column_name(j) for j in range(p)]
    if 2 * n * p * source.dtype.itemsize > memory:
        raise TableError(
            f"{path}: {n:,} rows x {p:,} columns take more than half of the memory budget ({memory / 1e6:g} MB), but "
            "transposing needs all of them in memory: increase memory (--memory)"
        )
    held = {name for name, kind in source.text_columns.items() if kind in ("text", "categories")}
    held |= source.yes_no_columns
    words = [j for j, name in enumerate(names) if name in held]
    numbers = check_numbers(source.select([j for j in range(p) if j not in words]) if words else source)
    frame = pd.DataFrame(numbers.read(0, n), columns=[name for j, name in enumerate(names) if j not in words])
    for j in words:
        frame.insert(j, names[j], source.column(j))
    return Sheet(frame, [f"read from {path.suffix.lower()}"])


def _check_not_empty(where: Any, shape: tuple[int, ...]) -> None:
    """Raise an error for a table without rows or without columns."""
    for size, what in zip(shape, ("rows", "columns"), strict=True):
        if size == 0:
            raise TableError(f"{where}: the table has no {what} (its shape is {shape[0]:,} x {shape[1]:,})")


def _check_size(where: Any, source: Source, memory: int) -> None:
    """Raise an error for a table that is empty, or so wide that the names of its columns exceed the memory budget."""
    _check_not_empty(where, source.shape)
    if (size := _NAME_BYTES * source.shape[1]) > memory:
        raise TableError(
            f"{where}: the names of {source.shape[1]:,} columns take {size / 1e6:,.3g} MB, which exceeds the memory "
            f"budget ({memory / 1e6:,.3g} MB): increase memory (--memory)"
        )


def _from_source(
    path: Path | None, source: Source, roles: ColumnRoles, memory: Any, missing: bool, asks: bool = False
) -> Table:
    n, p = source.shape
    where = path or source.path or "the table"
    _check_size(where, source, parse_memory(memory))
    names = source.names or [column_name(j) for j in range(p)]
    roles.check(where, names)
    notes = [] if path is None else [f"read from {path.suffix.lower()}"]
    # only columns that may name the rows are read: the first one if it is text, and those that are called so
    looked = [j for j, name in enumerate(names) if roles.find_ids and source.names and _may_name(source, j, name)]
    read = pd.DataFrame({names[j]: source.column(j) for j in looked})
    found = arrange(read, roles, turning=False, first=min(looked, default=0), width=p)
    notes += found.notes
    own = None if roles.id_column is None else names.index(roles.id_column)
    chosen_id = own if own is not None or found.id is None else looked[found.id]
    ids = range(1, n + 1) if chosen_id is None else source.column(chosen_id)
    aside = {j for j, name in enumerate(names) if name in (*roles.drop, *roles.beside)}
    aside |= {looked[j] for j in found.describing} | ({chosen_id} if chosen_id is not None else set())
    kept = roles.kept(where, names, aside, ids)
    if asks and roles.find_ids and roles.only is None:
        id_name = "" if chosen_id is None else names[chosen_id]
        if said := question_of_genes(ids, id_name, [names[j] for j in kept], n):
            raise TableError(f"{where}: {said}")
    beside = {name: source.column(names.index(name)) for name in roles.beside if name in names}
    chosen = check_numbers(source if len(kept) == p else source.select(kept))
    # unnamed columns are numbered by their position in the file
    given = [names[j] for j in kept] if len(kept) < p else None
    table = FileTable(chosen, parse_memory(memory), given, missing=missing)
    labels, weights = beside.get(roles.label_column or ""), beside.get(roles.weight_column or "")
    if weights is not None:
        weight = roles.weight_column or ""
        weights = weights_of(weights, lambda i: f"{where}: row {i + 1}, column {weight!r}", weight)
    return Table(table, ids, labels, notes, path, weights=weights, covariates=roles.covariates_of(beside))


def _may_name(source: Source, j: int, name: str) -> bool:
    """Whether a column may hold the names of the rows."""
    held = source.text_columns.get(name, "numbers")
    return (j == 0 and held == "text") or (names_rows(name) and held in ("text", "numbers"))
