"""Pins, vetoes and cuts, tensors that have to stay where they are made, and targets that exclude each other.

A pin, veto or cut judges each candidate by itself, so it only removes candidates and every searcher holds it. A tensor that has to stay is
part of the problem (`with_staying`), since only a plan tells whether it is copied. So are targets that exclude each other; a searcher
whose states do not hold the targets in use searches each largest compatible set by itself. docs/files.md describes the constraints file.
`conflict` finds the constraints that cannot hold together. A constraint may select nodes in the bodies of an `If`, `Loop` or `Scan`: here
it says which candidates may hold the whole node, and `inner_constraints` says it of the bodies.
"""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from ...graph.control_flow import CONTROL_OPS
from ...graph.index_set import bits_of
from ..problem import HOST_NAME, SearchCandidate, SearchProblem
from ..source_lines import ProblemMistake

KINDS = ("pin", "veto", "cut", "stay")
_ABOUT = {"kind", "node", "nodes", "op", "name", "target", "location"}
KEYS_OF = {"pin": _ABOUT | {"together", "exact"}, "veto": _ABOUT, "cut": {"kind", "between"}, "stay": {"kind", "tensor"}}
"""Keys that each kind of constraint may have when it does not name a candidate."""
_KEYS = {"candidate"}.union(*KEYS_OF.values())
_SELECTING = frozenset(("node", "nodes", "op", "name"))
NODES_NAMED = 3
"""Most nodes that a constraint names in words."""
LONGEST_NAME = 60
_HINT = "docs/files.md shows the constraints file"
_CODE = "bad_constraint"


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint, with its nodes resolved.

    Attributes:
        kind: ``pin``, ``veto``, ``cut`` or ``stay``.
        bits: The nodes that it is about, as bits.
        target: The target that it names, or None.
        candidate: Id of the candidate that it names, or None.
        together: Whether a pin requires all its nodes in one partition.
        exact: Whether a pin forbids other nodes in their partitions.
        switches_off: Whether it is the veto of a target that is switched off (`switch_off`), and not one that the user lists.
        bodies: Those of its nodes that have bodies, as bits: a pin to a target keeps them from the host, which keeps the nodes that it
            only renames.
        words: Itself in words where it is about nodes in bodies; `bits` then has the nodes with these bodies.
        location: The location that it names in place of a target, or None.
        located: The targets at that location.
        tensor: Index of the tensor that has to stay, or None.
    """

    kind: str
    bits: int
    target: str | None = None
    candidate: str | None = None
    together: bool = False
    exact: bool = False
    switches_off: bool = False
    bodies: int = 0
    words: str = ""
    location: str | None = None
    located: frozenset[str] = frozenset()
    tensor: int | None = None

    def is_about(self, target: str) -> bool:
        """Return whether the constraint names `target`, or the location where it is."""
        return target == self.target or target in self.located

    def allows(self, candidate: SearchCandidate) -> bool:
        """Return whether a plan that holds the constraint may hold `candidate`. This is the definition; `violations` is faster."""
        inside = candidate.inside
        touched = self.bits >> inside.base & inside.rel
        if self.kind == "cut":
            return touched.bit_count() < 2
        if not touched:
            return True
        if self.kind == "veto":
            return candidate.id != self.candidate if self.candidate is not None else not self.is_about(candidate.target)
        if self.candidate is not None:
            return candidate.id == self.candidate
        if (self.target is not None or self.location is not None) and not self.is_about(candidate.target):
            is_kept = candidate.target == HOST_NAME and not self.bodies >> inside.base & inside.rel
            if not is_kept:
                return False
        if self.together and touched.bit_count() < self.bits.bit_count():
            return False
        return not (self.exact and touched != inside.rel)


def allowed_indices(problem: SearchProblem, constraints: Sequence[Constraint]) -> list[int]:
    """Return the indices of the candidates that every constraint allows."""
    if not constraints:
        return list(range(len(problem.candidates)))
    refused = violations(problem, constraints)
    return [index for index in range(len(problem.candidates)) if index not in refused]


def violations(problem: SearchProblem, constraints: Sequence[Constraint]) -> dict[int, int]:
    """Return candidate → the constraints that refuse it, as bits, for each candidate that some constraint refuses.

    The constraints are grouped by target, so that most candidates take one check, however many constraints there are.
    """
    relevant = {target: _relevant(constraints, target) for target in {candidate.target for candidate in problem.candidates}}
    concerned = dict.fromkeys(relevant, 0)
    for target, rows in relevant.items():
        for _, bits, _ in rows:
            concerned[target] |= bits
    refused: dict[int, int] = {}
    for index, candidate in enumerate(problem.candidates):
        inside, target = candidate.inside, candidate.target
        base, rel = inside.base, inside.rel
        if not concerned[target] >> base & rel:
            continue
        found = 0
        for mark, bits, constraint in relevant[target]:
            if bits >> base & rel and (constraint is None or not constraint.allows(candidate)):
                found |= mark
        if found:
            refused[index] = found
    return refused


def _relevant(constraints: Sequence[Constraint], target: str) -> list[tuple[int, int, Constraint | None]]:
    """Return (its bit, its nodes, itself) for each constraint that refuses candidates of `target`.

    The constraint itself is None when it refuses all candidates of `target` with one of its nodes.
    """
    relevant: list[tuple[int, int, Constraint | None]] = []
    for index, constraint in enumerate(constraints):
        if _may_refuse(constraint, target):
            relevant.append((1 << index, constraint.bits, None if _refuses_all(constraint, target) else constraint))
    return relevant


def _may_refuse(constraint: Constraint, target: str) -> bool:
    """Return whether `constraint` may refuse a candidate of `target`."""
    if constraint.kind == "cut" or constraint.together or constraint.exact:
        return True
    if constraint.kind == "veto":
        return constraint.is_about(target)
    if constraint.kind == "stay":
        return False
    return constraint.candidate is not None or not (constraint.is_about(target) or target == HOST_NAME) or constraint.bodies != 0


def _refuses_all(constraint: Constraint, target: str) -> bool:
    """Return whether `constraint` refuses every candidate of `target` that holds one of its nodes."""
    if constraint.kind == "cut" or constraint.candidate is not None:
        return False
    if constraint.kind == "veto":
        return constraint.is_about(target)
    names_any = constraint.target is not None or constraint.location is not None
    return names_any and target != HOST_NAME and not constraint.is_about(target)


def with_staying(problem: SearchProblem, constraints: Sequence[Constraint]) -> SearchProblem:
    """Return `problem` with the tensors that have to stay; the same object where the constraints name none."""
    staying = frozenset(constraint.tensor for constraint in constraints if constraint.tensor is not None)
    return problem if staying <= problem.staying else replace(problem, staying=problem.staying | staying)


def parse_constraints(items: Any, problem: SearchProblem) -> list[Constraint]:
    """Return the constraints that `items`, the list of a constraints file, state for `problem`.

    Raises:
        ProblemMistake: one is malformed, or names a node, operator, candidate or target that does not exist.
    """
    if not isinstance(items, list):
        raise _mistake("constraints", items, "a list")
    reader = _Reader(problem)
    return [reader.read(item, f"constraints[{index}]") for index, item in enumerate(items)]


def switch_off(problem: SearchProblem, targets: Sequence[str]) -> list[Constraint]:
    """The vetoes of `problem` that keep every node from `targets`; a conflict names them by their target.

    Raises:
        ProblemMistake: one is no target of the problem.
    """
    reader = _Reader(problem)
    vetoes = [reader.read({"kind": "veto", "target": target}, f"switched_off[{index}]") for index, target in enumerate(targets)]
    return [replace(veto, switches_off=True) for veto in vetoes]


class _Reader:
    """Reads the constraints of one problem."""

    def __init__(self, problem: SearchProblem):
        self._problem = problem
        self._index = {name: index for index, name in reversed(list(enumerate(problem.names)))}
        self._bodies = bits_of(index for index, op in enumerate(problem.ops) if op in CONTROL_OPS)
        self._inner = [InnerNode(name, op, index) for index, found in problem.inner.items() for name, op in found]
        pairs = (*problem.exclusive, *problem.transitions)
        self._targets = {*problem.priorities, *(end for pair in pairs for end in pair), *(c.target for c in problem.candidates)}

    def read(self, item: Any, where: str) -> Constraint:
        """Return the constraint that `item` states; `where` is its JSON path."""
        if not isinstance(item, dict):
            raise _mistake(where, item, "an object")
        unknown = set(item) - _KEYS
        if unknown:
            key = min(unknown, key=str)
            raise _mistake(f"{where}.{key}", item[key], f"left out: a constraint has {', '.join(sorted(_KEYS))}")
        kind = item.get("kind")
        if not isinstance(kind, str) or kind not in KINDS:
            raise _mistake(f"{where}.kind", kind, "pin, veto, cut or stay")
        useless = set(item) - KEYS_OF[kind] if kind in ("cut", "stay") or "candidate" not in item else set(item) - {"kind", "candidate"}
        if useless:
            key = min(useless)
            raise _mistake(f"{where}.{key}", item[key], f"left out: it means nothing in this {kind}")
        if kind == "cut":
            return self._cut(item, where)
        if kind == "stay":
            return self._stay(item, where)
        if "candidate" in item:
            return self._for_candidate(kind, item["candidate"], where)
        return self._for_nodes(kind, item, where)

    def _for_nodes(self, kind: str, item: dict[str, Any], where: str) -> Constraint:
        target = item.get("target")
        if target is not None and (not isinstance(target, str) or target not in {HOST_NAME, *self._targets}):
            raise _mistake(f"{where}.target", target, f"a target ({', '.join(sorted(self._targets))})")
        together, exact = (_flag(item, key, where) for key in ("together", "exact"))
        if "location" in item:
            return self._at_location(kind, item, where, together=together, exact=exact)
        if kind == "veto" and target is None:
            raise _mistake(f"{where}.target", target, "the target that is vetoed (or name a candidate)")
        if kind == "pin" and target is None and not (together or exact):
            raise _mistake(f"{where}.target", target, "the target to pin to (or set together or exact)")
        bits, inner = self._nodes(item, where)
        if not inner:
            return Constraint(kind, bits, target, None, together, exact, bodies=bits & self._bodies if kind == "pin" else 0)
        around, names = bits_of(node.around for node in inner), _listed(inner, bits.bit_count())
        if kind == "veto":
            return Constraint("veto", bits | around, target, words=f"veto of {target} for {names}")
        where_to = "" if target is None else f" to {target}"
        words = f"pin of {'exactly ' if exact else ''}{names}{' together' if together and not exact else ''}{where_to}"
        if not (together or exact):
            return Constraint("pin", bits | around, target, bodies=bits & self._bodies, words=words)
        if bits or around.bit_count() > 1:
            raise ProblemMistake(f"{where} speaks of nodes in several graphs, which no partition holds together", _HINT, _CODE, where)
        return Constraint("pin", around, HOST_NAME if exact else target, words=words)

    def _at_location(self, kind: str, item: dict[str, Any], where: str, *, together: bool, exact: bool) -> Constraint:
        location, known = item["location"], {HOST_NAME, *self._problem.locations}
        if "target" in item:
            raise _mistake(f"{where}.location", location, "left out: the constraint names a target, which is at one location")
        if not isinstance(location, str) or location not in known:
            raise _mistake(f"{where}.location", location, f"a location ({', '.join(sorted(known))})")
        located = frozenset(target for target in (HOST_NAME, *self._targets) if self._problem.location(target) == location)
        bits, inner = self._nodes(item, where)
        around, words = bits_of(node.around for node in inner), ""
        if inner:
            exactly, joined = "exactly " if exact else "", " together" if together and not exact else ""
            words = f"{kind} of {exactly}{_listed(inner, bits.bit_count())}{joined} to {location}"
        bodies = bits & self._bodies if kind == "pin" else 0
        return Constraint(kind, bits | around, None, None, together, exact, bodies=bodies, words=words, location=location, located=located)

    def _stay(self, item: dict[str, Any], where: str) -> Constraint:
        wanted = item.get("tensor")
        found = [index for index, tensor in enumerate(self._problem.tensors) if tensor.name == wanted]
        if not isinstance(wanted, str) or len(found) != 1:
            raise _mistake(f"{where}.tensor", wanted, "the name of a tensor between nodes, or between nodes and the host")
        return Constraint("stay", 0, tensor=found[0])

    def _for_candidate(self, kind: str, wanted: Any, where: str) -> Constraint:
        listed = self._problem.candidates
        found = None
        if isinstance(wanted, int) and not isinstance(wanted, bool):
            found = listed[wanted] if 0 <= wanted < len(listed) else None
        elif isinstance(wanted, str):
            found = next((candidate for candidate in listed if candidate.id == wanted), None)
        if found is None:
            raise _mistake(f"{where}.candidate", wanted, "the id of a candidate (or, in `collage search`, its index)")
        return Constraint(kind, found.bits, found.target, found.id)

    def _cut(self, item: dict[str, Any], where: str) -> Constraint:
        ends = item.get("between")
        if not isinstance(ends, list) or len(ends) != 2:
            raise _mistake(f"{where}.between", ends, "two nodes")
        inner = [{node.around for node in self._inner if node.is_called(end, self._index)} for end in ends]
        if any(inner):
            around = bits_of(inner[0] & inner[1])
            if not around or ends[0] == ends[1]:
                raise _mistake(f"{where}.between", ends, "two different nodes of one graph")
            return Constraint("pin", around, HOST_NAME, words=f"cut between {_listed(ends)}")
        bits = bits_of(self._node(end, f"{where}.between") for end in ends)
        if bits.bit_count() != 2:
            raise _mistake(f"{where}.between", ends, "two different nodes")
        return Constraint("cut", bits)

    def _nodes(self, item: dict[str, Any], where: str) -> tuple[int, list[InnerNode]]:
        """Return the nodes that match every key of `item`, and those in bodies; all nodes, and none in bodies, when it has no such key."""
        problem = self._problem
        bits = (1 << problem.nodes) - 1
        if "node" in item:
            bits &= self._bits([item["node"]], f"{where}.node")
        if "nodes" in item:
            listed = item["nodes"]
            if not isinstance(listed, list) or not listed:
                raise _mistake(f"{where}.nodes", listed, "a list of nodes")
            bits &= self._bits(listed, f"{where}.nodes")
        for key, values in (("op", problem.ops), ("name", problem.names)):
            if key in item:
                if not isinstance(item[key], str):
                    raise _mistake(f"{where}.{key}", item[key], "a string")
                bits &= bits_of(index for index, value in enumerate(values) if matches(key, value, item[key]))
        inner = [node for node in self._inner if is_selected(item, node.name, node.op, self._index)]
        if not bits and not inner:
            asked = {key: item[key] for key in ("node", "nodes", "op", "name") if key in item}
            raise ProblemMistake(f"{where} speaks of no node: {reprlib.repr(asked)} matches none", _HINT, _CODE, where)
        return bits, inner

    def _bits(self, listed: Sequence[Any], where: str) -> int:
        """Return the nodes of a list; those in bodies are nodes too, and left out."""
        names = {node.name for node in self._inner}
        inner = [value for value in listed if isinstance(value, str) and value in names and value not in self._index]
        return bits_of(self._node(value, where) for value in listed if value not in inner)

    def _node(self, value: Any, where: str) -> int:
        """Return a node given by its name, by its index, or by its index as a string of digits that is no node's name."""
        if isinstance(value, str) and value in self._index:
            return self._index[value]
        digits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10
        index = int(value) if digits or (isinstance(value, int) and not isinstance(value, bool)) else -1
        if not 0 <= index < self._problem.nodes:
            inner = " or of one in a body" if self._inner else ""
            raise _mistake(where, value, f"the name of a node{inner}, or its index from 0 to {self._problem.nodes - 1}")
        return index


