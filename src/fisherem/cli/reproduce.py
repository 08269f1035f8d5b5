"""The command that runs the paper's experiments."""

from __future__ import annotations

import click

from .choices import Registered
from .common import friendly
from .options import SEED, output_option, quiet_option

__all__ = ["reproduce"]


@click.command()
@click.argument("part", type=Registered("experiments:PARTS", words=("all",)), default="all")
@click.option("--quick", is_flag=True, help="Fewer replications, starts and data sets; takes about two minutes.")
@click.option("--as-published", is_flag=True,
              help="Only Table 3, with the paper's algorithms and search, for both readings of the means.")  # fmt: skip
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("--jobs", type=int, default=None, help="Processes (all cores by default).")
@output_option("Folder for the results; the same command resumes an interrupted run.", "results")
@quiet_option
@friendly
def reproduce(part, quick, as_published, seed, jobs, output, quiet):
    """Repeat the paper's experiments.

    PART is one of the tables, the figures, or all of them (the default). Writes tables with the paper's numbers beside
    ours (Markdown and CSV), pictures, and results.md with a summary of each table.
    """
    from ..experiments import PARTS
    from ..experiments import reproduce as run

    if as_published and part not in ("all", "table3"):
        raise click.UsageError(f"--as-published applies to table3 only; got {part}")
    parts = PARTS if part == "all" else (part,)
    options = {"quick": quick, "seed": seed, "n_jobs": jobs, "as_published": as_published}
    try:
        found = run(parts, output, progress=False if quiet else "auto", **options)
    except KeyboardInterrupt:
        raise click.ClickException(f"interrupted: the same command resumes from the records in {output}") from None
    if not quiet:
        for name in found if as_published else parts:
            if (section := output / f"{name}.md").exists():
                click.echo(section.read_text(encoding="utf-8"))
        click.echo(f"results: {output / 'results.md'}")
