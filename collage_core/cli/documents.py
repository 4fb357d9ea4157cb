"""What the commands share: the documents that they print, and the constraints that they read."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import click

from ..base.json_file import read_json
from ..errors import CollageError


def print_json(document: Any) -> None:
    """One document on standard output."""
    click.echo(json.dumps(document, allow_nan=False))


def write_json(path: Path, document: Any) -> None:
    """The document as the file `path`.

    Raises:
        CollageError: it cannot be written.
    """
    try:
        path.write_text(json.dumps(document) + "\n")
    except OSError as error:
        raise CollageError(f"cannot write {str(path)!r}: {error.strerror}", "give another file", "unwritable") from error


def plug_ins_aside() -> AbstractContextManager[object]:
    """What a toolchain prints in this process goes to standard error: the document is alone on standard output."""
    return redirect_stdout(sys.stderr)


def read_constraints(path: Path | None) -> tuple[dict[str, Any], ...]:
    """What the constraints file `path` holds; nothing where there is none.

    Raises:
        CollageError: it cannot be read, or is no such file.
    """
    if path is None:
        return ()
    form = 'the form is {"constraints": [...]}'
    _, data = read_json(path, "bad_constraint", form)
    if not isinstance(data, dict) or not isinstance(data.get("constraints"), list):
        raise CollageError(f"{str(path)!r} holds no constraints", form, "bad_constraint")
    return tuple(data["constraints"])


@contextmanager
def naming(path: Path | None) -> Iterator[None]:
    """What is wrong in the constraints file `path` is told with the file and the line."""
    from ..search.source_lines import ProblemMistake

    try:
        yield
    except ProblemMistake as error:
        raise error if path is None else error.in_file(path, path.read_text(encoding="utf-8")) from error
