"""The protocol's classes are what the engine's plain data is: the page reads one and gets the other."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from collage_core import events
from collage_core.documents.candidate_set import FoldedInfo
from collage_core.documents.json_form import keys_of
from collage_core.documents.run import TensorInfo
from collage_core.graph.dataflow_graph import Constant, DataflowGraph, Node, OpPatternKind, Tensor, TensorType
from collage_core.model.model import FoldedNode
from collage_server import protocol
from collage_server.messages import models
from collage_server.shared.thinning import THINNABLE

X = Tensor("x", TensorType((1, 3), "float32"))
NODE = Node(0, "relu", "Relu", OpPatternKind.from_letter("E"), ("x", "c"), (Tensor("y", X.type),))
GRAPH = DataflowGraph((NODE,), (X,), ("y",), {"c": Constant(TensorType((), "int64"), (1,))})


def names(kind: Any) -> set[str]:
    return {field.name for field in fields(kind)}


def test_graph() -> None:
    data = GRAPH.to_json()
    assert names(models.GraphJson) == set(data)
    keys = keys_of(models.NodeJson).values()
    assert {key.name for key in keys if not key.is_optional} == set(data["nodes"][0])
    keys = keys_of(TensorInfo).values()
    assert {key.name for key in keys if not key.is_optional} == set(data["inputs"][0]) == set(data["nodes"][0]["outputs"][0])
    assert {key.name for key in keys} - {"symbols"} == set(Tensor("y", TensorType((1, 3), "float32", (0,), (5, 3))).to_json())
    assert names(models.ConstantJson) == set(data["constants"]["c"])


def test_folded_nodes() -> None:
    assert names(FoldedInfo) == names(FoldedNode)


def test_every_event_of_the_pipeline_travels() -> None:
    made = {value for value in vars(events).values() if isinstance(value, type) and issubclass(value, events.Event)} - {events.Event}
    assert set(protocol.EVENTS) == made
    assert set(THINNABLE) <= made
