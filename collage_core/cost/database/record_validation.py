"""What a record of a cost may say: the checks that everything passes which is put into the cost database, or read from it.

What enters are keys and records from anywhere, with fields of any type; what leaves is the first flaw, in words.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from .records import CostKey, MeasuredTransition, Record, TransitionKey

LARGEST_S = 1e6
MOST_SAMPLES = 100_000
MOST_THREADS = 1 << 20
_NUMBERS = (int, float)
_LONGEST_WORD = 256
"""Bytes: a key of PostgreSQL's index holds 2,704."""
_LONGEST_TEXT = 20_000

Item = CostKey | Record | TransitionKey | MeasuredTransition
T = TypeVar("T", CostKey, Record, TransitionKey, MeasuredTransition)


def flaw(*items: Item) -> str:
    """The first thing that cannot be true, with its field and the value found; empty where all is sound."""
    for item in items:
        for field in fields(item):
            value = getattr(item, field.name)
            wrong = _samples_flaw(value) if field.name == "samples" else _flaw(field.name, value)
            if wrong:
                return wrong
        if isinstance(item, Record) and not item.samples and not item.stage:
            return "samples is empty, though stage names no failure"
        if isinstance(item, Record) and item.repetitions and sum(item.repetitions) != len(item.samples):
            return f"repetitions is {shown(item.repetitions)}, but there are {len(item.samples)} samples"
    return ""


def cleaned(item: T) -> T:
    """The same with text that every database takes: no NUL, no half characters, no more of it than one can read."""
    changes: dict[str, Any] = {}
    for field in fields(item):
        value = getattr(item, field.name)
        if isinstance(value, str):
            changes[field.name] = value.encode("utf-8", "replace").decode().replace("\0", "\ufffd")[:_LONGEST_TEXT]
    return replace(item, **changes)


def utc(text: str) -> str:
    """A time with its zone as records hold it: UTC, whole seconds; ValueError where it is none."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError("no zone")
    return time.astimezone(UTC).isoformat(timespec="seconds")


def shown(value: Any) -> str:
    """A value as a message quotes it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _flaw(name: str, value: Any) -> str:
    wrong = _CHECKS[name](value)
    return f"{name} is {shown(value)}, it must be {wrong}" if wrong else ""


def _samples_flaw(samples: Any) -> str:
    if not isinstance(samples, tuple) or len(samples) > MOST_SAMPLES:
        return f"samples is {shown(samples)}, it must be a list of at most {MOST_SAMPLES} numbers"
    for place, value in enumerate(samples):
        if not _is_number(value, LARGEST_S):
            return f"samples[{place}] is {shown(value)}, it must be {_SECONDS}"
    return ""


def _is_number(value: Any, most: float) -> bool:
    return isinstance(value, _NUMBERS) and not isinstance(value, bool) and 0 <= value <= most


_SECONDS = "seconds: a number, not negative and at most 1e6"


def _word(value: Any) -> str:
    fits = isinstance(value, str) and len(value.encode("utf-8", "replace")) <= _LONGEST_WORD
    return "" if fits else f"text of at most {_LONGEST_WORD} bytes"


def _name(value: Any) -> str:
    return _word(value) if value else "text, and not empty"


def _text(value: Any) -> str:
    return "" if isinstance(value, str) and len(value) <= _LONGEST_TEXT else f"text of at most {_LONGEST_TEXT} characters"


def _seconds(value: Any) -> str:
    return "" if _is_number(value, LARGEST_S) else _SECONDS


def _maybe_seconds(value: Any) -> str:
    return "" if value is None else _seconds(value)


def _share(value: Any) -> str:
    return "" if _is_number(value, sys.float_info.max) else "a finite number, not negative"


def _maybe_share(value: Any) -> str:
    return "" if value is None else _share(value)


def _flag(value: Any) -> str:
    return "" if isinstance(value, bool) else "true or false"


def _threads(value: Any) -> str:
    fits = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_THREADS
    return "" if fits else f"a whole number from 1 to {MOST_THREADS}"


def _repetitions(value: Any) -> str:
    fits = isinstance(value, tuple) and all(isinstance(count, int) and not isinstance(count, bool) and count >= 0 for count in value)
    return "" if fits else "a list of whole numbers, none below 0"


def _time(value: Any) -> str:
    with suppress(ValueError, TypeError, OverflowError):
        if utc(value) == value:
            return ""
    return "a time in UTC, such as 2026-01-31T12:00:00+00:00"


_CHECKS: Mapping[str, Callable[[Any], str]] = {
    **dict.fromkeys(("computation", "toolchain", "machine", "maker", "reader"), _name),
    **dict.fromkeys(("version", "options", "weights", "dtype", "worker", "maker_version", "reader_version", "stage"), _word),
    **dict.fromkeys(("reason", "note"), _text),
    **dict.fromkeys(("fixed_s", "per_byte_s", "seconds_spent"), _seconds),
    **dict.fromkeys(("limit_s", "reference_s", "core_latency_s"), _maybe_seconds),
    **dict.fromkeys(("stopped_early", "crashed"), _flag),
    "threads": _threads,
    "error": _maybe_share,
    "slowed_by": _share,
    "created": _time,
    "repetitions": _repetitions,
}
