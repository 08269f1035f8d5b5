"""fisherem reproduce, as it is called."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pandas as pd
import pytest
from click.testing import CliRunner

from fisherem.cli import main
from fisherem.experiments import PARTS, reproduce
from fisherem.experiments.plan import QUICK
from fisherem.experiments.reproduce import TITLES, run_plan


def run(*arguments, code=0):
    result = CliRunner().invoke(main, ["reproduce", *map(str, arguments)])
    assert result.exit_code == code, result.output + str(result.exception)
    return result.output


def test_table_1_by_the_command(tmp_path):
    output = run("table1", "--seed", 3, "-o", tmp_path / "new" / "folder")
    assert "19 of 21 counts" in output
    assert "--seed 3" in output
    table = pd.read_csv(tmp_path / "new" / "folder" / "table1.csv")
    assert list(table.columns) == ["model", "paper", "ours", "difference"]
    assert "DLM[Sigma_k beta_k] | 337 | 337 | 0" in (tmp_path / "new" / "folder" / "table1.md").read_text()


def test_bad_calls(tmp_path):
    assert "table9" in run("table9", code=2)
    file = tmp_path / "file"
    file.write_text("")
    assert "Error" in run("table1", "-o", file, code=1)
    with pytest.raises(ValueError, match="table9"):
        reproduce(["table9"], tmp_path)


def test_the_command_offers_every_part():
    text = run("--help")
    assert all(part in text for part in (*PARTS, "all"))


def test_a_small_run_of_everything(tmp_path, monkeypatch):
    """Iris alone, two starts, one replication: every file is there, and a second call computes nothing."""
    monkeypatch.delenv("FISHEREM_DATA", raising=False)
    tiny = replace(
        QUICK, replications=1, settings=((30, 1.7),), data=("iris",), n_starts=2, models=("AkB",), levels=(0.1, 1.0),
        seed=5,
    )  # fmt: skip
    tables = run_plan(tiny, PARTS, tmp_path, n_jobs=1)
    assert set(tables) == {"table1", "models", "table2", "table3", "table4"}
    page = (tmp_path / "results.md").read_text()
    for name in ("projection-iris.png", "path-iris.png"):
        assert (tmp_path / name).stat().st_size > 5000
        assert f"]({name})" in page
    assert "1 replications with the seeds 5 to 5" in page
    assert page.count("--seed 5") == 6
    assert all(f"## {TITLES[part]}" in page for part in PARTS)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "records" / "quick").iterdir()}
    # Table 2: rivals, default call, sparse versions. Table 3: rivals, calls, dense fits, a fixed share, protocol,
    # reach, search
    models = 1 + 1 + 4 + 5  # the plan's, the Bayesian one, Gaussian mixtures, factor models
    assert len(kept) == (4 + 1 + 3) + 4 + 2 + 1 + 3 + 3 + 3 + 3 + models
    again = run_plan(tiny, ["table2", "table3"], tmp_path, n_jobs=1)
    assert (tmp_path / "results.md").read_text() == page  # a call for some parts leaves the others on the page
    pd.testing.assert_frame_equal(again["table2"], tables["table2"])
    pd.testing.assert_frame_equal(again["table3"], tables["table3"])
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "records" / "quick").iterdir()} == kept


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send to a process")
def test_ctrl_c_keeps_what_is_done(tmp_path):
    command = [
        sys.executable,
        "-m",
        "fisherem.cli",
        "reproduce",
        "table2",
        "--quick",
        "--jobs",
        "1",
        "-o",
        str(tmp_path),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    records = tmp_path / "records" / "quick"
    end = time.monotonic() + 120
    while time.monotonic() < end and not (records.exists() and any(records.glob("*.json"))):
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "the same command resumes" in error
    assert "Traceback" not in error
    assert not list(records.glob("*.part"))
    assert any(records.glob("*.json"))


def test_table_3_as_published_by_the_command(tmp_path, monkeypatch):
    monkeypatch.delenv("FISHEREM_DATA", raising=False)
    tiny = replace(QUICK, data=("iris",), n_starts=2, models=("AkB",), levels=(0.1, 1.0))
    monkeypatch.setattr(sys.modules[reproduce.__module__], "QUICK", tiny)
    output = run("--as-published", "--quick", "--jobs", 1, "-o", tmp_path)
    assert "reproduce table3 --as-published --quick --seed 0" in output
    assert "full means (eqs (8) and (12))" in output
    table = pd.read_csv(tmp_path / "published.csv")
    assert list(table["means"]) == ["full", "latent"] * 3
    assert "## Table 3 as published" in (tmp_path / "results.md").read_text()
    assert not (tmp_path / "table3.csv").exists()
    assert "applies to table3 only" in run("table2", "--as-published", code=2)
