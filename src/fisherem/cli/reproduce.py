"""The command that runs the paper's experiments."""

from __future__ import annotations

from pathlib import Path

import click

from .choices import Registered
from .common import friendly
from .options import quiet_option

__all__ = ["reproduce"]


@click.command()
@click.argument("part", type=Registered("experiments:PARTS", words=("all",)))
@click.option("--quick", is_flag=True, help="A taste in about two minutes: fewer replications, starts and data sets.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--jobs", type=int, default=None, help="Processes (all cores by default).")
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("results"), show_default=True,
              help="Folder; the same command continues from what is there.")  # fmt: skip
@quiet_option
@friendly
def reproduce(part, quick, seed, jobs, output, quiet):
    """Run the paper's experiments and put its numbers beside ours.

    PART is one of the tables, the figures, or all of them. Writes tables as Markdown and CSV, pictures, and a page
    results.md with what the numbers say.
    """
    from ..experiments import PARTS
    from ..experiments import reproduce as run

    parts = PARTS if part == "all" else (part,)
    try:
        run(parts, output, quick=quick, seed=seed, n_jobs=jobs, progress=False if quiet else "auto")
    except KeyboardInterrupt:
        raise click.ClickException(f"interrupted: the same command continues from what is in {output}") from None
    if not quiet:
        for name in parts:
            if (section := output / f"{name}.md").exists():
                click.echo(section.read_text(encoding="utf-8"))
        click.echo(f"results: {output / 'results.md'}")
