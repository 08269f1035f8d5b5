"""The command `segment`: from a hyperspectral image to a map, the selected bands and mean spectra."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from .choices import SHARE, Model, Parsed, Registered, names_list, or_auto, whole
from .common import CLUSTER_RANGE, cluster_range, friendly, quiet_warnings
from .folders import check_inputs
from .options import SEED, json_option, output_option, quiet_option
from .results import verdict_record

__all__ = ["segment"]


# The value of `normalise` for each of the three flags, and without a flag.
_NORMALISE = {None: "auto", "yes": True, "soft": "soft", "no": False}
# The file in the output folder from which an interrupted run resumes.
CHECKPOINT = ".checkpoint.npz"


def _clusters(text: str):
    """A number of groups, a list of several, or "auto"."""
    numbers = cluster_range(text)
    return numbers if text == "auto" or len(numbers) > 1 else numbers[0]


def _size(text: str) -> float:
    if not text.endswith("%"):
        return float(text)
    share = float(text[:-1]) / 100
    if not 0 <= share < 1:
        raise ValueError
    return share


def _rgb(text: str) -> list[int]:
    bands = [whole(1)(part.strip()) - 1 for part in text.split(",")]
    if len(bands) != 3:
        raise ValueError
    return bands


def _keep(text: str) -> list[str]:
    from ..images.faults import as_keep

    return sorted(as_keep([part.strip() for part in text.split(",") if part.strip()]))


def _shape(text: str) -> tuple[int, int]:
    rows, columns = map(int, text.lower().split("x"))
    return rows, columns


@click.command()
@click.argument("image", type=click.Path(path_type=Path))
@click.option("-k", "--clusters", type=Parsed("NUMBERS", _clusters, CLUSTER_RANGE),
              help="Number of groups; auto, or a range such as 2:8, chooses it on a sample of pixels.")  # fmt: skip
@click.option("--criterion", type=Registered("model.criteria:CRITERIA", words=("auto", "verdict")), default="auto",
              show_default=True, help="Rule for the number of groups, as for search; auto is verdict.")  # fmt: skip
@click.option("--sparsity", type=SHARE, default="auto", show_default=True,
              help="auto selects the bands; a share uses --method, 1 keeps all.")  # fmt: skip
@click.option("--model", type=Model("model.dlm:MODELS", words=("auto",)),
              help="By default DB with --sparsity auto, AkjB with a share.")  # fmt: skip
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
@click.option("--normalise", flag_value="yes", default=None,
              help="Divide each pixel by its norm. By default, chosen to separate the groups best.")  # fmt: skip
@click.option("--soft-normalise", "normalise", flag_value="soft",
              help="Divide each pixel by sqrt(norm^2 + median norm^2), so that dark pixels stay dark.")  # fmt: skip
@click.option("--no-normalise", "normalise", flag_value="no", help="Use the pixels as they are.")
@click.option("--standardise", is_flag=True, help="Standardise the bands.")
@click.option("--missing", type=Registered("tables.gaps:TREATMENTS", words=("auto",)), default="auto",
              show_default=True,
              help="Treatment of missing values: model fits the observed values, drop-rows leaves out the pixels, "
              "drop-columns the bands; auto is model if more than 5% of the pixels are affected.")  # fmt: skip
@click.option("--keep", type=Parsed("WHAT", _keep, "fill, bands, columns (separated by commas) or all"), default="",
              help="Keep data that look faulty but are not marked as such: fill (pixels with one value in every "
              "band), bands (noise), columns (striped, dead), or all. Left out and listed by default.")  # fmt: skip
@click.option("--min-size", type=Parsed("SIZE", _size, "a number of pixels or a share below 100%"), default="0",
              show_default=True, help="Minimum size of a group, such as 50 or 1%. Smaller groups are dissolved: "
              "their pixels are assigned to the most probable other group, and the model is refitted.")  # fmt: skip
@click.option("--separate-bands", is_flag=True,
              help="Replace adjacent selected bands by separate ones if C(K, S) does not decrease.")  # fmt: skip
@click.option("--truth", type=click.Path(path_type=Path),
              help="Image of known classes (.png, .tif, .mat, .npy, .hdr) to compare the map with; 0 and no-data mark "
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
@click.option("--library", type=click.Path(path_type=Path), metavar="FILE",
              help="Spectral library (.csv with a column of wavelengths and a column per spectrum, or ENVI .sli): the "
              "nearest spectra of each group.")  # fmt: skip
@click.option("--names", type=Parsed("A,B,...", names_list, "names separated by commas"),
              help="Names of the groups, for the maps, the tables, the report page and the model.")  # fmt: skip
@click.option("--apply", "model_file", metavar="MODEL", type=click.Path(path_type=Path),
              help="Assign the pixels to the groups of a model.skops from another scene.")  # fmt: skip
@click.option("--tolerance", type=click.FloatRange(0), metavar="NUMBER",
              help="With --apply: how far the nearest band may be from a band of the model, in the units of "
              "its wavelengths. [default: a quarter of the distance to its next band]")  # fmt: skip
@click.option("--resample", is_flag=True, help="With --apply: interpolate between the bands around a wavelength.")
@click.option("--variable", help="Name of the cube in a file of several arrays (.mat, .nc, .h5, .zarr).")
@click.option("--shape", type=Parsed("ROWSxCOLS", _shape, "like 95x95"), help="Rows and columns of a table of pixels.")
@click.option("--memory", metavar="SIZE", default="1GiB", show_default=True,
              help="Memory budget: cleaned pixels that take more than a quarter of it are read from the file in every "
              "pass; images whose labels, posteriors and maps take more than all of it are refused.")  # fmt: skip
@click.option("--seed", type=SEED, default=0, show_default=True)
@output_option("Folder for the results.")
@json_option
@quiet_option
@friendly
def segment(
    image, clusters, normalise, truth, truth_variable, names, model_file, tolerance, resample, variable, shape, seed,
    output, as_json, quiet, **options,
):  # fmt: skip
    """Segment a hyperspectral image.

    Writes maps, selected bands, mean spectra and a report page. IMAGE is an ENVI, GeoTIFF, NetCDF, HDF5, Zarr, .mat or
    .npy file.
    """
    from .._utils.atomic import output_folder
    from ..images import read, read_truth
    from ..images import segment as run
    from ..images.library import as_library
    from ..images.write import FILES
    from ..tables.parameters import parse_memory

    quiet_warnings()
    _check_task(clusters, model_file)
    check_inputs(output / name for name in FILES)
    scene = None if model_file is None else _scene_model(model_file)
    parse_memory(options["memory"])
    options |= {"normalise": _NORMALISE[normalise], "random_state": seed}
    cube = read(image, variable=variable, shape=shape)
    if options["library"] is not None:  # read first, like the classes
        options["library"] = as_library(options["library"], cube)
    if truth is not None:  # read first, so that an image of the wrong size fails before the fit
        options["truth"] = read_truth(truth, cube.shape[:2], variable=truth_variable)
    _check_number_of_names(names, clusters if scene is None else scene.n_clusters)
    with output_folder(output) as new:
        if scene is None:
            shown = False if quiet or as_json else "auto"
            found = run(cube, clusters, progress=shown, checkpoint=output / CHECKPOINT, **options)
        else:
            given = {name: options.get(name) for name in ("mask", "truth", "rgb", "keep", "library", "memory")}
            found = scene.predict(cube, tolerance=tolerance, resample=resample, **given)
        found = found if names is None else found.named(names)
        found.save(new)
        files = sorted(path.name for path in new.iterdir())
        check_inputs(output / name for name in files)  # a registered writer may add other files
    result = _result(found) | {"folder": str(output), "files": files}
    if as_json:
        click.echo(json.dumps(result))
    elif not quiet:
        _say(result, output)


# Options of a fit, which cannot be combined with --apply, and options that need --apply.
_OF_A_FIT = (
    "clusters", "criterion", "sparsity", "model", "method", "bands", "spatial", "normalise", "standardise", "missing",
    "min_size", "separate_bands", "stability", "seed",
)  # fmt: skip
_OF_A_MODEL = ("tolerance", "resample")


def _check_task(clusters, model_file: Path | None) -> None:
    """Fail early if it is not clear whether to fit or to apply a model."""
    context = click.get_current_context()
    if clusters is None and model_file is None:
        raise click.UsageError(
            "the number of groups is missing: give -k 5, a range such as -k 2:8, or -k auto to have it chosen; or "
            "--apply model.skops to use the model of another scene"
        )
    unused = _OF_A_MODEL if model_file is None else _OF_A_FIT
    given = [
        max(parameter.opts, key=len)
        for parameter in context.command.params
        if parameter.name in unused
        and context.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        why = "can only be used with --apply" if model_file is None else "cannot be used with --apply: it fits no model"
        raise click.UsageError(f"{', '.join(given)} {why}")


def _scene_model(path: Path):
    from ..images import SceneModel
    from ..persistence import load

    scene = load(path)
    if not isinstance(scene, SceneModel):
        held = type(scene).__name__
        raise ValueError(f"{path}: holds a {held} of a table; --apply needs a model.skops written by segment")
    return scene


def _check_number_of_names(names: list[str] | None, clusters) -> None:
    """Fail early if the number of groups is known and the number of names differs."""
    from ..images.scene_model import check_names

    if names is not None and isinstance(clusters, int):
        check_names(names, clusters)


def _result(found) -> dict[str, Any]:
    """The result as JSON-compatible values."""
    import numpy as np

    known, sure, named = found.comparison, found.stability, found.identified
    return {
        **verdict_record(found.search),
        "n_clusters": int(found.n_clusters),
        "sizes": np.bincount(found.labels[found.labels >= 0], minlength=found.n_clusters).tolist(),
        "bands": [str(name) for name in _band_names(found)],
        "cleaning": str(found.cleaning),
        "normalisation": None if found.normalisation is None else str(found.normalisation),
        "decisions": found.decisions_.to_dict("records"),
        "notes": list(found.notes),
        "colours": str(found.colours),
        "features": found.features_table().to_dict("records"),
        "library": None if named is None else named.table().replace({np.nan: None}).to_dict("records"),
        "identified": [] if named is None else named.lines(),
        "truth": None if known is None else {
            "accuracy": known.accuracy, "ari": known.rand, "n_labelled": known.n_labelled,
            "n_compared": known.n_compared, "classes": known.names, "table": known.table.tolist(), "text": str(known),
        },
        "stability": None if sure is None else {
            "n_refits": sure.n_refits, "n_pixels": sure.n_pixels, "pixels": sure.pixels, "agreement": sure.agreement,
            "groups": [None if share != share else float(share) for share in sure.groups],
        },
    }  # fmt: skip


# The decisions that are printed on separate lines; the verdict and the normalisation are printed as sentences.
_SAID = ("ridge", "spatial prior")


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
    for made in result["decisions"]:
        if made["decision"] in _SAID:
            click.echo(f"{made['decision']}: {made['choice']} ({made['reason']})")
    for text in result["identified"]:
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
