"""`collage survey`: many models in one table, as text, JSON, CSV and a page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..base.counted import counted
from ..base.durations import duration
from ..base.whole_file import write_whole
from ..documents.survey import SurveyRow, SurveyTable
from ..errors import CollageError
from .json_output import document_json, print_document, prints_to_stderr
from .run_options import BUDGET_HELP, COSTS_HELP, TARGETS_HELP, TUNE_HELP, fleet_options, options_of, values_option
from .say import say
from .trust import asks_trust

if TYPE_CHECKING:
    from ..options import Options
    from ..survey.survey import SurveyStep

NAME = "survey"
FILE_WIDTH = 200
"""Columns of a table that is printed into a file or a pipe."""


@click.command()
@click.argument("models", nargs=-1, required=True)
@click.option("--targets", help=TARGETS_HELP)
@click.option(
    "--toolchain",
    "toolchain_files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE.toml",
    help="TOML file that describes a toolchain (docs/files.md). Repeatable.",
)
@click.option("--costs", default="measure", show_default=True, help=COSTS_HELP)
@click.option("--costs-db", metavar="PATH|URL", help="The cost database, instead of the one in COLLAGE_COSTS or your data folder.")
@fleet_options
@click.option("--threads", type=int, help="Threads of every kernel; by default the number of usable cores.")
@click.option(
    "--accuracy", type=float, help="Largest relative error of an output. The default depends on each model's types: 1e-3 in float32."
)
@values_option
@click.option("--budget", metavar="TIME", help=BUDGET_HELP)
@click.option("--tune", metavar="TIME", help=TUNE_HELP)
@click.option("--time-limit", type=float, help="Seconds after which each search returns its best plan so far.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=NAME, show_default=True, help="Folder for the tables, and a folder for each model."
)
@click.option("--json", "as_json", is_flag=True, help="Print the table as one JSON document.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the table as CSV.")
@asks_trust("models")
def survey(models: tuple[str, ...], out: Path, as_json: bool, as_csv: bool, **given: Any) -> None:
    """Partition many MODELS (files, samples, or folders of ONNX files) and print one table.

    For each model the table has the time of each toolchain alone, the plan, how much faster it is, and what limits it. The folder of
    --out gets a folder for each model, and the table as survey.json, survey.csv and survey.html. The same command continues an
    interrupted survey, and runs only models that changed or have no plan.
    """
    from ..survey.survey import models_of
    from ..survey.survey import survey as steps
    from ..survey.tables import survey_csv
    from .terminal import Progress

    if as_json and as_csv:
        raise CollageError("--json and --csv both print the table", "leave one of them out: --out has both as files", "bad_option")
    options = options_of({**_UNSAID, **given})
    rows: list[SurveyRow] = []
    with Progress(quiet=not sys.stderr.isatty()) as progress, prints_to_stderr():
        for step in steps(models_of(models), options, out, progress):
            say(_step_text(step), err=True)
            if step.row is not None:
                rows.append(step.row)
                _write(out, rows, options)
    if as_json:
        print_document(_table(rows, options))
    elif as_csv:
        click.echo(survey_csv(rows), nl=False)
    else:
        _show(rows)


_UNSAID: dict[str, Any] = {
    **dict.fromkeys(("shapes", "values", "depths", "exits", "taps", "fusions"), ()),
    "constraints_file": None,
    "allow_taps": False,
    "no_fold": False,
}
"""Options of a run that belong to one model alone, as if they were not given."""


def _step_text(step: SurveyStep) -> str:
    from ..survey.tables import sentence

    left = f"; about {duration(step.left_s, 2)} left" if step.left_s else ""
    number = f"{step.number} of {step.count}"
    if step.row is None:
        return f"{number}: {step.model} …{left}"
    took = "known from before" if step.was_known else duration(step.row.seconds)
    return f"{number}: {sentence(step.row)} ({took}){left}"


def _table(rows: list[SurveyRow], options: Options) -> SurveyTable:
    return SurveyTable(options.to_json(), options.targets, tuple(rows))


def _write(folder: Path, rows: list[SurveyRow], options: Options) -> None:
    """Write the tables of the rows so far."""
    import json

    from ..survey.tables import survey_csv, survey_page

    about = f"{', '.join(options.targets)}; {counted(options.used_threads, 'thread')}; costs: {options.costs}"
    write_whole(folder / f"{NAME}.json", json.dumps(document_json(_table(rows, options))).encode())
    write_whole(folder / f"{NAME}.csv", survey_csv(rows).encode("utf-8", "replace"))
    write_whole(folder / f"{NAME}.html", survey_page(rows, about).encode("utf-8", "replace"))


def _show(rows: list[SurveyRow]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..errors import printable
    from ..survey.tables import cells, header, reasons, targets_of

    targets = targets_of(rows)
    table = Table(*header(targets), box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in cells(row, targets)))
    Console(highlight=False, file=sys.stdout, width=None if sys.stdout.isatty() else FILE_WIDTH).print(table)
    for row in rows:
        for reason in reasons(row):
            say(f"{row.model}: {reason}")
