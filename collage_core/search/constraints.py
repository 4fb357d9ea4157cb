"""Pins, vetoes and cuts, as filters: each says of every candidate whether it may be in a plan.

Design, "Constraints" and "Constraints file". All of them can be told candidate by candidate, so that every searcher holds
them alike; which of them collide is found by trying without each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ..errors import CollageError
from ..graph import IndexSet, bits_of
from .problem import HOST_NAME, SearchCandidate, SearchProblem

KINDS = ("pin", "veto", "cut")
_KEYS = {"kind", "candidate", "node", "nodes", "op", "name", "target", "together", "exact", "between"}


@dataclass(frozen=True, slots=True)
class Constraint:
    """A pin, veto or cut, with its nodes resolved.

    Attributes:
        kind: ``pin``, ``veto`` or ``cut``.
        bits: The nodes that it speaks of.
        target: The target that it names, or None.
        candidate: Id of the candidate that it names, or None.
        together: A pin wants the nodes in one partition.
        exact: A pin wants nothing else in their partitions.
    """

    kind: str
    bits: int
    target: str | None = None
    candidate: str | None = None
    together: bool = False
    exact: bool = False

    def allows(self, candidate: SearchCandidate) -> bool:
        """Whether a plan that holds `candidate` can hold this constraint."""
        if self.kind == "cut":
            return (candidate.bits & self.bits).bit_count() < 2
        if not candidate.bits & self.bits:
            return True
        if self.kind == "veto":
            return candidate.id != self.candidate if self.candidate is not None else candidate.target != self.target
        if self.candidate is not None:
            return candidate.id == self.candidate
        if self.target is not None and candidate.target not in (self.target, HOST_NAME):
            return False
        if self.together and self.bits & ~candidate.bits:
            return False
        return not (self.exact and candidate.bits & ~self.bits)


def allowed_indices(problem: SearchProblem, constraints: Sequence[Constraint]) -> list[int]:
    """Indices of the candidates that every constraint allows."""
    return [index for index, candidate in enumerate(problem.candidates) if all(constraint.allows(candidate) for constraint in constraints)]


def parse_constraints(items: Any, problem: SearchProblem) -> list[Constraint]:
    """The constraints that `items` (the list of a constraints file) state for `problem`.

    Raises:
        CollageError: one is malformed, or names a node, candidate or target that there is not.
    """
    if not isinstance(items, list):
        raise CollageError(f"constraints are {items!r}, they must be a list", "docs/files.md shows the constraints file", "bad_constraint")
    return [_parse(item, f"constraints[{index}]", problem) for index, item in enumerate(items)]


def _parse(item: Any, where: str, problem: SearchProblem) -> Constraint:
    if not isinstance(item, dict):
        raise _mistake(where, item, "an object")
    unknown = set(item) - _KEYS
    if unknown:
        raise _mistake(f"{where}.{min(unknown)}", item[min(unknown)], f"one of {', '.join(sorted(_KEYS))}")
    kind = item.get("kind")
    if kind not in KINDS:
        raise _mistake(f"{where}.kind", kind, "pin, veto or cut")
    if kind == "cut":
        return Constraint("cut", _between(item, where, problem))
    if "candidate" in item:
        return _for_candidate(kind, item, where, problem)
    target = item.get("target")
    if target is not None and not isinstance(target, str):
        raise _mistake(f"{where}.target", target, "the name of a target")
    together, exact = (_flag(item, key, where) for key in ("together", "exact"))
    if kind == "veto" and target is None:
        raise _mistake(f"{where}.target", target, "the target that is vetoed (or name a candidate)")
    if kind == "pin" and target is None and not (together or exact):
        raise _mistake(f"{where}.target", target, "the target to pin to (or set together)")
    return Constraint(kind, _nodes(item, where, problem), target, None, together, exact)


def _for_candidate(kind: str, item: dict[str, Any], where: str, problem: SearchProblem) -> Constraint:
    wanted, listed = item["candidate"], problem.candidates
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        found = listed[wanted] if 0 <= wanted < len(listed) else None
    else:
        found = next((candidate for candidate in listed if candidate.id == wanted), None)
    if found is None:
        raise _mistake(f"{where}.candidate", item["candidate"], "the id of a candidate (or, in `collage search`, its index)")
    return Constraint(kind, found.bits, found.target, found.id)


def _between(item: dict[str, Any], where: str, problem: SearchProblem) -> int:
    ends = item.get("between")
    if not isinstance(ends, list) or len(ends) != 2:
        raise _mistake(f"{where}.between", ends, "two nodes")
    bits = bits_of(_node(end, f"{where}.between", problem) for end in ends)
    if bits.bit_count() != 2:
        raise _mistake(f"{where}.between", ends, "two different nodes")
    return bits


def _nodes(item: dict[str, Any], where: str, problem: SearchProblem) -> int:
    bits = (1 << problem.nodes) - 1
    if "node" in item:
        bits &= 1 << _node(item["node"], f"{where}.node", problem)
    if "nodes" in item:
        listed = item["nodes"]
        if not isinstance(listed, list) or not listed:
            raise _mistake(f"{where}.nodes", listed, "a list of nodes")
        bits &= bits_of(_node(node, f"{where}.nodes", problem) for node in listed)
    for key, values in (("op", problem.ops), ("name", problem.names)):
        if key in item:
            if not isinstance(item[key], str):
                raise _mistake(f"{where}.{key}", item[key], "a string")
            bits &= bits_of(index for index, value in enumerate(values) if _matches(key, value, item[key]))
    return bits


def _matches(key: str, value: str, wanted: str) -> bool:
    return value == wanted if key == "op" else fnmatchcase(value, wanted)


def _node(value: Any, where: str, problem: SearchProblem) -> int:
    """A node by its name, or by its index as a number (or as a string of digits that is no node's name)."""
    if isinstance(value, str) and value in problem.names:
        return problem.names.index(value)
    digits = isinstance(value, str) and value.isdecimal()
    index = int(value) if digits or (isinstance(value, int) and not isinstance(value, bool)) else -1
    if not 0 <= index < problem.nodes:
        raise _mistake(where, value, f"the name of a node, or its index from 0 to {problem.nodes - 1}")
    return index


def _flag(item: dict[str, Any], key: str, where: str) -> bool:
    value = item.get(key, False)
    if not isinstance(value, bool):
        raise _mistake(f"{where}.{key}", value, "true or false")
    return value


def _mistake(where: str, found: Any, wanted: str) -> CollageError:
    return CollageError(f"{where} is {found!r}, it must be {wanted}", "docs/files.md shows the constraints file", "bad_constraint")


def minimal_conflict(constraints: Sequence[Constraint], is_feasible: Callable[[Sequence[Constraint]], bool]) -> list[int]:
    """Indices of a minimal set of constraints that cannot hold together: without any one of them the rest can.

    `constraints` as a whole must be infeasible. Empty when there is no plan even without any.
    """
    kept = list(range(len(constraints)))
    if not is_feasible([]):
        return []
    for index in list(kept):
        without = [other for other in kept if other != index]
        if not is_feasible([constraints[other] for other in without]):
            kept = without
    return kept


def uncovered(problem: SearchProblem, candidates: Sequence[SearchCandidate]) -> list[int]:
    """Nodes of `problem` that none of `candidates` holds."""
    covered = 0
    for candidate in candidates:
        covered |= candidate.bits
    return list(IndexSet.from_bits(((1 << problem.nodes) - 1) & ~covered))
