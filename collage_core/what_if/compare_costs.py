"""`compare_costs`: which costs of two machines differ by more than their noise: two cost databases, or two machines of one.

Two databases enter, as a path or URL each; plain data leaves. Nothing is measured, and neither database is changed.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median

from ..cost.cost import Cost
from ..cost.database.database import CostDatabase
from ..cost.database.location import is_url
from ..cost.database.maintenance import Selection, records, selected_transitions
from ..cost.database.records import CostKey, CostRow, MeasuredTransition, TransitionRow
from ..cost.measuring.repetition_noise import RepetitionNoise
from ..cost.measuring.repetitions import cost_of, repetition_values
from ..documents.compare import CommonCost, CommonTransition, ComparedDatabase, CostsCompared, FailureOnOne, ToolchainCosts
from ..errors import CollageError

MACHINE = "#"
"""Stands between a database and the name of a machine in it."""
PERCENTILE = 50.0
_SQLITE_MAGIC = b"SQLite format 3\x00"

Setting = tuple[str, str, str, int, str]
"""Everything but the machine and the version that a cost depends on: computation, weights, toolchain, threads, options."""


@dataclass(frozen=True)
class _Known:
    version: str
    cost: Cost


@dataclass(frozen=True)
class _Machine:
    """The costs of one machine: of several versions of a toolchain the newest measurement."""

    database: str
    name: str
    costs: Mapping[Setting, _Known]


def is_database(where: str) -> bool:
    """Return whether `where` names a cost database: a URL, or a file of SQLite; behind ``#`` it may name a machine."""
    if is_url(where):
        return True
    path = where if os.path.exists(where) else where.rpartition(MACHINE)[0]
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC
    except OSError:
        return False


def compare_costs(first: str, second: str) -> CostsCompared:
    """Compare the costs of two machines that both have measured.

    Args:
        first, second: A database (a path or URL each). Behind ``#`` comes the machine, in which ``*`` stands for anything; of several, the
            two with the most common costs are compared.

    Raises:
        CollageError: a database cannot be read, no machine is called so, or the two have no cost in common.
    """
    sides = _side(first), _side(second)
    mine, its = _closest(sides[0][0], sides[1][0], first, second)
    common = [key for key in mine.costs if key in its.costs]
    both = [key for key in common if None not in (mine.costs[key].cost.seconds, its.costs[key].cost.seconds)]
    costs = sorted((_compared(key, mine, its) for key in both), key=lambda row: -abs(math.log(row.ratio)))
    one_fails = [key for key in common if (mine.costs[key].cost.seconds is None) != (its.costs[key].cost.seconds is None)]
    return CostsCompared(
        first=_side_document(mine, its),
        second=_side_document(its, mine),
        toolchains=_by_toolchain(costs),
        costs=tuple(costs),
        failures=tuple(_failure(key, mine, its) for key in one_fails),
        transitions=_transitions(*(_of_machine(pairs, one.name) for (_, pairs), one in zip(sides, (mine, its), strict=True))),
    )


def _side(where: str) -> tuple[list[_Machine], list[TransitionRow]]:
    """Return the machines of the database that `where` names, and all its transitions."""
    path, machine = (where, "") if os.path.exists(where) or MACHINE not in where else where.rpartition(MACHINE)[::2]
    selection = Selection(machine=machine)
    with CostDatabase(path, read_only=True) as database:
        found, pairs, name = records(database, selection), selected_transitions(database, selection), database.name
    if not found:
        which = f" of a machine {machine!r}" if machine else ""
        raise CollageError(f"{name!r} holds no costs{which}", "`collage costs show --db …` lists its machines", "no_costs")
    by_machine: dict[str, list[CostRow]] = defaultdict(list)
    for row in found:
        by_machine[row[0].machine].append(row)
    return [_Machine(name, machine, _newest(rows)) for machine, rows in by_machine.items()], pairs


