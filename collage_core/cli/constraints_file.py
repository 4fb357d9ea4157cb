"""Reads a constraints file, and adds the file and the line to mistakes in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..base.json_file import read_json
from ..base.user_file import read_text
from ..errors import CollageError


def read_constraints(path: Path | None) -> tuple[dict[str, Any], ...]:
    """Return the constraints in the file `path`; none where `path` is None.

    Raises:
        CollageError: the file cannot be read, or is not a constraints file.
    """
    if path is None:
        return ()
    form = 'the form is {"constraints": [...]}'
    _, data = read_json(path, "bad_constraint", form)
    if not isinstance(data, dict) or not isinstance(data.get("constraints"), list):
        raise CollageError(f"{str(path)!r} holds no constraints", form, "bad_constraint")
    return tuple(data["constraints"])


@contextmanager
def mistakes_located(path: Path | None) -> Iterator[None]:
    """Add the file and the line to a mistake that is found inside the ``with`` block in the constraints of the file `path`."""
    from ..search.source_lines import ProblemMistake

    try:
        yield
    except ProblemMistake as error:
        raise error if path is None else error.in_file(path, read_text(path)) from error
