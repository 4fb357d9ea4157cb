"""Folders for files that nobody needs once this process is gone, in the one folder in which everything is kept."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

import psutil

from ...errors import CollageError
from ..home import home

_lock = threading.Lock()
_made: set[Path] = set()
"""What this process made. In a container each run may have the number that the one before it had."""


def scratch_folder() -> Path:
    """A new folder that bears this process's number; what processes left behind that are gone is removed first.

    Raises:
        CollageError: it cannot be made.
    """
    scratch = home() / "scratch"
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


def _is_left_behind(folder: Path) -> bool:
    owner = folder.name.partition("-")[0]
    if owner == str(os.getpid()):
        return folder not in _made
    return owner.isdigit() and not psutil.pid_exists(int(owner))