def _newest(rows: Iterable[CostRow]) -> dict[Setting, _Known]:
    """Return the cost of each setting; the noise of a machine is learnt from all of its repetitions."""
    ordered = sorted(rows, key=lambda row: row[1].created)
    noise = RepetitionNoise.of(repetition_values(record, PERCENTILE) for _, record in ordered if record.samples)
    return {_setting(key): _Known(key.version, cost_of(record, PERCENTILE, "recorded", noise)) for key, record in ordered}


def _setting(key: CostKey) -> Setting:
    return key.computation, key.weights, key.toolchain, key.threads, key.options


def _closest(mine: Sequence[_Machine], theirs: Sequence[_Machine], first: str, second: str) -> tuple[_Machine, _Machine]:
    """Return the two machines with the most costs in common; not one machine of one database twice."""
    pairs = [pair for pair in product(mine, theirs) if (pair[0].database, pair[0].name) != (pair[1].database, pair[1].name)]
    counts = [len(one.costs.keys() & other.costs.keys()) for one, other in pairs]
    if not any(counts):
        hint = "costs are compared of the same computations with the same threads and options: measure one model on both machines"
        raise CollageError(f"{first} and {second} have no cost in common", hint, "no_costs")
    return pairs[counts.index(max(counts))]


def _side_document(one: _Machine, other: _Machine) -> ComparedDatabase:
    return ComparedDatabase(one.database, one.name, only_here=sum(key not in other.costs for key in one.costs))


def _compared(key: Setting, mine: _Machine, its: _Machine) -> CommonCost:
    first, second = mine.costs[key], its.costs[key]
    first_s, second_s = first.cost.seconds or 0.0, second.cost.seconds or 0.0
    noise_s = math.hypot(first.cost.interval_s or 0.0, second.cost.interval_s or 0.0)
    return CommonCost(
        *key,
        first_s=first_s,
        first_interval_s=first.cost.interval_s,
        first_version=first.version,
        second_s=second_s,
        second_interval_s=second.cost.interval_s,
        second_version=second.version,
        ratio=max(first_s, 1e-12) / max(second_s, 1e-12),
        is_clear=abs(first_s - second_s) > noise_s,
    )


def _by_toolchain(costs: Iterable[CommonCost]) -> tuple[ToolchainCosts, ...]:
    groups: dict[tuple[str, int], list[CommonCost]] = defaultdict(list)
    for row in costs:
        groups[row.toolchain, row.threads].append(row)
    return tuple(
        ToolchainCosts(
            toolchain=toolchain,
            threads=threads,
            first_versions=tuple(sorted({row.first_version for row in rows})),
            second_versions=tuple(sorted({row.second_version for row in rows})),
            costs=len(rows),
            slower=sum(row.is_clear and row.ratio > 1 for row in rows),
            faster=sum(row.is_clear and row.ratio < 1 for row in rows),
            median_ratio=median(row.ratio for row in rows),
        )
        for (toolchain, threads), rows in sorted(groups.items())
    )


def _failure(key: Setting, mine: _Machine, its: _Machine) -> FailureOnOne:
    where, failed, other = ("second", its, mine) if mine.costs[key].cost.seconds is not None else ("first", mine, its)
    cost = failed.costs[key].cost
    return FailureOnOne(*key, fails_on=where, stage=cost.stage, reason=cost.reason, seconds=other.costs[key].cost.seconds)


def _of_machine(rows: Iterable[TransitionRow], machine: str) -> dict[tuple[str, str, str, int], MeasuredTransition]:
    ordered = sorted((row for row in rows if row[0].machine == machine and not row[1].note), key=lambda row: row[1].created)
    return {(key.maker, key.reader, key.dtype, key.threads): measured for key, measured in ordered}


def _transitions(
    mine: Mapping[tuple[str, str, str, int], MeasuredTransition], its: Mapping[tuple[str, str, str, int], MeasuredTransition]
) -> tuple[CommonTransition, ...]:
    """Return both costs of each transition that both have measured; how sure they are is not known."""
    both = ((key, mine[key], its[key]) for key in sorted(mine.keys() & its.keys()))
    return tuple(CommonTransition(*key, first.fixed_s, first.per_byte_s, second.fixed_s, second.per_byte_s) for key, first, second in both)
