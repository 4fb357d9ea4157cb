"""What earlier trials took, from the cost database: how long a run to come may take. Nothing is measured.

What enters are toolchains by name and a machine; what leaves are seconds of a trial of each, where they are known, and the
hand-overs that need no measuring any more. Where the database cannot be read, nothing is known.
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
    """What is known from before.

    Attributes:
        trials: Toolchain → (mean seconds of a trial on that machine, of how many trials).
        transitions: (maker, reader) that were measured.
        trouble: Why the database could not be asked; empty where it could.
    """

    trials: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    transitions: frozenset[tuple[str, str]] = frozenset()
    trouble: str = ""


def trial_history(versions: Mapping[str, str], threads: int, machine: str) -> TrialHistory:
    """What the user's database knows of these toolchains (name → version) with `threads` threads on `machine` (`machine_id`)."""
    with open_database() as database:
        try:
            trials = _trials(database, tuple(versions), machine)
        except CollageError as error:
            return TrialHistory(trouble=error.message)
        keys = {(a, b): TransitionKey(a, b, versions[a], versions[b], threads, machine) for a, b in permutations(versions, 2)}
        return TrialHistory(trials, frozenset(pair for pair, key in keys.items() if database.get_transition(key) is not None))


def _trials(database: CostDatabase, names: tuple[str, ...], machine: str) -> dict[str, tuple[float, int]]:
    """Of any version, any number of threads, failed ones too: what a trial takes hardly depends on these."""
    table = measurements.c
    query = (
        select(table.toolchain, func.avg(table.seconds_spent), func.count())
        .where(table.toolchain.in_(names), table.machine == machine, table.seconds_spent > 0, table.seconds_spent <= LARGEST_S)
        .group_by(table.toolchain)
    )
    with database.session() as connection:
        return {name: (float(mean), int(count)) for name, mean, count in connection.execute(query)}
