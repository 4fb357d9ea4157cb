"""Records of several repetitions, for tests."""

from __future__ import annotations

from collage_core.cost.database.records import Record
from collage_core.cost.measuring.repetitions import with_repetition

QUIET = Record(samples=(1.0, 1.0, 1.1))


def repeated(*values: float) -> Record:
    """Return a record of one repetition of three samples for each value."""
    record = Record(samples=(values[0],) * 3)
    for value in values[1:]:
        record = with_repetition(record, Record(samples=(value,) * 3))
    return record
