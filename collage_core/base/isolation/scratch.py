"""Creates folders for temporary files under `COLLAGE_HOME`, and removes those of processes that are gone."""

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
"""Folders of this process. In a container a later process may have the id of an earlier one."""


def scratch_folder() -> Path:
    """Create a folder that is named after this process, after removing those of processes that are gone.

    Raises:
        CollageError: the folder cannot be created.
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
