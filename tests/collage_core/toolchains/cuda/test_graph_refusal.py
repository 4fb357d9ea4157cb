"""Sub-graphs that cannot be part of a CUDA graph, and the node that waits for the host."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collage_core.graph.dataflow_graph import DataflowGraph, TensorType
from collage_core.graph.index_set import IndexSet
from collage_core.toolchains.cuda.graph_refusal import graph_refusal
from tests.helpers.graphs import graph

PLAIN = graph(["a: Relu <- x", "b: NonMaxSuppression <- a", "y: Loop <- b"])


@pytest.mark.parametrize(
    ("index", "reason"), [(0, ""), (1, "waits for the host: shape of NonMaxSuppression"), (2, "waits for the host: condition of Loop")]
)
def test_it_names_the_node_that_waits(index: int, reason: str):
    relu, boxes, loop = PLAIN.nodes
    boxes = replace(boxes, outputs=(replace(boxes.outputs[0], type=TensorType((1, 4), "float32", (0,))),))
    nodes = (relu, boxes, replace(loop, inner=(("inside", "Add"),)))
    made = DataflowGraph(nodes, PLAIN.inputs, PLAIN.outputs)
    assert graph_refusal(made, IndexSet.window(index, 1)) == reason
