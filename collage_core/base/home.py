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
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    folder = Path(named) if named else expanded(data) / "collage-explorer"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error.strerror or str(error)) from error
    if not os.access(folder, os.W_OK):
        raise _unwritable(folder, "it is not writable")
    return folder


def expanded(text: str) -> Path:
    """Return the path `text`, in which ``~`` and ``~user`` stand for the folder of a user.

    Raises:
        CollageError: there is no such user.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        user = text.partition("/")[0]
        raise CollageError(
            f"{text!r} begins with {user!r}, and no user of that name has a folder", "write the path out", "no_file"
        ) from error


def folder_size(folder: Path) -> int:
    """Return the total size in bytes of all files under `folder`."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _unwritable(folder: Path, why: str) -> CollageError:
    return CollageError(f"cannot keep data in {str(folder)!r}: {why}", "set COLLAGE_HOME to a folder that you can write", "unwritable")
