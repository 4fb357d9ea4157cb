"""Write and read the files in which costs get from one database to another: JSON lines, packed or not.

Another cost database can be read as well. A file is read to its end and validated before anything of it is used; a file that is
written appears under its name only when it is complete.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...base.user_file import open_file
from ...errors import CollageError
from .database import CostDatabase
from .json_lines import Costs, read_lines, write_lines
from .maintenance import Selection, records, selected_transitions, selected_tunings
from .records import CostRow, TransitionRow, TuningRow

STREAM = "-"
_SQLITE_MAGIC = b"SQLite format 3\x00"
_GZIP_MAGIC = b"\x1f\x8b"


def write_file(file: str, costs: Iterable[CostRow], pairs: Iterable[TransitionRow], kernels: Iterable[TuningRow] = ()) -> None:
    """Write a file that `read_file` reads; ``-`` is standard output.

    Raises:
        CollageError: it cannot be written, or is a database.
    """
    lines = write_lines(costs, pairs, kernels)
    if file == STREAM:
        sys.stdout.writelines(lines)
        return
    path = Path(file)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.is_file() and _first_bytes(path) == _SQLITE_MAGIC:
            raise CollageError(f"{file!r} is a database, which an export would overwrite", "name another file", "bad_option")
        with gzip.open(unfinished, "wt") if path.suffix == ".gz" else unfinished.open("w") as out:
            out.writelines(lines)
        unfinished.replace(path)
    except OSError as error:
        raise CollageError(f"cannot write {file!r}: {error.strerror}", "give another file", "unwritable") from error
    finally:
        unfinished.unlink(missing_ok=True)


def read_file(file: str) -> Costs:
    """Read an export or a cost database; ``-`` is an export on standard input.

    Raises:
        CollageError: it cannot be read, or a field is invalid; the message names the line and the field.
    """
    if file == STREAM:
        return _read_stream(io.BufferedReader(sys.stdin.buffer), "standard input")
    path = Path(file)
    try:
        if _first_bytes(path) == _SQLITE_MAGIC:
            return _read_database(path)
        with open_file(path) as stream:
            return _read_stream(stream, repr(file))
    except OSError as error:
        raise CollageError(
            f"cannot read {file!r}: {error.strerror or error}", "give a file that `collage costs export` wrote", "bad_costs"
        ) from error


def _first_bytes(path: Path) -> bytes:
    with open_file(path) as stream:
        return stream.read(len(_SQLITE_MAGIC))


def _read_database(path: Path) -> Costs:
    with CostDatabase(path, read_only=True) as database:
        every = Selection()
        costs = Costs(records(database, every), selected_transitions(database, every), selected_tunings(database, every))
        if database.notes:
            raise CollageError(database.notes[0], "nothing was imported; give another file", "bad_costs")
    return costs


def _read_stream(stream: io.BufferedReader[Any], title: str) -> Costs:
    if not stream.peek(2).startswith(_GZIP_MAGIC):
        return read_lines(stream, title)
    try:
        with gzip.GzipFile(fileobj=stream) as unpacked:
            return read_lines(unpacked, title)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CollageError(f"{title} is cut off or damaged: {error}", "nothing was imported; get the file again", "bad_costs") from error
