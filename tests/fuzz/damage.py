"""Damages a seed: bytes anywhere, or values anywhere in it where it is JSON, packed or not. The same draws give the same damage."""

from __future__ import annotations

import copy
import gzip
import json
import random
from typing import Any

_GZIP = b"\x1f\x8b"
_WORDS = ("", "*", "a" * 300, "\x00", "\x1b[2J", "\u202e", "../x", "/etc/passwd", "~nobody", "1e999", "host", "tvm", "float32")
_NUMBERS = (0, 1, -1, 2**31, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e308, float("inf"), float("nan"))
_VALUES: tuple[Any, ...] = (None, True, False, [], {}, [[]], [None], {"a": 1}, *_WORDS, *_NUMBERS)


def damaged(seed: bytes, draw: random.Random) -> bytes:
    """Return `seed` with one to four kinds of damage."""
    data = gzip.decompress(seed) if seed.startswith(_GZIP) else seed
    structured = _parsed(data)
    for _ in range(draw.randint(1, 4)):
        if structured is not None and draw.random() < 0.85:
            structured = _with_other_value(structured, draw)
        else:
            data = _with_other_bytes(data if structured is None else json.dumps(structured).encode(), draw)
            structured = None
    if structured is not None:
        data = json.dumps(structured).encode()
    if not seed.startswith(_GZIP):
        return data
    packed = gzip.compress(data, 1, mtime=0)
    return packed if draw.random() < 0.9 else _with_other_bytes(packed, draw)


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _with_other_value(value: Any, draw: random.Random) -> Any:
    """Replace, remove, copy or add one value somewhere inside `value`."""
    value = copy.deepcopy(value)
    spots = _spots(value)
    if not spots:
        return draw.choice(_VALUES)
    holder, key = draw.choice(spots)
    what = draw.randrange(6)
    if what == 0:
        del holder[key]
    elif what == 1:
        other, from_key = draw.choice(spots)
        holder[key] = copy.deepcopy(other[from_key]) if _has(other, from_key) else None
    elif what == 2 and isinstance(holder, dict):
        holder[draw.choice(_WORDS)] = draw.choice(_VALUES)
    elif what == 3 and isinstance(holder, list):
        holder.insert(key, draw.choice(_VALUES))
    else:
        holder[key] = draw.choice(_VALUES)
    return value


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def _spots(value: Any) -> list[tuple[Any, Any]]:
    """Every place inside `value`: what holds it, and its key there."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            found.append((holder, key))
            waiting.append(holder[key])
    return found


def _with_other_bytes(data: bytes, draw: random.Random) -> bytes:
    at = draw.randint(0, len(data))
    some = draw.randint(1, 16)
    match draw.randrange(6):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + data[at + some :]
        case 2:
            return data[:at] + draw.randbytes(some) + data[at:]
        case 3:
            return data[:at] + data[max(0, at - some) : at] * draw.randint(1, 50) + data[at:]
        case 4:
            word = draw.choice(_WORDS).encode()
            return data[:at] + word + data[at + len(word) :]
        case _:
            return data[:at] + bytes(draw.choice([0, 1, 0x7F, 0x80, 0xFF]) for _ in data[at : at + some]) + data[at + some :]
