"""The group of all commands. Heavy imports happen inside the commands, so that --help is quick."""

from __future__ import annotations

import signal
import sys
import threading

import click

from .. import __version__
from .common import friendly, plain_output
from .comparing import compare
from .explaining import explain
from .fitting import fit, search
from .images import segment
from .options import output_option
from .reproduce import reproduce
from .subclustering import subcluster
from .using import predict, report, significance

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fisherem")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug):
    """Cluster high-dimensional data and select the variables that separate the groups."""
    plain_output()
    _end_in_order()


def _end_in_order() -> None:
    """Turn SIGTERM into SystemExit with exit code 143, so that unfinished files are removed."""
    if threading.current_thread() is not threading.main_thread():
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    click.get_current_context().call_on_close(lambda: signal.signal(signal.SIGTERM, before))


@click.command()
@output_option("Folder for the picture and the report.")
@friendly
def demo(output):
    """Cluster the built-in wine data.

    Prints the selected variables and writes a picture and the report page.
    """
    from ..demo import run

    run(output)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell):
    """Print the completion script of a shell.

    To activate it: eval "$(fisherem completion bash)"
    """
    from click.shell_completion import get_completion_class

    make = get_completion_class(shell)
    assert make is not None
    click.echo(make(main, {}, "fisherem", "_FISHEREM_COMPLETE").source())


for _command in (
    fit, search, explain, predict, report, significance, subcluster, compare, segment, reproduce, demo, completion
):  # fmt: skip
    main.add_command(_command)


if __name__ == "__main__":
    sys.exit(main())
