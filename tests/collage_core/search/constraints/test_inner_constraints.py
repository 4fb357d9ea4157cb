"""Constraints on nodes in bodies: what they say of whole nodes, and what is handed to a body."""

from __future__ import annotations

from typing import Any

import pytest

from collage_core.errors import CollageError
from collage_core.graph.dataflow_graph import HOST
from collage_core.graph.index_set import IndexSet
from collage_core.search.constraints.constraint_text import constraint_text
from collage_core.search.constraints.constraints import allowed_indices, parse_constraints
from collage_core.search.constraints.inner_constraints import inner_constraints, names_in, speaks_of_nodes
from collage_core.search.problem import FlowTensor, SearchCandidate, SearchProblem
from collage_core.search.problem_json import problem_from_json

BODY = (("mul", "MatMul"), ("act", "Relu"), ("both", "Add"))
NAMES, OPS = ("first", "loop", "both"), ("MatMul", "Loop", "Relu")
TARGETS = ("a", "b")


def problem() -> SearchProblem:
    """MatMul, Loop, Relu in a row; every node on every target and on both, and the loop on the host."""
    tensors = [FlowTensor("x", HOST, (0,), False, 4)]
    tensors += [FlowTensor(f"t{node}", node, (node + 1,) if node < 2 else (), node == 2, 4) for node in range(3)]
    sets = [(target, nodes) for target in TARGETS for nodes in ((0,), (1,), (2,), (0, 1))] + [("host", (1,))]
    candidates = [SearchCandidate(IndexSet(nodes), target, 1, f"{target}{''.join(map(str, nodes))}") for target, nodes in sets]
    inner = {1: (*BODY, ("deep", "Relu"))}
    return SearchProblem(3, tuple(tensors), tuple(candidates), priorities=TARGETS, names=NAMES, ops=OPS, inner=inner)


def refused(item: dict[str, Any]) -> set[str]:
    found = problem()
    allowed = allowed_indices(found, parse_constraints([item], found))
    return {candidate.id for index, candidate in enumerate(found.candidates) if index not in allowed}


@pytest.mark.parametrize(
    ("item", "expected", "words"),
    [
        ({"kind": "pin", "node": "mul", "target": "a"}, {"b1", "b01"}, "pin of mul to a"),
        ({"kind": "veto", "node": "deep", "target": "a"}, {"a1", "a01"}, "veto of a for deep"),
        ({"kind": "veto", "nodes": ["mul", "first"], "target": "a"}, {"a0", "a1", "a01"}, "veto of a for mul and 1 more"),
        ({"kind": "pin", "op": "MatMul", "target": "a"}, {"b0", "b1", "b01"}, "pin of mul and 1 more to a"),
        ({"kind": "veto", "name": "m*", "target": "b"}, {"b1", "b01"}, "veto of b for mul"),
        ({"kind": "pin", "nodes": ["mul", "act"], "target": "a", "together": True}, {"b1", "b01"}, "pin of mul and act together to a"),
        ({"kind": "pin", "nodes": ["mul", "act"], "together": True}, set(), "pin of mul and act together"),
        ({"kind": "pin", "node": "mul", "target": "a", "exact": True}, {"a1", "a01", "b1", "b01"}, "pin of exactly mul to a"),
        ({"kind": "cut", "between": ["mul", "act"]}, {"a1", "a01", "b1", "b01"}, "cut between mul and act"),
        ({"kind": "pin", "node": "both", "target": "a"}, {"b2"}, "pin of both to a"),
    ],
)
def test_what_a_constraint_on_a_body_says_of_the_whole_node(item: dict[str, Any], expected: set[str], words: str) -> None:
    """The host may always run the loop: its body then holds the constraint itself."""
    assert refused(item) == expected
    (parsed,) = parse_constraints([item], problem())
    assert constraint_text(problem(), parsed) == words


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (
            {"kind": "pin", "node": "mull", "target": "a"},
            "constraints[0].node is 'mull', it must be the name of a node or of one in a body, or its index from 0 to 2",
        ),
        (
            {"kind": "veto", "nodes": ["mul", "mull"], "target": "a"},
            "constraints[0].nodes is 'mull', it must be the name of a node or of one in a body, or its index from 0 to 2",
        ),
        ({"kind": "veto", "op": "Conv", "target": "a"}, "constraints[0] speaks of no node: {'op': 'Conv'} matches none"),
        (
            {"kind": "pin", "nodes": ["mul", "first"], "exact": True},
            "constraints[0] speaks of nodes in several graphs, which no partition holds together",
        ),
        (
            {"kind": "cut", "between": ["mul", "first"]},
            "constraints[0].between is ['mul', 'first'], it must be two different nodes of one graph",
        ),
    ],
)
def test_a_name_that_is_nowhere_and_nodes_of_several_graphs_are_mistakes(item: dict[str, Any], words: str) -> None:
    with pytest.raises(CollageError) as error:
        parse_constraints([item], problem())
    assert error.value.message == words


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"kind": "veto", "target": "a"}, {"kind": "veto", "target": "a"}),
        ({"kind": "veto", "target": "host"}, None),
        ({"kind": "veto", "target": "elsewhere"}, None),
        ({"kind": "pin", "target": "a"}, None),
        ({"kind": "pin", "candidate": "a1"}, None),
        ({"kind": "pin", "node": "first", "target": "a"}, None),
        ({"kind": "pin", "node": "both", "target": "a"}, None),
        ({"kind": "pin", "node": "mul", "target": "a"}, {"kind": "pin", "target": "a", "nodes": ["mul"]}),
        ({"kind": "veto", "nodes": ["mul", "first", "both"], "target": "a"}, {"kind": "veto", "target": "a", "nodes": ["mul"]}),
        ({"kind": "pin", "nodes": ["mul", "act"], "exact": True}, {"kind": "pin", "exact": True, "nodes": ["mul", "act"]}),
        ({"kind": "veto", "op": "Relu", "target": "a"}, {"kind": "veto", "op": "Relu", "target": "a"}),
        ({"kind": "veto", "op": "Conv", "target": "a"}, None),
        ({"kind": "veto", "name": "b*", "target": "a"}, {"kind": "veto", "name": "b*", "target": "a"}),
        ({"kind": "cut", "between": ["mul", "act"]}, {"kind": "cut", "between": ["mul", "act"]}),
        ({"kind": "cut", "between": ["mul", "both"]}, None),
    ],
)
def test_what_a_body_gets_of_the_constraints_around_it(item: dict[str, Any], expected: dict[str, Any] | None) -> None:
    """`both` is a node of the model as well, which its name means then."""
    assert inner_constraints([item], NAMES, BODY, TARGETS) == (() if expected is None else (expected,))


def test_the_names_in_constraints() -> None:
    items = [{"kind": "pin", "node": 3, "target": "a"}, {"kind": "veto", "nodes": ["x", "y"]}, {"kind": "cut", "between": ["y", "z"]}]
    assert names_in([*items, {"kind": "veto", "target": "a"}]) == {"3", "x", "y", "z"}
    assert [speaks_of_nodes(item) for item in (*items, {"kind": "veto", "target": "a"})] == [True, True, True, False]


def test_a_problem_in_a_file_keeps_the_nodes_in_bodies() -> None:
    assert problem_from_json(problem().to_json()).inner == problem().inner
    with pytest.raises(CollageError, match=r"inner\[0\] is \[1, 'mul'\], it must be a node, and name and operator of a node in its bodies"):
        problem_from_json({**problem().to_json(), "inner": [[1, "mul"]]})
