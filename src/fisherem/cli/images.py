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
@click.option("--method", type=Registered("em.f_step.step:SPARSE_STEPS"), default="svd", show_default=True)
@click.option("--bands", metavar="RANGE", help="Wavelengths to use, such as 0.5-2.6um.")
@click.option("--mask", type=click.Path(path_type=Path), help="Image of the pixels to use (not 0).")
@click.option("--spatial", default="0", show_default=True, help="Strength of the spatial prior, or auto.")
@click.option("--normalise/--no-normalise", default=None,
              help="Divide each pixel by its norm; by default where that brings out groups.")  # fmt: skip
@click.option("--standardise", is_flag=True, help="Standardise the bands.")
@click.option("--variable", help="The array of a .mat file, where several could be the cube.")
@click.option("--shape", metavar="ROWSxCOLS", help="Rows and columns of a table of pixels.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("out"), show_default=True)
@json_option
@quiet_option
@friendly
def segment(image, clusters, criterion, sparsity, model, method, bands, mask, spatial, normalise, standardise,
            variable, shape, seed, output, as_json, quiet):  # fmt: skip
    """Segment a hyperspectral IMAGE (ENVI, GeoTIFF, .mat, .npy) and write maps, bands, spectra and a report page."""
    from .._utils.atomic import output_folder
    from ..images import read
    from ..images import segment as run
    from ..reports.how_many import in_words

    quiet_warnings()
    cube = read(image, variable=variable, shape=_shape(shape))
    with output_folder(output) as new:
        found = run(
            cube, clusters, criterion=criterion, model=model, method=method, sparsity=sparsity,
            bands=bands, mask=mask, spatial=spatial if spatial == "auto" else _number(spatial),
            normalise="auto" if normalise is None else normalise, standardise=standardise, random_state=seed,
            progress=False if quiet or as_json else "auto",
        )  # fmt: skip
        found.save(new)
        files = sorted(path.name for path in new.iterdir())
    chosen = [str(name) for name in _band_names(found)]
    result: dict[str, Any] = {
        **verdict_record(found.search),
        "n_clusters": int(found.n_clusters),
        "bands": chosen,
        "cleaning": str(found.cleaning),
        "normalisation": None if found.normalisation is None else str(found.normalisation),
        "folder": str(output),
        "files": files,
    }
    if as_json:
        click.echo(json.dumps(result))
    elif not quiet:
        if "verdict" in result:
            click.echo(in_words(result["verdict"]["text"], ("pixels", "bands")))
        click.echo(f"{result['cleaning']}\n{result['n_clusters']} groups by {len(chosen)} bands: {', '.join(chosen)}")
        if result["normalisation"]:
            click.echo(result["normalisation"])
        click.echo(f"report: {output / 'report.html'}")


def _shape(text):
    if text is None:
        return None
    try:
        rows, columns = map(int, text.lower().split("x"))
    except ValueError:
        raise InputError(f"--shape must look like 95x95; got {text!r}") from None
    return rows, columns


def _number(text):
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--spatial must be a number or auto; got {text!r}") from None


def _band_names(found):
    """Wavelengths of the selected bands with their unit, or their numbers (from 1, as in bands.csv)."""
    if found.wavelengths is None:
        return [int(j) + 1 for j in found.selected_bands]
    return [f"{found.wavelengths[j]:.5g} {found.cube.units}".strip() for j in found.selected_bands]
