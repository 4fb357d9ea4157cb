"""`InputSets`: the inputs on which candidates and artifacts are compared with the reference: drawn, extreme, and the user's own.

The first set is the one that is timed. Plain data; `bearing` chooses them, and `extreme_inputs` says which values are extreme.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

DRAWN, EXTREME, OWN, NON_FINITE = "drawn", "extreme", "own", "non-finite"
"""Names of the sets. The third is the user's; the fourth is there where NaN and infinities must be right, too."""
MOST_SETS = 4


@dataclass(frozen=True, slots=True)
class InputSet:
    """Inputs of the model by name, and what they are: `DRAWN`, `EXTREME`, `OWN` or `NON_FINITE`."""

    name: str
    arrays: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class InputSets:
    """The sets on which everything of one model is compared with the reference.

    Attributes:
        first: The set that is timed: the user's own inputs, or else drawn ones.
        further: The others.
        notes: Which sets or inputs are milder than they might be, and why.
    """

    first: InputSet
    further: tuple[InputSet, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[InputSet, ...]:
        return self.first, *self.further
