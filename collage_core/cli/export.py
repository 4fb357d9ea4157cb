"""`collage export`: writes a run in formats of others, such as an annotated ONNX file, a drawing, or tables."""

from __future__ import annotations

from pathlib import Path

import click

from .explanation import record_at
from .json_output import print_json
from .say import say
from .watched import watched


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--as", "formats", required=True, metavar="onnx,dot,svg,csv,onnxruntime,html", help="The formats, separated by commas.")
@click.option("--model", metavar="MODEL", help="The model's file, which onnx needs; a sample is found by its name.")
@click.option("--out", type=click.Path(path_type=Path), help="The folder for the files; that of the run unless given.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@watched
def export(run: Path, formats: str, model: str | None, out: Path | None, as_json: bool) -> None:
    """Write the RUN (its folder, or a file in it) in other formats: your ONNX file with the plan in its metadata, DOT, SVG, CSV, charts."""
    from ..results.formats import export as export_run

    asked = [one.strip() for one in formats.split(",")]
    record = record_at(run)
    written = export_run(record, asked, out or (run if run.is_dir() else run.parent), model)
    if as_json:
        print_json({"schema": 1, "files": [str(path) for path in written]})
    else:
        for path in written:
            say(f"wrote {path}", err=True)
