"""Missing cells: the error says how many there are, where, what the first holds, and what can be done."""

import numpy as np
import pandas as pd
import pytest

from fisherem.tables.errors import TableError
from fisherem.tables.opening import open_table


def refused(path):
    with pytest.raises(TableError) as error:
        open_table(path).named()
    return str(error.value)


def test_how_many_in_which_columns_and_rows(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("Mg,ash,hue\n1,2,3\n4,NA,6\n7,8,9\n,n/a,2\n1,5,3\n")
    said = refused(path)
    assert "line 3, column 'ash': the cell is empty (it contains 'NA')" in said
    assert "3 of 15 cells are missing, in 2 of 3 columns ('ash' 2, 'Mg' 1) and 2 of 5 rows (line 3, line 5)" in said
    assert "fill them in, remove these rows, or leave out the columns (--drop 'ash' --drop 'Mg')" in said
    # leaving out the columns is what helps
    assert open_table(path, drop=["ash", "Mg"]).X.shape == (5, 1)


def test_a_cell_with_nothing_in_it_is_just_empty(tmp_path):
    path = tmp_path / "gap.csv"
    path.write_text("a,b\n1,2\n,4\n")
    assert "line 3, column 'a': the cell is empty; 1 of 4 cells are missing, in 1 of 2 columns" in refused(path)


def test_long_lists_are_cut(tmp_path):
    path = tmp_path / "gaps.npy"
    np.save(path, np.full((30, 20), np.nan))
    said = refused(path)
    assert "600 of 600 cells" in said
    assert "and 15 more" in said
    assert "and 25 more" in said
    assert said.count("--drop") == 5
    assert len(said) < 550 + len(str(path))


def test_columns_are_listed_by_what_they_lack(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("a,b,c\n1,NA,?\n2,3,\n".replace("?", "NaN"))
    said = refused(path)
    assert "line 2, column 'b': the cell is empty (it contains 'NA'); 3 of 6 cells are missing" in said
    assert "2 of 3 columns ('c' 2, 'b' 1) and 2 of 2 rows (line 2, line 3)" in said


def test_files_that_are_no_text(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, np.nan, np.nan]})
    frame.to_parquet(tmp_path / "gap.parquet")
    said = refused(tmp_path / "gap.parquet")
    assert "row 2, column 'b': the cell is empty; 2 of 6 cells are missing, in 1 of 2 columns ('b' 2)" in said
    frame.to_excel(tmp_path / "gap.xlsx", index=False)
    assert "row 3, column 'b': the cell is empty; 2 of 6" in refused(tmp_path / "gap.xlsx")


def test_a_column_of_text_with_gaps_is_text(tmp_path):
    path = tmp_path / "text.csv"
    path.write_text("kind,b\n,2\nred,4\nblue,5\n")
    assert "column 'kind' holds text ('red', ...)" in refused(path)
