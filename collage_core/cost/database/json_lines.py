"""Write and read costs as JSON lines: a header, one line per cost, transition or tuned kernel, and an end with their numbers.

Every field of every line that is read is validated; a mistake names its line. A file that was cut off lacks its end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn, Protocol

from ...base.validation import shown
from ...errors import CollageError
from .record_validation import InvalidRecord, cost_row, transition_row, tuning_row
from .records import (
    CostKey,
    CostRow,
    MeasuredTransition,
    Record,
    TransitionKey,
    TransitionRow,
    TuningKey,
    TuningRecord,
    TuningRow,
    fields_of,
    utc,
)

FORMAT = "collage-costs"
VERSION = 1
_KINDS: Mapping[str, tuple[Callable[[Mapping[str, Any]], Any], frozenset[str]]] = {
    "cost": (cost_row, frozenset((*CostKey.__slots__, *Record.__slots__))),
    "transition": (transition_row, frozenset((*TransitionKey.__slots__, *MeasuredTransition.__slots__))),
    "tuning": (tuning_row, frozenset((*TuningKey.__slots__, *TuningRecord.__slots__))),
}
"""Kind of a line → the function that makes a row of it, and the fields of the line."""
_LONGEST_LINE = 8 << 20
_MOST_BYTES = 1 << 30
"""Of one file, unpacked: what gzip packs into a megabyte can be a gigabyte."""
_CLOCKS_DIFFER = timedelta(days=1)


class Stream(Protocol):
    """An open file of bytes."""

    def readline(self, size: int, /) -> bytes: ...


@dataclass
class Costs:
    """The content of a file."""

    records: list[CostRow] = field(default_factory=list)
    transitions: list[TransitionRow] = field(default_factory=list)
    tunings: list[TuningRow] = field(default_factory=list)


def write_lines(records: Iterable[CostRow], transitions: Iterable[TransitionRow], tunings: Iterable[TuningRow] = ()) -> Iterator[str]:
    """Yield the lines of a file, each with its newline."""
    yield _line({"format": FORMAT, "version": VERSION})
    costs = pairs = kernels = 0
    for key, record in records:
        costs += 1
        yield _line({"kind": "cost", **fields_of(key, record)})
    for pair, measured in transitions:
        pairs += 1
        yield _line({"kind": "transition", **fields_of(pair, measured)})
    for kernel, found in tunings:
        kernels += 1
        yield _line({"kind": "tuning", **fields_of(kernel, found)})
    yield _line({"kind": "end", "costs": costs, "transitions": pairs, "tunings": kernels})


def read_lines(stream: Stream, title: str) -> Costs:
    """Read a file to its end.

    Args:
        stream: Its bytes, unpacked.
        title: Its name in messages.

    Raises:
        CollageError: a line or a field is invalid; the message names both.
    """
    return _Reader(stream, title).read()


def _line(data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n"


def _parse_int(digits: str) -> float:
    """Read a number of many digits as a float: no field counts so far, and no database takes such a whole number."""
    return int(digits) if len(digits) < 10 else float(digits)


class _Reader:
    def __init__(self, stream: Stream, title: str):
        self._stream = stream
        self._title = title
        self._number = 0
        self._bytes = 0
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
            elif kind == "tuning":
                costs.tunings.append(self._row(kind, data))
            elif kind == "end":
                self._check_end(data, costs)
                return costs
            else:
                self._fail(f"kind is {shown(kind)}, it must be 'cost', 'transition', 'tuning' or 'end'")

    def _next(self) -> dict[str, Any]:
        self._number += 1
        line = self._stream.readline(_LONGEST_LINE + 1)
        if not line:
            self._fail("the file is cut off: its last line must be the end")
        if len(line) > _LONGEST_LINE:
            self._fail(f"it is longer than {_LONGEST_LINE >> 20} MiB")
        self._bytes += len(line)
        if self._bytes > _MOST_BYTES:
            self._fail(f"the file holds more than {_MOST_BYTES >> 20} MiB, unpacked")
        try:
            data = json.loads(line, parse_int=_parse_int)
        except (ValueError, RecursionError):
            self._fail(f"it is not JSON: {shown(line[:40].decode('utf-8', 'replace'))}")
        if not isinstance(data, dict):
            self._fail(f"it is {shown(data)}, it must be an object")
        return data

    def _check_header(self, data: dict[str, Any]) -> None:
        if data.get("format") != FORMAT:
            self._fail(f"format is {shown(data.get('format'))}, it must be {FORMAT!r}")
        if data.get("version") != VERSION:
            self._fail(f"version is {shown(data.get('version'))}, this collage-explorer reads {VERSION}")

    def _check_end(self, data: dict[str, Any], costs: Costs) -> None:
        found = {"costs": len(costs.records), "transitions": len(costs.transitions), "tunings": len(costs.tunings)}
        for name, count in found.items():
            if data.get(name) != count:
                self._fail(f"{name} is {shown(data.get(name))}, but {count} were found: the file is not as it was written")
        if self._stream.readline(1):
            self._number += 1
            self._fail("there is more behind the end")

    def _row(self, kind: str, data: dict[str, Any]) -> Any:
        make_row, names = _KINDS[kind]
        for name in sorted(names ^ data.keys()):
            self._fail(f"{name} is missing" if name in names else f"{shown(name)} is not a field of a {kind}")
        data["created"] = self._time(data["created"])
        try:
            return make_row(data)
        except InvalidRecord as error:
            self._fail(str(error))

    def _time(self, value: Any) -> str:
        """Return the time in UTC, so that texts compare as times do."""
        try:
            time = utc(value)
        except ValueError:
            self._fail(f"created is {shown(value)}, it must be a time with its zone, such as 2026-01-31T12:00:00+00:00")
        if time > self._latest:
            self._fail(f"created is {value!r}, which is in the future")
        return time

    def _fail(self, what: str) -> NoReturn:
        raise CollageError(
            f"{self._title}, line {self._number}: {what}",
            "nothing was imported; give a file that `collage costs export` wrote, as it was",
            "bad_costs",
        )
