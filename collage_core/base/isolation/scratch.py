"""Creates folders for temporary files under `COLLAGE_HOME`, and removes those of processes that are gone."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from ...errors import CollageError
from ..home import home, temporary_folder

_lock = threading.Lock()
_made: set[Path] = set()
"""Folders of this process. In a container a later process may have the id of an earlier one."""


def scratch_folder() -> Path:
    """Create a folder that is named after this process, after removing those of processes that are gone.

    Where nothing can be kept in `home`, it is a temporary folder of the system, or one in memory, that goes with this process.

    Raises:
        CollageError: the folder cannot be created.
    """
    try:
        scratch = home() / "scratch"
    except CollageError as error:
        return _temporary_folder(error)
    try:
        scratch.mkdir(exist_ok=True)
        with _lock:
            for folder in filter(_is_left_behind, scratch.iterdir()):
                with suppress(OSError):
                    shutil.rmtree(folder)
            made = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=scratch))
            _made.add(made)
            return made
    except OSError as error:
        hint = "make room on the disk, or set COLLAGE_HOME to another folder"
        raise CollageError(f"cannot keep files in {str(scratch)!r}: {error.strerror or error}", hint, "unwritable") from error


def _temporary_folder(unwritable: CollageError) -> Path:
    try:
        folder = temporary_folder()
    except OSError:
        raise unwritable from None
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with _lock:
        _made.add(folder)
    return folder


class ScratchFolder:
    """A folder of an object's own: it is created when it is first asked for, and goes with `remove`, or with the object."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._remove: Callable[[], object] = lambda: None

    @property
    def path(self) -> Path:
        """The folder. Raises CollageError where it cannot be created."""
        if self._path is None:
            self._path = scratch_folder()
            self._remove = weakref.finalize(self, shutil.rmtree, self._path, ignore_errors=True)
        return self._path

    def remove(self) -> None:
        """Remove the folder, if there is one; it is created again where it is asked for later."""
        self._remove()
        self._path = None


def _is_left_behind(folder: Path) -> bool:
    owner = folder.name.partition("-")[0]
    if owner == str(os.getpid()):
        return folder not in _made
    return owner.isdigit() and not psutil.pid_exists(int(owner))
