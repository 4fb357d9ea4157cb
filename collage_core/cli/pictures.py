"""The pictures of `collage explain`: DOT on standard output, or a layout or charts in a file."""

from __future__ import annotations

from pathlib import Path

import click

from ..drawings.charts import check_charts, write_html
from ..drawings.layouts import check_drawing
from ..drawings.layouts import draw as draw_layout
from ..errors import CollageError
from ..pipeline.record.record import RunRecord
from ..rewrite.export.dot import dot_text, plan_drawing
from .say import say


def make_pictures(path: Path, as_dot: bool, draw: Path | None, charts: Path | None) -> None:
    """Make what is asked for of the run at `path` (as in `record_path`). A missing package is an error before the run is read.

    Raises:
        CollageError: there is no such run, a package is not installed, or a file cannot be written.
    """
    if draw is not None:
        check_drawing(draw)
    if charts is not None:
        check_charts()
    record = RunRecord.load(path)
    if as_dot:
        click.echo(dot_text(record.graph, plan_drawing(record.plan)), nl=False)
    for file, make in ((draw, draw_layout), (charts, write_html)):
        if file is None:
            continue
        try:
            make(record, file)
        except OSError as error:
            raise CollageError(f"cannot write {str(file)!r}: {error.strerror}", "give another file", "unwritable") from error
        say(f"wrote {file}", err=True)
