"""CSV files whose names look like formulas: marked as text for spreadsheets, and the same names when read back."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from fisherem._utils.spreadsheets import marked, unmarked, write_csv
from fisherem.cli import main
from fisherem.tables.opening import open_table

FORMULAS = ["=1+1", '=HYPERLINK("http://x","y")', "+cmd|' /C calc'!A0", "-2+3", "@SUM(1,2)", "'=x", "''-y", "\t=z"]


@given(st.text() | st.sampled_from(FORMULAS) | st.from_regex(r"'*[=+\-@]\w*", fullmatch=True))
def test_marks_are_taken_away_exactly(text):
    if text[:1] in tuple("=+-@\t\r"):
        try:
            float(text.rstrip("%"))
        except ValueError:
            assert marked(text)[0] == "'"
    assert unmarked(marked(text)) == text


@pytest.mark.parametrize("value", ["-5", "+1.5e-3", "-.5", "12%", 3.5, None])
def test_numbers_are_not_marked(value):
    assert marked(value) == value


def test_a_frame_comes_back(tmp_path):
    names = [name.strip() for name in FORMULAS]
    frame = pd.DataFrame(np.arange(16.0).reshape(2, 8) ** 2, columns=names)
    frame.insert(0, "id", ["=a", "-b"])
    write_csv(frame, tmp_path / "t.csv")
    raw = pd.read_csv(tmp_path / "t.csv")
    assert all(name[0] == "'" for name in raw.columns[1:])
    table = open_table(tmp_path / "t.csv", id_column="id")
    assert table.names == names
    assert list(table.ids) == ["=a", "-b"]
    np.testing.assert_array_equal(table.X.to_numpy(), frame.iloc[:, 1:].to_numpy())


def test_commands_mark_names_and_ids(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)) + 6 * rng.integers(2, size=(40, 1)), columns=["=a", "+b", "@c"])
    frame.insert(0, "name", [f"=row{i}" for i in range(40)])
    frame["g"] = np.where(frame["=a"] > 3, "=hi", "-lo")
    frame.to_csv("d.csv", index=False)
    for words in (
        "fit d.csv -k 2 --label-column g -o out", "predict out/model.skops d.csv -o p.csv",
        "explain d.csv --label-column g -o why", "compare d.csv -k 2 --label-column g --methods k-means -o c.csv",
    ):  # fmt: skip
        result = CliRunner().invoke(main, words.split())
        assert result.exit_code == 0, result.output
    texts = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.csv") if path.name != "d.csv"]
    assert len(texts) >= 6
    for text in texts:
        cells = [cell.strip('"') for line in text.splitlines() for cell in line.split(",")]
        assert not [cell for cell in cells if cell[:1] in ("=", "+", "@") or cell == "-lo"]
    labels = open_table(tmp_path / "p.csv", id_column="id")
    assert list(labels.ids) == list(frame["name"])
    variables = open_table(tmp_path / "out" / "variables.csv", id_column="name", drop=["selected"])
    assert set(variables.ids) <= {"=a", "+b", "@c"}
