"""Messages name a constraint in words."""

from __future__ import annotations

from typing import Any

import pytest

from collage_core.graph.dataflow_graph import HOST
from collage_core.graph.index_set import IndexSet
from collage_core.search.constraints.constraint_text import constraint_text
from collage_core.search.constraints.constraints import parse_constraints
from collage_core.search.problem import FlowTensor, SearchCandidate, SearchProblem

NAMES = ("conv1", "relu1", "a\nname", "n" * 100, "last")
PROBLEM = SearchProblem(
    5,
    (FlowTensor("x", HOST, (0,), False, 4), *(FlowTensor(f"t{n}", n, (n + 1,) if n < 4 else (), n == 4, 4) for n in range(5))),
    (SearchCandidate(IndexSet((0, 1)), "tvm", 10, "ab12"), SearchCandidate(IndexSet((2,)), "ort", 10, "cd34")),
    names=NAMES,
    ops=("Conv", "Relu", "Add", "Add", "Add"),
)


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ({"kind": "cut", "between": ["conv1", "relu1"]}, "cut between conv1 and relu1"),
        ({"kind": "veto", "target": "tvm"}, "veto of tvm for the whole model"),
        ({"kind": "veto", "candidate": "ab12"}, "veto of tvm for exactly conv1 and relu1"),
        ({"kind": "pin", "candidate": "ab12"}, "pin of exactly conv1 and relu1 to tvm"),
        ({"kind": "pin", "nodes": [0, 1, 2, 4], "target": "ort"}, "pin of conv1, relu1, a name and 1 more to ort"),
        ({"kind": "pin", "nodes": [0, 1, 4], "together": True}, "pin of conv1, relu1 and last together"),
        ({"kind": "veto", "node": 3, "target": "ort"}, f"veto of ort for {'n' * 59}…"),
    ],
)
def test_words(item: dict[str, Any], text: str) -> None:
    (constraint,) = parse_constraints([item], PROBLEM)
    assert constraint_text(PROBLEM, constraint) == text
