"""Read from the cost database how long earlier trials took, from which the time of a run to come is estimated.

Take toolchains by name and a machine; give the seconds of a trial of each, where they are known, and the transitions that need
no measuring any more. Nothing is measured. If the database cannot be read, nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import permutations

from sqlalchemy import func, select

from ...errors import CollageError
from .database import CostDatabase, open_database
from .record_validation import LARGEST_S
from .records import TransitionKey
from .schema import measurements


@dataclass(frozen=True)
class TrialHistory:
    """Facts about earlier trials.

    Attributes:
        trials: Toolchain → (mean seconds of a trial on that machine, number of trials).
        transitions: (maker, reader) of the transitions that were measured.
        trouble: Why the database could not be read; empty where it could.
    """

    trials: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    transitions: frozenset[tuple[str, str]] = frozenset()
    trouble: str = ""


def trial_history(versions: Mapping[str, str], threads: int, machine: str, where: str | None = None) -> TrialHistory:
    """Read the history of these toolchains (name → version) with `threads` threads on `machine` (`machine_id`).

    Args:
        where: Path or URL of the database; None for the user's own.
    """
    with open_database(where) as database:
        try:
            trials = _trials(database, tuple(versions), machine)
        except CollageError as error:
            return TrialHistory(trouble=error.message)
        keys = {(a, b): TransitionKey(a, b, versions[a], versions[b], threads, machine) for a, b in permutations(versions, 2)}
        return TrialHistory(trials, frozenset(pair for pair, key in keys.items() if database.get_transition(key) is not None))


def _trials(database: CostDatabase, names: tuple[str, ...], machine: str) -> dict[str, tuple[float, int]]:
    """Return `TrialHistory.trials`, of any version and number of threads, failed ones too: their time hardly depends on these."""
    table = measurements.c
    query = (
        select(table.toolchain, func.avg(table.seconds_spent), func.count())
        .where(table.toolchain.in_(names), table.machine == machine, table.seconds_spent > 0, table.seconds_spent <= LARGEST_S)
        .group_by(table.toolchain)
    )
    with database.session() as connection:
        return {name: (float(mean), int(count)) for name, mean, count in connection.execute(query)}
