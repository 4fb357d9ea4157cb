"""`constraint_text`: a constraint in a few words, for messages. Plain data enters, one line of text leaves."""

from __future__ import annotations

from ..problem import SearchProblem
from .constraints import LONGEST_NAME, NODES_NAMED, Constraint


def constraint_text(problem: SearchProblem, constraint: Constraint) -> str:
    """Return `constraint` of `problem` in words: its kind, its nodes by name (the first of many), and its target."""
    if constraint.words:
        return constraint.words
    if constraint.tensor is not None:
        return f"{problem.tensors[constraint.tensor].name} stays where it is made"
    nodes = _nodes_text(problem, constraint.bits)
    named = constraint.target if constraint.location is None else constraint.location
    if constraint.kind == "cut":
        return f"cut between {nodes}"
    if constraint.kind == "veto":
        return f"veto of {named} for {'exactly ' if constraint.candidate is not None else ''}{nodes}"
    is_exact = constraint.exact or constraint.candidate is not None
    together = " together" if constraint.together and not is_exact else ""
    where = "" if named is None else f" to {named}"
    return f"pin of {'exactly ' if is_exact else ''}{nodes}{together}{where}"


def _nodes_text(problem: SearchProblem, bits: int) -> str:
    indices = [index for index in range(problem.nodes) if bits >> index & 1]
    if len(indices) == problem.nodes > NODES_NAMED:
        return "the whole model"
    named = [_name(problem, index) for index in indices[:NODES_NAMED]]
    more = len(indices) - len(named)
    if more:
        return f"{', '.join(named)} and {more} more"
    return " and ".join([", ".join(named[:-1]), named[-1]]) if len(named) > 1 else named[0]


def _name(problem: SearchProblem, index: int) -> str:
    if not problem.names:
        return f"node {index}"
    name = " ".join(problem.names[index].split())
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
