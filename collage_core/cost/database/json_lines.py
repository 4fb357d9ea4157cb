"""Costs as JSON lines, the form in which they move from one database to another. A header, one line a cost, and an end.

What enters from outside is checked to the last field, and named by its line; what is cut off is noticed by its missing end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn, Protocol

from ...errors import CollageError
from .record_validation import flaw, shown, utc
from .records import CostKey, MeasuredTransition, Record, TransitionKey
from .schema import RENAMED, RENAMED_IN_OPTIONS, CostRow, TransitionRow, plain

FORMAT = "collage-costs"
VERSION = 4
_SINCE: Mapping[str, tuple[int, Any]] = {"repetitions": (2, []), "core_latency_s": (3, None)}
"""Fields that older versions do not have: the first that does, and what the others mean. Version 4 renamed some (`RENAMED`)."""
_KINDS: dict[str, tuple[type[Any], type[Any]]] = {"cost": (CostKey, Record), "transition": (TransitionKey, MeasuredTransition)}
_LONGEST_LINE = 8 << 20
_CLOCKS_DIFFER = timedelta(days=1)


class Stream(Protocol):
    """What lines are read from."""

    def readline(self, size: int, /) -> bytes: ...


@dataclass
class Costs:
    """What a file held."""

    records: list[CostRow] = field(default_factory=list)
    transitions: list[TransitionRow] = field(default_factory=list)


def write_lines(records: Iterable[CostRow], transitions: Iterable[TransitionRow]) -> Iterator[str]:
    """The lines of a file, each with its end."""
    yield _line({"format": FORMAT, "version": VERSION})
    costs = pairs = 0
    for key, record in records:
        costs += 1
        yield _line({"kind": "cost", **plain(key, record)})
    for pair, measured in transitions:
        pairs += 1
        yield _line({"kind": "transition", **plain(pair, measured)})
    yield _line({"kind": "end", "costs": costs, "transitions": pairs})


def read_lines(stream: Stream, title: str) -> Costs:
    """What a file holds.

    Args:
        stream: Its bytes, unpacked.
        title: As messages name it.

    Raises:
        CollageError: with the line and the field that cannot be.
    """
    return _Reader(stream, title).read()


def _line(data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n"


def _whole(digits: str) -> float:
    """A number of many digits counts nothing here, and no database takes it as a whole one."""
    return int(digits) if len(digits) < 10 else float(digits)


def _with_names_of_today(data: dict[str, Any]) -> dict[str, Any]:
    """A cost of an older version under the names that its fields have since version 4."""
    names = {old: new for new, old in RENAMED.items()}
    data = {names.get(name, name): value for name, value in data.items()}
    if isinstance(data.get("options"), str):
        data["options"] = data["options"].replace(*RENAMED_IN_OPTIONS)
    return data


class _Reader:
    def __init__(self, stream: Stream, title: str):
        self._stream = stream
        self._title = title
        self._number = 0
        self._version: Any = VERSION
        self._latest = (datetime.now(UTC) + _CLOCKS_DIFFER).isoformat(timespec="seconds")

    def read(self) -> Costs:
        self._check_header(self._next())
        costs = Costs()
        while True:
            data = self._next()
            kind = data.pop("kind", None)
            if kind == "cost":
                costs.records.append(self._row(kind, data))
            elif kind == "transition":
                costs.transitions.append(self._row(kind, data))
            elif kind == "end":
                self._check_end(data, costs)
                return costs
            else:
                self._refuse(f"kind is {shown(kind)}, it must be 'cost', 'transition' or 'end'")

    def _next(self) -> dict[str, Any]:
        self._number += 1
        line = self._stream.readline(_LONGEST_LINE + 1)
        if not line:
            self._refuse("the file is cut off: its last line must be the end")
        if len(line) > _LONGEST_LINE:
            self._refuse(f"it is longer than {_LONGEST_LINE >> 20} MiB")
        try:
            data = json.loads(line, parse_int=_whole)
        except (ValueError, RecursionError):
            self._refuse(f"it is no JSON: {shown(line[:40].decode('utf-8', 'replace'))}")
        if not isinstance(data, dict):
            self._refuse(f"it is {shown(data)}, it must be an object")
        return data

    def _check_header(self, data: dict[str, Any]) -> None:
        if data.get("format") != FORMAT:
            self._refuse(f"format is {shown(data.get('format'))}, it must be {FORMAT!r}")
        self._version = data.get("version")
        if self._version not in range(1, VERSION + 1):
            self._refuse(f"version is {shown(self._version)}, this collage-explorer reads 1 to {VERSION}")

    def _check_end(self, data: dict[str, Any], costs: Costs) -> None:
        for name, rows in (("costs", costs.records), ("transitions", costs.transitions)):
            if data.get(name) != len(rows):
                self._refuse(f"{name} is {shown(data.get(name))}, but {len(rows)} were found: the file is not as it was written")
        if self._stream.readline(1):
            self._number += 1
            self._refuse("there is more behind the end")

    def _row(self, kind: str, data: dict[str, Any]) -> Any:
        classes = _KINDS[kind]
        names = {each.name for one in classes for each in fields(one)}
        if self._version < 4:
            data = _with_names_of_today(data)
        for name, (version, meaning) in _SINCE.items():
            if self._version < version and name in names:
                data.setdefault(name, meaning)
        for name in sorted(names ^ data.keys()):
            self._refuse(f"{name} is missing" if name in names else f"{shown(name)} is no field of a {kind}")
        for name in ("samples", "repetitions"):
            if isinstance(data.get(name), list):
                data[name] = tuple(data[name])
        data["created"] = self._time(data["created"])
        key, value = (one(**{each.name: data[each.name] for each in fields(one)}) for one in classes)
        wrong = flaw(key, value)
        if wrong:
            self._refuse(wrong)
        return key, value

    def _time(self, value: Any) -> str:
        """In UTC, so that texts compare as times do."""
        try:
            time = utc(value)
        except (ValueError, TypeError, OverflowError):
            self._refuse(f"created is {shown(value)}, it must be a time with its zone, such as 2026-01-31T12:00:00+00:00")
        if time > self._latest:
            self._refuse(f"created is {value!r}, which is in the future")
        return time

    def _refuse(self, what: str) -> NoReturn:
        raise CollageError(
            f"{self._title}, line {self._number}: {what}",
            "nothing was imported; give a file that `collage costs export` wrote, as it was",
            "bad_costs",
        )
