"""Writes the commands' JSON documents: to standard output, which they have to themselves, or to a file."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, redirect_stdout
from pathlib import Path
from typing import Any

import click

from ..documents.json_form import to_json
from ..errors import CollageError

SCHEMA = 1
"""Of every answer (docs/files.md)."""


def print_json(document: Any) -> None:
    """Print `document` on standard output."""
    click.echo(json.dumps(document, allow_nan=False))


def print_document(document: Any) -> None:
    """Print an answer of `collage_core.documents`."""
    print_json(document_json(document))


def document_json(document: Any) -> dict[str, Any]:
    """Return an answer as JSON, with the number of its schema."""
    return {"schema": SCHEMA, **to_json(document)}


def write_json(path: Path, document: Any) -> None:
    """Write `document` to the file `path`.

    Raises:
        CollageError: the file cannot be written.
    """
    try:
        path.write_text(json.dumps(document) + "\n")
    except OSError as error:
        raise CollageError(f"cannot write {str(path)!r}: {error.strerror}", "give another file", "unwritable") from error


def prints_to_stderr() -> AbstractContextManager[object]:
    """Redirect prints inside the ``with`` block to standard error, such as those of a toolchain's plug-in."""
    return redirect_stdout(sys.stderr)
