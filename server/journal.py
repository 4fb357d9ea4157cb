"""`Journal`: a run's events on disk, one `Numbered` a line, compressed; bounded, and readable while it is written.

Past the bound only decisions are kept. A journal that a killed server left cut off is read as far as it goes.
"""

from __future__ import annotations

import gzip
import json
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from .protocol import Numbered
from .stream import is_thinnable

EVENTS = "events.jsonl.gz"
BOUND_BYTES = 64 << 20
FLUSH_S = 1.0


class Journal:
    """Appends events to the journal in `folder`; a file is made with the first one."""

    def __init__(self, folder: Path):
        self._path = folder / EVENTS
        self._file: gzip.GzipFile | None = None
        self._bytes = 0
        self._flushed = 0.0

    def add(self, item: Numbered) -> int:
        """Write an event, if there is room for it; gives its length."""
        line = json.dumps({"seq": item.seq, "event": item.event}, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        if self._bytes + len(line) > BOUND_BYTES and is_thinnable(item.event["type"]):
            return len(line)
        if self._file is None:
            self._file = gzip.open(self._path, "ab", compresslevel=3)  # noqa: SIM115 - it stays open as long as the run goes on
        self._file.write(line)
        self._bytes += len(line)
        return len(line)

    def flush(self) -> None:
        """Let readers see what is there, about once a second."""
        now = time.monotonic()
        if self._file is not None and now - self._flushed > FLUSH_S:
            self._flushed = now
            self._file.flush()

    def close(self) -> None:
        """The run rests; a later event opens the file again."""
        if self._file is not None:
            self._file.close()
            self._file = None


def lines(folder: Path) -> Iterator[bytes]:
    """Every whole line of the journal in `folder`; none where there is no journal."""
    path = folder / EVENTS
    if not path.exists():
        return
    with gzip.open(path, "rb") as file:
        while True:
            try:
                line = file.readline()
            except (EOFError, zlib.error, gzip.BadGzipFile):
                return
            if not line.endswith(b"\n"):
                return
            yield line
