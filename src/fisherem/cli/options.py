"""Options that several commands share."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import click

from .choices import Registered

__all__ = [
    "DENSE", "Source", "fit_options", "force_option", "json_option", "memory_option",
    "noise_option", "quiet_option", "scale_option", "table_options", "transformation_option",
]  # fmt: skip

# The word for no sparse step at all.
DENSE = "dense"

json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
force_option = click.option("--force", is_flag=True, help="Replace the results of another run in the folder.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
scale_option = click.option(
    "--scale/--no-scale", default=None,
    help="Standardise the columns, or leave them as they are. [default: standardise them unless they share a unit]",
)  # fmt: skip


class _Number(click.ParamType):
    """A whole number, 0 or more, or the word auto."""

    name = "NUMBER"

    def convert(self, value, param, ctx):
        """The number, or "auto"."""
        if value == "auto" or isinstance(value, int):
            return value
        if not (value.isascii() and value.isdigit()):
            self.fail(f"{value!r} is not a number of factors: give 0, 1, 2, ... or auto", param, ctx)
        return int(value)


noise_option = click.option(
    "--noise-factors", type=_Number(), default="auto", show_default=True,
    help="Factors that the noise of all groups shares (size, brightness, batch); 0 is the paper's model.",
)  # fmt: skip
transformation_option = click.option(
    "--transformation", type=click.Choice(["none", "power"]), default="none", show_default=True,
    help="power bends skewed columns: an exponent each, estimated within the groups.",
)  # fmt: skip
memory_option = click.option(
    "--memory", metavar="SIZE", default="1GB", show_default=True,
    help="Memory for the rows. Parquet, .npy and Zarr files that take more than half of it are read in blocks.",
)  # fmt: skip


def _all_of(options):
    """A decorator that adds options in this order."""

    def decorate(command):
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@dataclass(frozen=True)
class Source:
    """Where the rows of a command come from, and how the file is to be read: the options of `table_options`."""

    data: Path
    id_column: str | None = None
    label_column: str | None = None
    drop: tuple[str, ...] = ()
    comma: str | None = None
    transpose: bool | None = None
    missing: str = "model"

    @property
    def reading(self) -> dict:
        """The options of `open_table`."""
        return {
            "id_column": self.id_column, "label_column": self.label_column, "drop": self.drop, "comma": self.comma,
            "transpose": self.transpose, "find_ids": True, "missing": self.missing != "refuse",
        }  # fmt: skip


def table_options(command):
    """Decorator: the argument DATA and the options that say how it is read, given to the command as one `source`."""
    names = tuple(Source.__dataclass_fields__)

    @functools.wraps(command)
    def bundled(*arguments, **keywords):
        return command(*arguments, source=Source(**{name: keywords.pop(name) for name in names}), **keywords)

    return _table_options(bundled)


_table_options = _all_of((
    click.argument("data", type=click.Path(path_type=Path)),
    click.option("--id-column", metavar="NAME",
                 help="Column that names the rows; by default the first, if it holds text and no two cells alike."),
    click.option("--label-column", metavar="NAME", help="Column of known classes: for scoring only, never fitted."),
    click.option("--drop", metavar="NAME", multiple=True, help="Column to leave out (may be repeated)."),
    click.option("--comma", type=Registered("tables.layout:COMMAS"), default=None,
                 help="What a comma inside of a number is, where a text file leaves it open."),
    click.option("--transpose/--no-transpose", default=None,
                 help="Make the columns of the file the rows, as for a table of genes by samples. Series matrix files "
                 "of GEO are turned by themselves."),
    click.option("--missing", type=Registered("tables.gaps:TREATMENTS"), default="model", show_default=True,
                 help="What is done about empty cells: the model uses what is observed of each row, they are refused, "
                 "or the rows or columns that have them are left out."),
))  # fmt: skip

fit_options = _all_of((
    scale_option,
    click.option("--method", type=Registered("core.dlm.f_step.step:SPARSE_STEPS", words=(DENSE,)), default="two-step",
                 show_default=True, help="How the axes are made sparse; dense uses every variable."),
    click.option("--n-init", type=click.IntRange(1), default=10, show_default=True, help="Number of starts."),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed of the starts."),
    click.option("--jobs", type=int, default=None, help="Cores to use (all by default)."),
    memory_option,
    click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("out"), show_default=True,
                 help="Folder for the results."),
    force_option,
    json_option,
    quiet_option,
))  # fmt: skip