def matches(key: str, value: str, wanted: str) -> bool:
    """Return whether the operator (`key` is ``op``) or the name of a node is what a constraint wants."""
    return value == wanted if key == "op" else fnmatchcase(value, wanted)


def _listed(nodes: Sequence[InnerNode | str], others: int = 0) -> str:
    """Return the first names of nodes in bodies, how many more there are, and how many `others` outside of bodies."""
    names = list(dict.fromkeys(node if isinstance(node, str) else node.name for node in nodes))
    shown = [" ".join(name.split())[:LONGEST_NAME] for name in names[:NODES_NAMED]]
    more = len(names) - len(shown) + others
    return f"{', '.join(shown)} and {more} more" if more else " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def is_selected(item: Mapping[str, Any], name: str, op: str, taken: Collection[str]) -> bool:
    """Return whether a constraint with keys that select nodes selects a node in a body.

    Args:
        taken: Names of nodes around the body: by its name alone such a node is meant.
    """
    if item.keys().isdisjoint(_SELECTING):
        return False
    by_name = [[item["node"]]] if "node" in item else []
    by_name += [item["nodes"]] if "nodes" in item else []
    if any(name in taken or name not in listed for listed in by_name):
        return False
    return all(matches(key, value, item[key]) for key, value in (("op", op), ("name", name)) if key in item)


