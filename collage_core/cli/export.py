"""`collage export`: writes a run in formats of others, such as an annotated ONNX file, a drawing, or tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

import click

from ..errors import CollageError
from ..pipeline.record import RunRecord, record_path
from .json_output import print_json
from .say import say
from .watched import watched

SERVED = {"report": "report.html", "session": "run.collage"}
"""The formats that the explorer's server makes, which brings the run into its store for that → the file."""


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--as", "formats", required=True, metavar="report,session,onnx,…", help="The formats, separated by commas: see above.")
@click.option("--model", metavar="MODEL", help="The model's file, which onnx needs, and a session holds; a sample is found by its name.")
@click.option("--out", type=click.Path(path_type=Path), help="The folder for the files; that of the run unless given.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@watched
def export(run: Path, formats: str, model: str | None, out: Path | None, as_json: bool) -> None:
    """Write the RUN (its folder, or a file in it) in other formats.

    onnx (your file with the plan in its metadata), dot, svg, csv, onnxruntime, html (charts), report (one HTML file that shows everything),
    session (a file for `collage explore`).
    """
    from ..results.formats import FORMATS, check_formats
    from ..results.formats import export as export_run

    asked = [one.strip() for one in formats.split(",")]
    check_formats(asked, (*FORMATS, *SERVED))
    record = RunRecord.load(run)
    folder = out or record_path(run).parent
    plain = [one for one in asked if one not in SERVED]
    written = export_run(record, plain, folder, model) if plain else []
    if len(plain) < len(asked):
        written += _served(run, asked, folder, model)
    if as_json:
        print_json({"schema": 1, "files": [str(path) for path in written]})
    else:
        for path in written:
            say(f"wrote {path}", err=True)


def _served(run: Path, asked: Sequence[str], folder: Path, model: str | None) -> Iterator[Path]:
    """Write those of the formats `asked` that the server makes."""
    named = str(run if run.name.endswith(".gz") else record_path(run).parent)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CollageError(f"cannot write {str(folder)!r}: {error.strerror}", "give another folder with --out", "unwritable") from error
    for wanted in (one for one in SERVED if one in asked):
        file = folder / SERVED[wanted]
        if wanted == "report":
            import_module("collage_server.report.write").write_report(named, file, model)
        else:
            import_module("collage_server.session_file").save_session(named, file, run_model=model)
        yield file
