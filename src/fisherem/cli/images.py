"""The command for images: from a cube on disk to a map, the bands that matter and their spectra."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from .choices import Model, Registered, Share
from .common import InputError, cluster_range, friendly, quiet_warnings
from .options import json_option, quiet_option
from .results import verdict_record

__all__ = ["segment"]


def _clusters(ctx, param, value):
    """A number of groups, several, or "auto"."""
    if value == "auto":
        return value
    numbers = cluster_range(ctx, param, value)
    return numbers[0] if len(numbers) == 1 else numbers


@click.command()
@click.argument("image", type=click.Path(path_type=Path))
@click.option(
    "-k",
    "--clusters",
    callback=_clusters,
    required=True,
    help="Number of groups; auto, or a range such as 2:8, says how many there are on a sample of pixels.",
)
@click.option("--criterion", type=Registered("model.criteria:CRITERIA", words=("auto", "verdict")), default="auto",
              show_default=True, help="What chooses the number of groups, as for search; auto is verdict.")  # fmt: skip
@click.option("--sparsity", type=Share(), default="auto", show_default=True,
              help="auto finds the bands with the groups; a share uses --method, 1 keeps all.")  # fmt: skip
@click.option("--model", type=Model("model.dlm:MODELS", words=("auto",)), default="AkjB", show_default=True)
@click.option("--method", type=Registered("core.dlm.f_step.step:SPARSE_STEPS"), default="svd", show_default=True)
@click.option("--bands", metavar="RANGE", help="Wavelengths to use, such as 0.5-2.6um.")
@click.option("--mask", type=click.Path(path_type=Path), help="Image of the pixels to use (not 0).")
@click.option("--spatial", default="0", show_default=True, help="Strength of the spatial prior, or auto.")
@click.option("--normalise/--no-normalise", default=None,
              help="Divide each pixel by its norm; by default where that brings out groups.")  # fmt: skip
@click.option("--standardise", is_flag=True, help="Standardise the bands.")
@click.option("--missing", type=Registered("tables.gaps:TREATMENTS", words=("auto",)), default="auto",
              show_default=True,
              help="Pixels without a value in some bands: model fits around them, drop-rows leaves out the pixels, "
              "drop-columns the bands; auto is model where they are more than 5%.")  # fmt: skip
@click.option("--min-size", metavar="SIZE", default="0", show_default=True,
              help="Fewest pixels of a group, such as 50 or 1%. A smaller one is dissolved: its pixels go to the most "
              "probable other group, and the model is fitted again with one group less.")  # fmt: skip
@click.option("--spread", is_flag=True,
              help="Exchange selected bands in blocks for as many that lie apart, where C does not fall.")  # fmt: skip
@click.option("--truth", type=click.Path(path_type=Path),
              help="Image of known classes (.png, .tif, .mat, .npy, .hdr) to compare the map with; 0 and no-data are "
              "pixels without a class.")  # fmt: skip
@click.option("--truth-variable", metavar="NAME", help="The array of a .mat file of classes, where several fit.")
@click.option(
    "--rgb", metavar="R,G,B", help="Bands (from 1) of the colour view; by default natural colours if possible."
)
@click.option("--stability", "n_refits", type=click.IntRange(2), metavar="N",
              help="Fit N times more, to halves of a sample of 2,000 pixels, and say how often groups and bands came "
              "back; 20 is a start.")  # fmt: skip
@click.option("--variable", help="The array of a .mat file, where several could be the cube.")
@click.option("--shape", metavar="ROWSxCOLS", help="Rows and columns of a table of pixels.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("out"), show_default=True)
@json_option
@quiet_option
@friendly
def segment(image, clusters, criterion, sparsity, model, method, bands, mask, spatial, normalise, standardise,
            missing, min_size, spread, truth, truth_variable, rgb, n_refits, variable, shape, seed, output, as_json,
            quiet):  # fmt: skip
    """Segment a hyperspectral IMAGE (ENVI, GeoTIFF, .mat, .npy) and write maps, bands, spectra and a report page."""
    from .._utils.atomic import output_folder
    from ..images import read, read_truth
    from ..images import segment as run

    quiet_warnings()
    options = {"min_size": _size(min_size), "rgb": _rgb(rgb), "spatial": _number(spatial)}
    cube = read(image, variable=variable, shape=_shape(shape))
    if truth is not None:  # an image of another size is said before anything is fitted
        options["truth"] = read_truth(truth, cube.shape[:2], variable=truth_variable)
    with output_folder(output) as new:
        found = run(
            cube, clusters, criterion=criterion, model=model, method=method, sparsity=sparsity, bands=bands, mask=mask,
            normalise="auto" if normalise is None else normalise, standardise=standardise, missing=missing,
            random_state=seed,
            progress=False if quiet or as_json else "auto", spread=spread, stability=n_refits, **options,
        )  # fmt: skip
        found.save(new)
        files = sorted(path.name for path in new.iterdir())
    result = _result(found) | {"folder": str(output), "files": files}
    if as_json:
        click.echo(json.dumps(result))
    elif not quiet:
        _say(result, output)


def _result(found) -> dict[str, Any]:
    """What was found, as plain values."""
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
    """The result in the terminal."""
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
            f"{sure['n_pixels']:,} sampled pixels were in their group again in {sure['pixels']:.0%} of "
            f"{sure['n_refits']} refits (adjusted Rand index {sure['agreement']:.2f})"
        )
    click.echo(f"report: {output / 'report.html'}")


def _size(text: str) -> float:
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise InputError(f"--min-size must be a number of pixels or a share such as 1%; got {text!r}") from None


def _rgb(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        bands = [int(part) - 1 for part in text.split(",")]
    except ValueError:
        bands = []
    if len(bands) != 3 or min(bands) < 0:
        raise InputError(f"--rgb must be three numbers of bands from 1, such as 30,20,10; got {text!r}")
    return bands


def _shape(text):
    if text is None:
        return None
    try:
        rows, columns = map(int, text.lower().split("x"))
    except ValueError:
        raise InputError(f"--shape must look like 95x95; got {text!r}") from None
    return rows, columns


def _number(text):
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--spatial must be a number or auto; got {text!r}") from None


def _band_names(found):
    """Wavelengths of the selected bands with their unit, or their numbers (from 1, as in bands.csv)."""
    if found.wavelengths is None:
        return [int(j) + 1 for j in found.selected_bands]
    return [f"{found.wavelengths[j]:.5g} {found.cube.units}".strip() for j in found.selected_bands]
