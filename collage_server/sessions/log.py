"""`write_log`: reads the events that came with a run of a session, and keeps those that are events of this program.

The journal of a stranger enters; one of our own leaves in its place, or none. What is no event, or not as one must be, is left out, as
events of another version are everywhere.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from collage_core.base.user_file import unpack

from ..messages.live import Numbered, RunStateChanged
from ..protocol import EVENTS as KINDS
from ..shared.session_manifest import EVENTS, damaged

MOST_BYTES = 160 << 20
"""Of a journal, unpacked: twice what one of ours may hold, and some."""


def write_log(folder: Path) -> None:
    """Rewrite the journal of the run in `folder`.

    Raises:
        CollageError: it is cut off or damaged, or holds more than one of ours can.
    """
    path = folder / EVENTS
    if not path.exists():
        return
    try:
        text = unpack(path.read_bytes(), path, MOST_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise damaged(f"the log of its run {folder.name!r} is damaged, or too large ({error})") from error
    path.unlink()
    with gzip.open(path, "wb", compresslevel=3) as file:
        file.writelines(_events(text))


def _events(text: bytes) -> Iterator[bytes]:
    last = 0
    for line in text.split(b"\n"):
        with suppress(ValueError, TypeError, KeyError, RecursionError, ValidationError):
            item = _numbered().validate_json(line, strict=True)
            kind = _kinds()[item.event["type"]]
            kind.validate_python({name: value for name, value in item.event.items() if name != "type"})
            if item.seq > last:
                last = item.seq
                yield json.dumps({"seq": item.seq, "at_s": item.at_s, "event": item.event}, allow_nan=False).encode() + b"\n"


@cache
def _numbered() -> TypeAdapter[Numbered]:
    return TypeAdapter(Numbered)


@cache
def _kinds() -> dict[str, TypeAdapter[Any]]:
    return {kind.__name__: TypeAdapter(kind) for kind in (*KINDS, RunStateChanged)}
