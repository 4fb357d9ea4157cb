"""The folder in which all data is kept (`COLLAGE_HOME`): models, runs, the cost database, caches."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import CollageError


def home() -> Path:
    """Return the folder ``$COLLAGE_HOME``, else one in the user's data folder, and create it where it does not exist.

    Raises:
        CollageError: the folder cannot be created or written.
    """
    named = os.environ.get("COLLAGE_HOME")
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    folder = Path(named) if named else Path(data) / "collage-explorer"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error.strerror or str(error)) from error
    if not os.access(folder, os.W_OK):
        raise _unwritable(folder, "it is not writable")
    return folder


def folder_size(folder: Path) -> int:
    """Return the total size in bytes of all files under `folder`."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _unwritable(folder: Path, why: str) -> CollageError:
    return CollageError(f"cannot keep data in {str(folder)!r}: {why}", "set COLLAGE_HOME to a folder that you can write", "unwritable")
