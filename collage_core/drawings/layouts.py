"""Lays the graph of a run out with Graphviz and draws it, its partitions as clusters: `layout` gives what a notebook shows.

A run enters; an SVG, PNG or PDF leaves. The Python package `graphviz` calls the program `dot`, which is installed apart from it; the DOT
is ours (`rewrite.export.dot`), in which names of models are quoted.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from ..errors import CollageError
from ..pipeline.record.record import RunRecord
from ..rewrite.export.dot import dot_text, plan_drawing
from .layers import nodes_svg
from .optional import needed

FORMATS = ("svg", "png", "pdf")


def layout(record: RunRecord) -> Any:
    """Return the graph of a run with the partitions of its plan as a ``graphviz.Source``.

    Raises:
        CollageError: the package is not installed.
    """
    return needed("graphviz", "graphviz", "laying a graph out").Source(dot_text(record.graph, plan_drawing(record.plan)), engine="dot")


def draw(record: RunRecord, file: Path) -> None:
    """Draw the graph of a run into `file`, in the format of its ending.

    Raises:
        CollageError: the ending is unknown, the package or the program is not installed, or Graphviz fails.
        OSError: `file` cannot be written.
    """
    check_drawing(file)
    file.write_bytes(_drawn(layout(record), _format(file)))


def check_drawing(file: Path) -> None:
    """Check that a graph could be drawn into `file`, before there is one.

    Raises:
        CollageError: the ending is unknown, or the package or the program is not installed.
    """
    if _format(file) not in FORMATS:
        known = ", ".join(f".{one}" for one in FORMATS)
        raise CollageError(f"no drawing is made as {file.name!r}", f"end the name with one of {known}", "bad_option")
    check_graphviz()


def check_graphviz() -> None:
    """Raise CollageError where Graphviz's package or program is not installed."""
    needed("graphviz", "graphviz", "laying a graph out")
    if shutil.which("dot") is None:
        raise _without_program()


def _format(file: Path) -> str:
    return file.suffix.lower().removeprefix(".")


def _without_program() -> CollageError:
    hint = "apt install graphviz (or brew install graphviz); --dot prints the graph without it"
    return CollageError("Graphviz's program `dot` is not installed", hint, "not_installed")


def svg(record: RunRecord) -> bytes:
    """Return the graph of a run as SVG: laid out by Graphviz, or where its package or program is not installed, in layers by ourselves.

    Raises:
        CollageError: Graphviz fails.
    """
    try:
        return _drawn(layout(record), "svg")
    except CollageError as error:
        if error.code != "not_installed":
            raise
        return nodes_svg(record).encode()


def _drawn(source: Any, wanted: str) -> bytes:
    graphviz = needed("graphviz", "graphviz", "laying a graph out")
    try:
        drawn: bytes = source.pipe(format=wanted, quiet=True)
    except graphviz.ExecutableNotFound as error:
        raise _without_program() from error
    except subprocess.CalledProcessError as error:
        errors = (error.stderr or b"").decode(errors="replace").strip().splitlines()
        reason = errors[-1] if errors else f"exit status {error.returncode}"
        raise CollageError(f"`dot` could not lay the graph out: {reason}", "--dot prints what it was given", "graphviz") from error
    return drawn
