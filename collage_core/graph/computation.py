"""The identity of a computation: sub-graphs of equal key are the same work, wherever in the model they stand.

Design, "Candidates that are the same computation". The key covers structure, operators, attributes, shapes and dtypes;
weights count by shape, except for the few values that `Constant.value` keeps because they shape the computation.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from .dataflow_graph import DataflowGraph
from .index_set import IndexSet
from .sub_graph import SubGraph


def computation_key(graph: DataflowGraph, inside: IndexSet) -> str:
    """A hex digest that is equal for equal computations, in every process and on every machine.

    Tensors are named by where they come from (the k-th input from outside, the k-th constant, an output of the k-th
    inside node), so that the model's own names do not matter.
    """
    sub_graph = SubGraph(graph, inside)
    alias: dict[str, str] = {"": ""}
    boundary: list[Any] = []
    for name in sub_graph.input_tensors():
        alias[name] = f"in{len(boundary)}"
        boundary.append(graph.types[name].to_json())
    constants: list[Any] = []
    body: list[Any] = []
    for place, index in enumerate(inside):
        node = graph.nodes[index]
        for name in node.inputs:
            if name not in alias:
                alias[name] = f"const{len(constants)}"
                constants.append(graph.constants[name].to_json())
        for slot, tensor in enumerate(node.outputs):
            alias[tensor.name] = f"n{place}.{slot}"
        body.append([node.op, dict(node.attributes), [alias[name] for name in node.inputs], [t.type.to_json() for t in node.outputs]])
    leaving = [alias[name] for name in sub_graph.output_tensors()]
    text = json.dumps([boundary, constants, body, leaving], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
