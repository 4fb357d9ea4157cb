"""`model_card`: what a model's file says of the whole model. A `ModelProto` as it was read enters; nothing is inferred or run."""

from __future__ import annotations

from collections import Counter
from math import prod

from onnx import ModelProto, TensorProto, ValueInfoProto

from ...documents.model_view import ModelCard, ViewedTensor
from ...graph.dataflow_graph import item_bytes
from ..files.external_data import is_external, tensors_of
from ..nodes import all_nodes, domain_of, op_name, opset_versions
from ..types.dtypes import BITS, dtype_name
from .scopes import UNRANKED, shown_type


def model_card(model: ModelProto, name: str) -> ModelCard:
    """Return the card of `model`, which is called `name` here."""
    nodes = [node for graph in (model.graph, *model.functions) for node in all_nodes(graph)]
    weights = list(tensors_of(model))
    initialised = {tensor.name for tensor in model.graph.initializer}
    locations = {entry.value for tensor in filter(is_external, weights) for entry in tensor.external_data if entry.key == "location"}
    return ModelCard(
        name=name,
        ir_version=model.ir_version,
        opsets={domain or "ai.onnx": version for domain, version in sorted(opset_versions(model).items())},
        producer=model.producer_name,
        producer_version=model.producer_version,
        domain=model.domain,
        model_version=model.model_version,
        doc=model.doc_string.strip(),
        graph_doc=model.graph.doc_string.strip(),
        metadata={entry.key: entry.value for entry in model.metadata_props},
        nodes=len(model.graph.node),
        inner_nodes=len(nodes) - len(model.graph.node),
        operators=dict(Counter(map(op_name, nodes)).most_common()),
        functions=[".".join(filter(None, (domain_of(function), function.name))) for function in model.functions],
        parameters=sum(_size(tensor) for tensor in weights),
        parameter_bytes=sum(tensor_bytes(tensor) for tensor in weights),
        external=sorted(locations),
        inputs=[_viewed(value) for value in model.graph.input if value.name not in initialised],
        outputs=[_viewed(value) for value in model.graph.output],
    )


def _viewed(value: ValueInfoProto) -> ViewedTensor:
    dtype, shape = shown_type(value.type)
    return ViewedTensor(value.name, dtype, None if shape == UNRANKED else list(map(str, shape)), value.doc_string.strip())


def _size(tensor: TensorProto) -> int:
    return prod(max(size, 0) for size in tensor.dims)


def tensor_bytes(tensor: TensorProto) -> int:
    """Return how many bytes the values of `tensor` take."""
    dtype = dtype_name(tensor.data_type)
    return _size(tensor) * BITS[dtype] // 8 if dtype in BITS else _size(tensor) * item_bytes(dtype)
