"""Hypothesis: the same examples in every build of a commit, fresh ones by hand."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

PROJECT = Path(__file__).parents[1]
SHOW = "import tests.profiles; from hypothesis import settings; print(settings().derandomize)"


@pytest.mark.parametrize(("value", "expected"), [("1", "True"), (None, "False")])
def test_only_ci_repeats_its_examples(value, expected):
    names = {key: text for key, text in os.environ.items() if key not in ("CI", "GITHUB_ACTIONS")}
    environment = names | ({"CI": value} if value else {})
    paths = os.pathsep.join(map(str, (PROJECT / "src", PROJECT)))
    done = subprocess.run(
        [sys.executable, "-c", SHOW],
        env=environment | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [expected]
    assert settings().derandomize == bool(os.environ.get("CI"))  # here it was loaded as well


def test_the_build_says_that_it_is_one():
    assert "export CI=1" in (PROJECT / ".ci" / "run").read_text()
