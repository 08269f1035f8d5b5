"""The Python blocks of docs/single-cells.md, which need scanpy, run in one scope. Run by `make test-cells`."""

import re
from pathlib import Path

import pytest

from tests.anndata_here import anndata_or_skip

anndata_or_skip()
pytest.importorskip("scanpy")
PAGE = Path(__file__).parents[2] / "docs" / "single-cells.md"


@pytest.mark.filterwarnings("ignore")  # of scanpy, pandas and matplotlib among each other
def test_blocks_run(capsys):
    import matplotlib

    matplotlib.use("Agg")
    scope: dict = {"__name__": "page"}
    for code in re.findall(r"```py\n(.*?)```", PAGE.read_text(), flags=re.S):
        exec(compile(code, str(PAGE), "exec"), scope)
    printed = capsys.readouterr().out
    assert "4 groups" in printed
    assert "phase explains" in printed
    assert Path("report.html").stat().st_size < 3e6
