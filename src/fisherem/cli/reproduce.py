"""The command that runs the paper's experiments."""

from __future__ import annotations

from pathlib import Path

import click

from .common import friendly

__all__ = ["reproduce"]

# Copied, since importing the experiments takes long and --help must be quick. A test compares the two.
PARTS = ("table1", "table2", "table3", "table4", "figures")


@click.command()
@click.argument("part", type=click.Choice([*PARTS, "all"]))
@click.option("--quick", is_flag=True, help="A taste in about two minutes: fewer replications, starts and data sets.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--jobs", type=int, default=None, help="Processes (all cores by default).")
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("results"), show_default=True,
              help="Folder; the same command continues from what is there.")  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@friendly
def reproduce(part, quick, seed, jobs, output, quiet):
    """Run the paper's experiments and put its numbers beside ours.

    PART is one of the tables, the figures, or all of them. Writes tables as Markdown and CSV, pictures, and a page
    results.md with what the numbers say.
    """
    from ..experiments import reproduce as run

    try:
        run(PARTS if part == "all" else (part,), output, quick=quick, seed=seed, n_jobs=jobs,
            progress=False if quiet else "auto")  # fmt: skip
    except KeyboardInterrupt:
        raise click.ClickException(f"interrupted: the same command continues from what is in {output}") from None
    if not quiet:
        for name in PARTS if part == "all" else (part,):
            if (section := output / f"{name}.md").exists():
                click.echo(section.read_text(encoding="utf-8"))
        click.echo(f"results: {output / 'results.md'}")