@dataclass(frozen=True, slots=True)
class InnerNode:
    """A node in a body of the node with the index `around`."""

    name: str
    op: str
    around: int

    def is_called(self, value: Any, taken: Collection[str]) -> bool:
        """Return whether `value` is its name, and not that of a node around."""
        return value == self.name and value not in taken


def _flag(item: dict[str, Any], key: str, where: str) -> bool:
    value = item.get(key, False)
    if not isinstance(value, bool):
        raise _mistake(f"{where}.{key}", value, "true or false")
    return value


def _mistake(where: str, found: Any, wanted: str) -> ProblemMistake:
    return ProblemMistake(f"{where} is {reprlib.repr(found)}, it must be {wanted}", _HINT, _CODE, where)


def uncovered(problem: SearchProblem, candidates: Sequence[SearchCandidate]) -> list[int]:
    """Return the nodes of `problem` that none of `candidates` holds."""
    is_covered = bytearray(problem.nodes)
    for inside in {candidate.inside for candidate in candidates}:
        for node in inside:
            is_covered[node] = 1
    return [node for node, covered in enumerate(is_covered) if not covered]


def exclusions_of(problem: SearchProblem, targets: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return for each of `targets` the others of them that must not be in one plan with it."""
    known = set(targets)
    excluded: dict[str, set[str]] = {target: set() for target in targets}
    for a, b in problem.exclusive:
        if a != b and a in known and b in known:
            excluded[a].add(b)
            excluded[b].add(a)
    return {target: frozenset(others) for target, others in excluded.items()}


def compatible_sets(problem: SearchProblem, targets: Sequence[str]) -> Iterator[frozenset[str]]:
    """Yield the maximal sets of `targets` of which no two exclude each other; one set of all targets when none do."""
    excluded = exclusions_of(problem, targets)
    neighbours = {target: frozenset(targets) - others - {target} for target, others in excluded.items()}
    yield from _cliques(frozenset(), frozenset(targets), frozenset(), neighbours)


def _cliques(
    clique: frozenset[str], may_join: frozenset[str], done: frozenset[str], neighbours: dict[str, frozenset[str]]
) -> Iterator[frozenset[str]]:
    """Yield the maximal cliques with `clique` by the Bron–Kerbosch algorithm with a pivot, in the order of the names."""
    if not may_join and not done:
        yield clique
        return
    pivot = max(sorted(may_join | done), key=lambda target: len(neighbours[target] & may_join))
    for target in sorted(may_join - neighbours[pivot]):
        yield from _cliques(clique | {target}, may_join & neighbours[target], done & neighbours[target], neighbours)
        may_join, done = may_join - {target}, done | {target}
