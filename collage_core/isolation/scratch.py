"""Folders for files that nobody needs once this process is gone, in the one folder in which everything is kept."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import psutil

from ..errors import CollageError
from ..home import home


def scratch_folder() -> Path:
    """A new folder that bears this process's number; what processes left behind that are gone is removed first.

    Raises:
        CollageError: it cannot be made.
    """
    scratch = home() / "scratch"
    try:
        scratch.mkdir(exist_ok=True)
        for folder in scratch.iterdir():
            owner = folder.name.partition("-")[0]
            if owner.isdigit() and not psutil.pid_exists(int(owner)):
                with suppress(OSError):
                    shutil.rmtree(folder)
        return Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=scratch))
    except OSError as error:
        hint = "make room on the disk, or set COLLAGE_HOME to another folder"
        raise CollageError(f"cannot keep files in {str(scratch)!r}: {error.strerror or error}", hint, "unwritable") from error
