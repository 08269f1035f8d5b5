"""Text files: the generator knows the numbers that it writes, in every layout, and what it breaks."""

import gzip
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import strategies as st

from fisherem._utils.spreadsheets import marked
from fisherem.tables.opening import open_table

from .outcomes import Case, attack

# What stands in a cell instead of a number; none of them is one.
BROKEN = ("", "NA", "n.d.", "1 2", "inf", "-", "1e", "0x1g", "NaN", "--1", "1.2.3")
# Characters that names and ids are made of: separators, quotes, line breaks of Unicode, and letters of other scripts.
LETTERS = "abzAZ09 _-.;,|\t\"'#\u0085\u2028é字\x0b"


@dataclass(frozen=True)
class Written:
    """A table and how it is written."""

    rows: list[list[float]]
    names: list[str] | None
    ids: list[str] | None
    separator: str
    decimal: str
    quote_all: bool
    newline: str
    blank_lines: list[int]  # before which records
    encoding: str
    packed: bool
    broken: tuple[int, int, str] | None  # row, column, what is there
    ragged: int | None  # the row that has a cell less

    def text(self) -> str:
        """The file, with names and ids that begin like formulas marked as spreadsheets need them."""
        lines = [] if self.names is None else [[*(["id"] if self.ids else []), *map(marked, self.names)]]
        for i, row in enumerate(self.rows):
            cells = [repr(value).replace(".", self.decimal) for value in row]
            if self.broken is not None and self.broken[0] == i:
                cells[self.broken[1]] = self.broken[2]
            if self.ragged == i:
                cells.pop()
            lines.append([marked(self.ids[i]), *cells] if self.ids else cells)
        records = [self.separator.join(map(self._cell, line)) for line in lines]
        for place in sorted(self.blank_lines, reverse=True):
            records.insert(min(place, len(records)), "")
        return self.newline.join(records) + self.newline

    def _cell(self, cell: str) -> str:
        special = any(c in cell for c in f'{self.separator}"\n\r') or cell != cell.strip()
        return '"' + cell.replace('"', '""') + '"' if special or self.quote_all else cell


@st.composite
def tables(draw) -> Written:
    n, p = draw(st.integers(2, 6)), draw(st.integers(2, 5))
    number = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 5)) | st.integers(-50, 50).map(float)
    rows = draw(st.lists(st.lists(number, min_size=p, max_size=p), min_size=n, max_size=n))
    word = st.text(LETTERS, min_size=1, max_size=6).filter(lambda word: word.strip() == word and word.strip(" \t"))
    # a header must not be all numbers, and no name may be taken twice
    names = draw(st.none() | st.lists(word, min_size=p, max_size=p, unique=True).map(lambda w: ["v" + w[0], *w[1:]]))
    if names is not None and (len(set(names)) < p or "id" in names):
        names = [f"v{j}" for j in range(p)]
    ids = draw(st.none() | st.lists(word, min_size=n, max_size=n)) if names else None
    separator = draw(st.sampled_from(",;\t|"))
    decimal = "." if separator == "," else draw(st.sampled_from(".,"))
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
    damage = draw(st.sampled_from(["none", "none", "broken", "ragged"]))
    place = draw(st.integers(0, n - 1)), draw(st.integers(0, p - 1))
    return Written(
        rows, names, ids, separator, decimal, draw(st.booleans()), draw(st.sampled_from(["\n", "\r\n", "\r"])),
        draw(st.lists(st.integers(0, n), max_size=2)), encoding, draw(st.booleans()),
        (*place, draw(st.sampled_from(BROKEN))) if damage == "broken" else None,
        place[0] if damage == "ragged" else None,
    )  # fmt: skip


def _case(folder, written: Written) -> Case:
    path = folder / ("t.csv.gz" if written.packed else "t.csv")
    content = written.text().encode(written.encoding)
    path.write_bytes(gzip.compress(content) if written.packed else content)
    has_ids = written.ids is not None

    def check(table):
        np.testing.assert_allclose(table.X.to_numpy(), written.rows, rtol=1e-14, atol=1e-300)
        assert written.names is None or list(table.X.columns) == written.names
        assert not has_ids or list(table.ids) == written.ids

    intact = written.broken is None and written.ragged is None
    # a first row with a word in it may as well be a header
    ambiguous = written.names is None and written.broken is not None and written.broken[0] == 0
    return Case(
        lambda: open_table(path, id_column="id" if has_ids else None, comma=_comma(written)).named(),
        names=(f"{path}: line ", f"{path}: column ", f"{path}: two columns are named"),
        check=(lambda table: None) if ambiguous else check,
        valid=None if ambiguous else intact,
    )


def _comma(written: Written) -> str | None:
    """What is said about commas: without it, numbers such as 1,200 would be asked about, rightly."""
    return "decimal" if written.decimal == "," else None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("csv")


def test_tables_that_are_written_in_every_way(folder):
    attack("csv tables", tables(), lambda written: _case(folder, written), default=150)


# -- anything at all -----------------------------------------------------------------------------------------------

CHARACTERS = "0123456789.,;|\t\n\r\"'eE+-aN \x00\x1a\u0085\u2028é"


def _any_text(folder, text: str) -> Case:
    path = folder / "any.csv"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))

    def check(table):
        assert np.isfinite(table.X.to_numpy()).all()
        assert len(table.ids) == len(table.X) <= len(text.replace("\r", "\n").split("\n"))
        assert table.X.shape[1] == len(set(table.X.columns))

    return Case(lambda: open_table(path).named(), names=(str(path),), check=check)


def test_any_text(folder):
    lines = st.lists(st.text(CHARACTERS, max_size=20), max_size=8).map("\n".join)
    attack("csv text", lines | st.text(max_size=80), lambda text: _any_text(folder, text), default=150)


# -- commas --------------------------------------------------------------------------------------------------------


def _commas(folder, drawn) -> Case:
    """Numbers with thousands, as spreadsheets write them, in a file that says nothing about its commas."""
    values, separator = drawn
    path = folder / "commas.csv"
    path.write_text("a" + separator + "b\n" + "".join(f"{v:,}{separator}{v % 7}\n" for v in values))

    def check(table):
        assert table.X["a"].tolist() == values

    return Case(
        lambda: open_table(path).named(),
        names=(str(path),),
        check=check,
        valid=all(abs(v) < 1000 for v in values),
    )


def test_thousands_are_never_read_as_decimals(folder):
    number = st.integers(-(10**7), 10**7) | st.integers(0, 2000)
    drawn = st.tuples(st.lists(number, min_size=1, max_size=6), st.sampled_from(";\t|"))
    attack("csv thousands", drawn, lambda drawn: _commas(folder, drawn), default=60)


def test_the_generator_writes_what_it_says(folder):
    written = Written([[1.5, 2.0]], ["a;b", "c"], None, ";", ",", False, "\n", [1], "utf-8", False, None, None)
    assert written.text() == '"a;b";c\n\n1,5;2,0\n'
    assert math.isclose(_case(folder, written).run().X.iloc[0, 0], 1.5)
