"""Tests leave the project's folder alone: whoever writes into it is named."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from fisherem.cli import main
from tests import watching


def test_every_test_runs_in_a_folder_of_its_own(tmp_path):
    assert Path.cwd() == tmp_path
    assert not Path.cwd().is_relative_to(watching.ROOT)


@pytest.mark.parametrize(
    "write",
    [
        lambda path: path.write_text("x"),
        lambda path: path.mkdir(),
        lambda path: os.open(path, os.O_CREAT | os.O_WRONLY),
        lambda path: Path("here").rename(path),
        lambda path: path.symlink_to("here"),
    ],
    ids=["open", "mkdir", "os.open", "rename", "symlink"],
)
def test_a_test_that_writes_into_the_project_fails(write):
    Path("here").write_text("x")
    target = watching.ROOT / "stray"
    with pytest.raises(
        pytest.fail.Exception, match=r"test_a_test_that_writes.*writes into the project's folder.*stray"
    ):
        write(target)
    assert not target.exists()


def test_a_command_cannot_swallow_it(monkeypatch, tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n" + "\n".join(f"{i % 7},{i % 5}" for i in range(30)))
    monkeypatch.chdir(watching.ROOT)
    with pytest.raises(pytest.fail.Exception, match="writes into the project's folder"):
        CliRunner().invoke(main, ["fit", str(tmp_path / "x.csv"), "-k", "2", "-o", "stray"])
    assert not (watching.ROOT / "stray").exists()


def test_reading_and_what_tools_keep_are_allowed():
    assert (watching.ROOT / "README.md").read_text()
    for name in (".venv/x", "tests/__pycache__/x.pyc", ".pytest_cache/x", ".git/x"):
        assert not watching.inside(watching.ROOT / name)
    assert watching.inside(watching.ROOT / "out" / "report.html")
    assert not watching.inside(watching.ROOT.parent / "elsewhere")


def test_the_files_of_the_project_are_listed():
    found = watching.files()
    assert str(watching.ROOT / "README.md") in found
    assert not any("__pycache__" in path for path in found)
