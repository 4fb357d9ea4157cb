"""`collage report`: a run and everything that the page shows of it, as one HTML file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click

from .run_options import RUN_MODEL_HELP
from .say import say
from .trust import asks_trust


@click.command()
@click.argument("run")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="The file to write; by default <RUN>.html.")
@click.option("--model", metavar="MODEL", help=RUN_MODEL_HELP)
@asks_trust("model")
def report(run: str, out: Path | None, model: str | None) -> None:
    """Write a report of RUN: the whole page as one HTML file, which needs no server.

    RUN is the id of a run of the explorer, a folder that `collage partition --out` wrote, or the name of a sample (its recorded run).
    """
    file = out or Path(f"{Path(run).resolve().name}.html")
    import_module("collage_server.report_file").write_report(run, file, run_model=model, tell=_say_what)
    say(f"wrote {file}", err=True)


def _say_what(part: str) -> None:
    say(f"collecting {part}", err=True)
