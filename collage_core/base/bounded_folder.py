"""`BoundedFolder`: bytes that were expensive to make, in files of one folder, until there are too many of them.

Bytes and their key enter; the same bytes leave for the same key, or nothing. Losing a file is never an error: its owner makes it again.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .whole_file import write_whole

MOST_BYTES = 2**30
"""Most bytes of all files together, unless the owner says otherwise."""


@dataclass(frozen=True)
class BoundedFolder:
    """Files of one ending in one folder, which several processes may use at once.

    Attributes:
        folder: It is created with the first file, in a folder that is there.
        ending: Of its files; others are not touched.
        most_bytes: What its files may take together; a larger one is not kept.
    """

    folder: Path
    ending: str
    most_bytes: int = MOST_BYTES

    def get(self, key: str) -> bytes | None:
        """Return what is kept under `key`; None where there is nothing, or its file cannot be read."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        with suppress(OSError):
            os.utime(path)
        return data

    def put(self, key: str, data: bytes) -> None:
        """Keep `data`, and remove what was not asked for the longest until all fit. A disk that is full, or no folder, keeps nothing."""
        if len(data) > self.most_bytes:
            return
        with suppress(OSError):
            self.folder.mkdir(exist_ok=True)
            self._make_room(len(data))
            write_whole(self._path(key), data)

    def _make_room(self, size: int) -> None:
        kept = sorted((path.stat().st_mtime_ns, path.stat().st_size, path) for path in self.folder.glob(f"*{self.ending}"))
        taken = sum(bytes_of for _, bytes_of, _ in kept)
        for _, bytes_of, path in kept:
            if taken + size <= self.most_bytes:
                return
            path.unlink(missing_ok=True)
            taken -= bytes_of

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{self.ending}"
