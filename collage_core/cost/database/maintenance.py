"""Select, count, merge and remove costs, transitions, profiles and tuned kernels of a whole database, for `collage costs`.

The database must be open. If it cannot be used, everything here raises; nothing is kept in memory instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from sqlalchemy import ColumnElement, Table, and_, delete, false, func, or_, select, true
from sqlalchemy.engine import Connection

from .database import CostDatabase
from .record_validation import cost_row, transition_row, tuning_row
from .records import CostKey, CostRow, Row, TransitionRow, TuningRow
from .schema import has_profiles, measurements, profiles, put_rows, read_rows, transitions, tunings

_CHUNK = 500
_GROUP = ("machine", "toolchain", "version", "threads", "options")


@dataclass(frozen=True, slots=True)
class Selection:
    """A condition on costs: all attributes that are not empty must apply. A transition is selected if one of its ends is.

    Attributes:
        toolchain, version: Exact; a tuned kernel is of all variants of its toolchain.
        machine: A pattern, as `fnmatch` knows it.
        computation: The first characters of its digest; no transition and no tuned kernel has one.
        before: Measured before this time (UTC, ISO 8601).
    """

    toolchain: str = ""
    version: str = ""
    machine: str = ""
    computation: str = ""
    before: str = ""


@dataclass
class Group:
    """Costs that may be compared with each other: all but their computations is the same.

    Attributes:
        costs: Number of costs, those that failed included.
        failed: Number of those that failed, by stage.
        newest: Time at which the last of them was measured.
    """

    machine: str
    toolchain: str
    version: str
    threads: int
    options: str
    costs: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    newest: str = ""


@dataclass(frozen=True, slots=True)
class Merged:
    """Numbers of merged rows: new ones, those that replaced an older one, and those dropped because the kept one is as new."""

    new: int
    replaced: int
    kept: int

    def __add__(self, other: Merged) -> Merged:
        return Merged(self.new + other.new, self.replaced + other.replaced, self.kept + other.kept)


def records(database: CostDatabase, selection: Selection) -> list[CostRow]:
    """Return the selected costs, in the order of their keys."""
    with database.session() as connection:
        query = select(measurements).where(_selects_cost(connection, selection)).order_by(*measurements.primary_key)
        return list(database.valid(cost_row, read_rows(connection, query)))


def selected_transitions(database: CostDatabase, selection: Selection) -> list[TransitionRow]:
    """Return the selected transitions, in the order of their keys."""
    with database.session() as connection:
        query = select(transitions).where(_selects_transition(connection, selection)).order_by(*transitions.primary_key)
        return list(database.valid(transition_row, read_rows(connection, query)))


def selected_tunings(database: CostDatabase, selection: Selection) -> list[TuningRow]:
    """Return the selected tuned kernels, in the order of their keys."""
    with database.session() as connection:
        query = select(tunings).where(_selects_tuning(connection, selection)).order_by(*tunings.primary_key)
        return list(database.valid(tuning_row, read_rows(connection, query)))


def selected_profiles(database: CostDatabase, selection: Selection) -> list[tuple[CostKey, str]]:
    """Return the keys of the selected profiles in order, each with the time when it was taken."""
    with database.session() as connection:
        if not has_profiles(connection):
            return []
        query = select(*profiles.primary_key, profiles.c.created).where(_selects_cost(connection, selection, profiles))
        return [(CostKey(*key), created) for *key, created in connection.execute(query.order_by(*profiles.primary_key))]


def groups(database: CostDatabase, selection: Selection) -> list[Group]:
    """Count the selected costs by all that they must have in common to be compared."""
    columns = [measurements.c[name] for name in _GROUP]
    counted = (func.count(), func.max(measurements.c.created))
    made: dict[tuple[Any, ...], Group] = {}
    with database.session() as connection:
        query = select(*columns, measurements.c.stage, *counted).where(_selects_cost(connection, selection))
        for *names, stage, count, newest in connection.execute(query.group_by(*columns, measurements.c.stage)):
            group = made.setdefault(tuple(names), Group(*names))
            group.costs += count
            group.newest = max(group.newest, newest)
            if stage:
                group.failed[stage] = count
    return [made[names] for names in sorted(made)]


def merge(database: CostDatabase, costs: Sequence[CostRow], pairs: Sequence[TransitionRow], kernels: Sequence[TuningRow] = ()) -> Merged:
    """Merge rows into the database, all of them or none. Of two with equal keys the newer stays; of two as new, the one in the database.

    Raises:
        CollageError: the database cannot be written.
    """
    with database.session(writes=True) as connection:
        merged = _merge(connection, measurements, costs) + _merge(connection, transitions, pairs)
        return merged + _merge(connection, tunings, kernels)


def remove(database: CostDatabase, selection: Selection) -> tuple[int, int, int, int]:
    """Remove the selected rows; return the numbers of costs, of transitions, of tuned kernels and of profiles that were removed.

    Raises:
        CollageError: the database cannot be written.
    """
    with database.session(writes=True) as connection:
        selects = (
            (measurements, _selects_cost(connection, selection)),
            (transitions, _selects_transition(connection, selection)),
            (tunings, _selects_tuning(connection, selection)),
        )
        costs, pairs, kernels = (connection.execute(delete(table).where(selected)).rowcount for table, selected in selects)
        if not has_profiles(connection):
            return costs, pairs, kernels, 0
        return costs, pairs, kernels, connection.execute(delete(profiles).where(_selects_cost(connection, selection, profiles))).rowcount


def _merge(connection: Connection, table: Table, rows: Sequence[Row]) -> Merged:
    newest: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = astuple(row[0])
        if key not in newest or row[1].created > newest[key][1].created:
            newest[key] = row
    there = dict(_created(connection, table, newest))
    new: list[Row] = [row for key, row in newest.items() if key not in there]
    newer: list[Row] = [row for key, row in newest.items() if row[1].created > there.get(key, row[1].created)]
    put_rows(connection, table, [*new, *newer], only_newer=True)
    return Merged(len(new), len(newer), len(rows) - len(new) - len(newer))


def _created(connection: Connection, table: Table, keys: Iterable[tuple[Any, ...]]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield (key, time of its measurement) for those of `keys` that are in the table; queried by their first column alone."""
    first, *_ = columns = list(table.primary_key)
    names = sorted({key[0] for key in keys})
    for start in range(0, len(names), _CHUNK):
        among = first.in_(names[start : start + _CHUNK])
        for *key, created in connection.execute(select(*columns, table.c.created).where(among)):
            yield tuple(key), created


