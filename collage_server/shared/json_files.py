"""Reads and writes JSON files and values as the server keeps and sends them: whole or not at all, and never NaN or infinity."""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from collage_core.base.whole_file import write_whole
from collage_core.documents.json_form import members

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def is_id(text: str) -> bool:
    """Return whether `text` can be the name of a folder of ours: no path, nothing hidden."""
    return _ID.fullmatch(text) is not None and ".." not in text


def json_data(value: Any) -> Any:
    """Return `value` as JSON can hold it: dataclasses become objects, tuples lists, numpy scalars numbers, NaN and infinity null."""
    if isinstance(value, str | bool | int) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): json_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [json_data(item) for item in value]
    if is_dataclass(value):
        return {key: json_data(item) for key, item in members(value).items()}
    if hasattr(value, "item"):
        return json_data(value.item())
    raise TypeError(f"{value!r} is no plain data")


def write_json(path: Path, value: Any) -> None:
    """Write `value`; a reader sees the old file or the new one. A name that ends in ``.gz`` is compressed."""
    write_whole(path, file_content(path, value))


def file_content(path: Path, value: Any) -> bytes:
    """Return what `write_json` writes into the file `path`."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    return gzip.compress(text, 6, mtime=0) if path.suffix == ".gz" else text


def read_json(path: Path) -> Any:
    """Read what `write_json` wrote.

    Raises:
        OSError: it cannot be read.
        ValueError: it is damaged.
    """
    data = path.read_bytes()
    try:
        return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    except (EOFError, zlib.error) as error:
        raise ValueError(f"{path.name} is cut off or damaged") from error
