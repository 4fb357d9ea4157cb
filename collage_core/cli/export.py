"""`collage export`: writes a run in formats of others, such as an annotated ONNX file, a drawing, or tables."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import CollageError
from ..pipeline.record.record import RunRecord, record_path
from .json_output import print_json
from .say import say
from .trust import asks_trust
from .watched import watched


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--as", "formats", required=True, metavar="report,session,onnx,…", help="The formats, separated by commas.")
@click.option("--model", metavar="MODEL", help="The model's file, for onnx and session. Samples need none.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the files; by default that of the run.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@asks_trust("model")
@watched
def export(run: Path, formats: str, model: str | None, out: Path | None, as_json: bool) -> None:
    """Write the RUN (its folder, or a file in it) in other formats.

    Formats: onnx (your file with the plan in its metadata), dot, svg, csv, onnxruntime (session options), html (charts), report (the
    whole page as one HTML file), session (a file for `collage explore`).
    """
    from ..drawings.layouts import check_graphviz
    from ..results.formats import check_formats
    from ..results.formats import export as export_run

    asked = [one.strip() for one in formats.split(",")]
    check_formats(asked)
    if "svg" in asked:
        try:
            check_graphviz()
        except CollageError as error:
            say(f"note: {error.message}, so the graph is drawn in plain layers: {error.hint}", err=True)
    folder = out or record_path(run).parent
    written = export_run(RunRecord.load(run), asked, folder, model)
    if as_json:
        print_json({"schema": 1, "files": [str(path) for path in written]})
    else:
        for path in written:
            say(f"wrote {path}", err=True)
