"""The page "Which variables, which model" has every model with its picture, as the script draws it."""

import runpy
from pathlib import Path

from fisherem.experiments.models import FACTOR_MODELS
from fisherem.model.dlm import MODELS

DOCS = Path(__file__).parents[2] / "docs"


def test_every_model_has_its_picture():
    drawn = runpy.run_path(str(DOCS / "model_pictures.py"))["pictures"]()
    page = (DOCS / "choosing.md").read_text()
    others = [name.removeprefix("PGMM-").removeprefix("Mixt-") for name in FACTOR_MODELS]
    assert set(drawn) == {*MODELS, *others}
    for name, content in drawn.items():
        assert f"](images/models/{name}.svg)" in page
        assert (DOCS / "images" / "models" / f"{name}.svg").read_text() == content


def test_common_is_grey_and_own_is_coloured():
    module = runpy.run_path(str(DOCS / "model_pictures.py"))
    for name, content in module["pictures"]().items():
        bars = [line for line in content.splitlines() if "<rect x" in line]
        common = all(module["GREY"] in line for line in bars)
        assert common == (name.endswith("B") or name in ("MCFA", "MCUFSA")), name
