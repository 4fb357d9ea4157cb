"""`FORMATS`: the files as which a run is exported, and `export`, which writes some of them. A further format is one row of the table.

A run and, where a format holds it, the user's model enter; bytes leave. The page, the command line and Python read this table, so
they offer the same files with the same content.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ..base.whole_file import write_whole
from ..errors import CollageError
from .source import Source

if TYPE_CHECKING:
    from ..pipeline.record.record import RunRecord


@dataclass(frozen=True)
class ExportFile:
    """A file of an export.

    Attributes:
        format: The word of ``--as`` that asks for it.
        name: Its name in the folder.
        says: What is in it, for people.
        make: Makes its content of a run and the user's model; None where the explorer's server writes it (`write_served`).
        needs_model: Whether `make` asks for the model.
    """

    format: str
    name: str
    says: str
    mimetype: str
    make: Callable[[RunRecord, Source], bytes] | None
    needs_model: bool = False


def _made_by(module: str, function: str, *, of_model: bool = False) -> Callable[[RunRecord, Source], bytes]:
    """Return what makes a file of a run, imported when it is called: the server lists the files, and makes them in a worker process.

    Args:
        of_model: The function takes the user's model as well.
    """

    def make(record: RunRecord, source: Source) -> bytes:
        asked = (record, source) if of_model else (record,)
        content: bytes | str = getattr(import_module(module, __package__), function)(*asked)
        return content.encode() if isinstance(content, str) else content

    return make


def _dot(record: RunRecord, source: Source) -> bytes:
    from ..rewrite.export.dot import dot_text, plan_drawing

    return dot_text(record.graph, plan_drawing(record.plan)).encode()


FILES = (
    ExportFile("onnx", "annotated.onnx", "your model, with target, partition, cost and regrets of each node in its metadata",
               "application/octet-stream", _made_by(".annotated_file", "annotated_file", of_model=True), needs_model=True),
    ExportFile("devices", "devices.onnx", "your model, with the device of each node as ONNX (IR 11) and ONNX Runtime read it",
               "application/octet-stream", _made_by(".placed_files", "devices_file", of_model=True), needs_model=True),
    ExportFile("openvino", "openvino_hetero.py", "a program that opens your model in OpenVINO with each operator on its device",
               "text/x-python", _made_by(".placed_files", "hetero_file", of_model=True), needs_model=True),
    ExportFile("relax", "vdevices.json", "the model in Relax (TVM), with the device of each tensor in its type",
               "application/json", _made_by(".placed_files", "vdevices_file", of_model=True), needs_model=True),
    ExportFile("dot", "graph.dot", "the graph with its partitions, in Graphviz's language", "text/vnd.graphviz", _dot),
    ExportFile("svg", "graph.svg", "the same as a drawing", "image/svg+xml", _made_by("..drawings.layouts", "svg")),
    ExportFile("csv", "nodes.csv", "each node: target, partition, cost, regrets", "text/csv", _made_by(".tables", "nodes_csv")),
    ExportFile("csv", "partitions.csv", "each partition and transition, with its cost", "text/csv",
               _made_by(".tables", "partitions_csv")),
    ExportFile("onnxruntime", "onnxruntime_session.json", "ONNX Runtime alone: its session's options, and how much of the gain it keeps",
               "application/json", _made_by(".ort_session", "session_json")),
    ExportFile("html", "charts.html", "charts of totals and of where the time goes (by plotly)", "text/html",
               _made_by("..drawings.charts", "html")),
    ExportFile("report", "report.html", "everything that the page shows of the run, to open from disk without a server", "text/html", None),
    ExportFile("session", "run.collage", "the run with its model, to open with `collage explore` where no toolchain is", "application/zip",
               None),
)  # fmt: skip
"""Every file, in the order in which the page offers them."""

FORMATS = tuple(dict.fromkeys(file.format for file in FILES))


def file_named(name: str) -> ExportFile:
    """Return the file of that name. Raises CollageError where there is none."""
    for file in FILES:
        if file.name == name:
            return file
    raise CollageError(f"no export is called {name[:60]!r}", f"it is one of {', '.join(one.name for one in FILES)}", "unknown_export")


def check_formats(formats: Sequence[str]) -> None:
    """Raise CollageError where one of `formats` is not among `FORMATS`, or there is none."""
    unknown = next((one for one in formats if one not in FORMATS), None)
    if unknown is not None or not formats:
        raise CollageError(f"there is no format {unknown or ''!r}", f"give some of {', '.join(FORMATS)}", "bad_option")


def export(record: RunRecord, formats: Sequence[str], folder: Path, model: Source = None) -> list[Path]:
    """Write the files of some `formats` into `folder`, each whole or not at all, and return their paths.

    Raises:
        CollageError: there is no such format, the model is needed and was not given, a package is not installed, or a file cannot be
            written. What was written before stays.
    """
    check_formats(formats)
    written = []
    for file in (one for one in FILES if one.format in formats):
        path = folder / file.name
        try:
            _write(file, record, path, model)
        except OSError as error:
            raise CollageError(f"cannot write {str(path)!r}: {error.strerror}", "give another folder", "unwritable") from error
        written.append(path)
    return written


def _write(file: ExportFile, record: RunRecord, path: Path, model: Source) -> None:
    content = None if file.make is None else file.make(record, model)
    path.parent.mkdir(parents=True, exist_ok=True)
    if content is None:
        from .served_files import write_served

        write_served(file.format, record, path, model)
    else:
        write_whole(path, content)
