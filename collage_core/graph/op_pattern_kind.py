"""`OpPatternKind`: how an operator may be fused, from the least to the most restricted.

These are TVM's kinds (RFC 62 (Collage), `OpCallByKindPartitionRule`). Documents and the page show each kind as a letter.
"""

from __future__ import annotations

from enum import IntEnum


class OpPatternKind(IntEnum):
    """Kinds in TVM's order; a sub-graph has the greatest kind of its nodes."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_EWISE_FUSABLE = 4
    OPAQUE = 8

    @property
    def letter(self) -> str:
        """The letter of the kind: E, B, I, R, A or O."""
        return _LETTERS[self]

    @classmethod
    def from_letter(cls, letter: str) -> OpPatternKind:
        """Return the kind of `letter`. Raises KeyError when no kind has it."""
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
