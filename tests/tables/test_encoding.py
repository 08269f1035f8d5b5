"""Columns of text, categories, booleans and ordered levels as columns of numbers, and back."""

import numpy as np
import pandas as pd
import pytest

from fisherem.rows.variables import Blocks
from fisherem.tables.encoding import Encoding, encoding_of

FRAME = pd.DataFrame(
    {
        "size": [1.5, 2.0, np.nan, 4.0, 2.5, 1.0],
        "colour": ["red", "blue", None, "red", "blue", "red"],
        "warm": [True, False, True, True, False, False],
        "grade": pd.Categorical(["low", "high", "mid", "low", None, "mid"], ["low", "mid", "high"], ordered=True),
        "code": [3, 1, 3, 2, 1, 1],
    }
)


def test_each_kind_of_column():
    encoding = encoding_of(FRAME, ["code"])
    found = encoding.encode(FRAME)
    assert list(found) == [
        "size", "colour=blue", "colour=red", "warm=False", "warm=True", "grade", "code=1", "code=2", "code=3",
    ]  # fmt: skip
    np.testing.assert_array_equal(found["size"], FRAME["size"])
    np.testing.assert_array_equal(found["colour=red"], [1, 0, np.nan, 1, 0, 1])
    np.testing.assert_array_equal(found["colour=blue"], [0, 1, np.nan, 0, 1, 0])
    np.testing.assert_array_equal(found["warm=True"], [1, 0, 1, 1, 0, 0])
    np.testing.assert_array_equal(found["grade"], [0, 2, 1, 0, np.nan, 1])
    np.testing.assert_array_equal(found["code=2"], [0, 0, 0, 1, 0, 0])
    np.testing.assert_array_equal(encoding.blocks.variable, [0, 1, 1, 2, 2, 3, 4, 4, 4])
    np.testing.assert_array_equal(encoding.blocks.indicators, [0, 1, 1, 1, 1, 0, 1, 1, 1])


def test_numbers_need_no_encoding():
    assert encoding_of(FRAME[["size", "code"]], None) is None


def test_an_array_has_categories_by_number():
    encoding = encoding_of(pd.DataFrame(np.array([[1.0, 2.0], [0.5, 7.0], [0.1, 2.0], [3.0, 7.0]])), [1], named=False)
    assert encoding.column_names == ["x1", "x2=2", "x2=7"]


def test_only_levels_that_occur_have_a_column():
    frame = FRAME.assign(colour=pd.Categorical(FRAME["colour"], ["green", "red", "blue"]))
    assert encoding_of(frame, None).column_names[1:3] == ["colour=red", "colour=blue"]


def test_an_unknown_category_is_an_error_that_names_it():
    encoding = encoding_of(FRAME, ["code"])
    with pytest.raises(ValueError, match=r"column 'colour', row 3: 'rde' is none of the categories .*'blue', 'red'"):
        encoding.encode(FRAME.assign(colour=["red", "blue", None, "rde", "blue", "red"]))
    with pytest.raises(ValueError, match=r"column 'code', row 0: '9' is none"):
        encoding.encode(FRAME.assign(code=[9, 1, 3, 2, 1, 1]))


def test_whole_numbers_are_the_same_level_as_text_or_floats():
    encoding = encoding_of(FRAME, ["code"])
    for same in (FRAME["code"].astype(float), FRAME["code"].astype(str), FRAME["code"].astype("Int64")):
        np.testing.assert_array_equal(encoding.encode(FRAME.assign(code=same)), encoding.encode(FRAME))


def test_decoding_gives_the_table_back():
    full = FRAME.drop(index=[2, 4]).assign(code=[3, 1, 1, 3])
    encoding = encoding_of(full, ["code"])
    found = encoding.decode(encoding.encode(full).to_numpy(), full.index)
    assert list(found["colour"]) == list(full["colour"])
    assert list(found["grade"]) == list(full["grade"])
    assert found["grade"].cat.ordered
    assert list(found["code"]) == ["3", "1", "1", "3"]
    np.testing.assert_array_equal(found["size"], full["size"])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", "b", "c", "d", "e", "f"], r"'x' holds 6 different categories in 6 rows.*names the rows"),
        ([None] * 6, "every value is missing in 'x'"),
    ],
)
def test_columns_that_are_no_categories(column, message):
    with pytest.raises(ValueError, match=message):
        encoding_of(pd.DataFrame({"x": pd.Series(column, dtype="string"), "y": FRAME["colour"]}), ["x"])


def test_text_that_is_partly_numbers_has_a_mistake_in_it():
    frame = pd.DataFrame({"x": ["1.5", "2,5", "3", "4"], "y": ["a", "b", "a", "b"]})
    with pytest.raises(ValueError, match=r"column 'x', row 1 holds '2,5', which is neither a number nor a category"):
        encoding_of(frame, None).encode(frame)


@pytest.mark.parametrize("wrong", ["colour", 3, ["no such"], [99], [True]])
def test_wrong_categories(wrong):
    with pytest.raises((TypeError, ValueError), match="categories"):
        encoding_of(FRAME, wrong)


def test_names_of_columns_must_stay_different():
    frame = pd.DataFrame({"a": ["b", "c", "b", "c"], "a=b": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(ValueError, match="'a=b'"):
        encoding_of(frame, None)


def test_blocks():
    blocks = Blocks.of_widths([1, 3, 2, 1])
    assert blocks.n_variables == 4
    np.testing.assert_array_equal(blocks.widths, [1, 2, 1, 1])
    np.testing.assert_array_equal(blocks.free(np.arange(7)), [0, 1, 2, 4, 6])
    np.testing.assert_array_equal(blocks.free(np.array([1, 2, 4, 5])), [1, 2, 4])  # not the whole of the first block
    np.testing.assert_array_equal(blocks.columns_of([1, 3]), [1, 2, 3, 6])
    np.testing.assert_array_equal(blocks.variables_of(np.array([2, 3, 6])), [1, 3])
    np.testing.assert_array_equal(blocks.any_of(np.array([0, 0, 1, 0, 0, 0, 1], bool)), [0, 1, 0, 1])


def test_an_encoding_knows_what_it_is():
    encoding = encoding_of(FRAME, ["code"])
    assert repr(encoding) == "Encoding of 5 variables in 9 columns: 3 categories, 1 ordered variable"
    assert encoding == Encoding(encoding.names, encoding.levels, encoding.ordered)
    assert encoding != Encoding(encoding.names, encoding.levels, [False] * 5)
