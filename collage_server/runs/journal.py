"""`Journal`: writes a run's events to disk, one `Numbered` a line, compressed, bounded, and readable while it is written.

Past the bound only decisions are kept. A journal that a killed server left cut off is read as far as it goes.
"""

from __future__ import annotations

import gzip
import json
import logging
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import IO

from ..messages.live import Numbered
from ..shared.thinning import is_thinnable

_log = logging.getLogger(__name__)

EVENTS = "events.jsonl.gz"
BOUND_BYTES = 64 << 20
_READ_BYTES = 1 << 20
_GZIP = 31
"""`zlib`'s number for the format of a gzip file."""
FLUSH_S = 1.0


class Journal:
    """Appends events to the journal in `folder`; a file is made with the first one."""

    def __init__(self, folder: Path):
        self._path = folder / EVENTS
        self._file: gzip.GzipFile | None = None
        self._bytes = 0
        self._flushed = 0.0
        self._waiting = 0
        self._is_given_up = False

    def add(self, item: Numbered) -> int:
        """Write an event, if there is room for it; returns its length."""
        line = (
            json.dumps({"seq": item.seq, "at_s": item.at_s, "event": item.event}, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        )
        if self._bytes + len(line) > BOUND_BYTES and is_thinnable(item.event["type"]):
            return len(line)
        self._unless_full(lambda: self._append(line))
        self._bytes += len(line)
        self._waiting += 1
        return len(line)

    def flush(self, *, late: bool = False) -> bool:
        """Let readers see what is there, about once a second, or now where it is `late`; returns False where something still waits."""
        now = time.monotonic()
        if self._file is None or self._waiting == 0:
            return True
        if late or now - self._flushed > FLUSH_S:
            self._flushed, self._waiting = now, 0
            self._unless_full(self._file.flush)
        return self._waiting == 0

    def close(self) -> None:
        """Close the file while the run rests; a later event opens it again."""
        if self._file is not None:
            self._unless_full(self._file.close)
            self._file = None

    def _append(self, line: bytes) -> None:
        if self._file is None:
            self._file = gzip.open(self._path, "ab", compresslevel=3)  # noqa: SIM115 - it stays open as long as the run goes on
        self._file.write(line)

    def _unless_full(self, write: Callable[[], object]) -> None:
        """Go on without the journal where the disk cannot take it: pages still get the events, and the run comes to its end."""
        if self._is_given_up:
            return
        try:
            write()
        except OSError:
            self._is_given_up = True
            _log.exception("the journal %s cannot be written", self._path)
            file, self._file = self._file, None
            if file is not None:
                with suppress(OSError):
                    file.close()


class Reader:
    """Reads the journal in `folder` from its beginning, and goes on where it stopped when more was written."""

    def __init__(self, folder: Path):
        self._path = folder / EVENTS
        self._file: IO[bytes] | None = None
        self._inflater = zlib.decompressobj(wbits=_GZIP)
        self._rest = b""
        self._is_damaged = False

    def lines(self) -> Iterator[bytes]:
        """Return every whole line that has come since the last call."""
        if self._file is None:
            if not self._path.exists():
                return
            self._file = self._path.open("rb")
        while not self._is_damaged and (packed := self._file.read(_READ_BYTES)):
            *whole, self._rest = (self._rest + self._inflated(packed)).split(b"\n")
            yield from (line + b"\n" for line in whole)

    def items(self) -> Iterator[Numbered]:
        """Return the events in these lines; a line that is no event is left out."""
        for line in self.lines():
            with suppress(ValueError, TypeError, KeyError):
                item = Numbered(**json.loads(line))
                if isinstance(item.event["type"], str):
                    yield item

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _inflated(self, packed: bytes) -> bytes:
        """Return the content of `packed` as far as it is whole; a journal that was opened again is several gzip members in a row."""
        plain = b""
        try:
            while packed:
                plain += self._inflater.decompress(packed)
                packed = self._inflater.unused_data
                if self._inflater.eof:
                    self._inflater = zlib.decompressobj(wbits=_GZIP)
        except zlib.error:
            self._is_damaged = True
        return plain


def newest_decisions(folder: Path, most: int) -> tuple[list[Numbered], bool]:
    """Return the newest `most` decisions in the journal in `folder`, and whether there were more."""
    with closing(Reader(folder)) as reader:
        kept = deque((item for item in reader.items() if not is_thinnable(item.event["type"])), maxlen=most + 1)
    return list(kept)[-most:], len(kept) > most


def lines(folder: Path) -> Iterator[bytes]:
    """Return every whole line of the journal in `folder`; none where there is no journal."""
    with closing(Reader(folder)) as reader:
        yield from reader.lines()
