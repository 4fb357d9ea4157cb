"""`FileStore`: the files that a worker was sent, in a scratch folder of limited size that is removed with the session.

It takes pieces of files under their SHA-256 and gives paths. A file is available only when all of it came and its
content has the SHA-256 that it is named after.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path

from ...base.isolation.scratch import scratch_folder

MOST_BYTES = 8 << 30
"""Limit, if less than half of what the disk has free at the start."""


class FileStore:
    """Files by their SHA-256 (hex); those that were requested longest ago are removed first.

    Args:
        most_bytes: Limit, which is exceeded only where the files of a single trial are more.
    """

    def __init__(self, most_bytes: int | None = None):
        self._folder = scratch_folder()
        self._most_bytes = min(MOST_BYTES, shutil.disk_usage(self._folder).free // 2) if most_bytes is None else most_bytes
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._wanted: frozenset[str] = frozenset()

    def missing(self, wanted: Iterable[str]) -> list[str]:
        """Return which of the files are not here; those that are here stay until other files are requested."""
        names = list(dict.fromkeys(wanted))
        self._wanted = frozenset(names)
        for name in names:
            if name in self._sizes:
                self._sizes.move_to_end(name)
        return [name for name in names if name not in self._sizes]

    def put(self, name: str, offset: int, size: int, piece: bytes) -> None:
        """Append the next piece of a file of `size` bytes.

        Raises:
            ValueError: it is not the next one, or the file is not what its name says.
            OSError: the disk is full.
        """
        if len(name) != 64 or not set(name) <= set("0123456789abcdef"):
            raise ValueError(f"{name[:80]!r} is no SHA-256")
        part = self._folder / f"{name}.part"
        have = part.stat().st_size if offset and part.exists() else 0
        if offset != have or offset + len(piece) > size:
            raise ValueError(f"a piece at {offset} does not follow the {have} bytes that are here")
        with part.open("ab" if offset else "wb") as file:
            file.write(piece)
        if offset + len(piece) == size:
            self._keep(name, part, size)

    def path(self, name: str) -> Path:
        """Return the path of a file. Raises KeyError where it is not here."""
        if name not in self._sizes:
            raise KeyError(f"the file {name} was not sent")
        return self._folder / name

    def remove(self, name: str) -> None:
        """Remove a file, if it is here."""
        if self._sizes.pop(name, None) is not None:
            (self._folder / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Remove the folder."""
        self._sizes.clear()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _keep(self, name: str, part: Path, size: int) -> None:
        with part.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != name:
            part.unlink()
            raise ValueError(f"the content of {name} is that of {found}")
        part.rename(self._folder / name)
        self._sizes[name] = size
        for older in [other for other in self._sizes if other not in self._wanted and other != name]:
            if sum(self._sizes.values()) <= self._most_bytes:
                break
            self.remove(older)
