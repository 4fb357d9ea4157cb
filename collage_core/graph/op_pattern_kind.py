"""`OpPatternKind`: how an operator may be fused, from the freest to the most closed.

Seeds: RFC 62 (0.81), `OpCallByKindPartitionRule`; TVM's `OpPatternKind`. The letters are those of the contracts.
"""

from __future__ import annotations

from enum import IntEnum


class OpPatternKind(IntEnum):
    """Kinds in TVM's order: a sub-graph has the greatest kind of its nodes."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_EWISE_FUSABLE = 4
    OPAQUE = 8

    @property
    def letter(self) -> str:
        """E, B, I, R, A or O."""
        return _LETTERS[self]

    @classmethod
    def from_letter(cls, letter: str) -> OpPatternKind:
        """The kind of a letter. Raises KeyError on any other."""
        return _KINDS[letter]


_LETTERS = {
    OpPatternKind.ELEMWISE: "E",
    OpPatternKind.BROADCAST: "B",
    OpPatternKind.INJECTIVE: "I",
    OpPatternKind.COMM_REDUCE: "R",
    OpPatternKind.OUT_EWISE_FUSABLE: "A",
    OpPatternKind.OPAQUE: "O",
}
_KINDS = {letter: kind for kind, letter in _LETTERS.items()}