def _selects_cost(connection: Connection, selection: Selection, of: Table = measurements) -> ColumnElement[bool]:
    table = of.c
    same = [table[name] == value for name in ("toolchain", "version") if (value := getattr(selection, name))]
    if selection.computation:
        same.append(table.computation.startswith(selection.computation, autoescape=True))
    return and_(true(), *same, *_selects_row(connection, of, selection))


def _selects_transition(connection: Connection, selection: Selection) -> ColumnElement[bool]:
    table, ends = transitions.c, []
    for end in ("maker", "reader"):
        asked = ((table[end], selection.toolchain), (table[f"{end}_version"], selection.version))
        ends.append(and_(true(), *(column == value for column, value in asked if value), *_selects_row(connection, transitions, selection)))
    return false() if selection.computation else or_(*ends)


def _selects_tuning(connection: Connection, selection: Selection) -> ColumnElement[bool]:
    if selection.computation:
        return false()
    same = [tunings.c.version == selection.version] if selection.version else []
    if selection.toolchain:
        same.append(tunings.c.toolchain == selection.toolchain.partition("@")[0])
    return and_(true(), *same, *_selects_row(connection, tunings, selection))


def _selects_row(connection: Connection, table: Table, selection: Selection) -> list[ColumnElement[bool]]:
    """Return the conditions on columns that both tables have."""
    same: list[ColumnElement[bool]] = []
    if selection.machine:
        there = connection.execute(select(table.c.machine).distinct()).scalars()
        same.append(table.c.machine.in_([name for name in there if fnmatchcase(name, selection.machine)]))
    if selection.before:
        same.append(table.c.created < selection.before)
    return same
