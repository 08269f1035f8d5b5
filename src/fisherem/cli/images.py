"""The command `segment`: from a hyperspectral image to a map, the selected bands and mean spectra."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from .choices import SHARE, Model, Parsed, Registered, or_auto, whole
from .common import CLUSTER_RANGE, cluster_range, friendly, quiet_warnings
from .folders import check_inputs
from .options import SEED, json_option, quiet_option
from .results import verdict_record

__all__ = ["segment"]


def _clusters(text: str):
    """A number of groups, a list of several, or "auto"."""
    numbers = cluster_range(text)
    return numbers if text == "auto" or len(numbers) > 1 else numbers[0]


def _size(text: str) -> float:
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


def _rgb(text: str) -> list[int]:
    bands = [whole(1)(part.strip()) - 1 for part in text.split(",")]
    if len(bands) != 3:
        raise ValueError
    return bands


def _shape(text: str) -> tuple[int, int]:
    rows, columns = map(int, text.lower().split("x"))
    return rows, columns


@click.command()
@click.argument("image", type=click.Path(path_type=Path))
@click.option("-k", "--clusters", type=Parsed("NUMBERS", _clusters, CLUSTER_RANGE), required=True,
              help="Number of groups; auto, or a range such as 2:8, chooses it on a sample of pixels.")  # fmt: skip
@click.option("--criterion", type=Registered("model.criteria:CRITERIA", words=("auto", "verdict")), default="auto",
              show_default=True, help="What chooses the number of groups, as for search; auto is verdict.")  # fmt: skip
@click.option("--sparsity", type=SHARE, default="auto", show_default=True,
              help="auto selects the bands together with the groups; a share uses --method, 1 keeps all.")  # fmt: skip
@click.option("--model", type=Model("model.dlm:MODELS", words=("auto",)), default="AkjB", show_default=True)
@click.option("--method", type=Registered("core.dlm.f_step.step:SPARSE_STEPS"), default="svd", show_default=True)
@click.option("--bands", metavar="RANGE", help="Wavelengths to use, such as 0.5-2.6um.")
@click.option("--mask", type=click.Path(path_type=Path), help="Image of the pixels to use (not 0).")
@click.option(
    "--spatial",
    type=Parsed("NUMBER", or_auto(float), "a number or auto"),
    default="0",
    show_default=True,
    help="Strength of the spatial prior, or auto.",
)
@click.option("--normalise/--no-normalise", default=None,
              help="Divide each pixel by its norm; by default if that separates the groups better.")  # fmt: skip
@click.option("--standardise", is_flag=True, help="Standardise the bands.")
@click.option("--missing", type=Registered("tables.gaps:TREATMENTS", words=("auto",)), default="auto",
              show_default=True,
              help="Treatment of missing values: model fits the observed values, drop-rows leaves out the pixels, "
              "drop-columns the bands; auto is model if more than 5% of the pixels are affected.")  # fmt: skip
@click.option("--min-size", type=Parsed("SIZE", _size, "a number of pixels or a share such as 1%"), default="0",
              show_default=True, help="Fewest pixels of a group, such as 50 or 1%. Smaller groups are dissolved: "
              "their pixels are assigned to the most probable other group, and the model is refitted.")  # fmt: skip
@click.option("--spread", is_flag=True,
              help="Replace adjacent selected bands by as many separate ones if that does not decrease C.")  # fmt: skip
@click.option("--truth", type=click.Path(path_type=Path),
              help="Image of known classes (.png, .tif, .mat, .npy, .hdr) to compare the map with; 0 and no-data are "
              "pixels without a class.")  # fmt: skip
@click.option(
    "--truth-variable",
    metavar="NAME",
    help="Name of the array of classes in a .mat file, if there are several candidates.",
)
@click.option("--rgb", type=Parsed("R,G,B", _rgb, "three numbers of bands from 1, such as 30,20,10"),
              help="Bands (from 1) of the colour view; by default natural colours if possible.")  # fmt: skip
@click.option("--stability", type=click.IntRange(2), metavar="N",
              help="Refit to N random halves of a sample of 2,000 pixels and report how often groups and bands are "
              "found again; 20 is a good start.")  # fmt: skip
@click.option("--variable", help="Name of the cube in a .mat file, if there are several candidates.")
@click.option("--shape", type=Parsed("ROWSxCOLS", _shape, "like 95x95"), help="Rows and columns of a table of pixels.")
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("out"), show_default=True)
@json_option
@quiet_option
@friendly
def segment(
    image, clusters, normalise, truth, truth_variable, variable, shape, seed, output, as_json, quiet, **options
):
    """Segment a hyperspectral IMAGE (ENVI, GeoTIFF, .mat, .npy) and write maps, bands, spectra and a report page."""
    from .._utils.atomic import output_folder
    from ..images import read, read_truth
    from ..images import segment as run
    from ..images.write import FILES

    quiet_warnings()
    check_inputs(output / name for name in FILES)
    options |= {"normalise": "auto" if normalise is None else normalise, "random_state": seed}
    cube = read(image, variable=variable, shape=shape)
    if truth is not None:  # read first, so that an image of the wrong size fails before the fit
        options["truth"] = read_truth(truth, cube.shape[:2], variable=truth_variable)
    with output_folder(output) as new:
        found = run(cube, clusters, progress=False if quiet or as_json else "auto", **options)
        found.save(new)
        files = sorted(path.name for path in new.iterdir())
        check_inputs(output / name for name in files)  # an added writer may have other names
    result = _result(found) | {"folder": str(output), "files": files}
    if as_json:
        click.echo(json.dumps(result))
    elif not quiet:
        _say(result, output)


def _result(found) -> dict[str, Any]:
    """The result as JSON-compatible values."""
    import numpy as np

    known, sure = found.comparison, found.stability
    return {
        **verdict_record(found.search),
        "n_clusters": int(found.n_clusters),
        "sizes": np.bincount(found.labels[found.labels >= 0], minlength=found.n_clusters).tolist(),
        "bands": [str(name) for name in _band_names(found)],
        "cleaning": str(found.cleaning),
        "normalisation": None if found.normalisation is None else str(found.normalisation),
        "notes": list(found.notes),
        "colours": str(found.colours),
        "truth": None if known is None else {
            "accuracy": known.accuracy, "ari": known.rand, "n_labelled": known.n_labelled,
            "n_compared": known.n_compared, "classes": known.names, "table": known.table.tolist(), "text": str(known),
        },
        "stability": None if sure is None else {
            "n_refits": sure.n_refits, "n_pixels": sure.n_pixels, "pixels": sure.pixels, "agreement": sure.agreement,
            "groups": [None if share != share else float(share) for share in sure.groups],
        },
    }  # fmt: skip


def _say(result: dict[str, Any], output: Path) -> None:
    """Print the result."""
    from ..reports.words.how_many import in_words

    if "verdict" in result:
        click.echo(in_words(result["verdict"]["text"], ("pixels", "bands")))
    chosen = result["bands"]
    click.echo(f"{result['cleaning']}\n{result['n_clusters']} groups by {len(chosen)} bands: {', '.join(chosen)}")
    for text in (*result["notes"], result["normalisation"], result["truth"] and result["truth"]["text"]):
        if text:
            click.echo(text)
    if sure := result["stability"]:
        click.echo(
            f"{sure['n_pixels']:,} sampled pixels were assigned to their group again in {sure['pixels']:.0%} of "
            f"{sure['n_refits']} refits (adjusted Rand index {sure['agreement']:.2f})"
        )
    click.echo(f"report: {output / 'report.html'}")


def _band_names(found):
    """Wavelengths of the selected bands with their unit, or their numbers (from 1, as in bands.csv)."""
    if found.wavelengths is None:
        return [int(j) + 1 for j in found.selected_bands]
    return [f"{found.wavelengths[j]:.5g} {found.cube.units}".strip() for j in found.selected_bands]
