"""The folder in which all data is kept (`COLLAGE_HOME`): models, runs, the cost database, caches."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import CollageError

_IN_MEMORY = "/dev/shm"
"""A folder that even containers can write whose disks are read-only."""


def home_path() -> Path:
    """Return the folder ``$COLLAGE_HOME``, else one in the user's data folder, for those who only read: it may be missing, or read-only."""
    named = os.environ.get("COLLAGE_HOME")
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(named) if named else expanded(data) / "collage-explorer"


def home() -> Path:
    """Return the folder of `home_path`, and create it where it does not exist, for its owner alone: other accounts may not read models.

    Raises:
        CollageError: the folder cannot be created or written.
    """
    folder = home_path()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error.strerror or str(error)) from error
    if not os.access(folder, os.W_OK):
        raise _unwritable(folder, "it is not writable")
    return folder


def why_nothing_is_kept() -> str:
    """Return why nothing can be kept in `home`; empty where it can."""
    try:
        home()
    except CollageError as error:
        return error.message
    return ""


def temporary_folder() -> Path:
    """Create a folder that is not in `home`; its caller removes it.

    Raises:
        OSError: it cannot be created.
    """
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        return Path(tempfile.mkdtemp(prefix="collage-", dir=_IN_MEMORY))
    return Path(tempfile.mkdtemp(prefix="collage-"))


@contextmanager
def writable_home() -> Iterator[None]:
    """Let `home` be a folder for a while where it cannot be written: what is kept there is seen, and what is added goes afterwards."""
    try:
        home()
    except CollageError:
        folder = temporary_folder()
    else:
        yield
        return
    kept, named = home_path(), os.environ.get("COLLAGE_HOME")
    for name in ("models", "runs"):
        if (kept / name).is_dir():
            (folder / name).mkdir()
            for entry in (kept / name).iterdir():
                (folder / name / entry.name).symlink_to(entry.absolute())
    os.environ["COLLAGE_HOME"] = str(folder)
    try:
        yield
    finally:
        if named is None:
            del os.environ["COLLAGE_HOME"]
        else:
            os.environ["COLLAGE_HOME"] = named
        shutil.rmtree(folder, ignore_errors=True)


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
