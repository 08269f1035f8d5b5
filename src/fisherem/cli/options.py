"""Options that several commands share."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import click

from .choices import Parsed, Registered, names_list, or_auto, whole

__all__ = [
    "DENSE", "SEED", "TableOptions", "fit_options", "group_names_option", "json_option", "memory_option",
    "noise_option", "output_option", "quiet_option", "result_options", "scale_option", "table_options",
    "transformation_option",
]  # fmt: skip

# The seeds that NumPy accepts.
SEED = click.IntRange(0, 2**32 - 1)
# The value of --method that disables the sparse step.
DENSE = "dense"

json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
scale_option = click.option(
    "--scale/--no-scale", default=None,
    help="Standardise the columns, or use them unchanged. [default: standardise unless they share a unit]",
)  # fmt: skip


noise_option = click.option(
    "--noise-factors", default=None, show_default="0; auto with missing cells",
    type=Parsed("NUMBER", or_auto(whole(0)), "a number of factors: give 0, 1, 2, ... or auto"),
    help="Number of noise factors common to all groups (such as size, brightness or batch); 0 is the paper's model.",
)  # fmt: skip
_transformation = click.option(
    "--transformation", type=click.Choice(["none", "power", "log-counts"]), default="none", show_default=True,
    help="power transforms skewed columns, with one exponent per column estimated within the groups; log-counts "
    "divides counts by size factors and takes log(1 + x).",
)  # fmt: skip
_counts = click.option(
    "--counts", "transformation", flag_value="log-counts", help="Short for --transformation log-counts."
)


def transformation_option(command):
    """Decorator: add --transformation and --counts."""
    return _transformation(_counts(command))


memory_option = click.option(
    "--memory", metavar="SIZE", default="1GB", show_default=True,
    help="Memory budget for the rows. Parquet, .npy and Zarr files that take more than half of it are read in blocks.",
)  # fmt: skip


def _all_of(options):
    """A decorator that adds options in this order."""

    def decorate(command):
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def output_option(what: str, default: str = "out"):
    """The option --output for a folder or a file, with the help text `what`."""
    folder = click.Path(path_type=Path)
    return click.option("-o", "--output", type=folder, default=Path(default), show_default=True, help=what)


def result_options(what: str):
    """The options of a command that writes a folder; `what` is the help text of --output."""
    force = click.option("--force", is_flag=True, help="Replace the results of another run in the folder.")
    return _all_of((output_option(what), force, json_option, quiet_option))


@dataclass(frozen=True)
class TableOptions:
    """The file with the rows of a command and how to read it: the options of `table_options`."""

    data: Path
    id_column: str | None = None
    label_column: str | None = None
    drop: tuple[str, ...] = ()
    comma: str | None = None
    transpose: bool | None = None
    missing: str = "model"
    duplicates: str = "error"
    sheet: str | None = None
    samples: Path | None = None
    weight_column: str | None = None
    annotate: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    covariate: tuple[str, ...] = ()

    @property
    def reading(self) -> dict:
        """The options of `open_table`."""
        return {
            "id_column": self.id_column, "label_column": self.label_column, "drop": self.drop, "comma": self.comma,
            "transpose": self.transpose, "find_ids": True, "missing": self.missing != "refuse",
            "duplicates": self.duplicates, "sheet": self.sheet, "samples": self.samples,
            "weight_column": self.weight_column, "annotate": self.annotate, "categories": self.categories,
            "covariates": self.covariate,
        }  # fmt: skip


def table_options(command):
    """Decorator: add the argument DATA and the options for reading it; the command gets them as one `source`."""
    names = tuple(TableOptions.__dataclass_fields__)

    @functools.wraps(command)
    def bundled(*arguments, **keywords):
        return command(*arguments, source=TableOptions(**{name: keywords.pop(name) for name in names}), **keywords)

    return _table_options(bundled)


_table_options = _all_of((
    click.argument("data", type=click.Path(path_type=Path)),
    click.option("--id-column", metavar="NAME",
                 help="Column of the file with the names of its rows; by default a column named like an identifier, or "
                 "the first one, if it contains unique text."),
    click.option("--label-column", metavar="NAME",
                 help="Column of known classes, for scoring only (not fitted); for explain, the groups."),
    click.option("--drop", metavar="NAME", multiple=True, help="Column of the file to leave out (may be repeated)."),
    click.option("--comma", type=Registered("tables.layout:COMMAS"), default=None,
                 help="Meaning of a comma inside a number, if a text file is ambiguous."),
    click.option("--transpose/--no-transpose", default=None,
                 help="Whether the columns of the file are the rows to cluster, as in a table of genes by samples. GEO "
                 "series matrix files are transposed automatically."),
    click.option("--missing", type=Registered("tables.gaps:TREATMENTS"), default="model", show_default=True,
                 help="Treatment of empty cells: fit the model to the observed cells, raise an error, or leave out the "
                 "rows or columns with empty cells."),
    click.option("--duplicates", type=Registered("tables.duplicates:DUPLICATES"), default="error", show_default=True,
                 help="Treatment of variables with the same name, such as the probes of a gene: keep the first, their "
                 "mean or their maximum, or raise an error."),
    click.option("--sheet", metavar="NAME", help="Sheet of a workbook, by name or number; the first by default."),
    click.option("--samples", metavar="FILE", type=click.Path(path_type=Path),
                 help="Sample sheet: a table with a row per sample, joined by the ids. Its columns go into labels.csv "
                 "and may be the --label-column, the --weight-column and a --covariate."),
    click.option("--categories", metavar="NAME", multiple=True,
                 help="Column of numbers that are categories, such as codes (may be repeated; fit, search and "
                 "explain). Columns of text are recognised."),
    click.option("--weight-column", metavar="NAME",
                 help="Column with the weights of the rows (fit, search and explain)."),
    click.option("--annotate", metavar="NAME", multiple=True,
                 help="Column that describes the rows: not used in the fit, but shown above the heat map and kept with "
                 "the groups (may be repeated)."),
    click.option("--covariate", metavar="NAME", multiple=True,
                 help="Column of the file or of --samples, such as a batch, whose effect is estimated together with "
                 "the groups and removed (may be repeated; fit, search and explain)."),
))  # fmt: skip
group_names_option = click.option(
    "--group-names", metavar="NAMES", default=None, type=Parsed("NAMES", names_list, "names separated by commas"),
    help="Names of the groups, separated by commas, in the order of their numbers.",
)  # fmt: skip

fit_options = _all_of((
    scale_option,
    click.option("--method", type=Registered("core.dlm.f_step.step:SPARSE_STEPS", words=(DENSE,)), default="two-step",
                 show_default=True, help="How the axes are made sparse; dense uses every variable."),
    click.option("--n-init", type=click.IntRange(1), default=10, show_default=True, help="Number of starts."),
    click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the starts."),
    click.option("--jobs", type=int, default=None, help="Cores to use (all by default)."),
    memory_option,
    result_options("Folder for the results."),
))  # fmt: skip
